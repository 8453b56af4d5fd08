package breaker_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

func TestUpdateRefusesWhatNewRefuses(t *testing.T) {
	r := newRig(t, breaker.Settings{Name: "db"})
	before := r.Effective()
	err := r.Update(breaker.Settings{ConsecutiveFailures: -1, FailureRatio: 2})
	var problems *breaker.SettingsError
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems.Problems, 2)
	require.Equal(t, withoutFunctions(before), withoutFunctions(r.Effective()), "the old ones stay in force")
}

func TestUpdateKeepsWhatIsUnderWay(t *testing.T) {
	r := newRig(t, breaker.Settings{Name: "db", ConsecutiveFailures: 5, HalfOpenProbes: 1, Recovery: breaker.RecoveryOver(1)})
	other := update(func(s *breaker.Settings) {
		s.Name = "replica"
		s.BreakDuration = time.Minute
		s.MaximumBreakDuration = time.Hour
		s.HalfOpenProbes = 2
		s.ConsecutiveFailures = 3
	})
	r.run(
		step{at: 0, do: all(ok(100), fail(5)), want: breaker.Open},
		step{at: 5 * time.Second, do: other, want: breaker.Open},
		step{at: 15*time.Second - 1, do: refuse(1), want: breaker.Open}, // what was left of the break is left
		step{at: 15 * time.Second, do: start("one"), want: breaker.HalfOpen},
		step{at: 15 * time.Second, do: all(start("two"), refuse(1)), want: breaker.HalfOpen},
		step{at: 16 * time.Second, do: other, want: breaker.HalfOpen},
		step{at: 16 * time.Second, do: all(refuse(1), end("one", breaker.Transient, 0)), want: breaker.Open},
		step{at: 136*time.Second - 1, want: breaker.Open}, // the second break: twice the new first
		step{at: 136 * time.Second, do: ok(2), want: breaker.Recovering},
		step{at: 137 * time.Second, do: update(func(s *breaker.Settings) { s.Recovery = breaker.Recovery{} }), want: breaker.Recovering},
		step{at: 165 * time.Second, do: all(refuse(1), start("ramp")), want: breaker.Recovering},
		step{at: 166 * time.Second, do: ok(1), want: breaker.Closed}, // the ramp of 30 s ended as it began
		step{at: 166 * time.Second, do: fail(2), want: breaker.Closed},
		step{at: 166 * time.Second, do: fail(1), want: breaker.Open},
	)
	require.Equal(t, "replica", r.Name())
	require.Equal(t, "replica", r.told[len(r.told)-1].Name)
	require.EqualValues(t, 1, r.History()[0].Seq)
	require.EqualValues(t, len(r.History()), r.Snapshot().Last.Seq)
	require.EqualValues(t, 100+5+1+2+1+3, r.Snapshot().Totals.Admitted, "two are still under way")
}

func TestUpdateKeepsABaselineThatItDoesNotChange(t *testing.T) {
	tests := []struct {
		name                    string
		change                  func(*breaker.Settings)
		latency, failures, trip bool // kept
	}{
		{"nothing", func(*breaker.Settings) {}, true, true, true},
		{"multiples", func(s *breaker.Settings) {
			s.Failures = breaker.FailuresAbove(4)
			s.SlowCalls = breaker.SlowCallsAbove(4)
		}, true, true, true},
		{"the failures window", func(s *breaker.Settings) { s.Failures.Window = time.Hour }, true, false, true},
		{"the latency window", func(s *breaker.Settings) { s.SlowCalls.Window = time.Hour }, false, true, true},
		{"the quantile", func(s *breaker.Settings) { s.SlowCalls.Quantile = 0.25 }, false, true, true},
		{"the trip window, and no baseline derived from it", func(s *breaker.Settings) { s.TripWindow = 20 * time.Second }, true, true, false},
		{"the trip window, and the baseline derived from it", func(s *breaker.Settings) { s.TripWindow = time.Minute }, true, false, false},
		{"the calls of the trip window", func(s *breaker.Settings) { s.TripCalls = 100 }, true, true, false},
		{"all off", func(s *breaker.Settings) { s.DisableAdaptive = true }, false, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, breaker.Settings{})
			all(ok(200), fail(1))(r)
			update(test.change)(r)
			s := r.Snapshot()
			require.Equal(t, test.latency, s.NormalLatencyKnown, "latency baseline")
			require.Equal(t, test.failures, s.NormalFailureRateKnown, "failure baseline")
			require.Equal(t, test.trip, s.Calls > 0, "trip window")
			require.Equal(t, 1, s.Run, "a run goes on")
			if test.latency {
				multiple := r.Effective().SlowCalls.Multiple
				require.Equal(t, time.Duration(multiple*float64(s.NormalLatency)), s.SlowThreshold, "by the new multiple at once")
			}
		})
	}
}

func TestUpdateOfMinimumSamples(t *testing.T) {
	r := newRig(t, breaker.Settings{})
	all(ok(200))(r)
	update(func(s *breaker.Settings) {
		s.Failures = breaker.Failures{MinimumSamples: 1000}
		s.SlowCalls = breaker.SlowCalls{MinimumSamples: 1000}
	})(r)
	s := r.Snapshot()
	require.False(t, s.NormalLatencyKnown)
	require.False(t, s.NormalFailureRateKnown)
	ok(800)(r)
	s = r.Snapshot()
	require.True(t, s.NormalLatencyKnown)
	require.True(t, s.NormalFailureRateKnown)
}

func TestUpdateChangesTheFunctions(t *testing.T) {
	r := newRig(t, breaker.Settings{DisableAdaptive: true, ConsecutiveFailures: 1})
	var told []breaker.Cause
	draws := 0
	update(func(s *breaker.Settings) {
		s.Clock = &handClock{} // without effect: own time counts on the first
		s.Classify = func(error) breaker.Verdict { return breaker.Transient }
		s.OnTransition = func(_ context.Context, t breaker.Transition) { told = append(told, t.Cause) }
		s.Random = func() float64 { draws++; return 0.5 }
		s.BreakJitter = breaker.JitterEqual
	})(r)
	require.Equal(t, 1, draws, "one is kept ahead from now on")
	require.Error(t, r.Do(bg, func(context.Context) error { return context.Canceled }))
	require.Equal(t, []breaker.Cause{breaker.CauseConsecutiveFailures}, told)
	require.Empty(t, r.told)
	require.Equal(t, 2, draws)
	left, _ := r.RetryAfter()
	require.Equal(t, 11250*time.Millisecond, left)
	require.Same(t, r.clock, r.Settings().Clock)
}

// What began before an update is told to the listener of then, whoever delivers it.
func TestUpdateOfTheListenerWhileItIsTold(t *testing.T) {
	var r *rig
	var before, after []breaker.Cause
	r = newRig(t, breaker.Settings{DisableAdaptive: true, ConsecutiveFailures: 1, OnTransition: func(_ context.Context, t breaker.Transition) {
		before = append(before, t.Cause)
		update(func(s *breaker.Settings) {
			s.OnTransition = func(_ context.Context, t breaker.Transition) { after = append(after, t.Cause) }
		})(r)
		r.ProbeNow()
		fail(1)(r) // a probe: two transitions more, which this delivery takes along
	}})
	fail(1)(r)
	require.Equal(t, []breaker.Cause{breaker.CauseConsecutiveFailures}, before)
	require.Equal(t, []breaker.Cause{breaker.CauseProbeRequested, breaker.CauseProbeFailed}, after)
}

// A window that begins while the clock stands before the breaker's birth forgets as any
// other.
func TestUpdateOnAClockBehindTheBirth(t *testing.T) {
	r := newRig(t, breaker.Settings{})
	r.at(-30 * time.Hour)
	all(ok(1), update(func(s *breaker.Settings) { s.TripWindow = 20 * time.Second }), fail(1))(r)
	require.Equal(t, 1, r.Snapshot().Calls)
	r.at(-29 * time.Hour)
	require.Zero(t, r.Snapshot().Calls)
}

// Settings change under load; -race watches, and nothing is lost.
func TestUpdateUnderLoad(t *testing.T) {
	b := breaker.MustNew(breaker.Settings{BreakDuration: time.Millisecond, MaximumBreakDuration: time.Millisecond})
	variants := []breaker.Settings{
		{Name: "a", BreakDuration: time.Millisecond, MaximumBreakDuration: time.Millisecond},
		{Name: "b", BreakDuration: time.Millisecond, MaximumBreakDuration: time.Millisecond, Shadow: true, DisableAdaptive: true},
		{Name: "c", BreakDuration: time.Microsecond, TripCalls: 50, FailureRatio: 0.5, Recovery: breaker.RecoveryOver(0.5), HalfOpenProbes: 3,
			Classify: func(error) breaker.Verdict { return breaker.Transient }, OnTransition: func(context.Context, breaker.Transition) {}},
		{Name: "d", BreakDuration: time.Millisecond, MaximumBreakDuration: time.Millisecond, BreakJitter: breaker.JitterNone,
			SlowCalls: breaker.SlowCalls{Window: time.Minute}, Failures: breaker.FailuresAbove(2)},
	}
	const callers, each = 8, 500
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range each {
				attempt, err := b.TryAdmit(bg)
				if err != nil {
					continue
				}
				if (i+caller)%3 == 0 {
					attempt.Done(errors.New("down"))
				} else {
					attempt.Done(nil)
				}
			}
		})
	}
	for i := range 400 {
		s := variants[i%len(variants)]
		require.NoError(t, b.Update(s))
		require.NotEmpty(t, b.Name())
		_, _ = b.Settings(), b.Effective()
	}
	all.Wait()
	totals := b.Snapshot().Totals
	sum := totals.Admitted + totals.Refused + totals.WouldRefuseOK + totals.WouldRefuseTransient + totals.WouldRefuseOther
	require.EqualValues(t, callers*each, sum)
}
