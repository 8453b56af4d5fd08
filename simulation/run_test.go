package simulation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := steady()
	seen := 0
	s.OnSecond = func(simulation.Second) {
		if seen++; seen == 3 {
			cancel()
		}
	}
	report, err := simulation.Run(ctx, s)
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, report)
	require.Equal(t, 3, seen)
}

// However short the run.
func TestRunWithAContextThatHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, lasts := range []time.Duration{time.Millisecond, time.Second, time.Minute} {
		s := steady()
		s.Duration = lasts
		report, err := simulation.Run(ctx, s)
		require.ErrorIs(t, err, context.Canceled, lasts)
		require.Nil(t, report, lasts)
	}
}

func TestRunTellsOfEachSecond(t *testing.T) {
	s := steady()
	var told []simulation.Second
	s.OnSecond = func(second simulation.Second) { told = append(told, second) }
	require.Equal(t, run(t, s).Timeline, told)
	require.Len(t, told, 30)
}

// The listener of the settings is told as well, and may call the breaker.
func TestSettingsListenerIsTold(t *testing.T) {
	s := down()
	s.NoBreaker = false
	var told []breaker.Transition
	s.Settings.OnTransition = func(_ context.Context, tr breaker.Transition) { told = append(told, tr) }
	r := run(t, s)
	require.NotEmpty(t, told)
	require.Len(t, r.Transitions, len(told))
	for i, tr := range r.Transitions {
		require.Equal(t, told[i].String(), tr.String())
		require.Equal(t, told[i].At, tr.At)
	}
	require.Equal(t, len(told), r.TransitionsInAll)
}

func TestSettingsClassifySeesTheErrors(t *testing.T) {
	seen := map[error]bool{}
	s := steady(
		with(incident(simulation.Capacity), func(i *simulation.Incident) { i.Rate = 10 }),
		shareOf(incident(simulation.Failing), 0.5),
		shareOf(incident(simulation.Throttling), 0.5),
		shareOf(incident(simulation.Hang), 0.1),
	)
	s.NoBreaker = false
	s.Callers.CancelShare = 0.1
	s.Settings = breaker.Settings{DisableAdaptive: true, ConsecutiveFailures: 1_000_000}
	s.Settings.Classify = func(err error) breaker.Verdict {
		seen[err] = true
		return breaker.Classify(err)
	}
	run(t, s)
	require.Equal(t, map[error]bool{
		simulation.ErrFailed: true, simulation.ErrShed: true, context.DeadlineExceeded: true,
	}, seen, "what carries a verdict, or is the caller's own doing, is not asked about")
}

func TestInstancesHaveNamesAndBreakersOfTheirOwn(t *testing.T) {
	s := down()
	s.NoBreaker, s.Instances = false, 3
	s.Settings.Name = "db"
	opened := map[string]int{}
	for _, tr := range run(t, s).Transitions {
		if tr.From == breaker.Closed {
			opened[tr.Name]++
		}
	}
	require.Equal(t, map[string]int{"db/1": 1, "db/2": 1, "db/3": 1}, opened)
}

func TestShadowBreakerRefusesNothing(t *testing.T) {
	s := down()
	s.NoBreaker, s.Settings.Shadow = false, true
	r := run(t, s)
	require.Zero(t, r.Calls.Refused)
	require.NotEmpty(t, r.Opens)
	require.Zero(t, r.Probes)
}

// Breaks of 10, 20 and 40 s after an outage that ends in the second: the probe at 30 s
// after the first open is the first that is answered.
func TestFullServiceWaitsForTheBreak(t *testing.T) {
	s := steady(simulation.Incident{Kind: simulation.Outage, Start: 10 * time.Second, Duration: 25 * time.Second})
	s.NoBreaker, s.Duration = false, 2*time.Minute
	s.Settings = breaker.Settings{BreakDuration: 10 * time.Second, BreakJitter: breaker.JitterNone}
	r := run(t, s)
	require.EqualValues(t, 3000, r.Calls.Refused, "10.05 to 20.04 s and 20.06 to 40.05 s; what ends at an instant has ended for what begins at it")
	require.Equal(t, 10*time.Second+9*time.Millisecond, r.Probes.ShortestRest)
	require.Equal(t, usual, r.Probes.ShortestGap)
	o := r.Incidents[0]
	require.Equal(t, 1, o.Opened)
	require.Equal(t, 41*time.Millisecond, o.FirstTrip, "the fifth call, and the millisecond in which it fails")
	require.True(t, o.FullServiceKnown)
	require.Equal(t, 7*time.Second, o.FullService, "closed at 40.1 s, and the second after that")
	require.EqualValues(t, 6, o.DeadAttempts)
}

func TestGraceAfterATrouble(t *testing.T) {
	s := steady(factor(incident(simulation.Brownout), 10))
	s.NoBreaker, s.Duration = false, 2*time.Minute
	s.Incidents = append(s.Incidents, with(shareOf(incident(simulation.Failing), 0.5), func(i *simulation.Incident) {
		i.Start, i.Harmless = 40*time.Second, true
	}))
	require.Zero(t, run(t, s).FalseTrips, "20 s after the brownout is still within the 30 s of grace")
	s.Grace = 10 * time.Second
	require.Positive(t, run(t, s).FalseTrips)
}

// By itself, a grace leaves room for the calls that began in the trouble to end.
func TestGraceWaitsForTheCallers(t *testing.T) {
	for name, callers := range map[string]simulation.Callers{
		"deadline":              {Deadline: time.Minute},
		"timeout":               {Timeout: time.Minute},
		"the sooner of the two": {Deadline: 31 * 24 * time.Hour, Timeout: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			s := steady(incident(simulation.Hang))
			s.NoBreaker, s.Duration, s.Callers = false, 2*time.Minute, callers
			r := run(t, s)
			require.NotEmpty(t, r.Opens)
			require.Zero(t, during(r, 0, 70*time.Second).Refused, "it opens 50 s after the hang has ended")
			require.Zero(t, r.FalseTrips)
			s.Grace = 30 * time.Second
			require.Positive(t, run(t, s).FalseTrips)
		})
	}
}

// Warm for less than the grace, a dependency may be what an open is owed to; and for longer
// it is not.
func TestGraceAfterTheCold(t *testing.T) {
	for _, test := range []struct {
		gain       float64 // of the room, from 1 to 10, ten times a second from 20 s on
		falseTrips int
	}{
		{0.0125, 0}, // 92 s, and it opens after 100
		{0.02, 1},   // 65 s
	} {
		s := steady(
			incident(simulation.Outage),
			simulation.Incident{Kind: simulation.Outage, Start: 100 * time.Second, Duration: 2 * time.Second, Harmless: true},
		)
		s.NoBreaker, s.Duration, s.Load.Rate, s.Grace = false, 3*time.Minute, 10, 30*time.Second
		s.Dependency.Warming = simulation.Warming{Full: 10, Gain: test.gain, IdleGain: test.gain}
		s.Settings = breaker.Settings{DisableAdaptive: true, ConsecutiveFailures: 5, BreakDuration: 4 * time.Second}
		require.Equal(t, test.falseTrips, run(t, s).FalseTrips, test)
	}
}

// The first probe that succeeds is served, and nothing is refused in its second; but the
// breaker is still half-open.
func TestFullServiceWaitsForTheClose(t *testing.T) {
	s := steady(simulation.Incident{Kind: simulation.Outage, Start: 10 * time.Second, Duration: 30 * time.Second})
	s.NoBreaker, s.Duration, s.Load.Rate = false, time.Minute, 1
	s.Settings = breaker.Settings{BreakDuration: 10 * time.Second, BreakJitter: breaker.JitterNone}
	r := run(t, s)
	require.Equal(t, simulation.Second{Start: 46 * time.Second, Offered: 1, Served: 1, Asked: 1, Reached: 1, Probes: 1, State: breaker.HalfOpen, HalfOpen: 1},
		probeSecond(r.Timeline[46]))
	require.Equal(t, 8*time.Second, r.Incidents[0].FullService)
}

// probeSecond is a second without what the breaker measures.
func probeSecond(s simulation.Second) simulation.Second {
	s.LatencyP50, s.LatencyP99, s.SlowThreshold, s.NormalLatency = 0, 0, 0, 0
	s.FailureRate, s.SlowRate, s.TripRatio = 0, 0, 0
	return s
}

// A dependency that is cold, or has no room, is in trouble without an incident.
func TestTroubleThatIsNoIncident(t *testing.T) {
	cold := warming(breaker.Recovery{})
	cold.Grace = 1
	r := run(t, cold)
	require.Len(t, r.Opens, 2)
	require.Zero(t, r.FalseTrips, "it probed a dependency that was cold")

	overrun := steady()
	overrun.NoBreaker, overrun.Grace = false, 10*time.Millisecond
	overrun.Load.Every = time.Second
	overrun.Dependency.Warming.Full = 1
	r = run(t, overrun)
	require.Equal(t, breaker.CauseConsecutiveFailures, r.Transitions[0].Cause)
	require.Zero(t, r.FalseTrips, "it had no room for a batch")

	crowded := steady()
	crowded.NoBreaker, crowded.Grace = false, 5*time.Second
	crowded.Dependency.Capacity = 10
	r = run(t, crowded)
	require.NotEmpty(t, r.Opens)
	require.Zero(t, r.FalseTrips, "it shed calls")
}

func TestWorstSecondIsTheFirstOfEquals(t *testing.T) {
	r := run(t, steady(incident(simulation.Outage)))
	require.Equal(t, 10*time.Second, r.Worst.Start)
	require.Equal(t, 100, r.Worst.Failed)
	require.Zero(t, run(t, steady()).Worst)
}

// What ends after the run is counted in the last second, and would make it the worst of all.
func TestWorstSecondIsOneOfTheRun(t *testing.T) {
	hang := steady(simulation.Incident{Kind: simulation.Hang, Start: 10 * time.Second})
	r := run(t, hang)
	require.Equal(t, 600, r.Timeline[29].Failed)
	require.Equal(t, 15*time.Second, r.Worst.Start)
	require.Equal(t, 100, r.Worst.Failed)

	probes := steady(simulation.Incident{Kind: simulation.Outage, Start: 10 * time.Second})
	probes.NoBreaker = false
	probes.Callers = simulation.Callers{Retries: 100, RetryRefusals: true, Backoff: time.Second}
	probes.Settings = breaker.Settings{BreakDuration: time.Second, MaximumBreakDuration: time.Second}
	r = run(t, probes)
	require.Greater(t, r.Timeline[29].Probes, 10)
	require.Equal(t, 2, r.Probes.WorstSecond)
	require.Less(t, r.Probes.WorstSecondAt, 29*time.Second)
}

// A second of which the run has only a part does not count as one of full service.
func TestFullServiceIsAWholeSecond(t *testing.T) {
	for _, test := range []struct {
		lasts time.Duration
		want  time.Duration
	}{
		{20*time.Second + 100*time.Millisecond, 0},
		{21*time.Second - 1, 0},
		{21 * time.Second, time.Second},
	} {
		s := steady(incident(simulation.Outage))
		s.Duration = test.lasts
		o := run(t, s).Incidents[0]
		require.Equal(t, test.want, o.FullService, test)
		require.Equal(t, test.want > 0, o.FullServiceKnown, test)
	}
}

func TestNoRetryAfterTheDeadlineOfAnInstantCall(t *testing.T) {
	s := steady()
	s.Instant = true
	s.Callers.Deadline, s.Callers.Retries = 5*time.Millisecond, 3
	r := run(t, s)
	require.EqualValues(t, 1, r.LoadMultiplier)
	require.Equal(t, 5*time.Millisecond, r.Waited.Max)
}
