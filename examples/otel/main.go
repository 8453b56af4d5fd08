// Otel shows a breaker in the traces and the metrics of OpenTelemetry: which requests failed
// because the database was down, and which because they were refused. It prints what a
// program would export.
package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerotel"
)

// orders serves requests with the help of a database.
type orders struct {
	tracer trace.Tracer
	db     *breaker.Breaker
	down   bool
}

func (o *orders) query(context.Context) error {
	if o.down {
		return errors.New("connection refused")
	}
	return nil
}

func (o *orders) serve(name string) {
	ctx, span := o.tracer.Start(context.Background(), name)
	defer span.End()
	if err := breakerotel.Do(ctx, o.db, o.query); err != nil {
		span.SetStatus(codes.Error, err.Error()) // nothing to fall back on here
	}
}

func run() error {
	reader := metric.NewManualReader()
	meters := metric.NewMeterProvider(metric.WithReader(reader))
	traces := sdk.NewTracerProvider(sdk.WithSyncer(printer{}))

	db := breaker.MustNew(breaker.Settings{
		Name:                "db",
		ConsecutiveFailures: 2,
		BreakDuration:       time.Minute,
		OnTransition:        breakerotel.MarkTransition,
	})
	registration, err := breakerotel.Register(meters, db, nil)
	if err != nil {
		return err
	}
	defer registration.Unregister()

	o := &orders{tracer: traces.Tracer("orders"), db: db}
	o.serve("all is well")
	o.down = true
	o.serve("it is down")
	o.serve("it is still down")
	o.serve("not even tried")
	o.down = false
	db.ProbeNow() // an operator knows that it is up again
	o.serve("a try")
	o.serve("another")
	o.serve("all is well again")

	var collected metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &collected); err != nil {
		return err
	}
	fmt.Println()
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && sum.IsMonotonic {
				printCounts(m.Name, sum.DataPoints)
			}
		}
	}
	return nil
}

// printer prints spans instead of sending them somewhere.
type printer struct{}

func (printer) ExportSpans(_ context.Context, spans []sdk.ReadOnlySpan) error {
	for _, span := range spans {
		status := span.Status()
		fmt.Println(strings.TrimSpace(fmt.Sprintf("%s: %s %s", span.Name(), status.Code, status.Description)))
		for _, a := range span.Attributes() {
			fmt.Printf("    %s=%s\n", a.Key, a.Value.String())
		}
	}
	return nil
}

func (printer) Shutdown(context.Context) error { return nil }

// printCounts prints what has been counted.
func printCounts(name string, points []metricdata.DataPoint[int64]) {
	var lines []string
	for _, point := range points {
		if point.Value > 0 {
			lines = append(lines, fmt.Sprintf("%s%s %d", name, labels(point.Attributes), point.Value))
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}

func labels(set attribute.Set) string {
	var all []string
	for _, a := range set.ToSlice() {
		all = append(all, strings.TrimPrefix(string(a.Key), "breaker.")+"="+a.Value.String())
	}
	return "{" + strings.Join(all, ",") + "}"
}

func main() {
	if err := run(); err != nil {
		panic(err)
	}
}
