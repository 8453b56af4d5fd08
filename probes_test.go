package breaker_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// Every way in which a probe can end without deciding anything.
var inconclusive = map[string]action{
	"throttled": calls(1, breaker.Throttled, 0),
	"permanent": calls(1, breaker.Permanent, 0),
	"canceled":  calls(1, breaker.Canceled, 0),
	"released":  all(start("x"), release("x")),
	"panic": func(r *rig) {
		require.PanicsWithValue(r.t, "boom", func() {
			_ = r.Do(bg, func(context.Context) error { panic("boom") })
		})
	},
	"goexit": func(r *rig) {
		done := make(chan bool)
		go func() {
			defer close(done)
			_ = r.Do(bg, func(context.Context) error { runtime.Goexit(); return nil })
		}()
		<-done
	},
	"panic of the classifier": func(r *rig) {
		require.PanicsWithValue(r.t, errClassifier, func() {
			_ = r.Do(bg, func(context.Context) error { return errClassifier })
		})
	},
	"expired": func(r *rig) {
		start("x")(r)
		r.clock.Add(2 * time.Minute)
	},
}

var errClassifier = errors.New("what the classifier cannot take")

func probing() breaker.Settings {
	s := plain
	s.Classify = func(err error) breaker.Verdict {
		if err == errClassifier {
			panic(err)
		}
		return breaker.Classify(err)
	}
	return s
}

func TestAtMostSoManyProbesAtATime(t *testing.T) {
	for _, n := range []int{1, 2, 7} {
		s := plain
		s.HalfOpenProbes, s.ProbeSuccesses = n, 100
		r := newRig(t, s)
		r.run(
			step{at: 0, do: fail(5), want: breaker.Open},
			step{at: 15 * sec, do: all(hang(n), refuse(3)), want: breaker.HalfOpen},
		)
		require.Equal(t, n, r.Snapshot().ProbesInFlight)
		r.run(step{at: 15 * sec, do: all(end("call 0", breaker.OK, 0), start("another"), refuse(1)), want: breaker.HalfOpen})
	}
}

func TestInconclusiveProbeGivesItsSlotBack(t *testing.T) {
	for name, probe := range inconclusive {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, probing())
			r.run(
				step{at: 0, do: fail(5), want: breaker.Open},
				step{at: 15 * sec, do: ok(1), want: breaker.HalfOpen},
				step{at: 15 * sec, do: probe, want: breaker.HalfOpen},
			)
			start("next")(r) // the slot is free, or expired
			require.Equal(t, 1, r.Snapshot().ProbesInFlight)
			end("next", breaker.OK, 0)(r)
			require.Equal(t, breaker.Closed, r.State(), "the success before it still counts")
		})
	}
}

func TestTenInconclusiveProbesReopen(t *testing.T) {
	for name, probe := range inconclusive {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, probing())
			r.run(
				step{at: 0, do: fail(5), want: breaker.Open},
				step{at: 15 * sec, do: fail(1), want: breaker.Open}, // 30 s from here
				step{at: 45 * sec, want: breaker.HalfOpen},
			)
			for i := range 9 {
				probe(r)
				require.Equal(t, breaker.HalfOpen, r.State(), "after %d", i+1)
			}
			require.Equal(t, breaker.CauseBreakElapsed, r.Snapshot().Last.Cause)
			probe(r)
			if name == "expired" { // noticed by the caller who finds it, and who is refused
				require.Equal(t, breaker.HalfOpen, r.State())
				refuse(1)(r)
			}
			require.Equal(t, breaker.Open, r.State())
			require.Equal(t, breaker.CauseProbesInconclusive, r.Snapshot().Last.Cause)
			require.Equal(t, 30*sec, r.lastBreak(), "the length just served")
			require.Equal(t, 2, r.Snapshot().ConsecutiveOpens, "not counted among the opens")
			require.Zero(t, r.Snapshot().ProbesInFlight)

			r.clock.Add(30 * sec)
			fail(1)(r)
			require.Equal(t, 60*sec, r.lastBreak(), "growth goes on where it was")
		})
	}
}

// Each probe is counted once, by what it decided, or not at all if something else had ended
// its spell.
func TestProbesAreCountedByWhatTheyDecided(t *testing.T) {
	two, threshold, ramp := plain, plain, plain
	two.HalfOpenProbes = 2
	threshold.SlowCallThreshold = sec
	ramp.SlowCallThreshold, ramp.Recovery = sec, breaker.RecoveryOver(1)
	lose := func(r *rig) { r.clock.Add(2 * time.Minute) }
	cases := map[string]struct {
		settings                        breaker.Settings
		do                              action
		succeeded, failed, inconclusive uint64
	}{
		"none":                     {plain, all(), 0, 0, 0},
		"one success of two":       {plain, ok(1), 1, 0, 0},
		"two":                      {plain, ok(2), 2, 0, 0},
		"a call after the close":   {plain, ok(3), 2, 0, 0},
		"a failure":                {plain, fail(1), 0, 1, 0},
		"a failure after success":  {plain, all(ok(1), fail(1)), 1, 1, 0},
		"slow":                     {threshold, slow(1), 0, 1, 0},
		"slow before a ramp":       {ramp, slow(2), 2, 0, 0},
		"calls in a ramp":          {ramp, all(ok(2), func(r *rig) { r.clock.Add(14 * sec) }, refuse(1), ok(1)), 2, 0, 0},
		"throttled":                {plain, calls(3, breaker.Throttled, 0), 0, 0, 3},
		"released":                 {plain, all(start("a"), release("a")), 0, 0, 1},
		"ten that decided nothing": {plain, calls(10, breaker.Canceled, 0), 0, 0, 10},
		"under way":                {plain, start("a"), 0, 0, 0},
		"expired, nobody calls":    {plain, all(start("a"), lose), 0, 0, 0},
		"late, and not overtaken":  {plain, all(start("a"), lose, end("a", breaker.OK, 0)), 1, 0, 0},
		"overtaken, and then late": {plain, all(start("a"), lose, ok(1), end("a", breaker.OK, 0)), 1, 0, 1},
		"after another's failure":  {two, all(start("a"), fail(1), end("a", breaker.OK, 0)), 0, 1, 0},
		"across a reset":           {plain, all(start("a"), reset, end("a", breaker.OK, 0)), 0, 0, 0},
		"across an isolation":      {plain, all(start("a"), isolate, end("a", breaker.OK, 0)), 0, 0, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.settings)
			all(fail(5), probeNow, c.do)(r)
			got := r.Snapshot().Totals
			require.Equal(t, []uint64{c.succeeded, c.failed, c.inconclusive},
				[]uint64{got.ProbesSucceeded, got.ProbesFailed, got.ProbesInconclusive})
		})
	}
}

func TestSuccessStartsTheInconclusiveRowAnew(t *testing.T) {
	s := plain
	s.ProbeSuccesses = 3
	r := newRig(t, s)
	nine := calls(9, breaker.Throttled, 0)
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: 15 * sec, do: all(nine, ok(1)), want: breaker.HalfOpen},
		step{at: 15 * sec, do: all(nine, ok(1)), want: breaker.HalfOpen},
		step{at: 15 * sec, do: all(nine, calls(1, breaker.Canceled, 0)), want: breaker.Open},
	)
}

func TestInconclusiveRowIsOfOneSpell(t *testing.T) {
	r := newRig(t, plain)
	nine := calls(9, breaker.Throttled, 0)
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: 15 * sec, do: all(nine, fail(1)), want: breaker.Open},
		step{at: 45 * sec, do: nine, want: breaker.HalfOpen},
		step{at: 45 * sec, do: calls(1, breaker.Throttled, 0), want: breaker.Open},
	)
}

func TestProbeThatNeverReturns(t *testing.T) {
	r := newRig(t, plain)
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: 15 * sec, do: start("lost"), want: breaker.HalfOpen},
		step{at: 30*sec - 1, do: refuse(1), want: breaker.HalfOpen}, // the break was 15 s
		step{at: 30 * sec, do: start("next"), want: breaker.HalfOpen},
		step{at: 30 * sec, do: refuse(1), want: breaker.HalfOpen},
		step{at: 31 * sec, do: end("lost", breaker.Transient, 0), want: breaker.HalfOpen},
		step{at: 31 * sec, do: refuse(1), want: breaker.HalfOpen}, // it had no slot to give back
		step{at: 31 * sec, do: all(end("next", breaker.OK, 0), ok(1)), want: breaker.Closed},
	)
	require.Equal(t, uint64(1), r.Snapshot().Totals.Stale)
}

func TestLateProbeDecidesNothingAfterAReset(t *testing.T) {
	s := plain
	s.ConsecutiveFailures = 1
	r := newRig(t, s)
	r.run(
		step{at: 0, do: fail(1), want: breaker.Open},
		step{at: 15 * sec, do: start("lost"), want: breaker.HalfOpen},
		step{at: 30 * sec, do: start("next"), want: breaker.HalfOpen},
		step{at: 30 * sec, do: reset, want: breaker.Closed},
		step{at: 30 * sec, do: end("lost", breaker.Transient, 0), want: breaker.Closed},
		step{at: 30 * sec, do: end("next", breaker.Transient, 0), want: breaker.Open},
	)
}

func TestExpiredProbeDecidesUntilItsSlotIsTaken(t *testing.T) {
	r := newRig(t, plain)
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: 15 * sec, do: start("a"), want: breaker.HalfOpen},
		step{at: time.Hour, do: end("a", breaker.OK, 0), want: breaker.HalfOpen},
		step{at: time.Hour, do: start("b"), want: breaker.HalfOpen},
		step{at: 2 * time.Hour, do: end("b", breaker.Transient, 0), want: breaker.Open},
	)
	require.Equal(t, breaker.CauseProbeFailed, r.Snapshot().Last.Cause)
	require.Zero(t, r.Snapshot().Totals.Stale)
}

func TestOldestExpiredProbeGoesFirst(t *testing.T) {
	s := plain
	s.HalfOpenProbes, s.ProbeTimeout = 3, 10*sec
	r := newRig(t, s)
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: 15 * sec, do: start("a"), want: breaker.HalfOpen},
		step{at: 16 * sec, do: start("b"), want: breaker.HalfOpen},
		step{at: 17 * sec, do: start("c"), want: breaker.HalfOpen},
		step{at: 25*sec - 1, do: refuse(1), want: breaker.HalfOpen},
		step{at: 26 * sec, do: start("d"), want: breaker.HalfOpen}, // takes a's; b has expired too
		step{at: 26 * sec, do: end("a", breaker.Transient, 0), want: breaker.HalfOpen},
		step{at: 26 * sec, do: end("b", breaker.OK, 0), want: breaker.HalfOpen}, // still decides
		step{at: 30 * sec, do: start("e"), want: breaker.HalfOpen},              // b's, which was free: c keeps its own
		step{at: 30 * sec, do: end("c", breaker.OK, 0), want: breaker.Closed},
	)
	require.Equal(t, uint64(1), r.Snapshot().Totals.Stale)
}

func TestProbeTimeout(t *testing.T) {
	cases := map[string]struct {
		brk, timeout time.Duration
		do           action // between the open and the probe
		want         time.Duration
	}{
		"the break":                 {5 * sec, 0, nil, 5 * sec},
		"the grown break":           {5 * sec, 0, reopen, 10 * sec},
		"at least a second":         {10 * msec, 0, nil, sec},
		"written":                   {5 * sec, 7 * msec, nil, 7 * msec},
		"the whole break, ProbeNow": {5 * sec, 0, probeNow, 5 * sec},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := plain
			s.BreakDuration, s.ProbeTimeout = c.brk, c.timeout
			r := newRig(t, s)
			fail(5)(r)
			if c.do != nil {
				c.do(r)
			}
			left, _ := r.RetryAfter()
			r.clock.Add(left)
			start("lost")(r)
			r.clock.Add(c.want - 1)
			refuse(1)(r)
			r.clock.Add(1)
			start("next")(r)
		})
	}
}
