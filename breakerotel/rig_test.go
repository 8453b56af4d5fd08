package breakerotel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerotel"
)

var (
	bg      = context.Background()
	errDown = errors.New("down")
)

func fails(context.Context) error    { return errDown }
func succeeds(context.Context) error { return nil }

// call makes a call that ends at once, if it is admitted.
func call(b *breaker.Breaker, v breaker.Verdict, d time.Duration) error {
	attempt, err := b.TryAdmit(bg)
	attempt.Record(v, d)
	return err
}

// calls makes n of them.
func calls(b *breaker.Breaker, n int, v breaker.Verdict) {
	for range n {
		_ = call(b, v, 10*time.Millisecond)
	}
}

// on is a breaker on a mock clock, without jitter, with a constant run.
func on(mock clock.Clock, s breaker.Settings) *breaker.Breaker {
	s.Clock, s.BreakJitter = mock, breaker.JitterNone
	return breaker.MustNew(s)
}

// meters is a provider with a reader that collects when it is asked.
type meters struct {
	*metric.ManualReader
	*metric.MeterProvider
}

func newMeters(options ...metric.Option) meters {
	reader := metric.NewManualReader()
	return meters{reader, metric.NewMeterProvider(append(options, metric.WithReader(reader))...)}
}

// register shows source to new meters.
func register(t *testing.T, source breaker.Source, options *breakerotel.Options) meters {
	t.Helper()
	m := newMeters()
	_, err := breakerotel.Register(m, source, options)
	require.NoError(t, err)
	return m
}

// metrics collects, and returns the metrics of the package.
func (m meters) metrics(t *testing.T) []metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, m.Collect(bg, &all))
	if len(all.ScopeMetrics) == 0 {
		return nil
	}
	require.Len(t, all.ScopeMetrics, 1)
	require.Equal(t, breakerotel.ScopeName, all.ScopeMetrics[0].Scope.Name)
	return all.ScopeMetrics[0].Metrics
}

// series collects, and returns the values of all series, by names such as
// "breaker.calls{breaker.name=db,breaker.verdict=ok}".
func (m meters) series(t *testing.T) map[string]float64 {
	t.Helper()
	found := map[string]float64{}
	for _, metric := range m.metrics(t) {
		for _, point := range points(t, metric) {
			if _, twice := found[point.name]; twice {
				require.Fail(t, "twice", point.name)
			}
			found[point.name] = point.value
		}
	}
	return found
}

// point is one data point of either kind of number.
type point struct {
	name       string
	value      float64
	attributes attribute.Set
}

func points(t *testing.T, m metricdata.Metrics) (all []point) {
	t.Helper()
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		return pointsOf(m.Name, data.DataPoints)
	case metricdata.Sum[float64]:
		return pointsOf(m.Name, data.DataPoints)
	case metricdata.Gauge[int64]:
		return pointsOf(m.Name, data.DataPoints)
	case metricdata.Gauge[float64]:
		return pointsOf(m.Name, data.DataPoints)
	}
	require.Fail(t, "a kind of data that no test knows", "%T", m.Data)
	return nil
}

func pointsOf[N int64 | float64](name string, data []metricdata.DataPoint[N]) (all []point) {
	for _, p := range data {
		var labels []string
		for _, a := range p.Attributes.ToSlice() {
			label := fmt.Sprintf("%s=%s", a.Key, a.Value.String())
			if a.Key == "breaker.name" {
				labels = slices.Insert(labels, 0, label)
				continue
			}
			labels = append(labels, label)
		}
		all = append(all, point{name + "{" + strings.Join(labels, ",") + "}", float64(p.Value), p.Attributes})
	}
	return all
}

// kindOf writes the kind of an instrument as the docs do.
func kindOf(t *testing.T, m metricdata.Metrics) string {
	t.Helper()
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		return sumKind(data.IsMonotonic)
	case metricdata.Sum[float64]:
		return sumKind(data.IsMonotonic)
	case metricdata.Gauge[int64], metricdata.Gauge[float64]:
		return "gauge"
	}
	require.Fail(t, "a kind of data that no test knows", "%T", m.Data)
	return ""
}

func sumKind(monotonic bool) string {
	if monotonic {
		return "counter"
	}
	return "up-down counter"
}

// named returns the breakers that have series.
func named(series map[string]float64) (names []string) {
	for name := range series {
		if of, found := strings.CutPrefix(name, "breaker.shadow{breaker.name="); found {
			names = append(names, strings.TrimSuffix(of, "}"))
		}
	}
	slices.Sort(names)
	return names
}
