package breakerotel_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerotel"
)

// All breakers of a program as metrics.
func ExampleRegister() {
	reader := metric.NewManualReader() // a program has a periodic one, with an exporter
	provider := metric.NewMeterProvider(metric.WithReader(reader))

	var breakers breaker.Registry
	registration, err := breakerotel.Register(provider, &breakers, nil)
	if err != nil {
		panic(err)
	}
	defer registration.Unregister()

	db := breaker.Of(3, time.Minute, "db")
	breakers.Add(db)
	for range 3 {
		_ = db.Do(context.Background(), func(context.Context) error { return errors.New("down") })
	}

	var collected metricdata.ResourceMetrics
	_ = reader.Collect(context.Background(), &collected)
	for _, m := range collected.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
			for _, point := range sum.DataPoints {
				if sum.IsMonotonic && point.Value > 0 {
					fmt.Println(m.Name, m.Unit, point.Attributes.ToSlice(), point.Value)
				}
			}
		}
	}
	// Output:
	// breaker.transitions {transition} [{breaker.cause consecutive-failures} {breaker.name db} {breaker.to open}] 1
	// breaker.calls {call} [{breaker.name db} {breaker.verdict transient}] 3
}

// One span through which two calls fail: one because of the database, and one that was
// never made.
func ExampleDo() {
	recorder := tracetest.NewSpanRecorder() // a program has an exporter
	tracer := trace.NewTracerProvider(trace.WithSpanProcessor(recorder)).Tracer("orders")

	db := breaker.MustNew(breaker.Settings{
		Name:                "db",
		ConsecutiveFailures: 1,
		OnTransition:        breakerotel.MarkTransition,
	})
	query := func(context.Context) error { return errors.New("connection refused") }
	for _, name := range []string{"first order", "second order"} {
		ctx, span := tracer.Start(context.Background(), name)
		_ = breakerotel.Do(ctx, db, query)
		span.End()
	}

	for _, span := range recorder.Ended() {
		fmt.Print(span.Name(), ":")
		for _, a := range span.Attributes() {
			fmt.Printf(" %s=%s", a.Key, a.Value.String())
		}
		fmt.Println()
	}
	// Output:
	// first order: breaker.cause=consecutive-failures
	// second order: breaker.refused=true
}

// A fallback marks the refusal that it answers.
func ExampleMarkRefusal() {
	recorder := tracetest.NewSpanRecorder()
	tracer := trace.NewTracerProvider(trace.WithSpanProcessor(recorder)).Tracer("orders")
	prices := breaker.Of(5, time.Minute, "prices")
	prices.Isolate()

	ctx, span := tracer.Start(context.Background(), "price of tea")
	price, err := breaker.CallOr(ctx, prices,
		func(context.Context) (int, error) { return 120, nil },
		func(ctx context.Context, refusal *breaker.RejectedError) (int, error) {
			breakerotel.MarkRefusal(ctx, refusal)
			return 115, nil // an old one
		})
	span.End()

	fmt.Println(price, err)
	for _, event := range recorder.Ended()[0].Events() {
		fmt.Print(event.Name, ":")
		for _, a := range event.Attributes {
			fmt.Printf(" %s=%s", a.Key, a.Value.String())
		}
		fmt.Println()
	}
	// Output:
	// 115 <nil>
	// breaker.refusal: breaker.name=prices breaker.state=isolated
}

// A stream ends its attempt by hand, and marks what a wrapper would.
func ExampleMarkProbe() {
	b := breaker.Of(5, time.Minute, "feed")
	subscribe := func(ctx context.Context) error {
		attempt, err := b.Admit(ctx)
		if err != nil {
			breakerotel.MarkRefusal(ctx, err)
			return err
		}
		defer attempt.Release()
		breakerotel.MarkProbe(ctx, b, &attempt)
		// ... read the stream
		attempt.Done(nil)
		return nil
	}
	fmt.Println(subscribe(context.Background()))
	// Output: <nil>
}
