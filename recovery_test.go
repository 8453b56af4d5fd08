package breaker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// ramped is a plain breaker with a ramp of 10 s after its first break, which starts at
// a quarter, and for which a call of a second is slow.
func ramped() breaker.Settings {
	s := plain
	s.SlowCallThreshold = sec
	s.BreakDuration = 10 * sec
	s.Recovery = breaker.Recovery{Fraction: 1, InitialFraction: 0.25}
	return s
}

// rampFrom is the instant at which the ramp of startRamp starts.
const rampFrom = 10 * sec

func startRamp(t *testing.T, s breaker.Settings) *rig {
	t.Helper()
	r := newRig(t, s)
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: rampFrom, do: ok(2), want: breaker.Recovering},
	)
	return r
}

// offer offers n calls at an instant and returns, for each, whether it was admitted.
// The admitted ones stay under way.
func (r *rig) offer(n int) (pattern string) {
	for range n {
		if _, err := r.TryAdmit(bg); err == nil {
			pattern += "x"
		} else {
			require.ErrorIs(r.t, err, breaker.ErrRejected)
			pattern += "."
		}
	}
	return pattern
}

// admitted ends one admitted call with a latency, however many must be offered.
func (r *rig) admitted(v breaker.Verdict, d time.Duration) {
	r.t.Helper()
	for range 100 {
		if attempt, err := r.TryAdmit(bg); err == nil {
			attempt.Record(v, d)
			return
		}
	}
	require.Fail(r.t, "nothing admitted")
}

func (r *rig) fraction(want float64, msg string) {
	r.t.Helper()
	require.InDelta(r.t, want, r.Snapshot().AdmittedFraction, 1e-9, msg)
}

func TestRampLength(t *testing.T) {
	cases := map[string]struct {
		brk      time.Duration
		recovery breaker.Recovery
		do       action // after the open
		draw     float64
		want     time.Duration
	}{
		"a quarter by default":     {15 * sec, breaker.RecoveryOver(0.25), nil, 0, 3750 * msec},
		"at least a second":        {2 * sec, breaker.RecoveryOver(0.25), nil, 0, sec},
		"at most thirty":           {5 * time.Minute, breaker.RecoveryOver(0.25), nil, 0, 30 * sec},
		"longer than the break":    {5 * sec, breaker.RecoveryOver(3), nil, 0, 15 * sec},
		"minimum as written":       {4 * sec, breaker.Recovery{MinimumDuration: 7 * sec}, nil, 0, 7 * sec},
		"maximum as written":       {40 * sec, breaker.Recovery{MaximumDuration: 7 * sec}, nil, 0, 7 * sec},
		"of the grown break":       {15 * sec, breaker.RecoveryOver(0.25), reopen, 0, 7500 * msec},
		"of the break as jittered": {16 * sec, breaker.RecoveryOver(0.25), nil, 0.5, 3 * sec},
		"of the whole, ProbeNow":   {15 * sec, breaker.RecoveryOver(0.25), probeNow, 0, 3750 * msec},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := plain
			s.BreakDuration, s.Recovery = c.brk, c.recovery
			if c.draw > 0 {
				s.Random = func() float64 { return c.draw }
			}
			r := newRig(t, s)
			fail(5)(r)
			if c.do != nil {
				c.do(r)
			}
			left, _ := r.RetryAfter()
			r.clock.Add(left)
			ok(2)(r)
			r.clock.Add(c.want - time.Microsecond)
			require.Equal(t, breaker.Recovering, r.State())
			r.clock.Add(time.Microsecond)
			require.Equal(t, breaker.Closed, r.State())
		})
	}
}

// As a float the longest duration is one more than there is.
func TestRampOfTheLongestLength(t *testing.T) {
	s := plain
	s.BreakDuration = longest
	s.Recovery = breaker.Recovery{Fraction: 1, MaximumDuration: longest}
	r := newRig(t, s)
	r.run(
		step{at: 0, do: all(fail(5), probeNow, ok(2)), want: breaker.Recovering},
		step{at: year, want: breaker.Recovering},
	)
}

func TestRampFollowsTheClock(t *testing.T) {
	r := startRamp(t, ramped())
	for _, c := range []struct {
		after time.Duration
		want  float64
	}{
		{0, 0.25}, {1 * sec, 0.325}, {5 * sec, 0.625}, {9 * sec, 0.925},
	} {
		r.at(rampFrom + c.after)
		r.fraction(c.want, c.after.String())
	}
}

func TestRampAdmitsAnEvenShare(t *testing.T) {
	for _, c := range []struct {
		initial float64
		want    string
	}{
		{0.25, "...x...x...x...x"},
		{0.5, ".x.x.x.x.x.x.x.x"},
		{0.75, ".xxx.xxx.xxx.xxx"},
	} {
		s := ramped()
		s.Recovery.InitialFraction = c.initial
		r := startRamp(t, s)
		require.Equal(t, c.want, r.offer(16), "at %v", c.initial)
	}
}

func TestRampKeepsItsCreditAsItClimbs(t *testing.T) {
	r := startRamp(t, ramped())
	require.Equal(t, "...", r.offer(3)) // 0.75
	r.at(rampFrom + 5*sec)              // 0.625 a call
	require.Equal(t, "xx.x.x", r.offer(6))
}

func TestRampEvidence(t *testing.T) {
	fast, slowly := 10*msec, 2*sec
	s := ramped()
	s.Recovery.InitialFraction = 0.1
	r := startRamp(t, s)
	r.at(rampFrom + 5*sec)
	r.fraction(0.55, "by the clock")
	r.admitted(breaker.OK, slowly)
	r.fraction(0.275, "a slow call halves it")
	r.admitted(breaker.OK, fast)
	r.fraction(0.275, "one fast call of two")
	r.admitted(breaker.OK, fast)
	r.fraction(0.375, "two in a row add a step")
	r.admitted(breaker.OK, fast)
	r.admitted(breaker.OK, slowly)
	r.fraction(0.1875, "halved again")
	r.admitted(breaker.OK, fast)
	r.fraction(0.1875, "a slow call has cleared the run")
	r.admitted(breaker.OK, fast)
	r.fraction(0.2875, "two in a row")
	for range 5 {
		r.admitted(breaker.OK, slowly)
	}
	r.fraction(0.1, "never below where it started")
	for _, v := range []breaker.Verdict{breaker.Throttled, breaker.Permanent, breaker.Canceled} {
		r.admitted(breaker.OK, fast)
		r.admitted(v, slowly)
		r.admitted(breaker.OK, fast)
	}
	r.fraction(0.4, "what is no evidence neither stalls nor ends the run")
	for range 20 {
		r.admitted(breaker.OK, fast)
	}
	r.fraction(0.55, "the clock paces what the evidence allows")
	r.at(rampFrom + 10*sec)
	require.Equal(t, breaker.Closed, r.State())
}

func TestRampRaisesAfterAsManyFastCallsAsClose(t *testing.T) {
	s := ramped()
	s.ProbeSuccesses = 4
	r := newRig(t, s)
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: rampFrom, do: ok(4), want: breaker.Recovering},
	)
	r.at(rampFrom + 9*sec)
	r.admitted(breaker.OK, 2*sec)
	r.fraction(0.4625, "halved")
	for range 3 {
		r.admitted(breaker.OK, 0)
	}
	r.fraction(0.4625, "three of four")
	r.admitted(breaker.OK, 0)
	r.fraction(0.7125, "four")
}

// A dependency that answers and stays slow keeps the ramp where it is, however long
// the clock runs.
func TestStalledRampOutlivesItsClock(t *testing.T) {
	r := startRamp(t, ramped())
	r.admitted(breaker.OK, 2*sec)
	r.run(
		step{at: rampFrom + 10*sec, want: breaker.Recovering},
		step{at: rampFrom + time.Hour, want: breaker.Recovering},
	)
	r.fraction(0.25, "stalled at the start")
	for range 3 {
		r.admitted(breaker.OK, 0)
		r.admitted(breaker.OK, 0)
	}
	require.Equal(t, breaker.Closed, r.State(), "three steps of a quarter make it whole")
}

// The evidence adds up in floats: ten times 0.1 falls short of 1, and must count as whole.
func TestRampForgivesTheSumOfFloats(t *testing.T) {
	s := ramped()
	s.Recovery = breaker.Recovery{Fraction: 1, InitialFraction: 0.1}
	r := startRamp(t, s)
	r.admitted(breaker.OK, 2*sec)
	r.at(time.Hour)
	for range 9 {
		require.Equal(t, breaker.Recovering, r.State())
		r.admitted(breaker.OK, 0)
		r.admitted(breaker.OK, 0)
	}
	require.Equal(t, breaker.Closed, r.State())
}

// A call that was admitted in the ramp and lands slow after the clock has run out
// still stalls: nothing has closed the breaker yet.
func TestSlowCallStallsUntilAnAdmissionCloses(t *testing.T) {
	r := startRamp(t, ramped())
	require.Equal(t, "...x", r.offer(4))
	all(refuse(3), start("a"))(r)
	r.run(
		step{at: rampFrom + 20*sec, want: breaker.Closed},
		step{at: rampFrom + 20*sec, do: end("a", breaker.OK, 20*sec), want: breaker.Recovering},
	)
	r.fraction(0.5, "half of the whole")
}

func TestFailureInARampReopens(t *testing.T) {
	r := startRamp(t, ramped())
	r.admitted(breaker.OK, 0)
	r.admitted(breaker.Transient, 0)
	require.Equal(t, breaker.Open, r.State())
	last := r.Snapshot().Last
	require.Equal(t, breaker.CauseRampFailed, last.Cause)
	require.Equal(t, breaker.Recovering, last.From)
	require.Equal(t, 20*sec, last.Break, "the grown break: nothing has closed cleanly")
	require.Equal(t, 2, r.Snapshot().ConsecutiveOpens)
	require.Equal(t, []int{2, 1, 1}, []int{last.Calls, last.Failures, last.Run}, "one fast call and the failure")
}

func TestRampStartsAfresh(t *testing.T) {
	r := startRamp(t, ramped())
	r.admitted(breaker.OK, 2*sec)
	r.admitted(breaker.Transient, 0)
	r.clock.Add(20 * sec)
	ok(2)(r)
	require.Equal(t, breaker.Recovering, r.State())
	r.clock.Add(10 * sec) // half of the ramp after a break of 20 s
	r.fraction(0.625, "neither the evidence nor the clock of the ramp before")
}

func TestRampEndsSilently(t *testing.T) {
	r := startRamp(t, ramped())
	r.run(
		step{at: rampFrom + 10*sec, want: breaker.Closed},
		step{at: rampFrom + 11*sec, do: ok(1), want: breaker.Closed},
	)
	var told []breaker.Cause
	for _, tr := range r.told {
		told = append(told, tr.Cause)
	}
	require.Equal(t, []breaker.Cause{
		breaker.CauseConsecutiveFailures, breaker.CauseBreakElapsed, breaker.CauseProbesSucceeded,
	}, told)
	require.Equal(t, breaker.Recovering, r.told[2].To, "told where the refusing of everything ends")
	last := r.Snapshot().Last
	require.Equal(t, breaker.CauseRampCompleted, last.Cause)
	require.Equal(t, r.born.Add(rampFrom+11*sec), last.At, "the admission closes it")
	require.Equal(t, uint64(1), r.Snapshot().Totals.Recoveries)
}

func TestTripWindowInARamp(t *testing.T) {
	s := ramped()
	s.FailureRatio = 0.9
	r := startRamp(t, s)
	require.Zero(t, r.Snapshot().Calls, "entering the ramp has cleared the probes away")
	for range 30 {
		r.admitted(breaker.OK, 2*sec)
	}
	cut := r.Snapshot()
	require.Equal(t, breaker.Recovering, cut.State, "slow calls stall a ramp and trip nothing")
	require.Equal(t, []int{30, 0, 0}, []int{cut.Calls, cut.Failures, cut.Slow})
	require.Equal(t, uint64(30), cut.Totals.Slow, "they are slow all the same")

	for range 6 {
		r.admitted(breaker.OK, 0)
	}
	r.clock.Add(10 * sec)
	require.Equal(t, "x", r.offer(1))
	require.Zero(t, r.Snapshot().Calls, "closing clears the window")
}
