package breaker_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

const (
	forever = time.Duration(math.MaxInt64) // 292 years

	// Where readings stop: 146 years from the first.
	farthest = time.Duration(1<<62 - 1)
)

// sound looks at all that can be read, and requires what holds of a breaker whatever the
// clock, the settings and the calls were: no negative duration, no share outside [0, 1], no
// number that JSON cannot write, no sum that does not add up.
func sound(t *testing.T, b *breaker.Breaker) breaker.Snapshot {
	t.Helper()
	s := b.Snapshot()
	durations := map[string]time.Duration{
		"RetryAfter": s.RetryAfter, "Break": s.Break, "NormalLatency": s.NormalLatency, "SlowThreshold": s.SlowThreshold,
	}
	for state, d := range s.Totals.TimeIn {
		durations["time in "+state.String()] = d
	}
	history := b.History()
	for _, tr := range history {
		durations["shortest Break"] = min(durations["shortest Break"], tr.Break)
	}
	durations["RetryAfter()"], _ = b.RetryAfter()
	for name, d := range durations {
		if d < 0 {
			require.Fail(t, "negative", "%s: %v", name, d)
		}
	}
	shares := map[string]float64{
		"failure rate": s.FailureEvidence.Rate, "slow share": s.SlowEvidence.Rate, "normal failure rate": s.NormalFailureRate,
		"trip ratio": s.TripRatio, "admitted fraction": s.AdmittedFraction,
	}
	for name, share := range shares {
		if !(share >= 0 && share <= 1) {
			require.Fail(t, "no share", "%s: %v", name, share)
		}
	}
	counts := s.Failures >= 0 && s.Slow >= 0 && s.Failures+s.Slow <= s.Calls
	require.True(t, counts, "%d failures and %d slow of %d calls", s.Failures, s.Slow, s.Calls)
	require.LessOrEqual(t, s.ProbesInFlight, b.Effective().HalfOpenProbes)
	require.LessOrEqual(t, s.RetryAfter, s.Break)
	require.True(t, addsUp(s.Totals))
	require.True(t, linked(history))
	_, err := json.Marshal(s)
	require.NoError(t, err)
	return s
}

// Every combination of spans: it opens, refuses to the end of the break and no longer,
// takes a slot back at the probe's timeout and no sooner, and closes.
func TestSpansFromANanosecondToForever(t *testing.T) {
	spans := []time.Duration{1, year, 200 * year, forever}
	for _, pause := range spans {
		for _, window := range spans {
			for _, timeout := range append(spans, 0) {
				for _, ramp := range append(spans, 0) {
					testSpans(t, pause, window, timeout, ramp)
				}
			}
		}
	}
}

func testSpans(t *testing.T, pause, window, timeout, ramp time.Duration) {
	s := breaker.Settings{
		Name:                 fmt.Sprintf("break %v, window %v, probe timeout %v, ramp %v", pause, window, timeout, ramp),
		ConsecutiveFailures:  3,
		FailureRatio:         1,
		SlowCallThreshold:    time.Hour,
		TripWindow:           window,
		BreakDuration:        pause,
		MaximumBreakDuration: pause,
		ProbeTimeout:         timeout,
	}
	if ramp != 0 {
		s.Recovery = breaker.Recovery{Fraction: 1, MinimumDuration: ramp, MaximumDuration: ramp}
	}
	r := newRig(t, s)
	state := func(want breaker.State) {
		t.Helper()
		require.Equal(t, want.String(), sound(t, r.Breaker).State.String(), s.Name)
	}
	// Beyond the farthest reading time stands still, and no span ends any more.
	still := func() bool { return r.clock.Now().Sub(r.born) >= farthest }
	// pass lets a span end, and does something so long before its end.
	pass := func(span, last time.Duration, before action) {
		t.Helper()
		if r.clock.Now().Sub(r.born)+min(span, farthest) < farthest { // whole
			r.clock.Add(span - last)
			before(r)
			sound(t, r.Breaker)
			r.clock.Add(last)
			return
		}
		before(r)
		r.clock.Set(r.born.Add(farthest))
	}

	all(ok(30), fail(3))(r)
	state(breaker.Open)
	pass(pause, 1, refuse(1))
	state(breaker.HalfOpen)

	start("first")(r)
	if timeout == 0 {
		timeout = max(pause, time.Second)
	}
	if still() {
		refuse(1)(r)
		end("first", breaker.OK, 1)(r)
	} else {
		pass(timeout, 1, refuse(1))
		if still() { // not the whole timeout
			end("first", breaker.OK, 1)(r)
		} else {
			start("second")(r) // takes the slot of the first
			end("first", breaker.Transient, 1)(r)
			end("second", breaker.OK, 1)(r)
		}
	}
	state(breaker.HalfOpen)
	ok(1)(r)
	if ramp != 0 {
		state(breaker.Recovering)
		if still() {
			return
		}
		pass(ramp, 1+ramp/1e6, func(*rig) { state(breaker.Recovering) })
		if still() { // not the whole ramp
			return
		}
	}
	state(breaker.Closed)
	ok(20)(r)
	state(breaker.Closed)
}

// A window of a nanosecond holds what happens at one instant, and one of centuries what
// happens in a lifetime.
func TestWindowsFromANanosecondToForever(t *testing.T) {
	cases := []struct {
		window, apart time.Duration
		trips         bool
	}{
		{1, 0, true},
		{1, 10, false}, // ten buckets are never shorter than ten nanoseconds
		{year, 0, true},
		{year, 30 * day, true},
		{year, 2 * year, false},
		{200 * year, 30 * year, true},
		{forever, 30 * year, true},
	}
	for _, c := range cases {
		for _, tripCalls := range []int{0, 4, 1_000_000} {
			r := newRig(t, breaker.Settings{
				ConsecutiveFailures: math.MaxInt,
				FailureRatio:        0.5,
				MinimumCalls:        4,
				TripWindow:          c.window,
				TripCalls:           tripCalls,
			})
			for i := range 4 {
				r.at(time.Duration(i) * c.apart)
				calls(1, breaker.Verdict(i%2), 1)(r) // OK or Transient
				sound(t, r.Breaker)
			}
			require.Equal(t, c.trips, r.State() == breaker.Open, "%+v, %d calls", c, tripCalls)
		}
	}
}

// The baselines hold to their windows too, whatever these are.
func TestBaselinesFromNanosecondsToForever(t *testing.T) {
	for _, window := range []time.Duration{10, year, 200 * year, forever} {
		r := newRig(t, breaker.Settings{
			TripWindow: 1,
			Failures:   breaker.Failures{Window: window, MinimumSamples: 10},
			SlowCalls:  breaker.SlowCalls{Window: window, MinimumSamples: 10},
		})
		ok(20)(r)
		s := sound(t, r.Breaker)
		require.True(t, s.NormalLatencyKnown && s.NormalFailureRateKnown, window)
		r.at(min(window/2, farthest-1))
		s = sound(t, r.Breaker)
		require.True(t, s.NormalLatencyKnown && s.NormalFailureRateKnown, window)
		r.clock.Add(min(window, farthest))
		r.clock.Add(min(window, farthest)) // a slot is never shorter than a nanosecond
		s = sound(t, r.Breaker)
		if window < farthest {
			require.False(t, s.NormalLatencyKnown || s.NormalFailureRateKnown, window)
		}
	}
}

// Far beyond the readings that count, at either end, nothing breaks; a clock that came from
// there goes on as if it had not been.
func TestClockBeyondTheFarthest(t *testing.T) {
	for _, far := range []time.Duration{200 * year, forever, -200 * year, -forever} {
		r := newRig(t, breaker.Settings{ConsecutiveFailures: 3, BreakDuration: time.Minute})
		r.at(far)
		sound(t, r.Breaker)
		all(ok(10), fail(3))(r)
		sound(t, r.Breaker)
		for range 3 {
			r.at(-far)
			all(reset, ok(10), fail(3))(r)
			sound(t, r.Breaker)
			r.at(far)
			all(reset, ok(10))(r)
			sound(t, r.Breaker)
		}
		r.at(0)
		sound(t, r.Breaker)
		r.clock.Add(farthest / 2)
		all(ok(2), ok(10))(r)
		require.Equal(t, breaker.Closed, sound(t, r.Breaker).State, far)
	}
}

// What was learnt at one end of time is forgotten at the other, and stays so back at the first.
func TestBaselinesForgetFromEndToEnd(t *testing.T) {
	const end = farthest - time.Hour // what is older than the farthest counts as an hour old
	r := newRig(t, breaker.Settings{})
	r.at(-end)
	all(reset, ok(200))(r)
	require.True(t, sound(t, r.Breaker).NormalLatencyKnown)
	for _, at := range []time.Duration{end, -end} {
		r.at(at)
		r.Reset()
		s := sound(t, r.Breaker)
		require.False(t, s.NormalLatencyKnown || s.NormalFailureRateKnown, "at %v", at)
	}
}

func TestIdleForADecade(t *testing.T) {
	const decade = 10 * year
	ramp := breaker.Recovery{MinimumDuration: time.Hour, MaximumDuration: time.Hour}
	opened := all(ok(200), fail(5))
	halfOpen := all(opened, probeNow, start("probe"))
	recovering := all(opened, probeNow, ok(2))
	cases := []struct {
		name   string
		ramp   breaker.Recovery
		before action
		idle   breaker.State // after it
		after  action
		want   breaker.State
	}{
		{"closed", breaker.Recovery{}, all(ok(200), fail(4)), breaker.Closed, ok(1), breaker.Closed},
		{"closed, one failure from tripping", breaker.Recovery{}, all(ok(200), fail(4)), breaker.Closed, fail(1), breaker.Open},
		{"open", breaker.Recovery{}, opened, breaker.HalfOpen, ok(2), breaker.Closed},
		{"half-open", breaker.Recovery{}, halfOpen, breaker.HalfOpen, ok(2), breaker.Closed},
		{"half-open, the probe returns", breaker.Recovery{}, halfOpen, breaker.HalfOpen, end("probe", breaker.OK, decade), breaker.Open}, // slow
		{"recovering", ramp, recovering, breaker.Closed, ok(1), breaker.Closed},
		{"isolated", breaker.Recovery{}, all(ok(200), isolate), breaker.Isolated, refuse(1), breaker.Isolated},
	}
	for _, c := range cases {
		r := newRig(t, breaker.Settings{ConsecutiveFailures: 5, SlowCallThreshold: time.Minute, Recovery: c.ramp})
		c.before(r)
		sound(t, r.Breaker)
		r.at(decade)
		s := sound(t, r.Breaker)
		require.Equal(t, c.idle.String(), s.State.String(), c.name)
		require.Zero(t, s.Calls, c.name)
		require.False(t, s.NormalLatencyKnown || s.NormalFailureRateKnown, c.name)
		c.after(r)
		require.Equal(t, c.want.String(), sound(t, r.Breaker).State.String(), c.name)
	}
}

// The longest durations and the largest numbers, all at once.
func TestLargestSettings(t *testing.T) {
	all64 := breaker.Settings{
		ConsecutiveFailures:  math.MaxInt,
		FailureRatio:         1,
		MinimumCalls:         math.MaxInt,
		TripWindow:           forever,
		SlowCallThreshold:    forever,
		SlowCallRatio:        1,
		BreakDuration:        forever,
		MaximumBreakDuration: forever,
		ProbeSuccesses:       math.MaxInt,
		ProbeTimeout:         forever,
		Recovery:             breaker.Recovery{Fraction: math.MaxFloat64, MinimumDuration: forever, MaximumDuration: forever, InitialFraction: math.Nextafter(1, 0)},
	}
	baselines := all64
	baselines.TripWindow = time.Second
	baselines.Failures = breaker.Failures{Multiple: 1e9, Window: forever, MinimumSamples: math.MaxInt, Floor: 1, FalseAlarm: math.SmallestNonzeroFloat64}
	baselines.SlowCalls = breaker.SlowCalls{Multiple: math.MaxFloat64, Window: forever, MinimumSamples: math.MaxInt, FalseAlarm: math.SmallestNonzeroFloat64}
	low := baselines
	low.MinimumCalls, low.Failures.MinimumSamples, low.SlowCalls.MinimumSamples = 1, 1, 1
	low.FailureRatio = 0
	for i, s := range []breaker.Settings{all64, baselines, low} {
		for _, jitter := range []breaker.Jitter{breaker.JitterNone, breaker.JitterEqual, breaker.JitterFull} {
			s.BreakJitter, s.Random = jitter, func() float64 { return math.Nextafter(1, 0) }
			r := newRig(t, s)
			for range 30 {
				for _, d := range []time.Duration{0, 1, forever, math.MinInt64} {
					for v := range breaker.Canceled + 1 {
						calls(1, v, d)(r)
					}
					attempt, err := r.TryAdmit(bg)
					require.NoError(t, err)
					attempt.DoneAfter(errDown, d)
				}
				r.clock.Add(year)
				sound(t, r.Breaker)
			}
			require.Equal(t, breaker.Closed, r.State(), "settings %d", i)
			r.Isolate()
			sound(t, r.Breaker)
		}
	}
}

// The longest breaks, opened over and over.
func TestLongestBreaksGrow(t *testing.T) {
	for _, first := range []time.Duration{1, time.Second, forever} {
		for _, draw := range []float64{0, 0.5, math.Nextafter(1, 0)} {
			r := newRig(t, breaker.Settings{
				DisableAdaptive:      true,
				BreakDuration:        first,
				MaximumBreakDuration: forever,
				Random:               func() float64 { return draw },
			})
			fail(5)(r)
			for range 200 {
				s := sound(t, r.Breaker)
				require.GreaterOrEqual(t, s.Break, first/2)
				r.ProbeNow()
				fail(1)(r)
			}
			require.GreaterOrEqual(t, sound(t, r.Breaker).Break, forever/2)
		}
	}
}

func TestLargestCounts(t *testing.T) {
	const most = 1_000_000
	if underRace {
		t.Skip("a million calls, one after another")
	}
	r := newRig(t, breaker.Settings{DisableAdaptive: true, HalfOpenProbes: most})
	all(fail(5), probeNow)(r)
	attempts := make([]breaker.Attempt, most)
	for i := range attempts {
		var err error
		attempts[i], err = r.TryAdmit(bg)
		require.NoError(t, err)
	}
	refuse(1)(r)
	require.Equal(t, most, sound(t, r.Breaker).ProbesInFlight)
	for i := range 9 { // the tenth in a row would re-open it
		attempts[i].Release()
	}
	require.Equal(t, most-9, sound(t, r.Breaker).ProbesInFlight)
	r.Reset()
	require.Zero(t, sound(t, r.Breaker).ProbesInFlight)
	for i := range attempts {
		attempts[i].Record(breaker.OK, 0)
	}
	require.EqualValues(t, most-9, sound(t, r.Breaker).Totals.OK, "they land as ordinary calls")

	r = newRig(t, breaker.Settings{ConsecutiveFailures: math.MaxInt, FailureRatio: 0.5, MinimumCalls: most, TripCalls: most, TripWindow: year})
	all(ok(most/2), fail(most/2-1))(r)
	s := sound(t, r.Breaker)
	require.Equal(t, breaker.Closed, s.State)
	require.Equal(t, most-1, s.Calls)
	fail(1)(r)
	require.Equal(t, breaker.Open, sound(t, r.Breaker).State)
	require.Equal(t, most, r.History()[0].Calls)
}
