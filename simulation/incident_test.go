package simulation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

func run(t *testing.T, s simulation.Scenario) *simulation.Report {
	t.Helper()
	report, err := simulation.Run(context.Background(), s)
	require.NoError(t, err)
	requireConserved(t, report)
	return report
}

// during sums up the seconds from start to end. Of the latencies it keeps the highest.
func during(r *simulation.Report, start, end time.Duration) (sum simulation.Second) {
	for _, s := range r.Timeline {
		if s.Start < start || s.Start >= end {
			continue
		}
		sum.Offered += s.Offered
		sum.Served += s.Served
		sum.Failed += s.Failed
		sum.Throttled += s.Throttled
		sum.Refused += s.Refused
		sum.Canceled += s.Canceled
		sum.Reached += s.Reached
		sum.LatencyP50 = max(sum.LatencyP50, s.LatencyP50)
		sum.LatencyP99 = max(sum.LatencyP99, s.LatencyP99)
	}
	return sum
}

// steady is half a minute of 100 calls a second that take 10 ms each, without a breaker.
func steady(incidents ...simulation.Incident) simulation.Scenario {
	return simulation.Scenario{
		Duration:   30 * time.Second,
		Load:       simulation.Load{Rate: 100},
		Callers:    simulation.Callers{Deadline: 5 * time.Second},
		Dependency: simulation.Dependency{Median: 10 * time.Millisecond, P99: 10 * time.Millisecond},
		Incidents:  incidents,
		NoBreaker:  true,
	}
}

// from 10 s to 20 s.
func incident(kind simulation.Kind) simulation.Incident {
	return simulation.Incident{Kind: kind, Start: 10 * time.Second, Duration: 10 * time.Second}
}

func with(i simulation.Incident, change func(*simulation.Incident)) simulation.Incident {
	change(&i)
	return i
}

func shareOf(i simulation.Incident, share float64) simulation.Incident {
	return with(i, func(i *simulation.Incident) { i.Share = share })
}

func factor(i simulation.Incident, f float64) simulation.Incident {
	return with(i, func(i *simulation.Incident) { i.Factor = f })
}

const (
	usual   = 10 * time.Millisecond
	aBucket = 1.0 / 32 // what a latency may be reported above its value
)

func requireLatency(t *testing.T, want, got time.Duration) {
	t.Helper()
	require.GreaterOrEqual(t, got, want)
	require.LessOrEqual(t, float64(got), float64(want)*(1+aBucket))
}

func TestIncidents(t *testing.T) {
	for _, test := range []struct {
		name      string
		change    func(*simulation.Scenario)
		incidents []simulation.Incident
		inside    func(*testing.T, simulation.Second) // 10 s to 20 s
		after     func(*testing.T, simulation.Second) // 23 s to 29 s; nil: as before the incident
		report    func(*testing.T, *simulation.Report)
	}{{
		name:      "brownout",
		incidents: []simulation.Incident{factor(incident(simulation.Brownout), 10)},
		inside: func(t *testing.T, s simulation.Second) {
			require.Equal(t, 991, s.Served) // those of the last tenth of a second are served later
			requireLatency(t, 100*time.Millisecond, s.LatencyP50)
		},
	}, {
		name:      "brownout of a share",
		incidents: []simulation.Incident{shareOf(factor(incident(simulation.Brownout), 10), 0.3)},
		inside: func(t *testing.T, s simulation.Second) {
			requireLatency(t, usual, s.LatencyP50)
			requireLatency(t, 100*time.Millisecond, s.LatencyP99)
		},
	}, {
		name:      "two brownouts multiply",
		incidents: []simulation.Incident{factor(incident(simulation.Brownout), 2), factor(incident(simulation.Brownout), 3)},
		inside:    func(t *testing.T, s simulation.Second) { requireLatency(t, 60*time.Millisecond, s.LatencyP50) },
	}, {
		name:      "outage",
		incidents: []simulation.Incident{incident(simulation.Outage)},
		inside:    func(t *testing.T, s simulation.Second) { require.Equal(t, 1000, s.Failed) },
		report: func(t *testing.T, r *simulation.Report) {
			require.EqualValues(t, 1000, r.Attempts.Dead)
			require.EqualValues(t, 1000, r.Incidents[0].DeadAttempts)
			require.Equal(t, time.Second, r.Incidents[0].FullService)
		},
	}, {
		name:      "outage of a share",
		incidents: []simulation.Incident{shareOf(incident(simulation.Outage), 0.3)},
		inside:    func(t *testing.T, s simulation.Second) { require.InDelta(t, 300, s.Failed, 60) },
		report:    func(t *testing.T, r *simulation.Report) { require.Zero(t, r.Attempts.Dead) },
	}, {
		name:      "two outages of a half fail three quarters",
		incidents: []simulation.Incident{shareOf(incident(simulation.Outage), 0.5), shareOf(incident(simulation.Outage), 0.5)},
		inside:    func(t *testing.T, s simulation.Second) { require.InDelta(t, 750, s.Failed, 60) },
	}, {
		name:      "hang",
		change:    func(s *simulation.Scenario) { s.Callers.Deadline = 500 * time.Millisecond },
		incidents: []simulation.Incident{incident(simulation.Hang)},
		inside:    func(t *testing.T, s simulation.Second) { require.Equal(t, 950, s.Failed) },
		report: func(t *testing.T, r *simulation.Report) {
			require.EqualValues(t, 1000, r.Calls.Failed)
			require.EqualValues(t, 1000, r.Attempts.Dead)
			require.Equal(t, 500*time.Millisecond, r.Waited.Max)
			require.Equal(t, usual, r.Latency.Max)
		},
	}, {
		name:      "failing",
		incidents: []simulation.Incident{shareOf(incident(simulation.Failing), 0.2)},
		inside:    func(t *testing.T, s simulation.Second) { require.InDelta(t, 200, s.Failed, 50) },
	}, {
		name:   "failing adds to what fails anyway",
		change: func(s *simulation.Scenario) { s.Dependency.FailureRate = 0.5 },
		incidents: []simulation.Incident{
			shareOf(incident(simulation.Failing), 0.5),
		},
		inside: func(t *testing.T, s simulation.Second) { require.InDelta(t, 750, s.Failed, 60) },
		after:  func(t *testing.T, s simulation.Second) { require.InDelta(t, 300, s.Failed, 50) },
	}, {
		name:      "flapping",
		incidents: []simulation.Incident{with(incident(simulation.Flapping), func(i *simulation.Incident) { i.Period = 4 * time.Second })},
		inside:    func(t *testing.T, s simulation.Second) { require.Equal(t, 600, s.Failed) }, // down at 10, 14 and 18 s
		report: func(t *testing.T, r *simulation.Report) {
			require.Equal(t, 100, during(r, 11*time.Second, 12*time.Second).Failed)
			require.Zero(t, during(r, 12*time.Second, 14*time.Second).Failed)
			require.EqualValues(t, 600, r.Attempts.Dead)
		},
	}, {
		name:      "shards are found down again by retries",
		change:    func(s *simulation.Scenario) { s.Callers.Retries = 3 },
		incidents: []simulation.Incident{shareOf(incident(simulation.Shards), 0.1)},
		inside: func(t *testing.T, s simulation.Second) {
			require.InDelta(t, 100, s.Failed, 40)
			require.Equal(t, 1000+3*s.Failed, s.Reached)
		},
	}, {
		name:      "of several shards, the largest share holds",
		incidents: []simulation.Incident{shareOf(incident(simulation.Shards), 0.3), shareOf(incident(simulation.Shards), 0.1)},
		inside:    func(t *testing.T, s simulation.Second) { require.InDelta(t, 300, s.Failed, 60) },
	}, {
		name:      "failing is mostly not",
		change:    func(s *simulation.Scenario) { s.Callers.Retries = 3 },
		incidents: []simulation.Incident{shareOf(incident(simulation.Failing), 0.1)},
		inside: func(t *testing.T, s simulation.Second) {
			require.LessOrEqual(t, s.Failed, 2)
			require.InDelta(t, 1111, s.Reached, 45)
		},
	}, {
		name:      "throttling",
		incidents: []simulation.Incident{shareOf(incident(simulation.Throttling), 0.5)},
		inside:    func(t *testing.T, s simulation.Second) { require.InDelta(t, 500, s.Throttled, 60) },
	}, {
		name:      "capacity",
		incidents: []simulation.Incident{with(incident(simulation.Capacity), func(i *simulation.Incident) { i.Rate = 50 })},
		inside: func(t *testing.T, s simulation.Second) {
			require.InDelta(t, 500, s.Served, 60) // and what queued is served after it
			requireLatency(t, time.Second+usual, s.LatencyP99)
			require.InDelta(t, 450, s.Failed, 5) // the queue fills in the first second
		},
	}, {
		name:      "a brownout leaves a part of the capacity",
		change:    func(s *simulation.Scenario) { s.Dependency.Capacity = 200 },
		incidents: []simulation.Incident{factor(incident(simulation.Brownout), 10)},
		inside:    func(t *testing.T, s simulation.Second) { require.InDelta(t, 800-20, s.Failed, 10) },
	}, {
		name:      "an outage comes before the queue",
		change:    func(s *simulation.Scenario) { s.Dependency.Capacity = 50 },
		incidents: []simulation.Incident{incident(simulation.Outage)},
		inside: func(t *testing.T, s simulation.Second) {
			require.Equal(t, 1000, s.Failed)
			require.LessOrEqual(t, s.Served, 51) // what was in the queue
		},
		after: func(t *testing.T, s simulation.Second) { require.InDelta(t, 300, s.Failed, 5) },
	}, {
		name:      "latency",
		incidents: []simulation.Incident{{Kind: simulation.Latency, Start: 10 * time.Second, Factor: 2}},
		inside:    func(t *testing.T, s simulation.Second) { requireLatency(t, 2*usual, s.LatencyP50) },
		after:     func(t *testing.T, s simulation.Second) { requireLatency(t, 2*usual, s.LatencyP50) },
	}, {
		name:      "cold after an outage",
		change:    func(s *simulation.Scenario) { s.Dependency.Warming.Full = 20 },
		incidents: []simulation.Incident{with(incident(simulation.Outage), func(i *simulation.Incident) { i.Duration = 8 * time.Second })},
		inside:    func(t *testing.T, s simulation.Second) { require.GreaterOrEqual(t, s.Failed, 800+100) },
		after:     func(t *testing.T, s simulation.Second) { require.Greater(t, s.Failed, 300) },
	}} {
		t.Run(test.name, func(t *testing.T) {
			s := steady(test.incidents...)
			if test.change != nil {
				test.change(&s)
			}
			report := run(t, s)
			test.inside(t, during(report, 10*time.Second, 20*time.Second))
			if test.report != nil {
				test.report(t, report)
			}
			after := during(report, 23*time.Second, 29*time.Second)
			if test.after != nil {
				test.after(t, after)
				return
			}
			require.Equal(t, 600, after.Served)
			requireLatency(t, usual, after.LatencyP99)
		})
	}
}

// Each incident as a breaker sees it: what it opens by, and whether that is a false trip.
func TestWhatOpensABreaker(t *testing.T) {
	const none = breaker.Cause(0)
	for _, test := range []struct {
		name     string
		incident simulation.Incident
		cause    breaker.Cause // of the first open
		falsely  bool
	}{
		{"brownout", factor(incident(simulation.Brownout), 10), breaker.CauseSlowCalls, false},
		{"outage", incident(simulation.Outage), breaker.CauseConsecutiveFailures, false},
		{"hang", incident(simulation.Hang), breaker.CauseConsecutiveFailures, false},
		{"failing", shareOf(incident(simulation.Failing), 0.3), breaker.CauseRelativeFailures, false},
		{"flapping", incident(simulation.Flapping), breaker.CauseConsecutiveFailures, false},
		{"shards", shareOf(incident(simulation.Shards), 0.2), breaker.CauseRelativeFailures, false},
		{"shards that it should leave alone", with(shareOf(incident(simulation.Shards), 0.2), func(i *simulation.Incident) { i.Harmless = true }), breaker.CauseRelativeFailures, true},
		{"throttling", incident(simulation.Throttling), none, false},
		{"capacity", with(incident(simulation.Capacity), func(i *simulation.Incident) { i.Rate = 10 }), breaker.CauseConsecutiveFailures, false},
		{"latency doubled", factor(incident(simulation.Latency), 2), none, false},
		{"latency times ten", factor(incident(simulation.Latency), 10), breaker.CauseSlowCalls, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.incident.Start, test.incident.Duration = time.Minute, time.Minute
			s := steady(test.incident)
			s.Duration = 3 * time.Minute
			s.NoBreaker = false
			r := run(t, s)
			if test.cause == none {
				require.Empty(t, r.Opens)
				require.Zero(t, r.Incidents[0].Opened)
				return
			}
			require.Equal(t, test.cause, r.Transitions[0].Cause)
			require.Equal(t, 1, r.Incidents[0].Opened)
			opened := r.Transitions[0].At.Sub(time.Date(2000, time.January, 1, 0, 1, 0, 0, time.UTC))
			require.Equal(t, opened, r.Incidents[0].FirstTrip)
			require.Equal(t, test.falsely, r.FalseTrips > 0)
		})
	}
}
