package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker/simulation"
)

// ran is what a command came to.
type ran struct {
	code     int
	out, err string
}

// breakersim runs the command from the root of the repository.
func breakersim(t *testing.T, input string, args ...string) ran {
	t.Helper()
	t.Chdir("../..")
	return here(t, strings.NewReader(input), args...)
}

// here runs it where the test is.
func here(t *testing.T, input io.Reader, args ...string) ran {
	t.Helper()
	var out, err bytes.Buffer
	code := execute(t.Context(), args, streams{input, &out, &err})
	return ran{code, out.String(), err.String()}
}

// write makes a file, and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const outage = "examples/incidents/outage.yaml"

// tiny is a scenario of ten seconds, one of which is an outage.
const tiny = `{name: tiny, duration: 10s, load: {rate: 50}, incidents: [{kind: outage, start: 5s, duration: 1s}], settings: {name: db}}`

func TestRun(t *testing.T) {
	r := breakersim(t, "", "run", outage)
	require.Zero(t, r.code, r.err)
	require.Empty(t, r.err, "no progress where nobody watches")
	require.True(t, strings.HasPrefix(r.out, "outage: 5m0s, 1 instance, seed 0\n"), r.out)
	require.Contains(t, r.out, "consecutive-failures 1")
	require.NotContains(t, r.out, "transitions")
	require.Equal(t, r, here(t, nil, "run", outage), "the same bytes each time")
}

func TestRunWithFlags(t *testing.T) {
	settings := write(t, "s.yaml", "consecutive_failures: 3\n")
	r := breakersim(t, tiny, "run", "-", "--settings", settings, "--transitions")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.out, "\ntransitions\n  5.041s       \"db\" closed -> open: consecutive-failures, 3 in a row")

	r = here(t, strings.NewReader(tiny), "run", "-", "--no-breaker", "--transitions")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.out, "tiny: 10s, 1 instance, no breaker, seed 0")
	require.NotContains(t, r.out, "transitions")

	r = here(t, strings.NewReader("load: {rate: 1}\nduration: 1s"), "run", "-")
	require.True(t, strings.HasPrefix(r.out, "standard input: 1s"), "what has no name takes the file's")
}

func TestRunAsJSON(t *testing.T) {
	r := breakersim(t, tiny, "run", "-", "--json")
	require.Zero(t, r.code, r.err)
	var report struct {
		Name     string
		Calls    struct{ Offered, Served, Refused int }
		Timeline []any
	}
	require.NoError(t, json.Unmarshal([]byte(r.out), &report))
	require.Equal(t, "tiny", report.Name)
	require.Equal(t, 500, report.Calls.Offered)
	require.Len(t, report.Timeline, 10)
	require.True(t, strings.HasSuffix(r.out, "}\n"))
}

func TestPlots(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.svg", "b.PNG"} {
		path := filepath.Join(dir, name)
		r := breakersim(t, tiny, "run", "-", "-o", path)
		require.Zero(t, r.code, r.err)
		require.Contains(t, r.out, "tiny: 10s", "the report is written as well")
		picture, err := os.ReadFile(path)
		require.NoError(t, err)
		if name == "a.svg" {
			require.Contains(t, string(picture), ">tiny<")
			require.Contains(t, string(picture), ">consecutive-failures<")
			require.Contains(t, string(picture), ">outage<")
			continue
		}
		_, err = png.Decode(bytes.NewReader(picture))
		require.NoError(t, err)
	}
}

func TestCompare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.svg")
	ramp := write(t, "with a ramp.yaml", "recovery: {fraction: 0.25}")
	incident := write(t, "tiny.yaml", tiny)
	r := breakersim(t, "", "compare", incident, "--settings", ramp, "--no-breaker", "-o", path)
	require.Zero(t, r.code, r.err)
	lines := strings.Split(r.out, "\n")
	require.Regexp(t, `^ +tiny +with a ramp +no breaker$`, lines[0])
	require.Regexp(t, `^calls +500 +500 +500$`, lines[1])
	require.Contains(t, r.out, "\nincident 1 ")
	require.Contains(t, r.out, "\ntiny opened by consecutive-failures 1")
	picture, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(picture), ">with a ramp<")

	r = here(t, nil, "compare", incident, outage, "--json")
	require.Zero(t, r.code, r.err)
	var reports []struct{ Name string }
	require.NoError(t, json.Unmarshal([]byte(r.out), &reports))
	require.Equal(t, "outage", reports[1].Name)
}

func TestFleet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.svg")
	r := breakersim(t, tiny, "fleet", "-", "--instances", "2,3", "--jitter", "none,full", "-o", path)
	require.Zero(t, r.code, r.err)
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	require.Len(t, lines, 5)
	require.Regexp(t, `^instances +jitter +opened`, lines[0])
	require.Regexp(t, `^2 +none +2 `, lines[1])
	require.Regexp(t, `^3 +full +3 `, lines[4])
	picture, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(picture), ">3 instances, jitter full: ")

	r = here(t, strings.NewReader(tiny), "fleet", "-", "--json")
	var reports []struct{ Name string }
	require.NoError(t, json.Unmarshal([]byte(r.out), &reports))
	require.Equal(t, "tiny, jitter none", reports[0].Name)
	require.Len(t, reports, 3)
}

// What a picture of a fleet reads is the first instance's, and so are the trips.
func TestTripsOfAFleetAreTheFirstInstances(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fleet.svg")
	r := breakersim(t, strings.Replace(tiny, "duration: 10s,", "duration: 10s, instances: 11,", 1), "run", "-", "-o", path)
	require.Zero(t, r.code, r.err)
	picture, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(picture), "Share of the breakers in each state")
	report, err := simulation.Run(t.Context(), simulation.Scenario{
		Duration: 10 * time.Second, Instances: 11, Load: simulation.Load{Rate: 500},
		Incidents: []simulation.Incident{{Kind: simulation.Outage}},
	})
	require.NoError(t, err)
	require.Greater(t, opens(report), 10)
	require.Len(t, tripsOf(report, simulationStart), 1)
}

// Each mistake has its words, and an exit status that tells a wrong command line from
// something wrong in what it names.
func TestMistakes(t *testing.T) {
	const says = `breakersim: "breakersim help" says more` + "\n"
	invalid := write(t, "invalid.yaml", "load: {rate: -1}\nincidents: [{kind: fire}]\nsettings: {failure_ratio: 2}\n")
	unread := write(t, "unread.yaml", "load: {rate: 1, speed: 2}\nduration: 60\n")
	twice := write(t, "twice.yaml", "load: {rate: 1}\nload: {rate: 2}\n")
	broken := write(t, "broken.yaml", "load: [\n")
	empty := write(t, "empty.yaml", "")
	settings := write(t, "settings.yaml", "trip_windw: 1m\n")
	good := write(t, "good.yaml", tiny)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"walk", 2, `breakersim: unknown command "walk" for "breakersim"` + "\n" + says},
		{"run", 2, "breakersim: run: name one incident file\n" + says},
		{"run a b", 2, "breakersim: run: name one incident file, got 2\n" + says},
		{"run a --speed 1", 2, "breakersim: unknown flag: --speed\n" + says},
		{"run a -o b.gif", 2, `breakersim: --output must end in .png or .svg, got "b.gif"` + "\n" + says},
		{"run nowhere.yaml", 1, "breakersim: nowhere.yaml: no such file or directory\n"},
		{"run " + good + " -o nowhere/a.svg", 1, "breakersim: nowhere/a.svg: no such file or directory\n"},
		{"run " + invalid, 1, "breakersim: " + invalid + ": settings.failure_ratio: must be in (0, 1], got 2\n"},
		{"run " + unread, 1, "breakersim: " + unread + ": duration: must be a duration such as \"30s\", got 60\n" +
			"breakersim: " + unread + ": load.speed: no such field, there are rate, poisson, every, steps, bursts, day\n"},
		{"run " + twice, 1, "breakersim: " + twice + ": yaml: unmarshal errors:\n  line 2: key \"load\" already set in map\n"},
		{"run " + broken, 1, "breakersim: " + broken + ": yaml: line 1: did not find expected node content\n"},
		{"run " + empty, 1, "breakersim: " + empty + ": load.rate: must be above 0 where there are no load.steps, got 0: no call would be offered\n"},
		{"run " + good + " --settings " + settings, 1, "breakersim: " + settings + ": trip_windw: no such setting, did you mean trip_window?\n"},
		{"compare " + good, 2, "breakersim: compare: name another file, or --settings, or --no-breaker: there is nothing to compare with\n" + says},
		{"compare a b c d e f g", 2, "breakersim: compare: name one to 6 incident files, got 7\n" + says},
		{"compare " + good + " " + good + " --no-breaker", 2, "breakersim: compare: --settings and --no-breaker go with one file, got 2\n" + says},
		{"fleet " + good + " --jitter some", 2, `breakersim: fleet: --jitter must be one of none, full and equal, got "some"` + "\n" + says},
		{"fleet " + good + " --instances 1,2,3,4,5", 2, "breakersim: fleet: at most 12 combinations, got 15\n" + says},
		{"fleet " + good + " --instances -1", 2, "breakersim: fleet: --instances must be at least 1, got -1\n" + says},
		{"fleet " + good + " --instances 100001", 1, "breakersim: Instances must be from 0 to 100000, got 100001\n"},
		{"fleet " + good + " --jitter=", 2, "breakersim: fleet: --jitter must be one of none, full and equal, got nothing\n" + says},
		{"replay", 2, "breakersim: replay: name one log file\n" + says},
		{"replay nowhere.log", 1, "breakersim: nowhere.log: no such file or directory\n"},
		{"replay a --bad much", 2, `breakersim: replay: --bad must be a share such as 1% or 0.01, got "much"` + "\n" + says},
		{"replay a --bad 101%", 2, "breakersim: replay: --bad must be from 0 % to 100 %, got 101 %\n" + says},
		{"replay a --format xml", 2, `breakersim: replay: --format must be one of auto, csv, jsonl, nginx, got "xml"` + "\n" + says},
		{"replay a --delimiter ab", 2, `breakersim: replay: --delimiter must be one ASCII character, or tab, got "ab"` + "\n" + says},
		{"replay a --opens -1", 2, "breakersim: replay: --opens must not be negative, got -1\n" + says},
		{"replay a --settings " + settings, 1, "breakersim: " + settings + ": trip_windw: no such setting, did you mean trip_window?\n"},
		{"replay a --settings 1 --settings 2 --settings 3 --settings 4 --settings 5 --settings 6", 2, "breakersim: replay: at most 5 files of settings, got 6\n" + says},
		{"replay " + good + " --format jsonl --bad 100%", 1, "breakersim: " + good + ":1: it is no JSON object: invalid character 'n' looking for beginning of object key string\n" +
			"breakersim: " + good + ": there is no call in it\n"},
	} {
		r := here(t, nil, strings.Fields(c.args)...)
		require.Equal(t, ran{c.code, "", c.want}, r, c.args)
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"help"}, {"--help"}} {
		r := here(t, nil, args...)
		require.Zero(t, r.code)
		require.Contains(t, r.out, "Exit status: 0 if all went well")
		require.Empty(t, r.err)
	}
	for _, command := range []string{"run", "compare", "fleet", "replay"} {
		r := here(t, nil, command, "--help")
		require.Zero(t, r.code)
		require.Contains(t, r.out, "Examples:\n  breakersim "+command+" ")
		for line := range strings.Lines(r.out) {
			if !strings.Contains(line, "--") { // the table of flags is as wide as it has to be
				require.LessOrEqual(t, len(line), 121, line)
			}
		}
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.Chdir("../..")
	for _, args := range [][]string{{"run", outage}, {"replay", "examples/replay/calls.csv"}} {
		var out, err bytes.Buffer
		require.Equal(t, exitFailed, execute(ctx, args, streams{nil, &out, &err}))
		require.Equal(t, "breakersim: interrupted\n", err.String())
		require.Empty(t, out.String())
	}
}

// A full disk is no success.
func TestOutputThatCannotBeWritten(t *testing.T) {
	var err bytes.Buffer
	require.Equal(t, exitFailed, execute(t.Context(), []string{"run", "-"}, streams{strings.NewReader(tiny), full{}, &err}))
	require.Equal(t, "breakersim: no space left\n", err.String())
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// When a scenario begins, and how long it lasts, is the package's own.
func TestSimulationStart(t *testing.T) {
	report, err := simulation.Run(t.Context(), simulation.Scenario{
		Load:      simulation.Load{Rate: 100, Every: 1e9},
		Incidents: []simulation.Incident{{Kind: simulation.Outage}},
		Instant:   true,
	})
	require.NoError(t, err)
	require.Equal(t, simulationStart.Add(0), report.Transitions[0].At)
	require.Equal(t, simulationLasts, report.Duration)
}
