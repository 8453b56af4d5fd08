package simulation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

// warming is the dependency of TestRecoveryRampServesMoreThanACliff in the core, as a
// scenario: in steps of 100 ms, first 30 of two calls and then 600 of 20; down for five
// seconds from the 130th step on, and then cold.
func warming(recovery breaker.Recovery) simulation.Scenario {
	return simulation.Scenario{
		Name:     "warming",
		Duration: 63 * time.Second,
		Load: simulation.Load{
			Every: 100 * time.Millisecond,
			Steps: []simulation.Step{{At: 0, Rate: 20}, {At: 3 * time.Second, Rate: 200}},
		},
		Dependency: simulation.Dependency{
			Median:         10 * time.Millisecond,
			P99:            10 * time.Millisecond,
			FailureLatency: 10 * time.Millisecond,
			Warming:        simulation.Warming{Full: 20},
		},
		Incidents: []simulation.Incident{{Kind: simulation.Outage, Start: 13 * time.Second, Duration: 5 * time.Second}},
		Instant:   true,
		Settings: breaker.Settings{
			Name:                "warming",
			ConsecutiveFailures: 5,
			Failures:            breaker.Failures{FalseAlarm: 1},
			SlowCalls:           breaker.SlowCalls{FalseAlarm: 1},
			BreakDuration:       5 * time.Second,
			BreakJitter:         breaker.JitterNone,
			Recovery:            recovery,
		},
	}
}

// servedFrom returns how many calls are served from an instant on.
func servedFrom(r *simulation.Report, start time.Duration) (served int) {
	for _, second := range r.Timeline {
		if second.Start >= start {
			served += second.Served
		}
	}
	return served
}

func TestRecoveryRampServesMoreThanACliff(t *testing.T) {
	for _, test := range []struct {
		name     string
		recovery breaker.Recovery
		want     int
	}{
		{"without a ramp", breaker.Recovery{}, 3002},
		{"with a ramp", breaker.RecoveryOver(0.25), 8250},
	} {
		t.Run(test.name, func(t *testing.T) {
			report, err := simulation.Run(context.Background(), warming(test.recovery))
			require.NoError(t, err)
			require.EqualValues(t, 30*2+600*20, report.Calls.Offered)
			require.Equal(t, test.want, servedFrom(report, 18*time.Second))
			t.Log(report)
		})
	}
}
