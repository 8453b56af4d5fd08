package breaker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// standing takes a rig of ramped settings into each state, in a break or a ramp of ten
// seconds that began at 10 s.
var standing = map[breaker.State]action{
	breaker.Closed: func(r *rig) { r.at(10 * sec); fail(4)(r) },
	breaker.Open:   func(r *rig) { r.at(10 * sec); fail(5)(r) },
	breaker.HalfOpen: func(r *rig) {
		fail(5)(r)
		r.at(10 * sec)
		start("probe")(r)
	},
	breaker.Recovering: func(r *rig) {
		fail(5)(r)
		r.at(10 * sec)
		ok(2)(r)
	},
	breaker.Isolated: func(r *rig) {
		fail(4)(r)
		r.at(10 * sec)
		r.Isolate()
	},
}

func inEachState(t *testing.T, test func(*testing.T, *rig, breaker.State)) {
	for state, enter := range standing {
		t.Run(state.String(), func(t *testing.T) {
			r := newRig(t, ramped())
			enter(r)
			require.Equal(t, state, r.State())
			test(t, r, state)
		})
	}
}

func TestResetClosesAtOnce(t *testing.T) {
	inEachState(t, func(t *testing.T, r *rig, from breaker.State) {
		history, told := len(r.History()), len(r.told)
		r.Reset()
		require.Equal(t, breaker.Closed, r.State())
		cut := r.Snapshot()
		require.Equal(t, []int{0, 0, 0, 0, 0, 0},
			[]int{cut.Calls, cut.Failures, cut.Slow, cut.Run, cut.ConsecutiveOpens, cut.ProbesInFlight})
		require.Len(t, r.told, told, "no event")
		require.Zero(t, cut.Totals.Recoveries)
		if from == breaker.Closed {
			require.Len(t, r.History(), history, "nothing changed its state")
		} else {
			require.Len(t, r.History(), history+1)
			require.Equal(t, breaker.CauseReset, cut.Last.Cause)
			require.Equal(t, from, cut.Last.From)
			require.Equal(t, breaker.Closed, cut.Last.To)
		}
		r.Reset()
		require.LessOrEqual(t, len(r.History()), history+1, "and once is enough")

		require.Equal(t, "xxxxxxxx", r.offer(8), "without a ramp")
		fail(4)(r)
		require.Equal(t, breaker.Closed, r.State(), "the run is forgotten")
		fail(1)(r)
		require.Equal(t, 10*sec, r.lastBreak(), "and so is the growth")
	})
}

func TestIsolateRefusesUntilReset(t *testing.T) {
	inEachState(t, func(t *testing.T, r *rig, from breaker.State) {
		history, told := len(r.History()), len(r.told)
		r.Isolate()
		r.Isolate()
		want := history + 1
		if from == breaker.Isolated {
			want = history
		}
		require.Len(t, r.History(), want, "repeated, it changes nothing")
		last := r.Snapshot().Last
		require.Equal(t, breaker.CauseIsolated, last.Cause)
		require.Len(t, r.told, told, "no event")
		openedAt, known := r.OpenedAt()
		require.True(t, known)
		require.Equal(t, last.At, openedAt)
		require.Zero(t, r.Snapshot().ProbesInFlight)

		for _, at := range []time.Duration{11 * sec, time.Hour, 30 * year} {
			r.at(at)
			r.ProbeNow()
			refuse(3)(r)
			require.Equal(t, breaker.Isolated, r.State(), "it does not heal by itself")
		}
		r.Reset()
		ok(1)(r)
		require.Equal(t, breaker.Closed, r.State())
	})
}

func TestProbeNowIsForAnOpenBreakerAlone(t *testing.T) {
	inEachState(t, func(t *testing.T, r *rig, state breaker.State) {
		history, told := r.History(), len(r.told)
		before := r.Snapshot()
		r.ProbeNow()
		require.Equal(t, history, r.History(), "it is no transition")
		require.Len(t, r.told, told)
		if state != breaker.Open {
			require.Equal(t, before, r.Snapshot())
			return
		}
		require.Equal(t, breaker.HalfOpen, r.State())
		left(0)(r)
		require.Equal(t, 10*sec, r.Snapshot().Break, "served in full")
		r.ProbeNow()
		start("probe")(r)
		require.Equal(t, breaker.CauseProbeRequested, r.Snapshot().Last.Cause)
		require.Len(t, r.told, told+1)
		refuse(1)(r)
	})
}

func TestProbeNowAfterTheBreakDoesNothing(t *testing.T) {
	r := newRig(t, plain)
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: 15 * sec, do: all(probeNow, ok(1)), want: breaker.HalfOpen},
	)
	require.Equal(t, breaker.CauseBreakElapsed, r.Snapshot().Last.Cause)
}

func TestProbeNowIsForOneBreak(t *testing.T) {
	r := newRig(t, plain)
	r.run(
		step{at: 0, do: all(fail(5), probeNow, fail(1)), want: breaker.Open},
		step{at: 30*sec - 1, do: refuse(1), want: breaker.Open},
		step{at: 30 * sec, do: ok(1), want: breaker.HalfOpen},
	)
	require.Equal(t, breaker.CauseBreakElapsed, r.Snapshot().Last.Cause)

	r = newRig(t, plain)
	r.run(
		step{at: 0, do: all(fail(5), probeNow, reset, fail(5)), want: breaker.Open},
		step{at: 15 * sec, do: ok(1), want: breaker.HalfOpen},
	)
	require.Equal(t, breaker.CauseBreakElapsed, r.Snapshot().Last.Cause)
}
