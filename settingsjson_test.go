package breaker_test

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// jsonField is a field of Settings, or of a value nested in it, that a document can name.
type jsonField struct {
	path, goPath string
	value        reflect.Value
}

// jsonFields returns them all, in the order of the struct.
func jsonFields(of reflect.Value, path, goPath string) (fields []jsonField) {
	for i := range of.NumField() {
		field := of.Type().Field(i)
		name := field.Tag.Get("json")
		if name == "-" {
			continue
		}
		f := jsonField{path + name, goPath + field.Name, of.Field(i)}
		fields = append(fields, f)
		if f.value.Kind() == reflect.Struct {
			fields = append(fields, jsonFields(f.value, f.path+".", f.goPath+".")...)
		}
	}
	return fields
}

func TestJSONNamesAreSnakeCase(t *testing.T) {
	unwritable := map[string]bool{"Classify": true, "OnTransition": true, "Clock": true, "Random": true}
	capital := regexp.MustCompile(`([a-z])([A-Z])`)
	var names []string
	var look func(reflect.Type)
	look = func(of reflect.Type) {
		for i := range of.NumField() {
			field := of.Field(i)
			want := strings.ToLower(capital.ReplaceAllString(field.Name, "${1}_$2"))
			if unwritable[field.Name] {
				want = "-"
			}
			require.Equal(t, want, field.Tag.Get("json"), "%v.%s", of, field.Name)
			names = append(names, field.Name)
			if field.Type.Kind() == reflect.Struct {
				look(field.Type)
			}
		}
	}
	look(reflect.TypeFor[breaker.Settings]())
	for _, name := range names { // or the texts of Validate could not be put in these terms
		for _, other := range names {
			require.False(t, name != other && strings.HasPrefix(other, name), "%s begins %s", name, other)
		}
	}
}

// everything that a document can say.
const wholeDocument = `{
	"name": "db",
	"disable_adaptive": false,
	"consecutive_failures": 7,
	"failure_ratio": 0.25,
	"failures": {"off": false, "multiple": 4, "window": "10m", "minimum_samples": 50, "floor": 0.1, "false_alarm": 0.001},
	"minimum_calls": 10,
	"trip_window": "1m",
	"trip_calls": 40,
	"slow_call_threshold": "1s",
	"slow_calls": {"multiple": 2, "quantile": 0.25, "window": "600s", "minimum_samples": 30, "false_alarm": 1e-3},
	"slow_call_ratio": 0.75,
	"break_duration": "2000ms",
	"maximum_break_duration": "3s",
	"break_jitter": "full",
	"half_open_probes": 3,
	"probe_successes": 4,
	"probe_timeout": "1m30s",
	"recovery": {"fraction": 0.5, "minimum_duration": "6s", "maximum_duration": "7.5s", "initial_fraction": 0.125}
}`

var wholeSettings = breaker.Settings{
	Name:                 "db",
	ConsecutiveFailures:  7,
	FailureRatio:         0.25,
	Failures:             breaker.Failures{Multiple: 4, Window: 10 * time.Minute, MinimumSamples: 50, Floor: 0.1, FalseAlarm: 0.001},
	MinimumCalls:         10,
	TripWindow:           time.Minute,
	TripCalls:            40,
	SlowCallThreshold:    time.Second,
	SlowCalls:            breaker.SlowCalls{Multiple: 2, Quantile: 0.25, Window: 10 * time.Minute, MinimumSamples: 30, FalseAlarm: 0.001},
	SlowCallRatio:        0.75,
	BreakDuration:        2 * time.Second,
	MaximumBreakDuration: 3 * time.Second,
	BreakJitter:          breaker.JitterFull,
	HalfOpenProbes:       3,
	ProbeSuccesses:       4,
	ProbeTimeout:         90 * time.Second,
	Recovery:             breaker.Recovery{Fraction: 0.5, MinimumDuration: 6 * time.Second, MaximumDuration: 7500 * time.Millisecond, InitialFraction: 0.125},
}

func TestSettingsFromJSON(t *testing.T) {
	base := wholeSettings
	with := func(change func(*breaker.Settings)) breaker.Settings {
		s := base
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		over     breaker.Settings
		document string
		want     breaker.Settings
	}{
		"everything":       {breaker.Settings{}, wholeDocument, wholeSettings},
		"nothing":          {base, `{}`, base},
		"nothing, null":    {base, `null`, base},
		"space around":     {base, " \n{ }\t ", base},
		"one field":        {base, `{"trip_calls": 50}`, with(func(s *breaker.Settings) { s.TripCalls = 50 })},
		"one nested field": {base, `{"failures": {"floor": 0.2}}`, with(func(s *breaker.Settings) { s.Failures.Floor = 0.2 })},
		"an empty object":  {base, `{"failures": {}, "recovery": {}}`, base},
		"null":             {base, `{"name": null, "failures": null, "trip_window": null, "break_jitter": null, "slow_calls": {"multiple": null}}`, base},
		"back to defaults": {base, `{"name": "", "trip_calls": 0, "failure_ratio": 0, "break_jitter": "equal", "probe_timeout": "0s"}`, with(func(s *breaker.Settings) {
			s.Name, s.TripCalls, s.FailureRatio, s.BreakJitter, s.ProbeTimeout = "", 0, 0, 0, 0
		})},
		"off":                     {breaker.Settings{}, `{"failures": {"off": true}, "slow_calls": {"off": true}}`, breaker.Settings{Failures: breaker.Failures{Off: true}, SlowCalls: breaker.SlowCalls{Off: true}}},
		"no longer off":           {breaker.Settings{DisableAdaptive: true}, `{"disable_adaptive": false}`, breaker.Settings{}},
		"a problem put right":     {breaker.Settings{TripCalls: -1}, `{"trip_calls": 5}`, breaker.Settings{TripCalls: 5}},
		"escapes":                 {breaker.Settings{}, `{"n\u0061me": "\u00e9\ud83d\ude00\n"}`, breaker.Settings{Name: "é😀\n"}},
		"half a surrogate":        {breaker.Settings{}, `{"name": "\ud83d"}`, breaker.Settings{Name: "\ufffd"}},
		"numbers":                 {breaker.Settings{}, `{"failure_ratio": 5E-1, "slow_call_ratio": 1.0, "trip_calls": -0}`, breaker.Settings{FailureRatio: 0.5, SlowCallRatio: 1}},
		"a number next to 0":      {breaker.Settings{}, `{"failure_ratio": 1e-400, "slow_call_ratio": 1e-99999999999999999999}`, breaker.Settings{}},
		"forms of a duration":     {breaker.Settings{}, `{"break_duration": "1h1h", "trip_window": ".5s", "probe_timeout": "+1us", "slow_call_threshold": "0"}`, breaker.Settings{BreakDuration: 2 * time.Hour, TripWindow: 500 * time.Millisecond, ProbeTimeout: time.Microsecond}},
		"the longest duration":    {breaker.Settings{}, `{"break_duration": "2562047h47m16.854775807s"}`, breaker.Settings{BreakDuration: longest}},
		"the largest whole count": {breaker.Settings{}, `{"consecutive_failures": 2147483647}`, breaker.Settings{ConsecutiveFailures: math.MaxInt32}},
	} {
		s := c.over
		require.NoError(t, json.Unmarshal([]byte(c.document), &s), name)
		require.Equal(t, c.want, s, name)
	}
}

// What a file cannot say is not touched by one.
func TestJSONLeavesFunctionsAlone(t *testing.T) {
	mock := clock.NewMock()
	s := breaker.Settings{
		Clock:        mock,
		Classify:     func(error) breaker.Verdict { return breaker.Throttled },
		OnTransition: func(context.Context, breaker.Transition) {},
		Random:       func() float64 { return 0.375 },
	}
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.Equal(t, `{}`, string(text))

	require.NoError(t, json.Unmarshal([]byte(wholeDocument), &s))
	require.Same(t, mock, s.Clock)
	require.Equal(t, breaker.Throttled, s.Classify(errDown))
	require.NotNil(t, s.OnTransition)
	require.Equal(t, 0.375, s.Random())
	require.Equal(t, wholeSettings, withoutFunctions(s))

	for _, name := range []string{"clock", "Clock", "classify", "on_transition", "random", "-"} {
		require.Equal(t, []string{name + ": no such setting"}, jsonProblems(t, breaker.Settings{}, `{"`+name+`": null}`))
	}
}

// jsonProblems returns what is wrong with a document over settings, which must not change.
func jsonProblems(t *testing.T, over breaker.Settings, document string) []string {
	t.Helper()
	s := over
	err := json.Unmarshal([]byte(document), &s)
	require.Equal(t, over, s, document)
	require.Equal(t, err, s.UnmarshalJSON([]byte(document)), document)
	require.Equal(t, over, s, document)
	require.IsType(t, (*breaker.SettingsError)(nil), err, document)
	return err.(*breaker.SettingsError).Problems
}

func TestJSONOfAnotherType(t *testing.T) {
	const number, whole, duration = "a number", "a whole number", `a duration such as "30s"`
	const object, ramp = `an object such as {"off": true}`, `an object such as {"fraction": 0.25}`
	for path, want := range map[string]string{
		"name":                      "a string",
		"disable_adaptive":          "true or false",
		"failures":                  object,
		"failures.off":              "true or false",
		"failures.multiple":         number,
		"failures.minimum_samples":  whole,
		"failure_ratio":             number,
		"trip_window":               duration,
		"trip_calls":                whole,
		"slow_calls.window":         duration,
		"break_jitter":              "one of equal, none, full",
		"slow_calls":                object,
		"recovery":                  ramp,
		"recovery.minimum_duration": duration,
	} {
		for value, shown := range map[string]string{
			`5`: "5", `5.0`: "5.0", `5e0`: "5e0", `"5"`: `"5"`, `true`: "true", `"none"`: `"none"`, `{"a": 1}`: "an object", `[1, {}]`: "an array",
		} {
			switch {
			case want == whole && value == `5`, want == number && value[0] == '5', want == "a string" && value[0] == '"',
				want == "true or false" && value == `true`, path == "break_jitter" && value == `"none"`, (want == object || want == ramp) && value[0] == '{':
				continue
			}
			document := `{"` + path + `": ` + value + `}`
			if nest, name, nested := strings.Cut(path, "."); nested {
				document = `{"` + nest + `": {"` + name + `": ` + value + `}}`
			}
			require.Equal(t, []string{path + ": must be " + want + ", got " + shown}, jsonProblems(t, wholeSettings, document))
		}
	}
}

func TestJSONProblems(t *testing.T) {
	long := strings.Repeat("ä", 100)
	for name, c := range map[string]struct {
		document string
		want     []string
	}{
		"an array":           {`[]`, []string{"must be an object, got an array"}},
		"a string":           {`"{}"`, []string{`must be an object, got "{}"`}},
		"a number":           {`0`, []string{"must be an object, got 0"}},
		"no UTF-8":           {"{\"name\": \"\xff\"}", []string{"must be UTF-8"}},
		"no UTF-8 in a name": {"{\"\xff\": 1}", []string{"must be UTF-8"}},

		"unknown":         {`{"trip_windw": "1m", "failures": {"windw": 1}, "recovery": {"Fraction": 1}}`, []string{"trip_windw: no such setting, did you mean trip_window?", "failures.windw: no such setting, did you mean failures.window?", "recovery.Fraction: no such setting, did you mean recovery.fraction?"}},
		"the name in Go":  {`{"TripWindow": "1m", "Trip_Window": "1m", "tripwindow": "1m"}`, []string{"TripWindow: no such setting, did you mean trip_window?", "Trip_Window: no such setting, did you mean trip_window?", "tripwindow: no such setting, did you mean trip_window?"}},
		"odd names":       {`{"": 1, "a.b": 1, "a\nb": 1, "é": 1, "failures": {"\"": 1}}`, []string{`"": no such setting`, `"a.b": no such setting`, `"a\nb": no such setting`, `é: no such setting`, `failures."\"": no such setting`}},
		"a nested path":   {`{"failures.multiple": 4}`, []string{`"failures.multiple": no such setting`}},
		"a long name":     {`{"` + long + `": 1}`, []string{strings.Repeat("ä", 60) + "...: no such setting"}},
		"not too long":    {`{"` + long[:120] + `": 1}`, []string{long[:120] + ": no such setting"}},
		"a long value":    {`{"trip_window": "` + long + `"}`, []string{`trip_window: must be a duration such as "30s", got "` + strings.Repeat("ä", 59) + "..."}},
		"twice":           {`{"name": "a", "failures": {"floor": 0.1, "floor": 0.1}, "name": "a"}`, []string{"failures.floor: written twice", "name: written twice"}},
		"twice, once bad": {`{"trip_calls": 1, "trip_calls": "2"}`, []string{"trip_calls: written twice"}},
		"an object twice": {`{"failures": {"floor": 0.1}, "failures": {"multiple": 3}}`, []string{"failures: written twice"}},
		"twice, escaped":  {`{"name": "a", "n\u0061me": "b"}`, []string{"name: written twice"}},
		"null twice":      {`{"name": null, "name": null}`, []string{"name: written twice"}},

		"fractions":       {`{"trip_calls": 5.5, "minimum_calls": 1e2}`, []string{"trip_calls: must be a whole number, got 5.5", "minimum_calls: must be a whole number, got 1e2"}},
		"too large":       {`{"trip_calls": 9223372036854775808, "minimum_calls": -9223372036854775809}`, []string{"trip_calls: must be a whole number in the range of Go's int, got 9223372036854775808", "minimum_calls: must be a whole number in the range of Go's int, got -9223372036854775809"}},
		"a huge exponent": {`{"failure_ratio": 1e400, "recovery": {"fraction": -1e99999999999999999999}}`, []string{"failure_ratio: must be a number in the range of Go's float64, got 1e400", "recovery.fraction: must be a number in the range of Go's float64, got -1e99999999999999999999"}},
		"no such jitter":  {`{"break_jitter": "Full"}`, []string{`break_jitter: must be one of equal, none, full, got "Full"`}},
		"no duration":     {`{"trip_window": "", "probe_timeout": "30", "break_duration": "1d", "maximum_break_duration": "2562047h48m"}`, []string{`trip_window: must be a duration such as "30s", got ""`, `probe_timeout: must be a duration such as "30s", got "30"`, `break_duration: must be a duration such as "30s" (there are no days), got "1d"`, `maximum_break_duration: must be a duration such as "30s", got "2562047h48m"`}},
		"no object":       {`{"failures": true, "slow_calls": "off", "recovery": true}`, []string{`failures: must be an object such as {"off": true}, got true`, `slow_calls: must be an object such as {"off": true}, got "off"`, `recovery: must be an object such as {"fraction": 0.25}, got true`}},
		"deep":            {`{"failures": {"multiple": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`, []string{"failures.multiple: must be a number, got an array"}},
		"deep, unknown":   {strings.Repeat(`{"failures":`, 5000) + "1" + strings.Repeat("}", 5000), []string{"failures.failures: no such setting"}},
	} {
		require.Equal(t, c.want, jsonProblems(t, wholeSettings, c.document), name)
	}
}

// Not JSON at all: refused as encoding/json does, also where it is not asked first.
func TestJSONSyntax(t *testing.T) {
	for _, document := range []string{
		"", " ", "{", "}", "{]", `{"name": "db"`, `{"name": "db",}`, `{"name" "db"}`, `{name: "db"}`, `{"trip_calls": 05}`, `{"trip_calls": +5}`,
		`{"failure_ratio": NaN}`, `{"failure_ratio": .5}`, `{"name": 'db'}`, "{\"name\": \"a\nb\"}", `{} {}`, `{}x`, `{"name": "db"} // a comment`, "\ufeff{}", "\x00", "nul",
		strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
	} {
		s := wholeSettings
		err := s.UnmarshalJSON([]byte(document))
		require.IsType(t, (*json.SyntaxError)(nil), err, document)
		require.Equal(t, err, json.Unmarshal([]byte(document), &s), document)
		require.Equal(t, wholeSettings, s, document)
	}
	d := json.NewDecoder(strings.NewReader(`{"name": "a"}{"name": "b"}`)) // a stream may go on
	for _, want := range []string{"a", "b"} {
		var s breaker.Settings
		require.NoError(t, d.Decode(&s))
		require.Equal(t, want, s.Name)
	}
}

// What Validate finds is told in the names of the document.
func TestJSONOfInvalidValues(t *testing.T) {
	for name, c := range map[string]struct {
		over     breaker.Settings
		document string
		want     []string
	}{
		"one of each": {breaker.Settings{}, `{
			"consecutive_failures": -1, "failure_ratio": 1.5, "trip_window": "-5ns", "half_open_probes": 1300000,
			"failures": {"multiple": 1, "minimum_samples": -3, "floor": -0.5}, "slow_calls": {"quantile": 0.99, "window": "-8ns"},
			"recovery": {"fraction": -0.16, "initial_fraction": 1}
		}`, []string{
			"consecutive_failures: must not be negative, got -1",
			"failure_ratio: must be in (0, 1], got 1.5",
			"failures.multiple: must be a finite number above 1, got 1",
			"failures.minimum_samples: must not be negative, got -3",
			"failures.floor: must be in (0, 1], got -0.5",
			"trip_window: must not be negative, got -5ns",
			"slow_calls.quantile: must be in (0, 0.5], got 0.99",
			"slow_calls.window: must not be negative, got -8ns",
			"half_open_probes: must be at most 1000000, got 1300000",
			"recovery.fraction: must be a finite number and not negative, got -0.16",
			"recovery.initial_fraction: must be in (0, 1), got 1",
		}},
		"those that must fit": {breaker.Settings{}, `{
			"minimum_calls": 11, "trip_calls": 10, "break_duration": "2s", "maximum_break_duration": "1s",
			"recovery": {"minimum_duration": "6s", "maximum_duration": "5s"}
		}`, []string{
			"trip_calls: must be at least minimum_calls (11), got 10: the window could never hold enough calls",
			"maximum_break_duration: must be at least break_duration (2s), got 1s",
			"recovery.minimum_duration: must be at most maximum_duration (5s), got 6s",
		}},
		"the races": {breaker.Settings{}, `{"failures": {"multiple": 10}, "slow_calls": {"window": "40s"}}`, []string{
			"failures.window / failures.multiple must be at least 2 * trip_window, or the baseline learns an outage before the window shows it, got 5m0s / 10 against 2 * 30s: raise failures.window, or lower failures.multiple or trip_window",
			"slow_calls.quantile * slow_calls.window must be at least 2 * slow_call_ratio * trip_window, or the baseline learns a brownout before the window shows it, got 0.5 * 40s against 2 * 0.5 * 30s: raise slow_calls.window or slow_calls.quantile, or lower slow_call_ratio or trip_window",
		}},
		"off with more": {breaker.Settings{Failures: breaker.Failures{Multiple: 4}}, `{"failures": {"off": true}}`, []string{
			"failures.off: must stand alone, got it with failures.multiple 4",
		}},
		"in the settings before": {breaker.Settings{TripCalls: -1}, `{"name": "db"}`, []string{"trip_calls: must not be negative, got -1"}},
		"before, null":           {breaker.Settings{TripCalls: -1}, `null`, []string{"trip_calls: must not be negative, got -1"}},
		"before, and no object":  {breaker.Settings{TripCalls: -1}, `[]`, []string{"must be an object, got an array", "trip_calls: must not be negative, got -1"}},
		"of both kinds": {breaker.Settings{}, `{"failure_ratio": 2, "trip_windw": "1m", "trip_calls": "5"}`, []string{
			"trip_windw: no such setting, did you mean trip_window?",
			`trip_calls: must be a whole number, got "5"`,
			"failure_ratio: must be in (0, 1], got 2",
		}},
	} {
		require.Equal(t, c.want, jsonProblems(t, c.over, c.document), name)
	}
}

// A value that could not be read is no ground for a problem of another one.
func TestJSONProblemsDoNotBreedOthers(t *testing.T) {
	over := breaker.Settings{
		BreakDuration:        time.Second,
		MaximumBreakDuration: 2 * time.Second,
		Recovery:             breaker.Recovery{MaximumDuration: 5 * time.Second},
		Failures:             breaker.Failures{Multiple: 5},
	}
	const duration = `: must be a duration such as "30s", got `
	for document, want := range map[string][]string{
		`{"failures": {"multiple": 10, "window": 600}}`:                               {"failures.window" + duration + "600"},
		`{"failures": {"multiple": 10, "window": 600}, "recovery": {"fraction": -1}}`: {"failures.window" + duration + "600", "recovery.fraction: must be a finite number and not negative, got -1"},
		`{"failures": {"multiple": "1.5", "window": "1m"}}`:                           {`failures.multiple: must be a number, got "1.5"`},
		`{"trip_window": 1, "failures": {"window": "20s"}}`:                           {"trip_window" + duration + "1"},
		`{"slow_call_ratio": "", "slow_calls": {"window": "40s"}}`:                    {`slow_call_ratio: must be a number, got ""`},
		`{"break_duration": "3s", "maximum_break_duration": 4}`:                       {"maximum_break_duration" + duration + "4"},
		`{"recovery": {"minimum_duration": "6s", "maximum_duration": 7}}`:             {"recovery.maximum_duration" + duration + "7"},
		`{"failures": [], "disable_adaptive": true}`:                                  {`failures: must be an object such as {"off": true}, got an array`},
		`{"trip_window": 1, "break_duration": "3s", "slow_calls": {"window": 1}}`:     {"trip_window" + duration + "1", "slow_calls.window" + duration + "1", "maximum_break_duration: must be at least break_duration (3s), got 2s"},
		`{"break_duration": 1, "maximum_break_duration": "-1s", "trip_calls": -1}`:    {"break_duration" + duration + "1", "trip_calls: must not be negative, got -1", "maximum_break_duration: must not be negative, got -1s"},
	} {
		require.Equal(t, want, jsonProblems(t, over, document), document)
	}
}

func TestSettingsToJSON(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{breaker.Settings{}, `{}`},
		{breaker.Settings{Name: "a <b>"}, `{"name":"a \u003cb\u003e"}`},
		{breaker.Settings{Failures: breaker.Failures{Off: true}, BreakJitter: breaker.JitterNone}, `{"failures":{"off":true},"break_jitter":"none"}`},
		{breaker.Settings{TripWindow: 1500 * time.Millisecond, Recovery: breaker.Recovery{Fraction: 0.25}}, `{"trip_window":"1.5s","recovery":{"fraction":0.25}}`},
		{breaker.Settings{FailureRatio: math.Copysign(0, -1), TripCalls: -1, TripWindow: -1}, `{"trip_window":"-1ns","trip_calls":-1}`},
		{&breaker.Settings{MinimumCalls: 1, ConsecutiveFailures: 2}, `{"consecutive_failures":2,"minimum_calls":1}`},
		{map[string]breaker.Settings{"db": {TripCalls: 5}}, `{"db":{"trip_calls":5}}`},
	} {
		text, err := json.Marshal(c.value)
		require.NoError(t, err)
		require.Equal(t, c.want, string(text))
	}
}

func TestSettingsThatJSONCannotHold(t *testing.T) {
	_, err := json.Marshal(breaker.Settings{
		Name:         "\xff",
		FailureRatio: nan,
		Failures:     breaker.Failures{Multiple: inf, Floor: 0.5},
		Recovery:     breaker.Recovery{Fraction: -inf},
		BreakJitter:  12,
	})
	var unfit *breaker.SettingsError
	require.ErrorAs(t, err, &unfit)
	require.Equal(t, []string{
		`name: must be UTF-8, got "\xff"`,
		"failure_ratio: must be a value that JSON can hold, got NaN",
		"failures.multiple: must be a value that JSON can hold, got +Inf",
		"break_jitter: must be a value that JSON can hold, got Jitter(12)",
		"recovery.fraction: must be a value that JSON can hold, got -Inf",
	}, unfit.Problems)
	text, err := breaker.Settings{FailureRatio: nan}.MarshalJSON()
	require.Error(t, err)
	require.Empty(t, text)
}

// The nested values have the same form in a struct of somebody else.
func TestPartsOfSettingsInJSON(t *testing.T) {
	type parts struct {
		Failures  breaker.Failures  `json:"failures"`
		SlowCalls breaker.SlowCalls `json:"slow_calls"`
		Recovery  breaker.Recovery  `json:"recovery"`
	}
	p := parts{breaker.FailuresAbove(4), breaker.SlowCallsAbove(2), breaker.RecoveryOver(0.5)}
	text, err := json.Marshal(p)
	require.NoError(t, err)
	whole, err := json.Marshal(breaker.Settings{Failures: p.Failures, SlowCalls: p.SlowCalls, Recovery: p.Recovery})
	require.NoError(t, err)
	require.Equal(t, string(whole), string(text))
	require.Contains(t, string(text), `"window":"5m0s"`)

	var back parts
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, p, back)
	require.NoError(t, json.Unmarshal([]byte(`{"failures": {"floor": 0.5}, "slow_calls": {"window": "1m"}, "recovery": {"fraction": 3}}`), &back))
	p.Failures.Floor, p.SlowCalls.Window, p.Recovery.Fraction = 0.5, time.Minute, 3
	require.Equal(t, p, back)

	for _, part := range []json.Unmarshaler{&back.Failures, &back.SlowCalls, &back.Recovery} {
		require.Equal(t, &breaker.SettingsError{Problems: []string{"size: no such setting"}}, part.UnmarshalJSON([]byte(`{"size": 1}`)))
	}
	require.Equal(t, &breaker.SettingsError{Problems: []string{`window: must be a duration such as "30s", got 5`}}, json.Unmarshal([]byte(`{"floor": 0.75, "window": 5}`), &back.Failures))
	require.Equal(t, p, back)
	require.NoError(t, json.Unmarshal([]byte(`{"window": "1ns"}`), &back.Failures), "fits a short enough trip window")
}
