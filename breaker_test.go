package breaker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

const (
	sec  = time.Second
	msec = time.Millisecond
)

// plain is a breaker that trips on a run of failures alone.
var plain = breaker.Settings{Name: "db", DisableAdaptive: true}

func TestClosedAdmitsEverything(t *testing.T) {
	r := newRig(t, plain)
	for range 100 {
		start("under way")(r)
	}
	require.Equal(t, breaker.Closed, r.State())
	require.Empty(t, r.History())
	require.Zero(t, r.Snapshot().Totals.Refused)
}

func TestFailedProbeReopensWithALongerBreak(t *testing.T) {
	r := newRig(t, plain)
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: 15*sec - 1, do: refuse(3), want: breaker.Open},
		step{at: 15 * sec, do: fail(1), want: breaker.Open},
		step{at: 45*sec - 1, do: refuse(1), want: breaker.Open},
		step{at: 45 * sec, do: ok(1), want: breaker.HalfOpen},
		step{at: 46 * sec, do: fail(1), want: breaker.Open}, // one success more was needed
		step{at: 106*sec - 1, do: refuse(1), want: breaker.Open},
		step{at: 106 * sec, do: ok(2), want: breaker.Closed},
	)
	require.Equal(t, []breaker.Cause{
		breaker.CauseConsecutiveFailures,
		breaker.CauseBreakElapsed, breaker.CauseProbeFailed,
		breaker.CauseBreakElapsed, breaker.CauseProbeFailed,
		breaker.CauseBreakElapsed, breaker.CauseProbesSucceeded,
	}, r.causes())
}

func TestProbeSuccessesClose(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		s := plain
		s.ProbeSuccesses = n
		r := newRig(t, s)
		r.run(step{at: 0, do: fail(5), want: breaker.Open})
		if n > 1 {
			r.run(step{at: 15 * sec, do: ok(n - 1), want: breaker.HalfOpen})
		}
		r.run(step{at: 16 * sec, do: ok(1), want: breaker.Closed})
	}
}

// A baseline of a thousand good calls, out of the trip window by the time that the
// others come. By the plain rules.
var (
	longMemory = withoutChance(breaker.Settings{
		Name:                "db",
		ConsecutiveFailures: 7,
		MinimumCalls:        10,
		TripWindow:          10 * sec,
		Failures:            breaker.Failures{Multiple: 5, Window: 5 * time.Minute, MinimumSamples: 100},
		SlowCalls:           breaker.SlowCalls{Multiple: 3, Window: 5 * time.Minute},
	})
	learn = ok(1000)
)

func TestTripOrder(t *testing.T) {
	// Ten calls that make MinimumCalls at the last one, and satisfy every trip from
	// the one that is expected on.
	cases := map[string]struct {
		ratio float64
		do    action
		want  breaker.Cause
	}{
		"run before all":         {0.5, all(slow(3), fail(7)), breaker.CauseConsecutiveFailures},
		"absolute before others": {0.5, all(fail(3), slow(1), fail(2), slow(4)), breaker.CauseFailureRatio},
		"relative before slow":   {0, all(fail(3), slow(1), fail(2), slow(4)), breaker.CauseRelativeFailures},
		"relative if the absolute is out of reach": {
			0.6, all(fail(3), slow(1), fail(2), slow(4)), breaker.CauseRelativeFailures},
		"slow alone":          {0.5, slow(10), breaker.CauseSlowCalls},
		"slow, by a failure":  {0.5, all(slow(9), fail(1)), breaker.CauseSlowCalls},
		"absolute, by a slow": {0.2, all(fail(2), ok(7), slow(1)), breaker.CauseFailureRatio},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := longMemory
			s.FailureRatio = c.ratio
			r := newRig(t, s)
			r.run(
				step{at: 0, do: learn, want: breaker.Closed},
				step{at: 20 * sec, do: c.do, want: breaker.Open},
			)
			require.Equal(t, []breaker.Cause{c.want}, r.causes())
			last := r.History()[0]
			require.Equal(t, 10, last.Calls, "it opens at the call that makes MinimumCalls, and not before")
		})
	}
}

func TestRunNeedsNoMinimumOfCalls(t *testing.T) {
	r := newRig(t, longMemory)
	r.run(
		step{at: 0, do: fail(6), want: breaker.Closed},
		step{at: time.Hour, do: fail(1), want: breaker.Open}, // a run knows no window
	)
	require.Equal(t, []breaker.Cause{breaker.CauseConsecutiveFailures}, r.causes())
}

func TestFastSuccessEvaluatesNothing(t *testing.T) {
	s := plain
	s.FailureRatio = 0.1
	s.SlowCallThreshold = sec
	r := newRig(t, s)
	r.run(
		step{at: 0, do: all(fail(3), ok(16)), want: breaker.Closed}, // 3 of 19
		step{at: 0, do: ok(1), want: breaker.Closed},                // 3 of 20, and nobody asks
		step{at: 0, do: ok(1), want: breaker.Closed},
		step{at: 0, do: slow(1), want: breaker.Open}, // a slow one asks
	)
	require.Equal(t, []breaker.Cause{breaker.CauseFailureRatio}, r.causes())
}

func TestRunOfFailures(t *testing.T) {
	one := func(v breaker.Verdict) action { return calls(1, v, 10*msec) }
	cases := map[string]struct {
		between action
		want    int // the run after 4 failures and what comes between
	}{
		"a fast success ends it":      {ok(1), 0},
		"a slow success ends it":      {slow(1), 0},
		"a slow failure is a failure": {all(ok(1), calls(1, breaker.Transient, time.Hour)), 1},
		"throttled is no evidence":    {one(breaker.Throttled), 4},
		"permanent is no evidence":    {one(breaker.Permanent), 4},
		"canceled is no evidence":     {one(breaker.Canceled), 4},
		"unknown counts as permanent": {one(breaker.Verdict(200)), 4},
		"nor is a release":            {all(start("a"), release("a")), 4},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := plain
			s.SlowCallThreshold = sec
			r := newRig(t, s)
			r.run(step{at: 0, do: all(fail(4), c.between), want: breaker.Closed})
			require.Equal(t, c.want, r.Snapshot().Run)
			r.run(step{at: 0, do: fail(5 - c.want), want: breaker.Open})
		})
	}
}

func TestStateIsWhatTheNextCallWouldFind(t *testing.T) {
	s := plain
	s.Recovery = breaker.RecoveryOver(0.2) // 3 s
	r := newRig(t, s)
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: 15*sec - 1, want: breaker.Open},
		step{at: 15 * sec, want: breaker.HalfOpen},
		step{at: time.Hour, want: breaker.HalfOpen},
	)
	require.Len(t, r.History(), 1, "to look is not to move")
	require.Zero(t, r.Snapshot().ProbesInFlight)
	r.run(
		step{at: time.Hour, do: ok(2), want: breaker.Recovering},
		step{at: time.Hour + 3*sec - time.Microsecond, want: breaker.Recovering},
		step{at: time.Hour + 3*sec, want: breaker.Closed},
	)
	require.Equal(t, breaker.CauseProbesSucceeded, r.Snapshot().Last.Cause)
	r.run(step{at: time.Hour + 3*sec, do: start("a"), want: breaker.Closed})
	require.Equal(t, breaker.CauseRampCompleted, r.Snapshot().Last.Cause)
}

func TestOpenedAt(t *testing.T) {
	s := plain
	s.Recovery = breaker.RecoveryOver(0.2)
	r := newRig(t, s)
	opened := func(at time.Duration) {
		t.Helper()
		got, known := r.OpenedAt()
		require.True(t, known)
		require.Equal(t, r.born.Add(at), got)
		require.Equal(t, got, r.Snapshot().OpenedAt)
	}
	unknown := func() {
		t.Helper()
		got, known := r.OpenedAt()
		require.False(t, known)
		require.Zero(t, got)
		require.Zero(t, r.Snapshot().OpenedAt)
	}
	unknown()
	r.run(step{at: 1 * sec, do: fail(5), want: breaker.Open})
	opened(1 * sec)
	r.run(step{at: 16 * sec, want: breaker.HalfOpen})
	opened(1 * sec)
	r.run(step{at: 16 * sec, do: ok(1), want: breaker.HalfOpen})
	opened(1 * sec)
	r.run(step{at: 17 * sec, do: fail(1), want: breaker.Open})
	opened(17 * sec)
	r.run(step{at: 47 * sec, do: ok(2), want: breaker.Recovering})
	opened(17 * sec)
	r.run(step{at: 53 * sec, want: breaker.Closed}) // the ramp of 6 s has run out
	unknown()
	r.run(step{at: 54 * sec, do: isolate, want: breaker.Isolated})
	opened(54 * sec)
	r.run(step{at: 55 * sec, do: isolate, want: breaker.Isolated})
	opened(54 * sec)
	r.Reset()
	unknown()
}

func TestSlowProbe(t *testing.T) {
	s := plain
	s.SlowCallThreshold = sec
	r := newRig(t, s)
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: 15 * sec, do: all(ok(1), slow(1)), want: breaker.Open},
		step{at: 45*sec - 1, do: refuse(1), want: breaker.Open}, // it grows as any failed probe's
		step{at: 45 * sec, do: ok(2), want: breaker.Closed},
	)
	require.Equal(t, breaker.CauseSlowProbe, r.told[2].Cause)

	s.Recovery = breaker.RecoveryOver(0.25)
	r = newRig(t, s)
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: 15 * sec, do: slow(1), want: breaker.HalfOpen},
		step{at: 15 * sec, do: slow(1), want: breaker.Recovering},
	)
	// The ramp starts like any other: with all of the evidence.
	r.at(15*sec + 3750*msec/2)
	require.InDelta(t, 0.525, r.Snapshot().AdmittedFraction, 1e-9)
}

func TestSlowProbeIsKnownByTheBaselineFromBeforeTheOutage(t *testing.T) {
	r := newRig(t, longMemory)
	r.run(
		step{at: 0, do: learn, want: breaker.Closed},
		step{at: 20 * sec, do: fail(7), want: breaker.Open},
		step{at: 35 * sec, do: slow(1), want: breaker.Open},
	)
	require.Equal(t, breaker.CauseSlowProbe, r.Snapshot().Last.Cause)
}
