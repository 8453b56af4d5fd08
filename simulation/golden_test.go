package simulation_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

var update = flag.Bool("update", false, "write the golden report anew")

// everything has something of all that a scenario can have.
func everything() simulation.Scenario {
	at := func(kind simulation.Kind, start int, i simulation.Incident) simulation.Incident {
		i.Kind, i.Start, i.Duration = kind, time.Duration(start)*time.Second, 5*time.Second
		return i
	}
	return simulation.Scenario{
		Name:      "everything",
		Seed:      7,
		Duration:  65 * time.Second,
		Instances: 3,
		Load: simulation.Load{
			Rate:    60,
			Poisson: true,
			Steps:   []simulation.Step{{At: 20 * time.Second, Rate: 90}},
			Bursts:  []simulation.Burst{{Start: 5 * time.Second, Duration: time.Second, Every: 30 * time.Second, Factor: 4}},
			Day:     simulation.Day{Lowest: 0.5, Length: time.Minute},
		},
		Callers: simulation.Callers{
			Deadline:      800 * time.Millisecond,
			Timeout:       500 * time.Millisecond,
			Retries:       2,
			RetryRefusals: true,
			Backoff:       20 * time.Millisecond,
			CancelShare:   0.05,
		},
		Dependency: simulation.Dependency{
			P99:         70 * time.Millisecond,
			Hump:        simulation.Hump{Share: 0.1, Median: 40 * time.Millisecond},
			FailureRate: 0.01,
			Capacity:    500,
			Queue:       200 * time.Millisecond,
			Warming:     simulation.Warming{Full: 40},
		},
		Incidents: []simulation.Incident{
			at(simulation.Brownout, 6, simulation.Incident{Factor: 6, Share: 0.8}),
			at(simulation.Outage, 12, simulation.Incident{}),
			at(simulation.Hang, 18, simulation.Incident{Share: 0.7}),
			at(simulation.Failing, 24, simulation.Incident{Share: 0.3}),
			at(simulation.Flapping, 30, simulation.Incident{Period: 4 * time.Second}),
			at(simulation.Shards, 36, simulation.Incident{Share: 0.2, Harmless: true}),
			at(simulation.Throttling, 42, simulation.Incident{Share: 0.5}),
			at(simulation.Capacity, 48, simulation.Incident{Rate: 20}),
			{Kind: simulation.Latency, Start: 54 * time.Second, Factor: 1.5},
		},
		Settings: breaker.Settings{
			Name:          "db",
			BreakDuration: 2 * time.Second, MaximumBreakDuration: 4 * time.Second,
			Recovery: breaker.Recovery{Fraction: 0.5},
		},
	}
}

func reportBytes(t *testing.T, s simulation.Scenario) string {
	t.Helper()
	r := run(t, s)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	return r.String() + "\n" + strings.ReplaceAll(string(text), "},{", "},\n{") + "\n" // a line for each difference
}

// The golden report was made on one machine, and has to come out on every other. After a
// change that is meant to change it:
//
//	go test -run '^TestGoldenReport$' ./simulation -update
func TestGoldenReport(t *testing.T) {
	const path = "testdata/everything.golden"
	got := reportBytes(t, everything())
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestSameSeedSameBytes(t *testing.T) {
	s := everything()
	one := reportBytes(t, s)
	require.Equal(t, one, reportBytes(t, s))
	s.Seed++
	require.NotEqual(t, one, reportBytes(t, s))
}

// A run leaves its scenario as it was, so that it can be run again.
func TestRunChangesNothing(t *testing.T) {
	s, same := everything(), everything()
	run(t, s)
	require.Equal(t, same, s)
}
