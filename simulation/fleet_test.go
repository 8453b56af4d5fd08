package simulation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

// fleet is 200 instances, of 5 calls a second each, before a dependency that is down for
// a minute.
func fleet(jitter breaker.Jitter) simulation.Scenario {
	return simulation.Scenario{
		Name:       "a fleet of 200, jitter " + jitter.String(),
		Duration:   6 * time.Minute,
		Instances:  200,
		Load:       simulation.Load{Rate: 1000, Poisson: true},
		Dependency: simulation.Dependency{Median: 20 * time.Millisecond, P99: 80 * time.Millisecond},
		Callers:    simulation.Callers{Deadline: time.Second},
		Incidents:  []simulation.Incident{{Kind: simulation.Outage, Start: time.Minute, Duration: time.Minute}},
		Settings:   breaker.Settings{Name: "db", BreakJitter: jitter},
	}
}

func TestJitterSpreadsTheProbesOfAFleet(t *testing.T) {
	probes := map[breaker.Jitter]simulation.Probes{}
	var lines strings.Builder
	for _, jitter := range []breaker.Jitter{breaker.JitterNone, breaker.JitterFull, breaker.JitterEqual} {
		report, err := simulation.Run(context.Background(), fleet(jitter))
		require.NoError(t, err)
		requireConserved(t, report)
		require.Equal(t, 200, report.Incidents[0].Opened)
		probes[jitter] = report.Probes
		fmt.Fprintf(&lines, "%-5v  %3d probes in the worst second, shortest rest %6.3f s, %5.1f %% of an oracle's calls served\n",
			jitter, report.Probes.WorstSecond, report.Probes.ShortestRest.Seconds(), 100*report.Goodput)
	}
	show(lines.String())
	requireOnPage(t, lines.String())
	none, full, equal := probes[breaker.JitterNone], probes[breaker.JitterFull], probes[breaker.JitterEqual]
	require.Greater(t, none.WorstSecond, 2*equal.WorstSecond, "without jitter, the fleet probes in step")
	require.Greater(t, none.WorstSecond, 2*full.WorstSecond)
	require.GreaterOrEqual(t, none.ShortestRest, 15*time.Second, "without jitter, the rest is the whole break")
	require.GreaterOrEqual(t, equal.ShortestRest, 15*time.Second/2, "equal jitter leaves half of it for certain")
	require.Less(t, full.ShortestRest, time.Second, "full jitter leaves none for certain")
}
