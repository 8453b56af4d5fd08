package main

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/normal-go/breaker"
)

func Example() {
	main()
	// Output:
	// breakers.yaml
	// {"name":"db","failures":{"multiple":4,"window":"10m0s"},"trip_window":"1m0s","probe_timeout":"2s","recovery":{"fraction":0.25}}
	// {"name":"search","slow_calls":{"off":true},"break_duration":"5s","break_jitter":"full","probe_timeout":"2s"}
	// breakers.toml
	// {"name":"db","failures":{"multiple":4,"window":"10m0s"},"trip_window":"1m0s","probe_timeout":"2s","recovery":{"fraction":0.25}}
	// {"name":"search","slow_calls":{"off":true},"break_duration":"5s","break_jitter":"full","probe_timeout":"2s"}
	// with mistakes
	// breakers.db: breaker: invalid settings: trip_window: must be a duration such as "30s", got 60; failures.multiple: must be a finite number above 1, got 0.5
	// breakers.search: breaker: invalid settings: tripwindow: no such setting, did you mean trip_window?
}

var inCode = breaker.Settings{ProbeTimeout: 2 * time.Second, SlowCallRatio: 0.75}

// The settings that both files are about.
var want = map[string]breaker.Settings{
	"db": {
		Name:          "db",
		TripWindow:    time.Minute,
		Failures:      breaker.Failures{Multiple: 4, Window: 10 * time.Minute},
		Recovery:      breaker.Recovery{Fraction: 0.25},
		ProbeTimeout:  2 * time.Second,
		SlowCallRatio: 0.75,
	},
	"search": {
		Name:          "search",
		BreakDuration: 5 * time.Second,
		BreakJitter:   breaker.JitterFull,
		SlowCalls:     breaker.SlowCalls{Off: true},
		ProbeTimeout:  2 * time.Second,
		SlowCallRatio: 0.75,
	},
}

func TestSameSettingsFromBoth(t *testing.T) {
	fromYAML, err := fromYAML(inYAML, inCode)
	if err != nil || !reflect.DeepEqual(fromYAML, want) {
		t.Errorf("YAML: got %+v, %v", fromYAML, err)
	}
	fromTOML, err := fromTOML(inTOML, inCode)
	if err != nil || !reflect.DeepEqual(fromTOML, want) {
		t.Errorf("TOML: got %+v, %v", fromTOML, err)
	}
	for _, settings := range fromYAML {
		if _, err := breaker.New(settings); err != nil {
			t.Error(err)
		}
	}
}

// Without a step of its own, where the file is the settings of one breaker.
func TestYAMLOfOneBreaker(t *testing.T) {
	settings := want["db"]
	document := `
trip_window: 30s
failures:
  floor: 0.1
name: null
`
	if err := yaml.UnmarshalStrict([]byte(document), &settings); err != nil {
		t.Fatal(err)
	}
	changed := want["db"]
	changed.TripWindow, changed.Failures.Floor = 30*time.Second, 0.1
	if !reflect.DeepEqual(settings, changed) {
		t.Errorf("got %+v", settings)
	}
	text, err := yaml.Marshal(want["search"])
	if err != nil {
		t.Fatal(err)
	}
	var back breaker.Settings
	if err := yaml.UnmarshalStrict(text, &back); err != nil || !reflect.DeepEqual(back, want["search"]) {
		t.Errorf("got %+v, %v from\n%s", back, err, text)
	}
}

func TestEmptySettingsAreComplete(t *testing.T) {
	for document, read := range map[string]func([]byte, breaker.Settings) (map[string]breaker.Settings, error){
		"breakers:\n  db:\n": fromYAML,
		"[breakers.db]\n":    fromTOML,
	} {
		got, err := read([]byte(document), breaker.Settings{})
		if err != nil || !reflect.DeepEqual(got, map[string]breaker.Settings{"db": {Name: "db"}}) {
			t.Errorf("%q: got %+v, %v", document, got, err)
		}
	}
}

// All problems of all breakers, each with its path, whatever the file was written in.
func TestProblems(t *testing.T) {
	const (
		inYAML = `
breakers:
  db:
    trip_window: 60
    trip_calls: 5.5
    failures: {multiple: "4", windw: 10m, floor: 2}
  search:
    break_jitter: some
    recovery: 0.25
`
		inTOML = `
[breakers.db]
trip_window = 60
trip_calls = 5.5
failures = { multiple = "4", windw = "10m", floor = 2 }
[breakers.search]
break_jitter = "some"
recovery = 0.25
`
	)
	problems := []string{
		`failures.multiple: must be a number, got "4"`,
		`failures.windw: no such setting, did you mean failures.window?`,
		`trip_calls: must be a whole number, got 5.5`,
		`trip_window: must be a duration such as "30s", got 60`,
		`failures.floor: must be in (0, 1], got 2`,
		`break_jitter: must be one of equal, none, full, got "some"`,
		`recovery: must be an object such as {"fraction": 0.25}, got 0.25`,
	}
	_, fromYAML := fromYAML([]byte(inYAML), inCode)
	_, fromTOML := fromTOML([]byte(inTOML), inCode)
	for name, err := range map[string]error{"YAML": fromYAML, "TOML": fromTOML} {
		var invalid *breaker.SettingsError
		if !errors.As(err, &invalid) {
			t.Fatalf("%s: got %v", name, err)
		}
		for _, problem := range problems {
			if !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: %q is not in\n%v", name, problem, err)
			}
		}
	}
	if fromYAML.Error() != fromTOML.Error() {
		t.Errorf("YAML:\n%v\nTOML:\n%v", fromYAML, fromTOML)
	}
}

// What the libraries make of a document before the settings see it.
func TestWhatTheLibrariesDo(t *testing.T) {
	for _, c := range []struct {
		read     func([]byte, breaker.Settings) (map[string]breaker.Settings, error)
		document string
		want     string
	}{
		{fromYAML, "breakers: {db: {failures: {off: true}}}", "failures.false: no such setting"},
		{fromYAML, "breakers: {db: {name: no}}", "name: must be a string, got false"},
		{fromYAML, "breakers: {db: {trip_calls: 5, trip_calls: 6}}", `key "trip_calls" already set`},
		{fromYAML, "breaker: {}", `unknown field "breaker"`},
		{fromYAML, "breakers: {db: {failure_ratio: .nan}}", "unsupported value: NaN"},
		{fromTOML, "[breakers.db]\nfailure_ratio = nan", "unsupported value: NaN"},
		{fromTOML, "[breakers.db]\ntrip_calls = 5\ntrip_calls = 6", "key trip_calls is already defined"},
		{fromTOML, "[breakers.db]\ntrip_window = 1979-05-27T07:32:00Z", `trip_window: must be a duration such as "30s", got "1979-05-27T07:32:00Z"`},
	} {
		got, err := c.read([]byte(c.document), breaker.Settings{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %+v, %v", c.document, got, err)
		}
	}
}
