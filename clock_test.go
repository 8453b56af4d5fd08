package breaker_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// left asserts what is left of the break.
func left(want time.Duration) action {
	return func(r *rig) {
		r.t.Helper()
		got, known := r.RetryAfter()
		require.True(r.t, known)
		require.Equal(r.t, want, got)
	}
}

// share asserts what the ramp admits.
func share(want float64) action { return func(r *rig) { r.fraction(want, "share") } }

// stepClock is a breaker that took its newest reading at 20 s, in a state of ten
// seconds that began then, and what must be left of it after the clock was set back.
var stepClock = map[breaker.State]struct {
	enter  []step
	during action // at any time in the state but its end
	after  action // at its end
	want   breaker.State
}{
	breaker.Open: {
		[]step{{at: 20 * sec, do: fail(5), want: breaker.Open}},
		refuse(1), start("a"), breaker.HalfOpen,
	},
	breaker.HalfOpen: { // a probe that is lost
		[]step{
			{at: 10 * sec, do: fail(5), want: breaker.Open},
			{at: 20 * sec, do: start("lost"), want: breaker.HalfOpen},
		},
		refuse(1), start("next"), breaker.HalfOpen,
	},
	breaker.Recovering: {
		[]step{
			{at: 10 * sec, do: fail(5), want: breaker.Open},
			{at: 20 * sec, do: ok(2), want: breaker.Recovering},
		},
		func(r *rig) { r.offer(1) }, start("a"), breaker.Closed,
	},
}

func TestClockStepsBack(t *testing.T) {
	cases := map[string]struct {
		to, end time.Duration // the clock's reading after the step, and where the state ends
	}{
		"by a hair":          {20*sec - 1, 30 * sec},
		"by most a second":   {19 * sec, 30 * sec},
		"by a hair more":     {19*sec - 1, 29*sec - 1},
		"by eight seconds":   {12 * sec, 22 * sec},
		"behind its birth":   {-time.Hour, -time.Hour + 10*sec},
		"by thirty years":    {20*sec - 30*year, 30*sec - 30*year},
		"by a hundred years": {20*sec - 100*year, 30*sec - 100*year},
	}
	for name, c := range cases {
		for state, s := range stepClock {
			t.Run(state.String()+" "+name, func(t *testing.T) {
				r := newRig(t, ramped())
				r.run(s.enter...)
				r.run(
					step{at: c.to, do: s.during, want: state},
					step{at: c.end - 10*msec, do: s.during, want: state},
					step{at: c.end, do: s.after, want: s.want},
				)
				for in, d := range r.Snapshot().Totals.TimeIn {
					require.GreaterOrEqual(t, d, time.Duration(0), in.String())
				}
			})
		}
	}
}

func TestRetryAfterWhenTheClockStepsBack(t *testing.T) {
	r := newRig(t, ramped())
	r.run(
		step{at: 20 * sec, do: all(fail(5), left(10*sec)), want: breaker.Open},
		step{at: 19500 * msec, do: all(refuse(1), left(10*sec)), want: breaker.Open},
		step{at: 21 * sec, do: left(9 * sec), want: breaker.Open},
		step{at: 5 * sec, do: all(refuse(1), left(10*sec)), want: breaker.Open},
		step{at: 8 * sec, do: all(refuse(1), left(7*sec)), want: breaker.Open},
		step{at: 15 * sec, do: left(0), want: breaker.HalfOpen},
	)
}

func TestRampWhenTheClockStepsBack(t *testing.T) {
	r := newRig(t, ramped())
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: 10 * sec, do: ok(2), want: breaker.Recovering},
		step{at: 14 * sec, do: all(refuse(1), share(0.55)), want: breaker.Recovering},
		step{at: 13500 * msec, do: share(0.55), want: breaker.Recovering},
		step{at: 2 * sec, do: all(start("a"), share(0.55)), want: breaker.Recovering},
		step{at: 4 * sec, do: share(0.7), want: breaker.Recovering},
		step{at: 8 * sec, do: start("b"), want: breaker.Closed},
	)
}

func TestClosedBreakerWhenTheClockStepsBack(t *testing.T) {
	r := newRig(t, longMemory)
	r.run(
		step{at: 290 * sec, do: all(learn, start("a"), fail(3)), want: breaker.Closed},
		step{at: 100 * sec, do: end("a", breaker.Permanent, 0), want: breaker.Closed},
	)
	before := r.evidence()
	require.Equal(t, []int{1003, 3, 3}, []int{before.calls, before.failures, before.run})
	r.run(
		step{at: 108 * sec, do: fail(1), want: breaker.Closed},
		step{at: 111 * sec, want: breaker.Closed},
	)
	require.Equal(t, 1, r.Snapshot().Calls, "the window goes on from where it was")
	r.run(step{at: 109 * sec, do: fail(3), want: breaker.Open}) // and so does the run
	_, known := r.NormalLatency()
	require.True(t, known)
	r.at(109*sec + 5*time.Minute)
	_, known = r.NormalLatency()
	require.False(t, known, "the baseline forgets by age")
}

func TestAttemptAcrossAStepBack(t *testing.T) {
	s := plain
	s.SlowCallThreshold, s.SlowCallRatio, s.MinimumCalls = 1, 0.5, 1
	r := newRig(t, s)
	r.run(step{at: time.Hour, do: start("a"), want: breaker.Closed})
	r.at(0)
	r.attempts["a"].Done(nil) // took -1 h, which counts as nothing
	require.Equal(t, breaker.Closed, r.State())
	require.Equal(t, uint64(1), r.Snapshot().Totals.OK)
}

// Time in the states is the breaker's own: the sum of the clock's steps forward.
func TestTimeInStatesWhenTheClockStepsBack(t *testing.T) {
	r := newRig(t, plain)
	r.at(10 * sec)
	r.Reset()
	r.at(2 * sec)
	r.Reset()
	r.at(5 * sec)
	require.Equal(t, 13*sec, r.Snapshot().Totals.TimeIn[breaker.Closed])
}

// Totals never decrease, however often the clock goes back and forth.
func TestTimeInStatesNeverFalls(t *testing.T) {
	r := newRig(t, plain)
	var before time.Duration
	for range 6 {
		for _, at := range []time.Duration{30 * year, -26 * year} {
			r.at(at)
			r.Reset()
			in := r.Snapshot().Totals.TimeIn[breaker.Closed]
			require.GreaterOrEqual(t, in, before)
			before = in
		}
	}
}

func TestClockJumpsAhead(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, 30 * year, 290 * year} {
		r := newRig(t, ramped())
		r.run(
			step{at: 0, do: all(start("a"), fail(5)), want: breaker.Open},
			step{at: by, want: breaker.HalfOpen},
			step{at: by, do: all(end("a", breaker.OK, 0), ok(1), start("lost")), want: breaker.HalfOpen},
		)
		if by < 100*year { // beyond, own time stands at its furthest
			r.run(
				step{at: by + by, do: ok(1), want: breaker.Recovering},
				step{at: by + by + by, do: ok(1), want: breaker.Closed},
			)
		}
		r.run(step{at: 0, do: all(reset, ok(1), fail(5)), want: breaker.Open}, // and back
			step{at: 10*sec - 1, do: refuse(1), want: breaker.Open},
			step{at: 10 * sec, do: ok(2), want: breaker.Recovering},
			step{at: 20 * sec, do: ok(1), want: breaker.Closed},
		)
	}
}

// Two readings farther apart than a duration can tell still leave a breaker that heals.
func TestClockJumpsFartherThanADurationTells(t *testing.T) {
	for _, readings := range [][2]time.Duration{
		{290 * year, -100 * year}, {290 * year, -290 * year}, {-290 * year, 290 * year},
	} {
		r := newRig(t, plain)
		r.at(readings[0])
		fail(5)(r)
		r.at(readings[1])
		_, _ = r.TryAdmit(bg)
		require.GreaterOrEqual(t, r.Snapshot().RetryAfter, time.Duration(0))
		r.at(readings[1] + 15*sec)
		require.Equal(t, breaker.HalfOpen, r.State(), "from %v to %v", readings[0], readings[1])
		for in, d := range r.Snapshot().Totals.TimeIn {
			require.GreaterOrEqual(t, d, time.Duration(0), in.String())
		}
	}
}

// A reading that another goroutine took a moment ago counts as the newest, so a call
// that comes with one finds what State reports.
func TestLateReadingFindsTheBreakOver(t *testing.T) {
	r := newRig(t, plain)
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: 5 * sec, do: probeNow, want: breaker.HalfOpen},
		step{at: 5*sec - 1, want: breaker.HalfOpen},
		step{at: 5*sec - 1, do: start("probe"), want: breaker.HalfOpen},
	)
	r = newRig(t, plain)
	r.run(
		step{at: 0, do: all(start("a"), fail(5)), want: breaker.Open},
		step{at: 15 * sec, do: end("a", breaker.OK, 0), want: breaker.HalfOpen}, // accepts the reading
		step{at: 15*sec - 1, want: breaker.HalfOpen},
		step{at: 15*sec - 1, do: start("probe"), want: breaker.HalfOpen},
	)
}

// Set back by 40 s when 10 s of a break are left, to an instant after the open: refusals do
// without the lock there, and must notice.
func TestStepBackWhileOpenMovesNoDeadline(t *testing.T) {
	s := plain
	s.BreakDuration = 100 * sec
	r := newRig(t, s)
	r.run(
		step{at: 0, do: all(start("late"), fail(5)), want: breaker.Open},
		step{at: 90 * sec, do: end("late", breaker.OK, 0), want: breaker.Open}, // accepts the reading
		step{at: 50 * sec, do: all(refuse(1), left(10*sec)), want: breaker.Open},
		step{at: 60*sec - 1, do: refuse(1), want: breaker.Open},
		step{at: 60 * sec, do: left(0), want: breaker.HalfOpen},
	)
}

// Only the readings by which something is recorded or changed are accepted.
func TestReadingsThatAreNotAccepted(t *testing.T) {
	// A refusal by an open breaker moves nothing. What a step back leaves of the break is
	// what was left at the newest reading before the refusals.
	r := newRig(t, plain)
	r.run(
		step{at: 100 * sec, do: fail(5), want: breaker.Open},
		step{at: 110 * sec, do: all(refuse(1), left(5*sec)), want: breaker.Open},
		step{at: 102 * sec, do: all(refuse(1), left(13*sec)), want: breaker.Open},
		step{at: 80 * sec, do: all(refuse(1), left(15*sec)), want: breaker.Open}, // a step back, and noticed
		step{at: 95*sec - 1, do: refuse(1), want: breaker.Open},
		step{at: 95 * sec, do: start("probe"), want: breaker.HalfOpen},
	)

	// Nor do a refusal by an isolated breaker, an admission by a closed one, and a read.
	age := func(want time.Duration) action {
		return func(r *rig) {
			t.Helper()
			addUp(t, r.Snapshot().Totals.TimeIn, want)
		}
	}
	r = newRig(t, plain)
	r.run(
		step{at: 100 * sec, do: all(start("a"), age(100*sec)), want: breaker.Closed},
		step{at: 50 * sec, do: age(50 * sec), want: breaker.Closed},
		step{at: 60 * sec, do: end("a", breaker.OK, 0), want: breaker.Closed}, // accepts the reading
		step{at: 50 * sec, do: age(60 * sec), want: breaker.Closed},
		step{at: 70 * sec, do: isolate, want: breaker.Isolated}, // and so does this
		step{at: 100 * sec, do: all(refuse(1), age(100*sec)), want: breaker.Isolated},
		step{at: 65 * sec, do: age(70 * sec), want: breaker.Isolated},
	)
}

// A breaker of a package's own outlives the bubbles of its tests, each of which begins
// in the year 2000 and may end long after the breaker's birth.
func TestPackageLevelBreakerInManyBubbles(t *testing.T) {
	b := breaker.MustNew(breaker.Settings{
		Name: "package-level", BreakJitter: breaker.JitterNone, Recovery: breaker.RecoveryOver(0.25),
	})
	leave := []func(){ // in every state, to be found by the next bubble
		func() {},
		func() { tripNow(b) },
		func() { tripNow(b); b.ProbeNow(); _, _ = b.TryAdmit(bg) },
		func() {
			tripNow(b)
			b.ProbeNow()
			for range 2 {
				require.NoError(t, b.Do(bg, succeed))
			}
			require.Equal(t, breaker.Recovering, b.State())
		},
		b.Isolate,
	}
	for i := range 40 {
		synctest.Test(t, func(t *testing.T) {
			heal(t, b)
			time.Sleep(time.Until(time.Date(2056, 1, 1, 0, 0, 0, 0, time.UTC)))
			heal(t, b)
			tripNow(b)
			time.Sleep(15*sec - 1)
			_, err := b.TryAdmit(bg)
			require.ErrorIs(t, err, breaker.ErrRejected)
			left, known := b.RetryAfter()
			require.True(t, known)
			require.Equal(t, time.Duration(1), left)
			time.Sleep(time.Nanosecond)
			heal(t, b)
			leave[i%len(leave)]()
			orderly(t, b)
		})
		orderly(t, b)
		if i%3 == 0 { // and between bubbles, in the time of the day
			if b.State() == breaker.Isolated {
				b.Reset()
			}
			attempt, _ := b.TryAdmit(bg)
			attempt.Record(breaker.OK, msec)
		}
	}
}

// heal brings a breaker of default breaks to Closed as traffic would, within what its
// breaks and ramps may take at most.
func heal(t *testing.T, b *breaker.Breaker) {
	t.Helper()
	if b.State() == breaker.Isolated {
		b.Reset()
	}
	begin := time.Now()
	for b.State() != breaker.Closed {
		_ = b.Do(bg, succeed)
		time.Sleep(sec)
		require.Less(t, time.Since(begin), 5*time.Minute, "stuck: %v", b.State())
	}
	require.NoError(t, b.Do(bg, succeed))
}

// orderly asserts that no duration of a breaker has gone astray.
func orderly(t *testing.T, b *breaker.Breaker) {
	t.Helper()
	s := b.Snapshot()
	require.GreaterOrEqual(t, s.RetryAfter, time.Duration(0))
	require.LessOrEqual(t, s.RetryAfter, 2*time.Minute)
	require.LessOrEqual(t, s.AdmittedFraction, 1.0)
	require.GreaterOrEqual(t, s.AdmittedFraction, 0.0)
	for in, d := range s.Totals.TimeIn {
		require.GreaterOrEqual(t, d, time.Duration(0), in.String())
	}
}

func TestNoGoroutineIsStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which fails if one is left behind
		before := runtime.NumGoroutine()
		most := 0
		count := func() { most = max(most, runtime.NumGoroutine()) }
		s := plain
		s.Recovery = breaker.RecoveryOver(0.25)
		s.OnTransition = func(context.Context, breaker.Transition) { count() }
		s.Classify = func(error) breaker.Verdict { count(); return breaker.Transient }
		b := breaker.MustNew(s)
		for range 5 {
			_ = b.Do(bg, func(context.Context) error { count(); return errDown })
		}
		_ = b.Do(bg, never) // pauses
		count()
		b.ProbeNow()
		for range 100 {
			_ = b.Do(bg, succeed)
			count()
		}
		b.Isolate()
		b.Reset()
		b.Snapshot()
		b.History()
		count()
		require.LessOrEqual(t, most, before)
	})
}

// At the earliest instant that there is, a probe has lost its age and still has its end.
func TestProbeEndsAfterAStepToTheBeginningOfTime(t *testing.T) {
	const first = -(1<<62 - 1)
	r := newRig(t, plain)
	r.run(
		step{at: 0, do: all(fail(5), probeNow, start("lost")), want: breaker.HalfOpen},
		step{at: 10 * sec, do: refuse(1), want: breaker.HalfOpen},
		step{at: first, do: refuse(1), want: breaker.HalfOpen},
		step{at: first + 15*sec - 1, do: refuse(1), want: breaker.HalfOpen},
		step{at: first + 15*sec, do: start("next"), want: breaker.HalfOpen},
	)
}
