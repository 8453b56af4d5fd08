package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

// incidents runs every file in examples/incidents, and returns the reports by name.
func incidents(t *testing.T) map[string]*simulation.Report {
	t.Helper()
	t.Chdir("../..")
	paths, err := filepath.Glob("examples/incidents/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 12)
	reports := map[string]*simulation.Report{}
	for _, path := range paths {
		scenario, err := readScenario(streams{}, path)
		require.NoError(t, err)
		reports[nameFrom(path)], err = simulation.Run(t.Context(), scenario)
		require.NoError(t, err)
	}
	return reports
}

// Each file says what it is about in one sentence, and so does the page.
func TestIncidentsHaveASentence(t *testing.T) {
	t.Chdir("../..")
	paths, err := filepath.Glob("examples/incidents/*.yaml")
	require.NoError(t, err)
	page, err := os.ReadFile("docs/breakersim.md")
	require.NoError(t, err)
	names := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		first, rest, _ := strings.Cut(string(text), "\n")
		require.Regexp(t, `^# [A-Z][^.]+\.$`, first, path)
		require.NotContains(t, rest, "#", path)
		name := regexp.MustCompile(`(?m)^name: (.+)$`).FindStringSubmatch(rest)
		require.NotNil(t, name, path)
		require.Empty(t, names[name[1]], "%s and %s have the same name", path, names[name[1]])
		names[name[1]] = path
		row := fmt.Sprintf("\n| [%s](../%s) | %s |\n", filepath.Base(path), path, strings.TrimPrefix(first, "# "))
		require.Contains(t, string(page), row)
	}
}

// What the sentences say comes true.
func TestIncidents(t *testing.T) {
	reports := incidents(t)
	for name, r := range reports {
		require.Equal(t, r.Calls.Offered, r.Calls.Served+r.Calls.Failed+r.Calls.Throttled+r.Calls.Refused+r.Calls.Canceled, name)
		calm := map[string]bool{"throttling": true, "new-normal": true, "callers-leave": true, "quiet-day": true}[name]
		if calm {
			require.Zero(t, opens(r), "%s is nothing to open for", name)
			continue
		}
		require.Positive(t, opens(r), name)
		if len(r.Incidents) > 0 {
			require.Positive(t, r.Incidents[0].Opened, name)
		}
	}
	first := func(name string) breaker.Cause { return reports[name].Transitions[0].Cause }
	require.Equal(t, breaker.CauseConsecutiveFailures, first("outage"))
	require.Equal(t, breaker.CauseConsecutiveFailures, first("hang"))
	require.Equal(t, breaker.CauseConsecutiveFailures, first("two-a-minute"))
	require.Equal(t, breaker.CauseSlowCalls, first("brownout"))
	require.Equal(t, breaker.CauseRelativeFailures, first("rising-failures"))
	require.Equal(t, breaker.CauseRelativeFailures, first("one-shard-down"))
	require.Greater(t, reports["cold-start-ramp"].Calls.Served, 2*reports["cold-start"].Calls.Served, "the ramp is what helps")
	require.Equal(t, 200, reports["fleet-outage"].Incidents[0].Opened)
	require.Positive(t, reports["throttling"].Calls.Throttled)
	require.Positive(t, reports["callers-leave"].Calls.Canceled)
}
