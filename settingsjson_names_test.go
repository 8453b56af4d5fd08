package breaker_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// An unknown name is answered with the one that it was probably meant for: the nearest,
// of those that two letters turn it into, or one where the name is short.
func TestJSONSuggestsNames(t *testing.T) {
	for name, want := range map[string]string{
		"break_duraton":        "break_duration",
		"breakDuration":        "break_duration",
		"BREAKDURATION":        "break_duration",
		"brake_duration":       "break_duration",
		"break-duration":       "break_duration",
		"breaks_duration_s":    "break_duration",
		"break_durationsss":    "",
		"maxbreakduration":     "",
		"slow_call":            "slow_calls",
		"half_open_probe":      "half_open_probes",
		"probe_sucesses":       "probe_successes",
		"failures_of":          "failures",
		"nam":                  "name",
		"game":                 "name",
		"na":                   "",
		"gain":                 "",
		"__":                   "",
		"disable_adaptive_ünü": "",
	} {
		require.Equal(t, []string{unknown(name, want)}, jsonProblems(t, breaker.Settings{}, `{"`+name+`": 1}`))
	}
	for name, want := range map[string]string{
		"minimumDuration":  "recovery.minimum_duration",
		"maximumDuration":  "recovery.maximum_duration", // two letters from the other
		"fractions":        "recovery.fraction",
		"break_duration":   "", // exists elsewhere
		"initial_friction": "recovery.initial_fraction",
	} {
		require.Equal(t, []string{unknown("recovery."+name, want)}, jsonProblems(t, breaker.Settings{}, `{"recovery": {"`+name+`": 1}}`))
	}
	for name, want := range map[string]string{"of": "failures.off", "Off": "failures.off", "on": "", "floors": "failures.floor"} {
		require.Equal(t, []string{unknown("failures."+name, want)}, jsonProblems(t, breaker.Settings{}, `{"failures": {"`+name+`": 1}}`))
	}
}

func unknown(path, meant string) string {
	if meant == "" {
		return path + ": no such setting"
	}
	return path + ": no such setting, did you mean " + meant + "?"
}
