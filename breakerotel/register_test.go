package breakerotel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	api "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerotel"
)

// some returns n breakers with the names b000, b001 and so on.
func some(n int) (list breaker.List) {
	for i := range n {
		list = append(list, breaker.MustNew(breaker.Settings{Name: fmt.Sprintf("b%03d", i)}))
	}
	return list
}

// readings counts how often a breaker reads the time.
type readings struct {
	*clock.Mock
	n atomic.Int64
}

func (c *readings) Now() time.Time {
	c.n.Add(1)
	return c.Mock.Now()
}

func TestOneSnapshotABreaker(t *testing.T) {
	c := &readings{Mock: clock.NewMock()}
	list := breaker.List{}
	for _, name := range []string{"a", "b", "c"} {
		list = append(list, on(c, breaker.Settings{Name: name}))
	}
	m := register(t, list, nil)
	before := c.n.Load()
	m.series(t)
	require.Equal(t, int64(len(list)), c.n.Load()-before)
}

func TestBreakersOfOneName(t *testing.T) {
	first, second := breaker.MustNew(breaker.Settings{Name: "db"}), breaker.MustNew(breaker.Settings{Name: "db"})
	calls(first, 1, breaker.OK)
	calls(second, 10, breaker.OK)
	second.Isolate()

	var registry breaker.Registry
	registry.Add(second)
	m := register(t, &registry, nil)
	require.Equal(t, 10.0, m.series(t)[db("breaker.calls", "verdict=ok")])

	// A newcomer of the same name does not take its place, wherever it comes.
	registry.Remove(second)
	registry.Add(first, second)
	series := m.series(t)
	require.Equal(t, 10.0, series[db("breaker.calls", "verdict=ok")])
	require.Equal(t, 1.0, series[db("breaker.status", "state=isolated")])
	require.Equal(t, 1.0, series["breaker.dropped_breakers{breaker.reason=duplicate_name}"])

	// Once the one has gone the other is shown.
	registry.Remove(second)
	series = m.series(t)
	require.Equal(t, 1.0, series[db("breaker.calls", "verdict=ok")])
	require.Zero(t, series["breaker.dropped_breakers{breaker.reason=duplicate_name}"])

	// One that comes twice is one.
	series = register(t, breaker.List{first, first}, nil).series(t)
	require.Equal(t, 1.0, series[db("breaker.calls", "verdict=ok")])
	require.Zero(t, series["breaker.dropped_breakers{breaker.reason=duplicate_name}"])
}

// turned is a source whose order changes each time.
type turned struct {
	breaker.Registry
	list breaker.List
}

func (s *turned) turn() {
	s.Remove(&s.list)
	s.list = slices.Concat(s.list[1:], s.list[:1])
	s.Add(&s.list)
}

func TestLimit(t *testing.T) {
	source := &turned{list: some(5)}
	m := register(t, source, &breakerotel.Options{MaximumBreakers: 3})
	source.turn()
	series := m.series(t)
	require.Equal(t, []string{"b001", "b002", "b003"}, named(series))
	require.Equal(t, 2.0, series["breaker.dropped_breakers{breaker.reason=limit}"])
	for range 5 { // in whatever order they come
		source.turn()
		require.Equal(t, []string{"b001", "b002", "b003"}, named(m.series(t)))
	}
	source.list = slices.DeleteFunc(source.list, func(b *breaker.Breaker) bool { return b.Name() == "b002" })
	series = m.series(t)
	require.Equal(t, []string{"b001", "b003", "b004"}, named(series)) // the first of the others
	require.Equal(t, 1.0, series["breaker.dropped_breakers{breaker.reason=limit}"])
}

// As many as the SDK takes: none of their series is lost in its overflow.
func TestLimitsOfTheSDK(t *testing.T) {
	cases := map[string]struct {
		breakers, shown int
		options         *breakerotel.Options
		sdk             []metric.Option
	}{
		"at the defaults":                  {150, 100, nil, nil},
		"the zero value of the options":    {150, 100, &breakerotel.Options{}, nil},
		"as many as the default takes":     {150, 133, &breakerotel.Options{MaximumBreakers: 133}, nil},
		"more, and the SDK is told so":     {150, 150, &breakerotel.Options{MaximumBreakers: 150}, []metric.Option{metric.WithCardinalityLimit(15*150 + 1)}},
		"fewer than the limit that is set": {3, 3, &breakerotel.Options{MaximumBreakers: 4}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMeters(c.sdk...)
			_, err := breakerotel.Register(m, some(c.breakers), c.options)
			require.NoError(t, err)
			series := m.series(t)
			for name := range series {
				if strings.Contains(name, "otel.metric.overflow") {
					require.Fail(t, "lost in the overflow", name)
				}
			}
			require.Len(t, named(series), c.shown)
			require.Equal(t, float64(c.breakers), series["breaker.count{breaker.state=closed}"])
			require.Equal(t, float64(c.breakers-c.shown), series["breaker.dropped_breakers{breaker.reason=limit}"])
		})
	}
}

func TestSeriesOfAKeyGoWithIt(t *testing.T) {
	scope, err := breaker.NewScope(2, func(key string) breaker.Settings { return breaker.Settings{Name: key} })
	require.NoError(t, err)
	m := register(t, scope, nil)
	require.Empty(t, named(m.series(t)))
	calls(scope.For("a"), 5, breaker.OK)
	scope.For("b")
	series := m.series(t)
	require.Equal(t, []string{"a", "b"}, named(series))
	require.Equal(t, 5.0, series["breaker.calls{breaker.name=a,breaker.verdict=ok}"])
	scope.Delete("a")
	require.Equal(t, []string{"b"}, named(m.series(t)))
	scope.For("a")
	series = m.series(t)
	require.Equal(t, []string{"a", "b"}, named(series))
	require.Zero(t, series["breaker.calls{breaker.name=a,breaker.verdict=ok}"])
}

func TestUnregister(t *testing.T) {
	m := newMeters()
	for range 2 { // and again with the same instruments
		registration, err := breakerotel.Register(m, some(2), nil)
		require.NoError(t, err)
		require.Len(t, named(m.series(t)), 2)
		require.NoError(t, registration.Unregister())
		require.NoError(t, registration.Unregister())
		require.Empty(t, m.series(t))
	}
}

// What cannot be read is an error of the collection, and no end of the program.
func TestSourceThatPanics(t *testing.T) {
	list := append(some(1), nil)
	m := register(t, &list, nil)
	var data metricdata.ResourceMetrics
	err := m.Collect(bg, &data)
	require.ErrorContains(t, err, "breakerotel: reading the breakers: breaker: nil *Breaker")
	list[1] = breaker.MustNew(breaker.Settings{Name: "later"})
	require.Equal(t, []string{"b000", "later"}, named(m.series(t)))
}

// A name that no exporter could send.
func TestNameThatIsNotUTF8(t *testing.T) {
	list := breaker.List{breaker.MustNew(breaker.Settings{Name: "a\xff"}), breaker.MustNew(breaker.Settings{Name: "a\xfe"})}
	series := register(t, list, nil).series(t)
	require.Equal(t, []string{"a\uFFFD"}, named(series))
	require.Equal(t, 1.0, series["breaker.dropped_breakers{breaker.reason=duplicate_name}"])

	list[0].Isolate()
	_, err := list[0].TryAdmit(bg)
	span := traced(t, func(ctx context.Context) {
		breakerotel.MarkRefusal(ctx, err)
		breakerotel.MarkTransition(ctx, *list[0].Snapshot().Last)
	})
	require.Len(t, span.Events(), 2)
	for _, event := range span.Events() {
		require.Equal(t, "a\uFFFD", values(event.Attributes)["breaker.name"])
	}
}

// A transition may go by a reading of the clock that was taken before the last collection.
func TestTimeNeverFalls(t *testing.T) {
	mock := clock.NewMock()
	b := on(mock, breaker.Settings{Name: "db", ConsecutiveFailures: 1})
	m := register(t, b, nil)
	born := mock.Now()
	mock.Set(born.Add(10 * time.Second))
	require.Equal(t, 10.0, m.series(t)[db("breaker.time", "state=closed")])
	mock.Set(born.Add(9500 * time.Millisecond))
	calls(b, 1, breaker.Transient)
	require.Equal(t, 9500*time.Millisecond, b.Snapshot().Totals.TimeIn[breaker.Closed])
	for range 2 {
		require.Equal(t, 10.0, m.series(t)[db("breaker.time", "state=closed")])
	}
	mock.Set(born.Add(11 * time.Second))
	require.Equal(t, 1.5, m.series(t)[db("breaker.time", "state=open")])
}

// Deltas of the counters, for readers that want those.
func TestDeltas(t *testing.T) {
	reader := metric.NewManualReader(metric.WithTemporalitySelector(
		func(metric.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }))
	m := meters{reader, metric.NewMeterProvider(metric.WithReader(reader))}
	b := on(clock.NewMock(), breaker.Settings{Name: "db"})
	_, err := breakerotel.Register(m, b, nil)
	require.NoError(t, err)
	for _, n := range []int{3, 5} {
		calls(b, n, breaker.OK)
		require.Equal(t, float64(n), m.series(t)[db("breaker.calls", "verdict=ok")])
	}
}

// broken is a provider whose meters cannot make one instrument, or register nothing.
type broken struct {
	noop.MeterProvider
	instrument string
}

var errBroken = errors.New("broken")

func (b broken) Meter(string, ...api.MeterOption) api.Meter {
	return brokenMeter{instrument: b.instrument}
}

type brokenMeter struct {
	noop.Meter
	instrument string
}

func (m brokenMeter) Int64ObservableUpDownCounter(name string, options ...api.Int64ObservableUpDownCounterOption) (api.Int64ObservableUpDownCounter, error) {
	if name == m.instrument {
		return nil, errBroken
	}
	return m.Meter.Int64ObservableUpDownCounter(name, options...)
}

func (m brokenMeter) Float64ObservableGauge(name string, options ...api.Float64ObservableGaugeOption) (api.Float64ObservableGauge, error) {
	if name == m.instrument {
		return nil, errBroken
	}
	return m.Meter.Float64ObservableGauge(name, options...)
}

func (m brokenMeter) RegisterCallback(api.Callback, ...api.Observable) (api.Registration, error) {
	if m.instrument == "" {
		return nil, errBroken
	}
	panic("registered, though an instrument is missing")
}

func TestErrorsOfRegister(t *testing.T) {
	_, err := breakerotel.Register(nil, nil, nil)
	require.EqualError(t, err, "breakerotel: Register with a nil source")
	_, err = breakerotel.Register(nil, some(1), &breakerotel.Options{MaximumBreakers: -1})
	require.EqualError(t, err, "breakerotel: Options.MaximumBreakers must not be negative, got -1")
	for _, instrument := range []string{"breaker.status", "breaker.break", ""} {
		registration, err := breakerotel.Register(broken{instrument: instrument}, some(1), nil)
		require.ErrorIs(t, err, errBroken, instrument)
		require.EqualError(t, err, "breakerotel: broken", instrument)
		require.Nil(t, registration)
	}
}

func TestNilProviderIsTheGlobalOne(t *testing.T) {
	before := otel.GetMeterProvider()
	defer otel.SetMeterProvider(before)
	m := newMeters()
	otel.SetMeterProvider(m)
	_, err := breakerotel.Register(nil, some(1), nil)
	require.NoError(t, err)
	require.Len(t, named(m.series(t)), 1)
}

// Two readers collect at their own pace, while keys come and go and calls are made.
func TestConcurrentCollections(t *testing.T) {
	scope, err := breaker.NewScope(3, func(key int) breaker.Settings {
		return breaker.Settings{Name: fmt.Sprint(key), ConsecutiveFailures: 1}
	})
	require.NoError(t, err)
	readers := [2]*metric.ManualReader{metric.NewManualReader(), metric.NewManualReader()}
	provider := metric.NewMeterProvider(metric.WithReader(readers[0]), metric.WithReader(readers[1]))
	_, err = breakerotel.Register(provider, scope, nil)
	require.NoError(t, err)
	var all sync.WaitGroup
	for _, reader := range readers {
		all.Go(func() {
			for range 100 {
				var data metricdata.ResourceMetrics
				if err := reader.Collect(bg, &data); err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			for i := range 500 {
				_ = scope.Do(context.Background(), i%5, succeeds)
			}
		})
	}
	all.Wait()
	for _, reader := range readers {
		require.Len(t, named(meters{reader, provider}.series(t)), 3)
	}
}
