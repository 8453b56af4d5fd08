package breaker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// hang starts n calls that stay under way: call 0, call 1 and so on.
func hang(n int) action {
	return func(r *rig) {
		r.t.Helper()
		for i := range n {
			start(fmt.Sprint("call ", i))(r)
		}
	}
}

// land ends n hung calls.
func land(n int, v breaker.Verdict) action {
	return func(r *rig) {
		for i := range n {
			end(fmt.Sprint("call ", i), v, time.Minute)(r)
		}
	}
}

// evidence is all that a decision could be made from.
type evidence struct {
	calls, failures, slow, run int
	rate                       float64
	latency                    time.Duration
	transitions                int
}

func (r *rig) evidence() evidence {
	s := r.Snapshot()
	return evidence{s.Calls, s.Failures, s.Slow, s.Run, s.NormalFailureRate, s.NormalLatency, len(r.History())}
}

func TestCallsThatHungThroughAnOutageDoNotTripAgain(t *testing.T) {
	for _, v := range []breaker.Verdict{breaker.OK, breaker.Transient, breaker.Throttled} {
		t.Run(v.String(), func(t *testing.T) {
			r := newRig(t, longMemory)
			r.run(
				step{at: 0, do: all(learn, hang(100)), want: breaker.Closed},
				step{at: 1 * sec, do: fail(7), want: breaker.Open},
				step{at: 16 * sec, do: ok(2), want: breaker.Closed},
				step{at: 17 * sec, do: ok(3), want: breaker.Closed},
			)
			before := r.evidence()
			r.run(step{at: 17 * sec, do: land(100, v), want: breaker.Closed})
			require.Equal(t, before, r.evidence())

			totals := r.Snapshot().Totals
			require.Equal(t, uint64(100), totals.Stale)
			require.Equal(t, uint64(1000+100+7+2+3), totals.Admitted, "stale outcomes are counted there too")
		})
	}
}

func TestStaleReleaseIsNoStaleOutcome(t *testing.T) {
	r := newRig(t, plain)
	all(start("a"), fail(5), release("a"))(r)
	totals := r.Snapshot().Totals
	require.Zero(t, totals.Stale)
	require.Equal(t, uint64(1), totals.Released)
}

func TestStaleOutcomeSettlesNoProbe(t *testing.T) {
	r := newRig(t, plain)
	r.run(
		step{at: 0, do: all(hang(4), fail(5)), want: breaker.Open},
		step{at: 1 * sec, do: end("call 0", breaker.OK, 0), want: breaker.Open},
		step{at: 15 * sec, do: start("probe"), want: breaker.HalfOpen},
		step{at: 15 * sec, do: end("call 1", breaker.OK, 0), want: breaker.HalfOpen},
		step{at: 15 * sec, do: end("call 2", breaker.OK, 0), want: breaker.HalfOpen},
		step{at: 15 * sec, do: end("call 3", breaker.Transient, 0), want: breaker.HalfOpen},
		step{at: 15 * sec, do: refuse(1), want: breaker.HalfOpen}, // the slot is still taken
		step{at: 15 * sec, do: end("probe", breaker.OK, 0), want: breaker.HalfOpen},
		step{at: 15 * sec, do: ok(1), want: breaker.Closed},
	)
	require.Equal(t, uint64(4), r.Snapshot().Totals.Stale)
}

func TestStaleOutcomeDecidesNothingInARamp(t *testing.T) {
	s := plain
	s.Recovery = breaker.RecoveryOver(0.25)
	s.SlowCallThreshold = sec
	r := newRig(t, s)
	r.run(
		step{at: 0, do: all(hang(2), fail(5)), want: breaker.Open},
		step{at: 15 * sec, do: ok(2), want: breaker.Recovering},
		step{at: 17 * sec, do: end("call 0", breaker.Transient, time.Minute), want: breaker.Recovering},
		step{at: 17 * sec, do: end("call 1", breaker.OK, time.Minute), want: breaker.Recovering},
		step{at: 18750 * msec, want: breaker.Closed}, // no stall
	)
}

func TestProbeOfAnEarlierSpellIsStale(t *testing.T) {
	s := plain
	s.HalfOpenProbes = 3
	r := newRig(t, s)
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: 15 * sec, do: all(start("a"), start("b"), start("c")), want: breaker.HalfOpen},
		step{at: 16 * sec, do: end("a", breaker.Transient, 0), want: breaker.Open},
		step{at: 17 * sec, do: end("b", breaker.OK, 0), want: breaker.Open},
		step{at: 46 * sec, do: all(start("d"), start("e"), start("f")), want: breaker.HalfOpen},
		step{at: 46 * sec, do: end("c", breaker.Transient, 0), want: breaker.HalfOpen},
		step{at: 46 * sec, do: refuse(1), want: breaker.HalfOpen}, // c had no slot of this spell
		step{at: 46 * sec, do: end("d", breaker.OK, 0), want: breaker.HalfOpen},
		step{at: 46 * sec, do: end("e", breaker.OK, 0), want: breaker.Closed},
	)
	require.Equal(t, uint64(2), r.Snapshot().Totals.Stale)
}

// The probes beyond those that were needed are of the newest generation, and as good
// evidence as any call.
func TestSurplusProbeLandsAsAnOrdinaryCall(t *testing.T) {
	s := plain
	s.HalfOpenProbes, s.ProbeSuccesses, s.ConsecutiveFailures = 3, 1, 1
	r := newRig(t, s)
	r.run(
		step{at: 0, do: fail(1), want: breaker.Open},
		step{at: 15 * sec, do: all(start("a"), start("b"), start("c")), want: breaker.HalfOpen},
		step{at: 15 * sec, do: end("a", breaker.OK, 0), want: breaker.Closed},
		step{at: 15 * sec, do: end("b", breaker.OK, 0), want: breaker.Closed},
		step{at: 15 * sec, do: end("c", breaker.Transient, 0), want: breaker.Open},
	)
	require.Equal(t, breaker.CauseConsecutiveFailures, r.Snapshot().Last.Cause)
	require.Zero(t, r.Snapshot().Totals.Stale)

	s.Recovery = breaker.RecoveryOver(0.25)
	r = newRig(t, s)
	r.run(
		step{at: 0, do: fail(1), want: breaker.Open},
		step{at: 15 * sec, do: all(start("a"), start("b")), want: breaker.HalfOpen},
		step{at: 15 * sec, do: end("a", breaker.OK, 0), want: breaker.Recovering},
		step{at: 15 * sec, do: end("b", breaker.Transient, 0), want: breaker.Open},
	)
	require.Equal(t, breaker.CauseRampFailed, r.Snapshot().Last.Cause)
}

func TestProbeUnderWayAcrossAReset(t *testing.T) {
	s := plain
	s.ConsecutiveFailures = 2
	r := newRig(t, s)
	r.run(
		step{at: 0, do: fail(2), want: breaker.Open},
		step{at: 15 * sec, do: start("probe"), want: breaker.HalfOpen},
		step{at: 15 * sec, do: reset, want: breaker.Closed},
		step{at: 15 * sec, do: fail(1), want: breaker.Closed},
		step{at: 15 * sec, do: end("probe", breaker.Transient, 0), want: breaker.Open}, // and can trip
	)
	require.Equal(t, breaker.CauseConsecutiveFailures, r.Snapshot().Last.Cause)
	require.Equal(t, 15*sec, r.lastBreak())
	require.Zero(t, r.Snapshot().Totals.Stale)
}

func TestIsolateBeginsNoGeneration(t *testing.T) {
	r := newRig(t, plain)
	r.run(
		step{at: 0, do: all(hang(5), isolate), want: breaker.Isolated},
		step{at: 0, do: reset, want: breaker.Closed},
		step{at: 0, do: land(4, breaker.Transient), want: breaker.Closed},
		step{at: 0, do: end("call 4", breaker.Transient, 0), want: breaker.Open},
	)
	require.Zero(t, r.Snapshot().Totals.Stale)
}

func TestOutcomesWhileIsolatedDecideNothing(t *testing.T) {
	r := newRig(t, longMemory)
	r.run(step{at: 0, do: all(learn, hang(60), isolate), want: breaker.Isolated})
	before := r.evidence()
	r.run(step{at: 1 * sec, do: land(30, breaker.OK), want: breaker.Isolated})
	r.run(step{at: 1 * sec, do: land(60, breaker.Transient), want: breaker.Isolated}) // the other thirty
	require.Equal(t, before, r.evidence())
	require.Zero(t, r.Snapshot().Totals.Stale, "they are of this generation")
}

func TestResetDoesNotReviveAnEarlierGeneration(t *testing.T) {
	r := newRig(t, plain)
	r.run(
		step{at: 0, do: all(hang(10), fail(5)), want: breaker.Open},
		step{at: 1 * sec, do: reset, want: breaker.Closed},
		step{at: 2 * sec, do: land(10, breaker.Transient), want: breaker.Closed},
	)
	require.Equal(t, uint64(10), r.Snapshot().Totals.Stale)
}

// An open breaker learns nothing, whatever lands.
func TestOutcomesWhileOpenDecideNothing(t *testing.T) {
	r := newRig(t, longMemory)
	r.run(step{at: 0, do: all(learn, hang(60), fail(7)), want: breaker.Open})
	before := r.evidence()
	r.run(step{at: 15 * sec, do: land(60, breaker.OK), want: breaker.HalfOpen})
	require.Equal(t, before, r.evidence())
	require.Equal(t, breaker.CauseConsecutiveFailures, r.Snapshot().Last.Cause)
}
