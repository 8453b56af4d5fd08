package simulation_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

// requireConserved requires that nothing is lost between one count and another.
func requireConserved(t *testing.T, r *simulation.Report) {
	t.Helper()
	c, a := r.Calls, r.Attempts
	require.Equal(t, c.Offered, c.Served+c.Failed+c.Throttled+c.Refused+c.Canceled, "calls")
	require.Equal(t, c.Refused, c.RefusedServable+c.RefusedAnyway, "refused calls")
	require.Equal(t, a.Asked, a.Refused+a.Reached, "attempts")
	require.Equal(t, a.Reached, a.OK+a.Failed+a.Throttled+a.Canceled, "attempts that reached the dependency")
	require.Equal(t, c.Served, a.OK, "a call is served once")
	require.LessOrEqual(t, c.Offered, a.Asked)
	require.LessOrEqual(t, a.Dead, a.Reached)
	require.LessOrEqual(t, r.Probes.Count, a.Reached)

	var sum simulation.Second
	for i, s := range r.Timeline {
		require.Equal(t, time.Duration(i)*time.Second, s.Start)
		if !r.NoBreaker {
			require.Equal(t, r.Instances, s.Closed+s.Open+s.HalfOpen+s.Recovering, "instances at %v", s.Start)
		}
		sum.Offered += s.Offered
		sum.Served += s.Served
		sum.Failed += s.Failed
		sum.Throttled += s.Throttled
		sum.Refused += s.Refused
		sum.Canceled += s.Canceled
		sum.Asked += s.Asked
		sum.Reached += s.Reached
		sum.Probes += s.Probes
		sum.Opens += s.Opens
	}
	require.Equal(t, c, simulation.Calls{
		Offered: int64(sum.Offered), Served: int64(sum.Served), Failed: int64(sum.Failed),
		Throttled: int64(sum.Throttled), Refused: int64(sum.Refused), Canceled: int64(sum.Canceled),
		RefusedServable: c.RefusedServable, RefusedAnyway: c.RefusedAnyway,
	}, "the timeline's calls")
	require.EqualValues(t, a.Asked, sum.Asked)
	require.EqualValues(t, a.Reached, sum.Reached)
	require.EqualValues(t, r.Probes.Count, sum.Probes)
	opens := 0
	for _, o := range r.Opens {
		opens += o.Count
	}
	require.Equal(t, opens, sum.Opens, "opens")
	require.LessOrEqual(t, r.FalseTrips, opens)
}

// randomScenario draws a scenario that is valid.
func randomScenario(dice *rand.Rand) simulation.Scenario {
	maybe := func(p float64) bool { return dice.Float64() < p }
	upTo := func(d time.Duration) time.Duration { return time.Duration(dice.Int64N(int64(d))) }
	s := simulation.Scenario{
		Seed:      dice.Uint64(),
		Duration:  time.Second + upTo(2*time.Minute),
		Instances: 1 + dice.IntN(4),
		NoBreaker: maybe(0.1),
		Instant:   maybe(0.2),
		Load:      simulation.Load{Rate: 100 * dice.Float64(), Poisson: maybe(0.4)},
		Dependency: simulation.Dependency{
			Median:      1 + upTo(200*time.Millisecond),
			FailureRate: 0.1 * dice.Float64(),
		},
		Callers: simulation.Callers{
			Deadline:      1 + upTo(3*time.Second),
			Retries:       dice.IntN(3),
			RetryRefusals: maybe(0.5),
			Backoff:       upTo(300 * time.Millisecond),
			CancelShare:   0.3 * dice.Float64(),
			NoPause:       maybe(0.3),
		},
	}
	if maybe(0.3) {
		s.Callers.Timeout = 1 + upTo(time.Second)
	}
	if maybe(0.3) {
		s.Dependency.Capacity = 1 + 100*dice.Float64()
	}
	if maybe(0.2) {
		s.Dependency.Warming.Full = 1 + 20*dice.Float64()
	}
	if maybe(0.3) {
		s.Dependency.Hump = simulation.Hump{Share: dice.Float64(), Median: 1 + upTo(time.Second)}
	}
	if !s.Load.Poisson && maybe(0.3) {
		s.Load.Every = 1 + upTo(time.Second)
	}
	if maybe(0.3) {
		s.Load.Bursts = []simulation.Burst{{Start: upTo(time.Minute), Duration: 1 + upTo(5*time.Second), Every: 6 * time.Second, Factor: 5}}
	}
	if maybe(0.3) {
		s.Load.Day = simulation.Day{Lowest: 0.1, Length: time.Minute}
	}
	for range dice.IntN(4) {
		incident := simulation.Incident{Kind: simulation.Kinds()[dice.IntN(len(simulation.Kinds()))], Start: upTo(time.Minute)}
		if maybe(0.8) {
			incident.Duration = upTo(time.Minute)
		}
		switch incident.Kind {
		case simulation.Brownout, simulation.Latency:
			incident.Factor = 1 + 20*dice.Float64()
		case simulation.Capacity:
			incident.Rate = 1 + 50*dice.Float64()
		default:
			incident.Share = 0.01 + 0.99*dice.Float64()
			if maybe(0.5) {
				incident.Share = 1
			}
		}
		s.Incidents = append(s.Incidents, incident)
	}
	if maybe(0.5) {
		s.Settings.Recovery = breaker.RecoveryOver(0.25)
	}
	s.Settings.Shadow = maybe(0.1)
	return s
}

func TestNothingIsLost(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	var all simulation.Report
	for i := range 100 {
		s := randomScenario(dice)
		r, err := simulation.Run(context.Background(), s)
		require.NoError(t, err, "scenario %d", i)
		requireConserved(t, r)
		text, err := json.Marshal(s)
		require.NoError(t, err)
		var read simulation.Scenario
		require.NoError(t, json.Unmarshal(text, &read), "%s", text)
		require.Equal(t, s, read)
		all.Calls.Served += r.Calls.Served
		all.Calls.Failed += r.Calls.Failed
		all.Calls.Throttled += r.Calls.Throttled
		all.Calls.Canceled += r.Calls.Canceled
		all.Calls.RefusedServable += r.Calls.RefusedServable
		all.Calls.RefusedAnyway += r.Calls.RefusedAnyway
		all.Attempts.Dead += r.Attempts.Dead
		all.Probes.Count += r.Probes.Count
		all.FalseTrips += r.FalseTrips
	}
	for name, n := range map[string]int64{
		"served": all.Calls.Served, "failed": all.Calls.Failed, "throttled": all.Calls.Throttled,
		"canceled": all.Calls.Canceled, "refused servable": all.Calls.RefusedServable,
		"refused anyway": all.Calls.RefusedAnyway, "dead": all.Attempts.Dead,
		"probes": all.Probes.Count, "false trips": int64(all.FalseTrips),
	} {
		require.NotZero(t, n, "no scenario had any %s", name)
	}
}
