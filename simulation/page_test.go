package simulation_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

// show prints what docs/simulation.md shows, for go test -v.
func show(lines string) {
	if testing.Verbose() {
		fmt.Print(lines)
	}
}

// requireOnPage requires that docs/simulation.md shows exactly this in a block of its own.
func requireOnPage(t *testing.T, text string) {
	t.Helper()
	page, err := os.ReadFile("../docs/simulation.md")
	require.NoError(t, err)
	var blocks []string
	for _, match := range regexp.MustCompile("(?ms)^```text\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		blocks = append(blocks, match[1])
	}
	require.Contains(t, blocks, text)
}

func TestRunOnThePageIsReal(t *testing.T) {
	requireOnPage(t, run(t, outage()).String())
}

func TestSettingsCompared(t *testing.T) {
	short, ramp, without := outage(), outage(), outage()
	short.Settings.BreakDuration, short.Settings.MaximumBreakDuration = 5*time.Second, 10*time.Second
	ramp.Settings.Recovery = breaker.RecoveryOver(0.25)
	without.NoBreaker = true
	var lines strings.Builder
	fmt.Fprintln(&lines, "                served  refused  needlessly  met it dead  full service")
	for _, row := range []struct {
		name     string
		scenario simulation.Scenario
	}{{"defaults", outage()}, {"shorter breaks", short}, {"with a ramp", ramp}, {"no breaker", without}} {
		r := run(t, row.scenario)
		o := r.Incidents[0]
		fmt.Fprintf(&lines, "%-14s  %6d  %7d  %10d  %11d  %12v\n",
			row.name, r.Calls.Served, r.Calls.Refused, r.Calls.RefusedServable, o.DeadAttempts, o.FullService)
	}
	show(lines.String())
	requireOnPage(t, lines.String())
}
