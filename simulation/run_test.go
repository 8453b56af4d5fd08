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
	require.Less(t, seen, 6)
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
	o := run(t, s).Incidents[0]
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
