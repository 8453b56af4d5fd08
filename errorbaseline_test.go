package breaker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// relative are settings with a relative failure trip alone, by the plain rules and out of
// the way of a run. The default has a baseline of 5 min in buckets of 30 s, known from 100
// outcomes on.
func relative(f breaker.Failures) breaker.Settings {
	return withoutChance(breaker.Settings{ConsecutiveFailures: 1_000_000, Failures: f, SlowCalls: breaker.SlowCalls{Off: true}})
}

// normalFailures requires the normal failure rate, as failures of so many outcomes.
func normalFailures(failures, of int) action {
	return func(r *rig) {
		r.t.Helper()
		rate, known := r.NormalFailureRate()
		require.True(r.t, known)
		require.Equal(r.t, float64(failures)/float64(of), rate)
	}
}

func noNormalFailures(r *rig) {
	r.t.Helper()
	rate, known := r.NormalFailureRate()
	require.False(r.t, known)
	require.Zero(r.t, rate)
}

func TestRelativeTripNeedsTwoFailures(t *testing.T) {
	r := newRig(t, relative(breaker.Failures{}))
	r.run(
		step{at: 0, do: ok(1000), want: breaker.Closed},
		step{at: 1 * time.Minute, do: ok(19), want: breaker.Closed},
		step{at: 1 * time.Minute, do: all(fail(1), holds(20, 1, 0)), want: breaker.Closed}, // 5 %, the floor
		step{at: 1 * time.Minute, do: ok(19), want: breaker.Closed},
		step{at: 1 * time.Minute, do: fail(1), want: breaker.Open}, // 2 of 40, the floor too
	)
	require.Equal(t, []breaker.Cause{breaker.CauseRelativeFailures}, r.causes())

	// An absolute ratio is not held to two.
	s := relative(breaker.Failures{})
	s.FailureRatio = 0.05
	r = newRig(t, s)
	r.run(
		step{at: 0, do: ok(1000), want: breaker.Closed},
		step{at: 1 * time.Minute, do: ok(19), want: breaker.Closed},
		step{at: 1 * time.Minute, do: fail(1), want: breaker.Open},
	)
	require.Equal(t, []breaker.Cause{breaker.CauseFailureRatio}, r.causes())
}

func TestRelativeTripIsArmedAtMinimumSamples(t *testing.T) {
	for _, tt := range []struct {
		minimum, before int // successes long before the window
		want            breaker.State
	}{
		{0, 79, breaker.Closed}, // 99 outcomes with the 20 of the window
		{0, 80, breaker.Open},
		{50, 29, breaker.Closed},
		{50, 30, breaker.Open},
		{1, 0, breaker.Closed}, // all that is known is the outage itself, and twice 50 % is out of reach
	} {
		r := newRig(t, relative(breaker.Failures{Multiple: 2, MinimumSamples: tt.minimum}))
		r.run(
			step{at: 0, do: ok(tt.before), want: breaker.Closed},
			step{at: 1 * time.Minute, do: ok(10), want: breaker.Closed},
			step{at: 1 * time.Minute, do: fail(9), want: breaker.Closed},
			step{at: 1 * time.Minute, do: fail(1), want: tt.want},
		)
	}
}

func TestRelativeTripNeedsMinimumCalls(t *testing.T) {
	r := newRig(t, relative(breaker.Failures{}))
	r.run(
		step{at: 0, do: ok(1000), want: breaker.Closed},
		step{at: 1 * time.Minute, do: fail(19), want: breaker.Closed},
		step{at: 1 * time.Minute, do: fail(1), want: breaker.Open},
	)
}

func TestRelativeTripPoint(t *testing.T) {
	tests := []struct {
		name     string
		failures breaker.Failures
		ratio    float64
		normal   int     // failures of 1000 calls, before the window
		point    float64 // by then
		trips    int     // failures of the 100 calls in the window, one fewer of which do not trip
		cause    breaker.Cause
	}{
		{"floor", breaker.Failures{}, 0, 2, 0.05, 5, breaker.CauseRelativeFailures},
		{"floor, never failed", breaker.Failures{}, 0, 0, 0.05, 5, breaker.CauseRelativeFailures},
		{"floor written", breaker.Failures{Floor: 0.2}, 0, 20, 0.2, 20, breaker.CauseRelativeFailures},
		// What fails in the window raises the baseline as well: 17 % are five times 37 of 1100.
		{"multiple", breaker.Failures{}, 0, 20, 0.1, 17, breaker.CauseRelativeFailures},
		{"multiple written", breaker.Failures{Multiple: 2}, 0, 100, 0.2, 23, breaker.CauseRelativeFailures},
		{"at most 1", breaker.Failures{}, 0, 300, 1, 100, breaker.CauseRelativeFailures},
		{"ratio is less", breaker.Failures{}, 0.08, 20, 0.08, 8, breaker.CauseFailureRatio},
		{"ratio is more", breaker.Failures{}, 0.9, 20, 0.1, 17, breaker.CauseRelativeFailures},
		{"ratio is as much", breaker.Failures{}, 0.05, 2, 0.05, 5, breaker.CauseFailureRatio},
		{"ratio alone", breaker.Failures{Off: true}, 0.3, 20, 0.3, 30, breaker.CauseFailureRatio},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, failures := range []int{tt.trips - 1, tt.trips} {
				s := relative(tt.failures)
				s.FailureRatio, s.MinimumCalls = tt.ratio, 100
				r := newRig(t, s)
				all(ok(1000-tt.normal), fail(tt.normal))(r)
				r.at(1 * time.Minute)
				require.InDelta(t, tt.point, r.Snapshot().TripRatio, 1e-12)
				all(ok(100-failures), fail(failures-1))(r)
				require.Equal(t, breaker.Closed, r.State(), "one short of MinimumCalls")
				fail(1)(r)
				if failures < tt.trips {
					require.Empty(t, r.causes(), "%d failures", failures)
				} else {
					require.Equal(t, []breaker.Cause{tt.cause}, r.causes(), "%d failures", failures)
				}
			}
		})
	}
}

func TestTripRatioUnknown(t *testing.T) {
	r := newRig(t, relative(breaker.Failures{}))
	ok(99)(r)
	require.Zero(t, r.Snapshot().TripRatio, "nothing is normal yet")
	ok(1)(r)
	require.Equal(t, 0.05, r.Snapshot().TripRatio)

	s := relative(breaker.Failures{})
	s.FailureRatio = 0.5
	r = newRig(t, s)
	require.Equal(t, 0.5, r.Snapshot().TripRatio)

	require.Zero(t, newRig(t, breaker.Settings{DisableAdaptive: true}).Snapshot().TripRatio)
}

func TestErrorBaselineIsFedByEvidenceAlone(t *testing.T) {
	s := relative(breaker.Failures{MinimumSamples: 1})
	s.ConsecutiveFailures, s.ProbeSuccesses, s.HalfOpenProbes = 3, 1, 2
	s.Recovery = breaker.Recovery{InitialFraction: 0.5}
	r := newRig(t, s)
	noEvidence := all(
		calls(1, breaker.Throttled, 0), calls(1, breaker.Permanent, 0), calls(1, breaker.Canceled, 0),
		calls(1, breaker.Verdict(99), 0), start("released"), release("released"),
	)
	r.run(
		step{at: 0, do: noNormalFailures, want: breaker.Closed},
		step{at: 0, do: all(noEvidence, noNormalFailures), want: breaker.Closed},
		step{at: 0, do: all(ok(1), normalFailures(0, 1)), want: breaker.Closed},
		step{at: 0, do: all(fail(1), normalFailures(1, 2)), want: breaker.Closed},
		step{at: 0, do: all(noEvidence, normalFailures(1, 2)), want: breaker.Closed},

		// Open: what was admitted before is too late.
		step{at: 0, do: all(start("before"), start("too"), fail(2), normalFailures(3, 4)), want: breaker.Open},
		step{at: 1 * time.Second, do: all(end("before", breaker.OK, 0), normalFailures(3, 4)), want: breaker.Open},
		step{at: 1 * time.Second, do: all(refuse(5), normalFailures(3, 4)), want: breaker.Open},

		// HalfOpen.
		step{at: 15 * time.Second, do: all(noEvidence, normalFailures(3, 4)), want: breaker.HalfOpen},
		step{at: 15 * time.Second, do: all(end("too", breaker.Transient, 0), normalFailures(3, 4)), want: breaker.HalfOpen},
		step{at: 15 * time.Second, do: all(start("other"), fail(1), normalFailures(4, 5)), want: breaker.Open},
		step{at: 15 * time.Second, do: all(end("other", breaker.OK, 0), normalFailures(4, 5)), want: breaker.Open},

		// Recovering, where every second call is admitted.
		step{at: 45 * time.Second, do: all(ok(1), normalFailures(4, 6)), want: breaker.Recovering},
		step{at: 45 * time.Second, do: all(refuse(1), ok(1), normalFailures(4, 7)), want: breaker.Recovering},
		step{at: 45 * time.Second, do: all(refuse(1), calls(1, breaker.Throttled, 0), normalFailures(4, 7)), want: breaker.Recovering},
		step{at: 45 * time.Second, do: all(refuse(1), fail(1), normalFailures(5, 8)), want: breaker.Open},

		// Isolated.
		step{at: 45 * time.Second, do: all(reset, start("isolated"), isolate, end("isolated", breaker.OK, 0), normalFailures(5, 8)), want: breaker.Isolated},
	)
}

func TestErrorBaselineOutlivesEveryTransition(t *testing.T) {
	s := relative(breaker.Failures{})
	s.ConsecutiveFailures = 5
	r := newRig(t, s)
	r.run(
		step{at: 0, do: all(ok(195), fail(5), normalFailures(5, 200)), want: breaker.Open},
		step{at: 15 * time.Second, do: all(ok(2), normalFailures(5, 202)), want: breaker.Closed},
		step{at: 15 * time.Second, do: all(reset, normalFailures(5, 202)), want: breaker.Closed},
		step{at: 15 * time.Second, do: all(isolate, normalFailures(5, 202)), want: breaker.Isolated},
		step{at: 15 * time.Second, do: all(reset, normalFailures(5, 202)), want: breaker.Closed},
	)
	for _, transition := range r.History() {
		require.True(t, transition.NormalFailureRateKnown, "%v", transition)
	}
	require.Equal(t, 5.0/200, r.History()[0].NormalFailureRate)
}

func TestErrorBaselineDecaysWhenRead(t *testing.T) {
	r := newRig(t, relative(breaker.Failures{}))
	r.run(
		step{at: 0, do: all(ok(39), fail(1), noNormalFailures), want: breaker.Closed},
		step{at: 30*time.Second - 1, do: all(ok(59), noNormalFailures), want: breaker.Closed},
		step{at: 30 * time.Second, do: all(ok(1), normalFailures(1, 100)), want: breaker.Closed},
		step{at: 60 * time.Second, do: all(ok(99), normalFailures(1, 199)), want: breaker.Closed},
		step{at: 5*time.Minute - 1, do: normalFailures(1, 199), want: breaker.Closed},
		step{at: 5 * time.Minute, do: normalFailures(0, 100), want: breaker.Closed}, // the first bucket, whole
		step{at: 5*time.Minute + 30*time.Second - 1, do: normalFailures(0, 100), want: breaker.Closed},
		step{at: 5*time.Minute + 30*time.Second, do: noNormalFailures, want: breaker.Closed},                              // 99 are too few
		step{at: 5*time.Minute + 29*time.Second + 500*time.Millisecond, do: normalFailures(0, 100), want: breaker.Closed}, // the reads moved nothing
		step{at: 6 * time.Minute, do: noNormalFailures, want: breaker.Closed},
		step{at: 1001 * time.Hour, do: noNormalFailures, want: breaker.Closed},
	)
}

func TestRelativeTripIsDisarmedByAnIdleWindow(t *testing.T) {
	for _, idle := range []time.Duration{5 * time.Minute, 10 * time.Minute, 1001 * time.Hour} {
		r := newRig(t, relative(breaker.Failures{}))
		r.run(
			step{at: 0, do: all(ok(1000), normalFailures(0, 1000)), want: breaker.Closed},
			step{at: 5*time.Minute - 1, do: normalFailures(0, 1000), want: breaker.Closed},
			step{at: idle, do: all(ok(80), noNormalFailures), want: breaker.Closed},
			step{at: idle, do: all(fail(19), noNormalFailures), want: breaker.Closed},
			step{at: idle, do: all(ok(901), normalFailures(19, 1000)), want: breaker.Closed},
			step{at: idle + 1*time.Minute, do: all(ok(80), fail(14)), want: breaker.Closed},
			step{at: idle + 1*time.Minute, do: fail(1), want: breaker.Open}, // 15 of 95, 5 times 34 of 1095
		)
	}
}

func TestNoErrorBaselineWhereFailuresIsOff(t *testing.T) {
	for _, s := range []breaker.Settings{
		{DisableAdaptive: true, FailureRatio: 0.9},
		{Failures: breaker.Failures{Off: true}, FailureRatio: 0.9},
		{TripWindow: 24 * time.Hour, FailureRatio: 0.9},
	} {
		r := newRig(t, s)
		all(ok(200), fail(2), noNormalFailures)(r)
		require.Equal(t, 0.9, r.Snapshot().TripRatio)
		require.False(t, r.Snapshot().NormalFailureRateKnown)
	}
}
