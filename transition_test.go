package breaker_test

import (
	"context"
	"encoding/json"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// linked reports that transitions follow one from another without a gap.
func linked(transitions []breaker.Transition) bool {
	for i := range len(transitions) - 1 {
		tr, next := transitions[i], transitions[i+1]
		if next.Seq != tr.Seq+1 || next.From != tr.To {
			return false
		}
	}
	return true
}

// everyCauseSettings are for everyCause, and ask chance.
func everyCauseSettings() breaker.Settings {
	s := longMemory
	s.Failures.FalseAlarm, s.SlowCalls.FalseAlarm = 0, 0
	s.FailureRatio = 0.8
	s.BreakDuration, s.MaximumBreakDuration = 10*sec, 10*sec
	s.Recovery = breaker.RecoveryOver(1)
	return s
}

// everyCause takes a breaker through every cause there is but CauseSlowProbe, which a ramp
// does without.
func everyCause(r *rig) {
	r.t.Helper()
	r.run(
		step{at: 0, do: learn, want: breaker.Closed},
		step{at: 20 * sec, do: fail(7), want: breaker.Open},
		step{at: 30 * sec, do: ok(2), want: breaker.Recovering},
		step{at: 40 * sec, do: all(fail(6), ok(1), fail(2), slow(1)), want: breaker.Open},
		step{at: 50 * sec, do: fail(1), want: breaker.Open},
		step{at: 60 * sec, do: calls(10, breaker.Throttled, 0), want: breaker.Open},
		step{at: 61 * sec, do: all(probeNow, ok(2)), want: breaker.Recovering},
		step{at: 62 * sec, do: func(r *rig) { r.admitted(breaker.Transient, 0) }, want: breaker.Open},
		step{at: 63 * sec, do: isolate, want: breaker.Isolated},
		step{at: 64 * sec, do: reset, want: breaker.Closed},
		step{at: 64 * sec, do: all(fail(3), ok(4), fail(3)), want: breaker.Open},
		step{at: 65 * sec, do: reset, want: breaker.Closed},
		step{at: 65 * sec, do: slow(10), want: breaker.Open},
	)
}

func TestEveryCause(t *testing.T) {
	r := newRig(t, everyCauseSettings())
	everyCause(r)
	const (
		closed, open, halfOpen = breaker.Closed, breaker.Open, breaker.HalfOpen
		recovering, isolated   = breaker.Recovering, breaker.Isolated
	)
	want := []struct {
		from, to breaker.State
		cause    breaker.Cause
		at       time.Duration
	}{
		{closed, open, breaker.CauseConsecutiveFailures, 20 * sec},
		{open, halfOpen, breaker.CauseBreakElapsed, 30 * sec},
		{halfOpen, recovering, breaker.CauseProbesSucceeded, 30 * sec},
		{recovering, closed, breaker.CauseRampCompleted, 40 * sec},
		{closed, open, breaker.CauseFailureRatio, 40 * sec},
		{open, halfOpen, breaker.CauseBreakElapsed, 50 * sec},
		{halfOpen, open, breaker.CauseProbeFailed, 50 * sec},
		{open, halfOpen, breaker.CauseBreakElapsed, 60 * sec},
		{halfOpen, open, breaker.CauseProbesInconclusive, 60 * sec},
		{open, halfOpen, breaker.CauseProbeRequested, 61 * sec},
		{halfOpen, recovering, breaker.CauseProbesSucceeded, 61 * sec},
		{recovering, open, breaker.CauseRampFailed, 62 * sec},
		{open, isolated, breaker.CauseIsolated, 63 * sec},
		{isolated, closed, breaker.CauseReset, 64 * sec},
		{closed, open, breaker.CauseRelativeFailures, 64 * sec},
		{open, closed, breaker.CauseReset, 65 * sec},
		{closed, open, breaker.CauseSlowCalls, 65 * sec},
	}
	history := r.History()
	require.Len(t, history, len(want))
	require.True(t, linked(history), "%v", history)
	var loud []breaker.Transition
	for i, w := range want {
		got := history[i]
		require.Equal(t, uint64(i+1), got.Seq)
		require.Equal(t, "db", got.Name)
		require.Equal(t, w.from, got.From, got.String())
		require.Equal(t, w.to, got.To, got.String())
		require.Equal(t, w.cause, got.Cause, got.String())
		require.Equal(t, r.born.Add(w.at), got.At, got.String())
		if w.to == open {
			require.Equal(t, 10*sec, got.Break)
		} else {
			require.Zero(t, got.Break)
		}
		switch w.cause {
		case breaker.CauseRampCompleted, breaker.CauseIsolated, breaker.CauseReset:
		default:
			loud = append(loud, got)
		}
	}
	require.Equal(t, loud, r.told, "the listener is told of all but the silent ones")
}

// The numbers are those of the decision, before it cleared them.
func TestNumbersAtTheDecision(t *testing.T) {
	s := everyCauseSettings()
	s.FailureRatio, s.MinimumCalls = 0.5, 14
	r := newRig(t, s)
	r.run(
		step{at: 0, do: ok(990), want: breaker.Closed},
		step{at: 20 * sec, do: all(slow(3), fail(2), ok(3), fail(3)), want: breaker.Closed},
		step{at: 20 * sec, do: all(ok(1), fail(2)), want: breaker.Open},
	)
	last := r.History()[0]
	require.Equal(t, breaker.CauseFailureRatio, last.Cause)
	require.Equal(t, []int{14, 7, 3, 2, 7}, []int{last.Calls, last.Failures, last.Slow, last.Run, last.RunNeeded})
	required := -math.Log(5e-5)
	requireEvidence(t, breaker.Evidence{
		Rate: 0.5, TripPoint: 0.05, // the floor, for 990 calls before these had no failure
		Reference: 0.5 / 991, ReferenceKnown: true, Surprise: nats(14, 0.5, 0.5/991), Required: required,
	}, last.FailureEvidence)
	requireEvidence(t, breaker.Evidence{
		Rate: 3.0 / 14, TripPoint: 0.5, // the first 640 samples were the last to double
		Reference: 0.5 / 641, ReferenceKnown: true, Surprise: nats(14, 3.0/14, 0.5/641), Required: required,
	}, last.SlowEvidence)
	require.True(t, last.NormalLatencyKnown)
	require.InDelta(t, 10*msec, last.NormalLatency, float64(10*msec)/8)
	require.True(t, last.NormalFailureRateKnown)
	require.InDelta(t, 7.0/1004, last.NormalFailureRate, 1e-12)

	// Half-open, the window holds the probes.
	r.run(step{at: 30 * sec, do: all(ok(1), fail(1)), want: breaker.Open})
	last = r.History()[2]
	require.Equal(t, breaker.CauseProbeFailed, last.Cause)
	require.Equal(t, []int{2, 1, 0, 1}, []int{last.Calls, last.Failures, last.Slow, last.Run})
}

func TestNumbersThatAreUnknown(t *testing.T) {
	r := newRig(t, plain)
	fail(5)(r)
	last := r.History()[0]
	require.Equal(t, breaker.Transition{
		Seq: 1, Name: "db", From: breaker.Closed, To: breaker.Open, At: r.born,
		Cause: breaker.CauseConsecutiveFailures, Break: 15 * sec, Run: 5, RunNeeded: 5,
	}, last)
}

func TestHistoryHoldsTheNewest(t *testing.T) {
	r := newRig(t, plain)
	require.Empty(t, r.History())
	for i := range 100 {
		r.Isolate()
		r.Reset()
		n := 2 * (i + 1)
		history := r.History()
		require.Len(t, history, min(n, 64))
		require.True(t, linked(history), "%v", history)
		require.Equal(t, uint64(n), history[len(history)-1].Seq)
		require.Equal(t, history[len(history)-1], *r.Snapshot().Last)
	}
	r.History()[63].Seq = 0 // it is the caller's own
	r.Snapshot().Last.Seq = 0
	require.Equal(t, uint64(200), r.History()[63].Seq)
	require.Equal(t, uint64(200), r.Snapshot().Last.Seq)
}

type contextKey struct{}

func TestListenerGetsTheContextOfTheCallThatCausedIt(t *testing.T) {
	var got []any
	s := plain
	s.OnTransition = func(ctx context.Context, _ breaker.Transition) { got = append(got, ctx.Value(contextKey{})) }
	r := newRig(t, s)
	from := func(who string) context.Context { return context.WithValue(bg, contextKey{}, who) }
	for range 4 {
		_ = r.Do(from("others"), fails(errDown))
	}
	_ = r.Do(from("the fifth"), fails(errDown))
	r.at(15 * sec)
	attempt, err := r.TryAdmit(from("the prober"))
	require.NoError(t, err)
	attempt.Done(errDown)
	require.Equal(t, []any{"the fifth", "the prober", "the prober"}, got)
}

// The listener sleeps, and everybody else goes on.
func TestListenerRunsOutsideTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := plain
		s.OnTransition = func(context.Context, breaker.Transition) { time.Sleep(time.Hour) }
		b := breaker.MustNew(s)
		begin := time.Now()
		done := make(chan time.Duration)
		go func() { tripNow(b); done <- time.Since(begin) }()
		synctest.Wait()
		require.Equal(t, breaker.Open, b.State())
		_, err := b.TryAdmit(bg)
		require.ErrorIs(t, err, breaker.ErrRejected)
		b.Snapshot()
		b.History()
		b.ProbeNow()
		require.NoError(t, b.Do(bg, succeed)) // an event of its own, which it leaves to the other
		require.NoError(t, b.Do(bg, succeed))
		b.Isolate()
		b.Reset()
		require.Zero(t, time.Since(begin), "nobody waits for a call that is delivering")
		require.Equal(t, 3*time.Hour, <-done, "and that one delivers until nothing is left")
	})
}

func TestOneListenerAtATimeAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []breaker.Transition
		busy := false
		s := plain
		s.ConsecutiveFailures, s.ProbeSuccesses = 1, 1
		s.OnTransition = func(_ context.Context, tr breaker.Transition) {
			require.False(t, busy, "two at a time")
			busy = true
			time.Sleep(time.Minute)
			told = append(told, tr)
			busy = false
		}
		b := breaker.MustNew(s)
		var calls sync.WaitGroup
		for i := range 20 {
			calls.Go(func() {
				time.Sleep(time.Duration(i) * 10 * sec)
				b.ProbeNow()
				if attempt, err := b.TryAdmit(bg); err == nil {
					attempt.Record(breaker.Verdict(i%2), 0)
				}
			})
		}
		calls.Wait()
		require.Greater(t, len(told), 20)
		require.True(t, linked(told), "%v", told) // no silent ones here
		require.Equal(t, b.History(), told)
	})
}

func TestListenerMayCallTheBreaker(t *testing.T) {
	cases := map[string]struct {
		call func(*testing.T, *breaker.Breaker)
		want []breaker.State
	}{
		"reads": {func(t *testing.T, b *breaker.Breaker) {
			require.Equal(t, breaker.Open, b.State())
			require.Equal(t, breaker.Open, b.Snapshot().State)
			require.Len(t, b.History(), 1)
			_, known := b.RetryAfter()
			require.True(t, known)
			b.OpenedAt()
			b.NormalLatency()
			b.NormalFailureRate()
		}, []breaker.State{breaker.Open}},
		"Reset": {func(t *testing.T, b *breaker.Breaker) {
			b.Reset()
			require.NoError(t, b.Do(bg, succeed))
		}, []breaker.State{breaker.Open, breaker.Closed}},
		"Isolate": {func(t *testing.T, b *breaker.Breaker) {
			b.Isolate()
		}, []breaker.State{breaker.Open, breaker.Isolated}},
		"Do, refused": {func(t *testing.T, b *breaker.Breaker) {
			require.ErrorIs(t, b.Do(bg, never), breaker.ErrRejected)
		}, []breaker.State{breaker.Open}},
		"Do, to the close": {func(t *testing.T, b *breaker.Breaker) {
			b.ProbeNow()
			require.NoError(t, b.Do(bg, succeed))
			require.NoError(t, b.Do(bg, succeed))
		}, []breaker.State{breaker.Open, breaker.HalfOpen, breaker.Closed}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b *breaker.Breaker
				var told []uint64
				s := plain
				s.OnTransition = func(_ context.Context, tr breaker.Transition) {
					told = append(told, tr.Seq)
					if tr.Seq == 1 {
						c.call(t, b)
						require.Equal(t, []uint64{1}, told, "what it causes comes after it, not within")
					}
				}
				b = breaker.MustNew(s)
				tripNow(b)
				var got []breaker.State
				for _, tr := range b.History() {
					got = append(got, tr.To)
				}
				require.Equal(t, c.want, got)
				require.True(t, linked(b.History()), "%v", b.History())
				require.IsIncreasing(t, told)
			})
		})
	}
}

// explode panics in the listener at a transition of some cause, once.
func explode(s breaker.Settings, at breaker.Cause, told *[]breaker.Cause) breaker.Settings {
	exploded := false
	s.OnTransition = func(_ context.Context, tr breaker.Transition) {
		*told = append(*told, tr.Cause)
		if tr.Cause == at && !exploded {
			exploded = true
			panic("listener")
		}
	}
	return s
}

func TestListenerPanicsWhileAnOutcomeIsRecorded(t *testing.T) {
	var told []breaker.Cause
	r := newRig(t, explode(plain, breaker.CauseConsecutiveFailures, &told))
	fail(4)(r)
	require.PanicsWithValue(t, "listener", func() {
		_ = r.Do(bg, fails(errDown))
	})
	require.Equal(t, breaker.Open, r.State())
	require.Equal(t, uint64(5), r.Snapshot().Totals.Transient, "recorded once, and as what it was")
	require.Equal(t, uint64(5), r.Snapshot().Totals.Admitted)
	r.run(step{at: 15 * sec, do: ok(2), want: breaker.Closed}) // it works on
	require.Equal(t, []breaker.Cause{
		breaker.CauseConsecutiveFailures, breaker.CauseBreakElapsed, breaker.CauseProbesSucceeded,
	}, told)
}

func TestListenerPanicsWhileAProbeIsAdmitted(t *testing.T) {
	asks := map[string]func(b *breaker.Breaker){
		"TryAdmit": func(b *breaker.Breaker) { _, _ = b.TryAdmit(bg) },
		"Admit":    func(b *breaker.Breaker) { _, _ = b.Admit(bg) },
		"Do":       func(b *breaker.Breaker) { _ = b.Do(bg, never) },
		"Call":     func(b *breaker.Breaker) { _, _ = breaker.Call(bg, b, neverValue) },
		"CallOr":   func(b *breaker.Breaker) { _, _ = breaker.CallOr(bg, b, neverValue, noFallback) },
	}
	for name, ask := range asks {
		t.Run(name, func(t *testing.T) {
			var told []breaker.Cause
			r := newRig(t, explode(plain, breaker.CauseBreakElapsed, &told))
			fail(5)(r)
			r.at(15 * sec)
			require.PanicsWithValue(t, "listener", func() { ask(r.Breaker) })
			require.Equal(t, breaker.HalfOpen, r.State())
			require.Zero(t, r.Snapshot().ProbesInFlight, "the slot is not lost")
			require.Equal(t, breaker.Totals{Transient: 5, Released: 1}, outcomes(r.Snapshot().Totals), "the attempt has ended")
			require.Equal(t, uint64(6), r.Snapshot().Totals.Admitted)
			ok(2)(r)
			require.Equal(t, breaker.Closed, r.State())
		})
	}
}

// A queue that a panic left behind goes out with the next event.
func TestListenerPanicsWithMoreInTheQueue(t *testing.T) {
	var b *breaker.Breaker
	var told []uint64
	s := plain
	s.OnTransition = func(_ context.Context, tr breaker.Transition) {
		told = append(told, tr.Seq)
		if tr.Seq == 1 {
			b.ProbeNow()
			_ = b.Do(bg, fails(errDown)) // two more
			panic("listener")
		}
	}
	b = breaker.MustNew(s)
	require.PanicsWithValue(t, "listener", func() { tripNow(b) })
	require.Equal(t, []uint64{1}, told)
	b.ProbeNow()
	_ = b.Do(bg, succeed)
	require.Equal(t, []uint64{1, 2, 3, 4}, told)
}

func TestTransitionText(t *testing.T) {
	r := newRig(t, everyCauseSettings())
	everyCause(r)
	h := r.History()
	for i, want := range map[int]string{
		0:  `"db" closed -> open: consecutive-failures, 7 in a row, 7 of 7 failed, normally 0.05 %, chance below 1 in 10^23, break 10s`,
		1:  `"db" open -> half-open: break-elapsed`,
		4:  `"db" closed -> open: failure-ratio, 8 of 10 failed, normally 0.74 %, chance below 1 in 10^14, 1 of 10 slow, normally 0.078 %, chance below 1 in 10, normal latency 10.24ms, break 10s`,
		12: `"db" open -> isolated: isolated`,
		14: `"db" closed -> open: relative-failures, 6 of 10 failed, normally 1.7 %, chance below 1 in 10^7, break 10s`,
		16: `"db" closed -> open: slow-calls, 10 of 10 slow, normally 0.078 %, chance below 1 in 10^31, normal latency 10.24ms, break 10s`,
	} {
		require.Equal(t, want, h[i].String())
	}

	// Where chance is not asked, nothing is said of it.
	r = newRig(t, longMemory)
	all(learn, func(r *rig) { r.at(20 * sec) }, fail(3), ok(4), fail(3))(r)
	require.Equal(t, `"db" closed -> open: relative-failures, 6 of 10 failed, break 15s`, r.History()[0].String())
}

func TestTransitionJSON(t *testing.T) {
	r := newRig(t, everyCauseSettings())
	everyCause(r)
	first := r.History()[0]
	require.JSONEq(t, `{"seq":1,"name":"db","from":"closed","to":"open","at":`+jsonOf(t, first.At)+`,
		"cause":"consecutive-failures","break_seconds":10,"calls":7,"failures":7,"slow":0,"run":7,"run_needed":7,
		"failure_evidence":`+jsonOf(t, first.FailureEvidence)+`,"slow_evidence":`+jsonOf(t, first.SlowEvidence)+`,
		"normal_latency_seconds":0.01024,"normal_failure_rate":`+jsonOf(t, first.NormalFailureRate)+`}`, jsonOf(t, first))

	r = newRig(t, plain)
	r.Isolate()
	require.JSONEq(t, `{"seq":1,"name":"db","from":"closed","to":"isolated","at":`+jsonOf(t, r.born)+`,
		"cause":"isolated","calls":0,"failures":0,"slow":0,"run":0,"run_needed":5}`, jsonOf(t, r.History()[0]), "what is unknown is absent")
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// The first probe of a spell tells the listener of it, before its call begins. The time
// that takes is not the dependency's.
func TestSlowListenerMakesNoSlowProbe(t *testing.T) {
	var r *rig
	r = newRig(t, breaker.Settings{SlowCallThreshold: time.Second, OnTransition: func(context.Context, breaker.Transition) {
		r.clock.Add(2 * time.Second)
	}})
	fail(5)(r)
	r.clock.Add(time.Minute)
	for range 2 {
		require.NoError(t, r.Do(bg, func(context.Context) error { return nil }))
	}
	require.Equal(t, []breaker.Cause{
		breaker.CauseConsecutiveFailures, breaker.CauseBreakElapsed, breaker.CauseProbesSucceeded,
	}, r.causes())
}

// A panic of Random goes up, and what there is to tell is told all the same.
func TestRandomPanics(t *testing.T) {
	draws := 0
	r := newRig(t, breaker.Settings{ConsecutiveFailures: 1, Random: func() float64 {
		if draws++; draws > 1 {
			panic("no more numbers")
		}
		return 0
	}})
	require.PanicsWithValue(t, "no more numbers", func() { fail(1)(r) })
	require.Len(t, r.told, 1)
	require.Equal(t, breaker.Open, r.State())
}
