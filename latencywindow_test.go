package breaker_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// What the buckets of the histogram make of 10 ms and of 100 ms.
const (
	of10  = 10_240 * time.Microsecond
	of100 = 106_496 * time.Microsecond
)

// brownout are settings with the slow trip alone, out of the way of its ratio.
func brownout(c breaker.SlowCalls) breaker.Settings {
	return breaker.Settings{Failures: breaker.Failures{Off: true}, SlowCalls: c, SlowCallRatio: 1, MinimumCalls: 1_000_000}
}

// normalLatency requires the normal latency; 0 is none.
func normalLatency(want time.Duration) action {
	return func(r *rig) {
		r.t.Helper()
		normal, known := r.NormalLatency()
		require.Equal(r.t, want.String(), normal.String())
		require.Equal(r.t, want != 0, known)
	}
}

// judged makes n calls, all of which are slow or none.
func judged(n int, d time.Duration, slow bool) action {
	return func(r *rig) {
		r.t.Helper()
		before := r.Snapshot().Totals.Slow
		for i := range n {
			calls(1, breaker.OK, d)(r)
			if slow {
				before++
			}
			require.Equal(r.t, before, r.Snapshot().Totals.Slow, "call %d of %v", i+1, d)
		}
	}
}

func TestSlowThreshold(t *testing.T) {
	off := breaker.SlowCalls{Off: true}
	tests := []struct {
		name     string
		slow     breaker.SlowCalls
		constant time.Duration
		normal   time.Duration // of the 20 calls before
		want     time.Duration // 0: nothing is slow
	}{
		{"default", breaker.SlowCalls{}, 0, 10 * msec, 3 * of10},
		{"multiple", breaker.SlowCalls{Multiple: 2}, 0, 10 * msec, 2 * of10},
		{"no whole multiple", breaker.SlowCalls{Multiple: 2.5}, 0, 10 * msec, 25_600 * time.Microsecond},
		{"no whole multiple and no whole product", breaker.SlowCalls{Multiple: 1.00001}, 0, 0, 1_001},
		{"hardly above 1", breaker.SlowCalls{Multiple: math.Nextafter(1, 2)}, 0, 10 * msec, of10 + 1},
		{"multiple past all durations", breaker.SlowCalls{Multiple: math.MaxFloat64}, 0, 10 * msec, math.MaxInt64},
		{"constant is less", breaker.SlowCalls{}, 20 * msec, 10 * msec, 20 * msec},
		{"constant is more", breaker.SlowCalls{}, 50 * msec, 10 * msec, 3 * of10},
		{"constant is one more", breaker.SlowCalls{}, 3*of10 + 1, 10 * msec, 3 * of10},
		{"constant is one less", breaker.SlowCalls{}, 3*of10 - 1, 10 * msec, 3*of10 - 1},
		{"constant below normal", breaker.SlowCalls{}, 1 * msec, 10 * msec, 1 * msec},
		{"constant, not armed", breaker.SlowCalls{MinimumSamples: 1000}, 50 * msec, 10 * msec, 50 * msec},
		{"constant alone", off, 50 * msec, 10 * msec, 50 * msec},
		{"not armed", breaker.SlowCalls{MinimumSamples: 1000}, 0, 10 * msec, 0},
		{"off", off, 0, 10 * msec, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := brownout(tt.slow)
			s.SlowCallThreshold = tt.constant
			r := newRig(t, s)
			calls(20, breaker.OK, tt.normal)(r)
			require.Equal(t, tt.want, r.Snapshot().SlowThreshold)
			if tt.want == 0 {
				judged(1, time.Hour, false)(r)
				return
			}
			judged(1, tt.want-1, false)(r)
			judged(1, tt.want, true)(r)
			if tt.want < math.MaxInt64 {
				judged(1, math.MaxInt64, true)(r)
			}
		})
	}
}

func TestSlowThresholdUnarmedBelowMinimumSamples(t *testing.T) {
	r := newRig(t, brownout(breaker.SlowCalls{}))
	r.run(
		step{at: 0, do: all(judged(19, 10*msec, false), normalLatency(0)), want: breaker.Closed},
		step{at: 0, do: all(fail(5), normalLatency(0)), want: breaker.Open},
		step{at: 0, do: all(reset, normalLatency(0)), want: breaker.Closed},
		// The twentieth is added first and judged then, by what it arms itself.
		step{at: 0, do: all(judged(1, time.Second, true), normalLatency(of10)), want: breaker.Closed},
	)
	require.Zero(t, newRig(t, brownout(breaker.SlowCalls{})).Snapshot().SlowThreshold)

	// The first of all is held against itself, whatever it took.
	r = newRig(t, brownout(breaker.SlowCalls{MinimumSamples: 1}))
	all(judged(1, 10*time.Second, false), judged(1, 10*time.Second, false))(r)
}

func TestFailureIsNeverSlow(t *testing.T) {
	s := brownout(breaker.SlowCalls{})
	s.SlowCallThreshold, s.ConsecutiveFailures = 1*msec, 1000
	r := newRig(t, s)
	all(calls(10, breaker.Transient, time.Minute), holds(10, 10, 0))(r)
	all(calls(10, breaker.Throttled, time.Minute), calls(10, breaker.Permanent, time.Minute), calls(10, breaker.Canceled, time.Minute), holds(10, 10, 0))(r)
	all(calls(1, breaker.OK, time.Minute), holds(11, 10, 1))(r)
	require.EqualValues(t, 1, r.Snapshot().Totals.Slow)
}

func TestHugeDurationsAreClamped(t *testing.T) {
	r := newRig(t, brownout(breaker.SlowCalls{}))
	all(calls(20, breaker.OK, math.MaxInt64), normalLatency(268_435_456*time.Microsecond))(r)
}

func TestNormalLatencyIsKeptForASliceOrUntilTheSamplesDouble(t *testing.T) {
	r := newRig(t, brownout(breaker.SlowCalls{})) // slices of 75 s
	r.run(
		step{at: 0, do: all(ok(20), normalLatency(of10)), want: breaker.Closed},
		step{at: 75*time.Second - 1, do: all(judged(19, 100*msec, true), normalLatency(of10)), want: breaker.Closed},
		// Computed at 40 samples, half of which are still of 10 ms, and at 80.
		step{at: 75*time.Second - 1, do: all(judged(40, 100*msec, true), normalLatency(of10)), want: breaker.Closed},
		step{at: 75*time.Second - 1, do: all(judged(1, 100*msec, false), normalLatency(of100)), want: breaker.Closed},

		// From the next slice on, at the 81 of its first call and again at 162.
		step{at: 75 * time.Second, do: all(judged(1, 100*msec, false), normalLatency(of100)), want: breaker.Closed},
		step{at: 75 * time.Second, do: all(ok(79), normalLatency(of100)), want: breaker.Closed},
		step{at: 150*time.Second - 1, do: all(judged(1, 100*msec, false), normalLatency(of100)), want: breaker.Closed},
		step{at: 150 * time.Second, do: normalLatency(of10), want: breaker.Closed}, // as a read finds it
		step{at: 150 * time.Second, do: all(judged(1, 100*msec, true), normalLatency(of10)), want: breaker.Closed},
	)
}

func TestNormalLatencyReadStoresNothing(t *testing.T) {
	// The call at 75 s makes the median one of 100 ms. Had the read before it been kept,
	// the call would be held against 10 ms.
	for _, read := range []bool{false, true} {
		r := newRig(t, brownout(breaker.SlowCalls{MinimumSamples: 1}))
		r.run(
			step{at: 0, do: all(calls(1, breaker.OK, 10*msec), judged(1, 100*msec, true)), want: breaker.Closed},
		)
		r.at(75 * time.Second)
		if read {
			all(normalLatency(of10), normalLatency(of10))(r)
		}
		all(calls(1, breaker.OK, 100*msec), normalLatency(of100))(r)
		require.EqualValues(t, 1, r.Snapshot().Totals.Slow, "read before: %v", read)
	}
}

func TestNormalLatencyDecaysWhenRead(t *testing.T) {
	r := newRig(t, brownout(breaker.SlowCalls{}))
	r.run(
		step{at: 0, do: all(ok(20), normalLatency(of10)), want: breaker.Closed},
		step{at: 75*time.Second - 1, do: ok(1), want: breaker.Closed},
		step{at: 75 * time.Second, do: calls(20, breaker.OK, 100*msec), want: breaker.Closed},
		step{at: 300*time.Second - 1, do: normalLatency(of10), want: breaker.Closed},
		step{at: 300 * time.Second, do: normalLatency(of100), want: breaker.Closed}, // the first slice, whole
		step{at: 375*time.Second - 1, do: normalLatency(of100), want: breaker.Closed},
		step{at: 375 * time.Second, do: normalLatency(0), want: breaker.Closed},
		step{at: 374*time.Second + 500*msec, do: normalLatency(of100), want: breaker.Closed}, // the reads moved nothing
		step{at: 1001 * time.Hour, do: normalLatency(0), want: breaker.Closed},
		step{at: 1001 * time.Hour, do: all(judged(19, time.Second, false), normalLatency(0)), want: breaker.Closed},
		step{at: 1001 * time.Hour, do: all(ok(1), normalLatency(1_048_576*time.Microsecond)), want: breaker.Closed},
	)
}

func TestLatencyBaselineOutlivesEveryTransition(t *testing.T) {
	r := newRig(t, breaker.Settings{})
	r.run(
		step{at: 0, do: all(ok(20), fail(5), normalLatency(of10)), want: breaker.Open},
		step{at: 15 * time.Second, do: all(slow(1), normalLatency(of10)), want: breaker.Open}, // a slow probe is seen
		step{at: 45 * time.Second, do: all(ok(2), normalLatency(of10)), want: breaker.Closed},
		step{at: 45 * time.Second, do: all(reset, normalLatency(of10)), want: breaker.Closed},
		step{at: 45 * time.Second, do: all(isolate, normalLatency(of10)), want: breaker.Isolated},
		step{at: 45 * time.Second, do: all(reset, normalLatency(of10)), want: breaker.Closed},
	)
	for _, transition := range r.History() {
		require.Equal(t, of10, transition.NormalLatency, "%v", transition)
	}
}

func TestSlowCallsTrip(t *testing.T) {
	r := newRig(t, withoutChance(breaker.Settings{}))
	r.run(
		step{at: 0, do: ok(200), want: breaker.Closed},
		step{at: 1 * time.Minute, do: all(ok(20), judged(19, 3*of10, true), holds(39, 0, 19)), want: breaker.Closed},
		step{at: 1 * time.Minute, do: judged(30, 3*of10-1, false), want: breaker.Closed},
		step{at: 1 * time.Minute, do: all(judged(30, 3*of10, true), holds(99, 0, 49)), want: breaker.Closed},
		step{at: 1 * time.Minute, do: judged(1, 3*of10, true), want: breaker.Open}, // 50 of 100
	)
	require.Equal(t, []breaker.Cause{breaker.CauseSlowCalls}, r.causes())
	last := r.Snapshot().Last
	require.Equal(t, [3]int{100, 0, 50}, [3]int{last.Calls, last.Failures, last.Slow})
}

func TestSlowCallRatioIsAQuotient(t *testing.T) {
	tests := []struct {
		slow, calls int
		ratio       float64 // 0: the default
		trips       bool
	}{
		{7, 100, 0.07, true},
		{6, 100, 0.07, false},
		{9, 20, 0, false},
		{10, 20, 0, true},
		{496, 1000, 0.5, false},
		{100, 100, 1, true},
		{99, 100, 1, false},
	}
	for _, tt := range tests {
		r := newRig(t, breaker.Settings{
			DisableAdaptive: true, SlowCallThreshold: 50 * msec, SlowCallRatio: tt.ratio, MinimumCalls: tt.calls,
		})
		all(ok(tt.calls-tt.slow), slow(tt.slow-1))(r)
		require.Equal(t, breaker.Closed, r.State(), "%+v, one short of MinimumCalls", tt)
		slow(1)(r)
		require.Equal(t, tt.trips, r.State() == breaker.Open, "%+v", tt)
	}
}
