package breaker_test

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// What the other tests do not show of the faults in docs/known-faults.md.

func TestCallsFromBeforeTheTripFreeNoSlot(t *testing.T) {
	leavings := map[string]action{
		"canceled": all(end("call 0", breaker.Canceled, 0), end("call 1", breaker.Canceled, 0)),
		"released": all(release("call 0"), release("call 1")),
		"failed":   land(2, breaker.Transient),
	}
	for name, leave := range leavings {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, plain)
			r.run(
				step{at: 0, do: all(hang(2), fail(5)), want: breaker.Open},
				step{at: 15 * sec, do: all(start("probe"), refuse(1)), want: breaker.HalfOpen},
				step{at: 16 * sec, do: all(leave, refuse(1)), want: breaker.HalfOpen},
			)
			require.Equal(t, 1, r.Snapshot().ProbesInFlight)
			r.run(step{at: 16 * sec, do: all(end("probe", breaker.OK, 0), ok(1)), want: breaker.Closed})
		})
	}
}

// The call that ends a break is the first probe, and the one that opens has been recorded.
func TestCallerThatFlipsTheStateIsCounted(t *testing.T) {
	s := plain
	s.ProbeSuccesses = 1
	s.FailureRatio = 1
	r := newRig(t, s)
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: 15 * sec, do: all(start("flips"), refuse(1)), want: breaker.HalfOpen},
	)
	require.Equal(t, 1, r.Snapshot().ProbesInFlight)
	r.run(step{at: 15 * sec, do: end("flips", breaker.OK, 0), want: breaker.Closed})

	opened := r.History()[0]
	require.Equal(t, []int{5, 5, 5}, []int{opened.Run, opened.Failures, opened.Calls})
	require.Equal(t, breaker.Totals{OK: 1, Transient: 5}, outcomes(r.Snapshot().Totals))
}

func TestCallerWhoWaitsExactlyRetryAfterIsAdmitted(t *testing.T) {
	for _, jitter := range []breaker.Jitter{breaker.JitterEqual, breaker.JitterNone, breaker.JitterFull} {
		for _, d := range []time.Duration{1, 999, sec/3 + 1, 15 * sec, 100*year + 1} {
			r := newRig(t, breaker.Settings{
				ConsecutiveFailures: 1, BreakDuration: d, BreakJitter: jitter, Random: func() float64 { return 0.7 },
			})
			fail(1)(r)
			if wait, _ := r.RetryAfter(); wait > 0 { // a jitter makes nothing of a nanosecond
				_, err := r.TryAdmit(bg)
				var refusal *breaker.RejectedError
				require.ErrorAs(t, err, &refusal)
				told, known := refusal.RetryAfter()
				require.True(t, known)
				require.Equal(t, wait, told)
				r.at(told - 1)
				refuse(1)(r)
				r.at(told)
			}
			_, err := r.TryAdmit(bg)
			require.NoError(t, err, "%v of %v", jitter, d)
		}
	}
}

func TestFailuresFarApartAddUp(t *testing.T) {
	r := newRig(t, breaker.Settings{Name: "at night"})
	for i := range 4 {
		r.run(step{at: time.Duration(i) * year / 12, do: fail(1), want: breaker.Closed})
	}
	r.run(step{at: year, do: fail(1), want: breaker.Open})
	require.Equal(t, []breaker.Cause{breaker.CauseConsecutiveFailures}, r.causes())
}

// A call counts when it ends, however long it took.
func TestFailureThatOutlastsTheWindowCounts(t *testing.T) {
	for name, s := range map[string]breaker.Settings{
		"in the run":    plain,
		"in the window": {DisableAdaptive: true, ConsecutiveFailures: 100, FailureRatio: 0.5, MinimumCalls: 5},
		"by number":     {DisableAdaptive: true, ConsecutiveFailures: 100, FailureRatio: 0.5, TripCalls: 5},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, s)
			r.run(
				step{at: 0, do: hang(5), want: breaker.Closed},
				step{at: time.Hour, do: land(4, breaker.Transient), want: breaker.Closed},
				step{at: time.Hour, do: end("call 4", breaker.Transient, time.Hour), want: breaker.Open},
			)
		})
	}
}

func TestRefusalsAreNoFailures(t *testing.T) {
	s := ramped()
	s.FailureRatio = 0.5
	s.MinimumCalls = 5
	refuseMany := func(r *rig) {
		before := r.evidence()
		for range 200 {
			attempt, _ := r.TryAdmit(bg) // a ramp admits some
			attempt.Release()
		}
		require.Equal(t, before, r.evidence())
	}
	r := newRig(t, s)
	r.run(
		step{at: 0, do: all(fail(5), refuseMany), want: breaker.Open},
		step{at: 10 * sec, do: all(start("probe"), refuseMany, end("probe", breaker.OK, 0)), want: breaker.HalfOpen},
		step{at: 10 * sec, do: all(ok(1), refuseMany), want: breaker.Recovering},
		step{at: 20 * sec, do: ok(1), want: breaker.Closed},
		step{at: 20 * sec, do: all(isolate, refuseMany), want: breaker.Isolated},
	)
	totals := r.Snapshot().Totals
	require.Equal(t, uint64(5), totals.Transient)
	require.Greater(t, totals.Refused, uint64(600))
}

// A hundred breakers with the default settings open at the same instant.
func TestFleetThatOpenedTogetherDoesNotProbeTogether(t *testing.T) {
	const fleet = 100
	random := rand.New(rand.NewPCG(1, 2))
	quarters := map[time.Duration]int{} // of the random half of the break
	for range fleet {
		r := newRig(t, breaker.Settings{Random: random.Float64})
		fail(5)(r)
		wait, known := r.RetryAfter()
		require.True(t, known)
		require.True(t, wait >= 7500*msec && wait < 15*sec, wait)
		quarters[(wait-7500*msec)/(1875*msec)]++
	}
	for q := range time.Duration(4) {
		require.Greater(t, quarters[q], fleet/10, "of %v", quarters)
	}
}

// Nothing holds a breaker but its users: no goroutine, no timer, no registry.
func TestDroppedBreakerIsCollected(t *testing.T) {
	drop := func() weak.Pointer[breaker.Breaker] {
		b := breaker.MustNew(breaker.Settings{Recovery: breaker.RecoveryOver(0.25)})
		for range 5 {
			attempt, err := b.TryAdmit(bg)
			require.NoError(t, err)
			attempt.Done(errDown)
		}
		_, err := b.TryAdmit(bg)
		require.ErrorIs(t, err, breaker.ErrRejected)
		b.ProbeNow()
		_, err = b.TryAdmit(bg) // a probe that never ends
		require.NoError(t, err)
		return weak.Make(b)
	}
	left := drop()
	runtime.GC()
	require.Nil(t, left.Value())
}
