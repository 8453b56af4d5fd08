package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

// badMinute is two minutes of ten calls a second that take 20 ms, all of which fail from
// the 60th second to the 90th.
func badMinute() (calls []simulation.Call) {
	for i := range 1200 {
		c := simulation.Call{Start: time.Duration(i) * 100 * time.Millisecond, Latency: 20 * time.Millisecond}
		if i >= 600 && i < 900 {
			c.Verdict = breaker.Transient
		}
		calls = append(calls, c)
	}
	return calls
}

func replay(t *testing.T, r simulation.Recording, calls []simulation.Call) *simulation.Report {
	t.Helper()
	p, err := simulation.NewReplay(r)
	require.NoError(t, err)
	for _, c := range calls {
		require.NoError(t, p.Add(c))
	}
	report := p.Report()
	require.Same(t, report, p.Report())
	requireConserved(t, report)
	return report
}

func TestReplay(t *testing.T) {
	start := time.Date(2026, time.March, 2, 3, 0, 0, 0, time.UTC)
	r := replay(t, simulation.Recording{
		Name:     "a bad minute",
		Start:    start,
		Settings: breaker.Settings{Name: "db", BreakDuration: 10 * time.Second, BreakJitter: breaker.JitterNone},
	}, badMinute())

	require.EqualValues(t, 1200, r.Calls.Offered)
	require.EqualValues(t, 6, r.Calls.Failed, "five in a row, and a probe")
	require.EqualValues(t, 294, r.Calls.RefusedAnyway)
	require.Equal(t, r.Calls.Offered, r.Calls.Served+300+r.Calls.RefusedServable)
	require.Positive(t, r.Calls.RefusedServable, "the second break lasts beyond the incident")
	require.Equal(t, []simulation.Opens{{Cause: breaker.CauseConsecutiveFailures, Count: 1}, {Cause: breaker.CauseProbeFailed, Count: 1}}, r.Opens)
	require.Equal(t, breaker.CauseConsecutiveFailures, r.Transitions[0].Cause)
	require.Equal(t, start.Add(60*time.Second+420*time.Millisecond), r.Transitions[0].At, "when the fifth failure ended")
	require.True(t, r.Replayed)
	require.Zero(t, r.FalseTrips)
	require.NotContains(t, r.String(), "false trips")
	require.Empty(t, r.Incidents)
	require.Equal(t, 20*time.Millisecond, r.Latency.Max)
	require.Equal(t, 119900*time.Millisecond+20*time.Millisecond, r.Duration)
	require.Len(t, r.Timeline, 120)
}

func TestReplayOfEachVerdict(t *testing.T) {
	r := replay(t, simulation.Recording{}, []simulation.Call{
		{Verdict: breaker.OK},
		{Verdict: breaker.Permanent, Latency: -1},
		{Verdict: breaker.Transient, Latency: 48 * time.Hour},
		{Verdict: breaker.Throttled, Start: time.Second, Latency: 3 * time.Second},
		{Verdict: breaker.Canceled, Start: time.Second},
	})
	require.Equal(t, simulation.Calls{Offered: 5, Served: 2, Failed: 1, Throttled: 1, Canceled: 1}, r.Calls)
	require.Equal(t, 24*time.Hour, r.Waited.Max)
}

func TestReplayRefusesWhatItCannotPlace(t *testing.T) {
	p, err := simulation.NewReplay(simulation.Recording{})
	require.NoError(t, err)
	require.EqualError(t, p.Add(simulation.Call{Start: -1}), "simulation: a call must not begin before the one added last (0s), got -1ns")
	require.NoError(t, p.Add(simulation.Call{Start: time.Second}))
	require.EqualError(t, p.Add(simulation.Call{Start: time.Second - 1}), "simulation: a call must not begin before the one added last (1s), got 999.999999ms")
	require.EqualError(t, p.Add(simulation.Call{Start: 800 * time.Hour}), "simulation: a call must begin within 744h0m0s, got 800h0m0s")
	require.EqualError(t, p.Add(simulation.Call{Start: time.Second, Verdict: 9}), "simulation: a call must have a verdict that is known, got Verdict(9)")
	require.NoError(t, p.Add(simulation.Call{Start: time.Second}))
	require.EqualValues(t, 2, p.Report().Calls.Offered)
	require.PanicsWithValue(t, "simulation: Add after Report", func() { _ = p.Add(simulation.Call{}) })

	_, err = simulation.NewReplay(simulation.Recording{Settings: breaker.Settings{FailureRatio: 2}})
	require.Equal(t, []string{"Settings.FailureRatio must be in (0, 1], got 2"}, problems(t, err))
}

func TestReplayOfNothing(t *testing.T) {
	r := replay(t, simulation.Recording{}, nil)
	require.Zero(t, r.Calls)
	require.NotEmpty(t, r.String())
}

func TestReplayTellsOfEachSecond(t *testing.T) {
	var told []simulation.Second
	r := replay(t, simulation.Recording{OnSecond: func(s simulation.Second) { told = append(told, s) }}, badMinute())
	require.Equal(t, r.Timeline, told)
}

func TestReplayWithoutATimeline(t *testing.T) {
	var told []simulation.Second
	p, err := simulation.NewReplay(simulation.Recording{NoTimeline: true, OnSecond: func(s simulation.Second) { told = append(told, s) }})
	require.NoError(t, err)
	for _, c := range badMinute() {
		require.NoError(t, p.Add(c))
	}
	r := p.Report()
	require.Empty(t, r.Timeline)
	require.Len(t, told, 120)
	with := replay(t, simulation.Recording{}, badMinute())
	require.Equal(t, with.Timeline, told)
	with.Timeline = nil
	require.Equal(t, with, r)
}
