package simulation_test

import (
	"context"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

func problems(t *testing.T, err error) []string {
	t.Helper()
	var invalid *simulation.ScenarioError
	require.ErrorAs(t, err, &invalid)
	return invalid.Problems
}

func TestValidateNamesEachProblem(t *testing.T) {
	incidents := func(list ...simulation.Incident) func(*simulation.Scenario) {
		return func(s *simulation.Scenario) { s.Incidents = list }
	}
	for want, change := range map[string]func(*simulation.Scenario){
		"Duration must not be negative, got -1ns":                                                  func(s *simulation.Scenario) { s.Duration = -1 },
		"Duration must be at most 744h0m0s, got 744h0m0.000000001s":                                func(s *simulation.Scenario) { s.Duration = 31*24*time.Hour + 1 },
		"Instances must be from 0 to 100000, got -1":                                               func(s *simulation.Scenario) { s.Instances = -1 },
		"Load.Rate must be above 0 where there are no Load.Steps, got 0: no call would be offered": func(s *simulation.Scenario) { s.Load.Rate = 0 },
		"Load.Rate must be from 0 to 1e+07, got NaN":                                               func(s *simulation.Scenario) { s.Load.Rate = math.NaN() },
		"Load.Every must be 0 beside Load.Poisson, got 1s: calls come in batches or at random":     func(s *simulation.Scenario) { s.Load.Poisson, s.Load.Every = true, time.Second },
		"Load.Steps[1].At must be after that of the step before (1s), got 1s":                      func(s *simulation.Scenario) { s.Load.Steps = []simulation.Step{{At: time.Second}, {At: time.Second}} },
		"Load.Bursts[0].Duration must be above 0, got 0s":                                          func(s *simulation.Scenario) { s.Load.Bursts = []simulation.Burst{{Factor: 1}} },
		"Load.Bursts[0].Factor must be above 0 and at most 1e+07, got 0":                           func(s *simulation.Scenario) { s.Load.Bursts = []simulation.Burst{{Duration: 1}} },
		"Load.Bursts[0].Every must be at least its Duration (2s), got 1s": func(s *simulation.Scenario) {
			s.Load.Bursts = []simulation.Burst{{Duration: 2 * time.Second, Every: time.Second, Factor: 1}}
		},
		"Load.Day.Lowest must be from 0 to 1, got 2":                                                                                func(s *simulation.Scenario) { s.Load.Day.Lowest = 2 },
		"Load.Day.Length must be at least 1s, got 1ms":                                                                              func(s *simulation.Scenario) { s.Load.Day.Length = time.Millisecond },
		"Callers.Deadline must not be negative, got -1s":                                                                            func(s *simulation.Scenario) { s.Callers.Deadline = -time.Second },
		"Callers.Timeout must not be negative, got -1s":                                                                             func(s *simulation.Scenario) { s.Callers.Timeout = -time.Second },
		"Callers.Retries must be from 0 to 100, got 101":                                                                            func(s *simulation.Scenario) { s.Callers.Retries = 101 },
		"Callers.Backoff must not be negative, got -1s":                                                                             func(s *simulation.Scenario) { s.Callers.Backoff = -time.Second },
		"Callers.CancelShare must be from 0 to 1, got 1.5":                                                                          func(s *simulation.Scenario) { s.Callers.CancelShare = 1.5 },
		"Callers.CancelAfter must not be negative, got -1s":                                                                         func(s *simulation.Scenario) { s.Callers.CancelAfter = -time.Second },
		"Dependency.Median must not be negative, got -1s":                                                                           func(s *simulation.Scenario) { s.Dependency.Median = -time.Second },
		"Dependency.P99 must be at least Median (2s), got 1s":                                                                       func(s *simulation.Scenario) { s.Dependency.Median, s.Dependency.P99 = 2*time.Second, time.Second },
		"Dependency.Median and P99 must be at most 1h0m0s, got 2h0m0s and 2h0m0s":                                                   func(s *simulation.Scenario) { s.Dependency.Median, s.Dependency.P99 = 2*time.Hour, 2*time.Hour },
		"Dependency.Hump.Median must be above 0 beside a Share, got 0":                                                              func(s *simulation.Scenario) { s.Dependency.Hump.Share = 0.5 },
		"Dependency.Hump.Share must be from 0 to 1, got -1":                                                                         func(s *simulation.Scenario) { s.Dependency.Hump.Share = -1 },
		"Dependency.FailureRate must be from 0 to 1, got 1.1":                                                                       func(s *simulation.Scenario) { s.Dependency.FailureRate = 1.1 },
		"Dependency.FailureLatency must not be negative, got -1s":                                                                   func(s *simulation.Scenario) { s.Dependency.FailureLatency = -time.Second },
		"Dependency.Capacity must be from 0 to 1e+07, got -1":                                                                       func(s *simulation.Scenario) { s.Dependency.Capacity = -1 },
		"Dependency.Queue must not be negative, got -1s":                                                                            func(s *simulation.Scenario) { s.Dependency.Queue = -time.Second },
		"Dependency.Warming.Full must be at least 1, got 0.5":                                                                       func(s *simulation.Scenario) { s.Dependency.Warming.Full = 0.5 },
		"Dependency.Warming.Step must be at least 1ms, got 999.999µs":                                                               func(s *simulation.Scenario) { s.Dependency.Warming.Step = time.Millisecond - 1 },
		"Load.Bursts[0].Every must be at least 1ms, got 20ns":                                                                       func(s *simulation.Scenario) { s.Load.Bursts = []simulation.Burst{{Duration: 10, Every: 20, Factor: 2}} },
		"Incidents[0].Period must be at least 1ms, got 20ns":                                                                        incidents(simulation.Incident{Kind: simulation.Flapping, Period: 20}),
		"Dependency.Warming.Step must not be negative, got -1s":                                                                     func(s *simulation.Scenario) { s.Dependency.Warming.Step = -time.Second },
		"Dependency.Warming.Gain must be a finite number and not negative, got +Inf":                                                func(s *simulation.Scenario) { s.Dependency.Warming.Gain = math.Inf(1) },
		"Grace must be at most 744h0m0s, got 2562047h47m16.854775807s":                                                              func(s *simulation.Scenario) { s.Grace = math.MaxInt64 },
		"Load.Bursts[0].Duration must be at most 744h0m0s, got 2562047h47m16.854775807s":                                            func(s *simulation.Scenario) { s.Load.Bursts = []simulation.Burst{{Duration: math.MaxInt64, Factor: 2}} },
		"Incidents[0].Duration must be at most 744h0m0s, got 2562047h47m16.854775807s":                                              incidents(simulation.Incident{Kind: simulation.Outage, Duration: math.MaxInt64}),
		"Grace must not be negative, got -1s":                                                                                       func(s *simulation.Scenario) { s.Grace = -time.Second },
		"Incidents[0].Kind must be one of [brownout outage hang failing flapping shards throttling capacity latency], got \"fire\"": incidents(simulation.Incident{Kind: "fire"}),
		"Incidents[0].Factor must be above 1 and at most 1e+07, got 0":                                                              incidents(simulation.Incident{Kind: simulation.Brownout}),
		"Incidents[1].Share must be in (0, 1] for kind \"failing\", got 0":                                                          incidents(simulation.Incident{Kind: simulation.Outage}, simulation.Incident{Kind: simulation.Failing}),
		"Incidents[0].Share must be from 0 to 1, got 2":                                                                             incidents(simulation.Incident{Kind: simulation.Outage, Share: 2}),
		"Incidents[0].Rate must be above 0 and at most 1e+07, got 0":                                                                incidents(simulation.Incident{Kind: simulation.Capacity}),
		"Incidents[0].Factor must be left out for kind \"outage\"":                                                                  incidents(simulation.Incident{Kind: simulation.Outage, Factor: 2}),
		"Incidents[0].Share must be left out for kind \"latency\"":                                                                  incidents(simulation.Incident{Kind: simulation.Latency, Factor: 2, Share: 1}),
		"Incidents[0].Start must not be negative, got -1s":                                                                          incidents(simulation.Incident{Kind: simulation.Outage, Start: -time.Second}),
		"Callers.Deadline or Callers.Timeout must be set beside an incident of kind \"hang\": a call would never end": func(s *simulation.Scenario) {
			s.Callers.Deadline = 0
			s.Incidents = []simulation.Incident{{Kind: simulation.Hang}}
		},
		"Settings.FailureRatio must be in (0, 1], got 2":                     func(s *simulation.Scenario) { s.Settings.FailureRatio = 2 },
		"Settings.Clock must be left out: a run has its own":                 func(s *simulation.Scenario) { s.Settings.Clock = clock.NewMock() },
		"Settings.Random must be left out: a run has its own, from the seed": func(s *simulation.Scenario) { s.Settings.Random = func() float64 { return 0 } },
	} {
		s := steady()
		s.NoBreaker = false
		change(&s)
		require.Equal(t, []string{want}, problems(t, s.Validate()))
		_, err := simulation.Run(context.Background(), s)
		require.Equal(t, s.Validate(), err)
	}
}

func TestValidateReportsAllAtOnce(t *testing.T) {
	s := simulation.Scenario{Duration: -1, Settings: breaker.Settings{MinimumCalls: -1, TripWindow: -1}}
	require.Equal(t, []string{
		"Duration must not be negative, got -1ns",
		"Load.Rate must be above 0 where there are no Load.Steps, got 0: no call would be offered",
		"Settings.MinimumCalls must not be negative, got -1",
		"Settings.TripWindow must not be negative, got -1ns",
	}, problems(t, s.Validate()))
	require.EqualError(t, simulation.Scenario{Duration: -1, Load: simulation.Load{Rate: 1}}.Validate(),
		"simulation: invalid scenario: Duration must not be negative, got -1ns")
}

func TestSettingsAreNotLookedAtWithoutABreaker(t *testing.T) {
	s := steady()
	s.Settings.FailureRatio = 2
	require.NoError(t, s.Validate())
}

func TestScenarioSurvivesJSON(t *testing.T) {
	s := everything()
	text, err := json.Marshal(s)
	require.NoError(t, err)
	var read simulation.Scenario
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, s, read)
	text, err = json.Marshal(simulation.Scenario{})
	require.NoError(t, err)
	require.Equal(t, `{}`, string(text))
}

func TestScenarioFromJSON(t *testing.T) {
	read := simulation.Scenario{Name: "before", Seed: 4}
	require.NoError(t, json.Unmarshal([]byte(` {
		"name": "an outage", "duration": "5m", "load": {"rate": 100, "steps": [{"at": "1m", "rate": 200}]},
		"incidents": [{"kind": "outage", "start": "2m", "duration": "60s"}],
		"settings": {"name": "db", "recovery": {"fraction": 0.25}}, "grace": null
	} `), &read))
	require.Equal(t, simulation.Scenario{
		Name:      "an outage",
		Seed:      4,
		Duration:  5 * time.Minute,
		Load:      simulation.Load{Rate: 100, Steps: []simulation.Step{{At: time.Minute, Rate: 200}}},
		Incidents: []simulation.Incident{{Kind: simulation.Outage, Start: 2 * time.Minute, Duration: time.Minute}},
		Settings:  breaker.Settings{Name: "db", Recovery: breaker.Recovery{Fraction: 0.25}},
	}, read)
}

func TestScenarioFromBadJSON(t *testing.T) {
	read := simulation.Scenario{Name: "before"}
	for text, want := range map[string][]string{
		`7`: {"the scenario: must be an object, got 7"},
		`{"name": 7, "durations": "1s", "load": {"rate": "many", "rate": 1, "steps": {}}, "instances": 1.5, "instant": 1}`: {
			"name: must be a string, got 7",
			"durations: no such field, there are name, seed, duration, instances, load, callers, dependency, incidents, settings, no_breaker, instant, grace",
			`load.rate: must be a number, got "many"`,
			"load.rate: written twice",
			"load.steps: must be a list, got an object",
			"instances: must be a whole number, got 1.5",
			"instant: must be true or false, got 1",
		},
		`{"load": {"rate": 1}, "incidents": [{"kind": "outage", "start": 3}, {"kind": 1}], "settings": {"break_duration": "-1s", "x": 1}}`: {
			`incidents[0].start: must be a duration such as "30s", got 3`,
			"incidents[1].kind: must be a string, got 1",
			"settings.x: no such setting",
			"settings.break_duration: must not be negative, got -1s",
		},
		`{"incidents": [{"kind": "hang"}], "dependency": {"failure_rate": 2, "p99": "-1s"}}`: {
			"load.rate: must be above 0 where there are no load.steps, got 0: no call would be offered",
			"dependency.p99: must not be negative, got -1s",
			"dependency.failure_rate: must be from 0 to 1, got 2",
			`callers.deadline or callers.timeout must be set beside an incident of kind "hang": a call would never end`,
		},
	} {
		require.Equal(t, want, problems(t, json.Unmarshal([]byte(text), &read)), text)
		require.Equal(t, simulation.Scenario{Name: "before"}, read)
	}
	require.Error(t, json.Unmarshal([]byte(`{`), &read))
}

func TestReportInJSON(t *testing.T) {
	var read map[string]any
	text, err := json.Marshal(run(t, down()))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &read))
	require.EqualValues(t, 30, read["duration_seconds"])
	require.EqualValues(t, 3000, read["calls"].(map[string]any)["failed"])
	require.EqualValues(t, 0.001, read["waited"].(map[string]any)["p50_seconds"])
	require.EqualValues(t, []any{}, read["opens"])
	outcome := read["incidents"].([]any)[0].(map[string]any)
	require.EqualValues(t, "outage", outcome["kind"])
	require.EqualValues(t, 3000, outcome["dead_attempts"])
	second := read["timeline"].([]any)[29].(map[string]any)
	require.EqualValues(t, 29, second["start_seconds"])
	require.EqualValues(t, "closed", second["state"])
	require.EqualValues(t, 100, second["failed"])
}
