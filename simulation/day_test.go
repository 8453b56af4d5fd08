package simulation_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

var day = flag.Duration("day", time.Minute, "how much of TestDay to run: 24h for all of it")

// A day at 1,000 calls a second, with an outage and a brownout every other hour. All of it
// takes a while, so by default it runs for a minute of its own time:
//
//	go test -count=1 -v -run '^TestDay$' ./simulation -day=24h
func TestDay(t *testing.T) {
	s := simulation.Scenario{
		Name:       "a day",
		Duration:   *day,
		Load:       simulation.Load{Rate: 1000, Poisson: true},
		Dependency: simulation.Dependency{Median: 20 * time.Millisecond, P99: 80 * time.Millisecond, FailureRate: 0.001},
		Callers:    simulation.Callers{Deadline: time.Second},
		Settings:   breaker.Settings{Name: "db"},
	}
	for start := 30 * time.Second; start < *day; start += 2 * time.Hour {
		s.Incidents = append(s.Incidents,
			simulation.Incident{Kind: simulation.Outage, Start: start, Duration: time.Minute},
			simulation.Incident{Kind: simulation.Brownout, Start: start + time.Hour, Duration: time.Minute, Factor: 10},
		)
	}
	begun := time.Now()
	report, err := simulation.Run(context.Background(), s)
	require.NoError(t, err)
	show(fmt.Sprintf("%v, %d calls, in %v of real time\n", *day, report.Calls.Offered, time.Since(begun).Round(time.Second/10)))
	requireConserved(t, report)
	require.Len(t, report.Timeline, int(*day/time.Second))
	expected := 1000 * day.Seconds()
	require.InDelta(t, expected, report.Calls.Offered, 0.02*expected)
	require.Zero(t, report.FalseTrips)
}
