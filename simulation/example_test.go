package simulation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

// outage is a minute without the database, in six.
func outage() simulation.Scenario {
	return simulation.Scenario{
		Name:       "outage",
		Duration:   6 * time.Minute,
		Load:       simulation.Load{Rate: 100, Poisson: true},
		Callers:    simulation.Callers{Deadline: time.Second},
		Dependency: simulation.Dependency{Median: 20 * time.Millisecond, P99: 50 * time.Millisecond, FailureRate: 0.001},
		Incidents:  []simulation.Incident{{Kind: simulation.Outage, Start: 2 * time.Minute, Duration: time.Minute}},
		Settings:   breaker.Settings{Name: "db"},
	}
}

// What the defaults make of an outage of a minute.
func ExampleRun() {
	report, err := simulation.Run(context.Background(), outage())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(report)

	// Output:
	// outage: 6m0s, 1 instance, seed 0
	//
	// calls                       36053    100.00 %
	//   served                    28620    79.38 %   95.15 % of what an oracle would have had served
	//   failed                    37       0.10 %
	//   throttled                 0        0.00 %
	//   canceled                  0        0.00 %
	//   refused                   7396     20.51 %
	//     would have failed       5938     16.47 %
	//     would have been served  1458     4.04 %
	// attempts                    28657    79.49 %   that reached the dependency; 37 failed, 10 met it dead
	// latency                     20.48ms  50.18ms   p50 and p99 of the served; longest 88ms
	// worst second                118      of 118    were not served, at 2m28s
	// opens                       3                  consecutive-failures 1, probe-failed 2
	// false trips                 0                  0 a day and instance
	// probes                      4                  at most 2 in a second, at 3m14s; shortest rest 8.048s
	//
	// outage, 2m0s to 3m0s
	//   opened after 49.41ms
	//   10 attempts met it dead
	//   full service 16s after its end
}

// Two settings see the same calls with the same luck, so what differs is theirs.
func ExampleRun_compare() {
	short := outage()
	short.Settings.BreakDuration = 5 * time.Second
	short.Settings.MaximumBreakDuration = 10 * time.Second
	without := outage()
	without.NoBreaker = true

	for _, s := range []struct {
		name     string
		scenario simulation.Scenario
	}{{"defaults", outage()}, {"shorter breaks", short}, {"no breaker", without}} {
		report, err := simulation.Run(context.Background(), s.scenario)
		if err != nil {
			log.Fatal(err)
		}
		incident := report.Incidents[0]
		fmt.Printf("%-14s  %d served, %d met it dead, full service after %v\n",
			s.name, report.Calls.Served, incident.DeadAttempts, incident.FullService)
	}

	// Output:
	// defaults        28620 served, 10 met it dead, full service after 16s
	// shorter breaks  29650 served, 16 met it dead, full service after 6s
	// no breaker      30078 served, 5947 met it dead, full service after 1s
}

// A scenario from a file. What is wrong with it is told all at once, by the names in the
// file.
func ExampleScenario_UnmarshalJSON() {
	var s simulation.Scenario
	fmt.Println(json.Unmarshal([]byte(`{
		"duration": "10m",
		"load": {"rate": 100, "bursts": [{"start": "5m", "duration": "1m", "factor": 10}]},
		"dependency": {"median": "20ms", "p99": "80ms", "capacity": 300},
		"callers": {"deadline": "1s", "retries": 2},
		"settings": {"name": "db", "recovery": {"fraction": 0.25}}
	}`), &s))
	fmt.Println(s.Load.Bursts[0].Duration)

	fmt.Println(json.Unmarshal([]byte(`{
		"incidents": [{"kind": "brownout", "start": "5 minutes"}, {"kind": "outage", "factor": 3}]
	}`), &s))
	fmt.Println(json.Unmarshal([]byte(`{
		"incidents": [{"kind": "brownout", "start": "5m"}, {"kind": "outage", "factor": 3}]
	}`), &s))

	// Output:
	// <nil>
	// 1m0s
	// simulation: invalid scenario: incidents[0].start: must be a duration such as "30s", got "5 minutes"
	// simulation: invalid scenario: incidents[0].factor: must be above 1 and at most 1e+07, got 0; incidents[1].factor: must be left out for kind "outage"
}

// A minute of calls that happened, of which a third failed.
func ExampleReplay() {
	replay, err := simulation.NewReplay(simulation.Recording{
		Start:    time.Date(2026, time.March, 2, 3, 0, 0, 0, time.UTC),
		Settings: breaker.Settings{Name: "db"},
	})
	if err != nil {
		log.Fatal(err)
	}
	for i := range 600 {
		c := simulation.Call{Start: time.Duration(i) * 100 * time.Millisecond, Latency: 20 * time.Millisecond}
		if i >= 200 && i < 400 {
			c.Verdict = breaker.Transient
		}
		if err := replay.Add(c); err != nil {
			log.Fatal(err)
		}
	}
	report := replay.Report()
	first := report.Transitions[0]
	fmt.Println(first.At.Format(time.TimeOnly), first)
	fmt.Printf("%d refused, of which %d had failed anyway\n", report.Calls.Refused, report.Calls.RefusedAnyway)

	// Output:
	// 03:00:20 "db" closed -> open: consecutive-failures, 5 in a row, 5 of 205 failed, break 8.04s
	// 255 refused, of which 194 had failed anyway
}
