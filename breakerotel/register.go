package breakerotel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/normal-go/breaker"
)

// ScopeName is the name of the instrumentation scope, for views that want to find it.
const ScopeName = "github.com/normal-go/breaker/breakerotel"

// Options are the options of [Register]. The zero value, and a nil pointer, mean the defaults.
type Options struct {
	// MaximumBreakers is how many breakers are shown, each with about fifty series; 0 stands
	// for 100, and a negative number is an error. A breaker that is shown remains so as long
	// as the source yields it; else the order of the source decides, so put first what must
	// not be missed. What is over the limit is counted in breaker.dropped_breakers, with the
	// reason limit, and its state in breaker.count.
	//
	// The SDK has a limit of its own, 2,000 series for each instrument unless it is told
	// otherwise, and breaker.transitions has 15 for each breaker. So for more than 133
	// breakers raise that one as well, with its WithCardinalityLimit.
	MaximumBreakers int
}

const defaultMaximumBreakers = 100

// Register has the breakers of source measured at each collection by the meters of provider;
// nil stands for [otel.GetMeterProvider]. See the package doc for the instruments.
//
// Breakers are told apart by their names. Of several with one name, one is shown: the one
// that was shown before, else the first,
// because the SDK would add their counts and let one state hide the other; the rest are
// counted in breaker.dropped_breakers, with the reason duplicate_name. What is not UTF-8 in a
// name is replaced by U+FFFD. One breaker that the source yields twice is one breaker. Two
// registrations with one provider do not know of each other, so put what they would share
// into one [breaker.Registry].
//
// A breaker of a scope that has gone and come back under its old name counts from 0 again, as
// after a restart of the process. Readers with cumulative temporality see that it was reset;
// with delta temporality the next delta may be negative.
//
// If the source panics, or the clock of a breaker, the collection reports an error with its
// text, and the program lives on. Collections at the same time wait for each other.
//
// The series go with [metric.Registration].Unregister, which may be called twice. The error
// of Register is one of the options, of a nil source, or of the provider, and then nothing is
// registered.
// Register is safe for concurrent use.
func Register(provider metric.MeterProvider, source breaker.Source, options *Options) (metric.Registration, error) {
	if source == nil {
		return nil, errors.New("breakerotel: Register with a nil source")
	}
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	if options == nil {
		options = &Options{}
	}
	if options.MaximumBreakers < 0 {
		return nil, fmt.Errorf("breakerotel: Options.MaximumBreakers must not be negative, got %d", options.MaximumBreakers)
	}
	c := &collector{source: source, maximum: cmp.Or(options.MaximumBreakers, defaultMaximumBreakers)}
	meter := provider.Meter(ScopeName)
	instruments, err := c.build(meter)
	if err != nil {
		return nil, fmt.Errorf("breakerotel: %w", err)
	}
	registration, err := meter.RegisterCallback(c.collect, instruments...)
	if err != nil {
		return nil, fmt.Errorf("breakerotel: %w", err)
	}
	return registration, nil
}

// collector is what one registration observes.
type collector struct {
	source  breaker.Source
	maximum int

	integers []metric.Int64Observable // as in the tables of that name
	numbers  []metric.Float64Observable
	count    metric.Int64ObservableUpDownCounter // of all breakers, shown or not
	dropped  metric.Int64ObservableGauge

	mu    sync.Mutex
	shown map[*breaker.Breaker]timeIn // at the last collection
}

type timeIn = map[breaker.State]time.Duration

// build makes the instruments, and returns all of them.
func (c *collector) build(meter metric.Meter) (all []metric.Observable, err error) {
	var problems error
	add := func(instrument metric.Observable, err error) {
		all, problems = append(all, instrument), errors.Join(problems, err)
	}
	for _, m := range integers {
		unit, description := metric.WithUnit(m.unit), metric.WithDescription(m.description)
		var instrument metric.Int64Observable
		switch m.kind {
		case counter:
			instrument, err = meter.Int64ObservableCounter(m.name, unit, description)
		case upDownCounter:
			instrument, err = meter.Int64ObservableUpDownCounter(m.name, unit, description)
		case gauge:
			instrument, err = meter.Int64ObservableGauge(m.name, unit, description)
		}
		add(instrument, err)
		c.integers = append(c.integers, instrument)
	}
	for _, m := range numbers {
		unit, description := metric.WithUnit(m.unit), metric.WithDescription(m.description)
		var instrument metric.Float64Observable
		switch m.kind {
		case counter:
			instrument, err = meter.Float64ObservableCounter(m.name, unit, description)
		case gauge:
			instrument, err = meter.Float64ObservableGauge(m.name, unit, description)
		}
		add(instrument, err)
		c.numbers = append(c.numbers, instrument)
	}
	c.count, err = meter.Int64ObservableUpDownCounter("breaker.count", metric.WithUnit("{breaker}"),
		metric.WithDescription("Breakers by state, those that are not shown too."))
	add(c.count, err)
	c.dropped, err = meter.Int64ObservableGauge("breaker.dropped_breakers", metric.WithUnit("{breaker}"),
		metric.WithDescription("Breakers that are not shown."))
	add(c.dropped, err)
	return all, problems
}

// collect observes all breakers.
func (c *collector) collect(_ context.Context, o metric.Observer) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("breakerotel: reading the breakers: %v", problem)
		}
	}()
	shown, names := map[*breaker.Breaker]timeIn{}, map[string]bool{}
	in, dropped := map[breaker.State]int64{}, map[string]int64{}
	for _, b := range c.inOrder() {
		if len(shown) == c.maximum {
			in[b.State()]++
			dropped["limit"]++
			continue
		}
		s := b.Snapshot()
		in[s.State]++
		name := nameOf(s.Name)
		if names[name.Value.AsString()] {
			dropped["duplicate_name"]++
			continue
		}
		names[name.Value.AsString()] = true
		for state, before := range c.shown[b] {
			// A counter must not fall, not even by what an early reading of the clock may
			// take back.
			s.Totals.TimeIn[state] = max(s.Totals.TimeIn[state], before)
		}
		shown[b] = s.Totals.TimeIn
		c.observe(o, name, &s)
	}
	c.shown = shown
	for _, state := range states {
		o.ObserveInt64(c.count, in[state], metric.WithAttributes(stateKey.String(state.String())))
	}
	for _, reason := range []string{"limit", "duplicate_name"} {
		o.ObserveInt64(c.dropped, dropped[reason], metric.WithAttributes(reasonKey.String(reason)))
	}
	return nil
}

// inOrder returns the breakers of the source, each once. Those that were shown at the last
// collection come first, so that the limit does not let them come and go, and a newcomer of
// the same name does not take the place of one.
func (c *collector) inOrder() []*breaker.Breaker {
	seen := map[*breaker.Breaker]bool{}
	var old, others []*breaker.Breaker
	for b := range c.source.Breakers() {
		_, shown := c.shown[b]
		switch {
		case seen[b]:
		case shown:
			old = append(old, b)
		default:
			others = append(others, b)
		}
		seen[b] = true
	}
	return append(old, others...)
}

func (c *collector) observe(o metric.Observer, name attribute.KeyValue, s *breaker.Snapshot) {
	for i, m := range integers {
		m.observe(s, func(n int64, more ...attribute.KeyValue) {
			o.ObserveInt64(c.integers[i], n, metric.WithAttributes(append(more, name)...))
		})
	}
	for i, m := range numbers {
		m.observe(s, func(n float64, more ...attribute.KeyValue) {
			o.ObserveFloat64(c.numbers[i], n, metric.WithAttributes(append(more, name)...))
		})
	}
}
