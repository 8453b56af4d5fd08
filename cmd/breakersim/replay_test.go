package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/cmd/breakersim/internal/calls"
	"github.com/normal-go/breaker/simulation"
)

const recorded = "examples/replay/calls.csv"

// badMinute is two minutes of ten calls a second, all of which fail in the second.
func badMinute() string {
	var s strings.Builder
	s.WriteString("start,duration,outcome\n")
	for i := range 1200 {
		outcome := "ok"
		if i >= 600 && i < 900 {
			outcome = "failed"
		}
		fmt.Fprintf(&s, "2026-03-02T03:0%d:%02d.%d50Z,20ms,%s\n", i/600, i/10%60, i%10, outcome)
	}
	return s.String()
}

func TestReplay(t *testing.T) {
	strict := write(t, "strict.yaml", "consecutive_failures: 100\ndisable_adaptive: true\n")
	r := breakersim(t, badMinute(), "replay", "-", "--settings", strict, "--opens", "1")
	require.Zero(t, r.code, r.err)
	require.Empty(t, r.err, "no progress where nobody watches")
	lines := strings.Split(r.out, "\n")
	require.Equal(t, "standard input: 1,200 calls, from 2026-03-02T03:00:00Z to 2026-03-02T03:01:59Z (2m0s)", lines[0])
	require.Equal(t, "bad lines: 0 of 1,200 (0.00 %)", lines[1])
	require.Regexp(t, `^ +defaults +strict$`, lines[3])
	require.Regexp(t, `^would have tripped +1 +1$`, lines[4])
	for _, row := range []string{
		`had failed anyway +2\d\d +1\d\d`,
		`\ndefaults would have opened by consecutive-failures 1, probe-failed \d+\n  2026-03-02 03:01:00.470  "defaults" closed -> open: consecutive-failures, 5 in a row`,
		`\n  and \d more\n`,
		`\nstrict would have opened by consecutive-failures 1, probe-failed \d+\n  2026-03-02 03:01:09.970  "strict" closed -> open: consecutive-failures, 100 in a row`,
	} {
		require.Regexp(t, row, r.out)
	}
	require.Contains(t, here(t, strings.NewReader(badMinute()), "replay", "-", "--json").out, `"start": "2026-03-02T03:00:00Z"`, "a whole second")
	require.NotRegexp(t, "would have opened by", here(t, strings.NewReader(badMinute()), "replay", "-", "--opens", "0").out)
}

// One pass gives each variant what it would have had alone.
func TestVariantsDoNotTouchEachOther(t *testing.T) {
	t.Chdir("../..")
	run := func(settings ...string) (r struct {
		Lines    int64
		BadLines int64 `json:"bad_lines"`
		Start    time.Time
		Variants []struct {
			Name      string
			Settings  breaker.Settings
			NotClosed float64 `json:"not_closed_seconds"`
			Opens     []any
			Report    json.RawMessage
		}
	}) {
		args := []string{"replay", recorded, "--json"}
		for _, s := range settings {
			args = append(args, "--settings", s)
		}
		ran := here(t, nil, args...)
		require.Zero(t, ran.code, ran.err)
		require.NoError(t, json.Unmarshal([]byte(ran.out), &r))
		return r
	}
	const ramp, constant = "examples/replay/ramp.yaml", "examples/replay/constant.yaml"
	together, one, other := run(ramp, constant), run(ramp), run(constant)
	require.Len(t, together.Variants, 3)
	require.Equal(t, one.Variants[0], together.Variants[0])
	require.Equal(t, one.Variants[1], together.Variants[1])
	require.Equal(t, other.Variants[1], together.Variants[2])
	require.NotEqual(t, one.Variants[0].Report, one.Variants[1].Report)
	require.EqualValues(t, 3600, together.Lines)
	require.Equal(t, "ramp", together.Variants[1].Name)
	require.Equal(t, 0.25, together.Variants[1].Settings.Recovery.Fraction)
	require.NotEmpty(t, together.Variants[1].Opens)
	require.Positive(t, together.Variants[1].NotClosed)
	require.Empty(t, together.Variants[2].Opens)
	require.Equal(t, "2026-03-02T03:00:00Z", together.Start.Format(time.RFC3339))
}

// The command says what the package says of the same calls.
func TestReplayAgreesWithThePackage(t *testing.T) {
	t.Chdir("../..")
	p, err := simulation.NewReplay(simulation.Recording{
		Name: "defaults", Start: time.Date(2026, 3, 2, 3, 0, 0, 0, time.UTC), NoTimeline: true,
		Settings: breaker.Settings{Name: "defaults"},
	})
	require.NoError(t, err)
	file, err := os.Open(recorded)
	require.NoError(t, err)
	defer file.Close()
	r := calls.NewReader(file, calls.Options{Reorder: time.Minute})
	for {
		c, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.NoError(t, p.Add(simulation.Call{Start: time.Duration(c.Start - 1772420400e9), Latency: c.Latency, Verdict: c.Verdict}))
	}
	want, err := json.Marshal(p.Report())
	require.NoError(t, err)
	var got struct {
		Variants []struct{ Report json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(here(t, nil, "replay", recorded, "--json").out), &got))
	require.JSONEq(t, string(want), string(got.Variants[0].Report))
}

// The same calls in other formats come to the same.
func TestFormatsAgree(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile(recorded)
	require.NoError(t, err)
	var jsonLines, nginx strings.Builder
	for line := range strings.Lines(strings.TrimPrefix(string(text), "start,duration_ms,status\n")) {
		cells := strings.Split(strings.TrimSpace(line), ",")
		fmt.Fprintf(&jsonLines, `{"at":%s,"http":{"took_ms":"%s","code":%s}}`+"\n", cells[0], cells[1], cells[2])
		fmt.Fprintf(&nginx, "%s [%s] %s\n", cells[2], cells[0], cells[1]+"ms")
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err = z.Write(text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	want := here(t, nil, "replay", recorded).out
	after := func(out string) string { _, rest, _ := strings.Cut(out, ":"); return rest }
	for name, r := range map[string]ran{
		"jsonl": here(t, strings.NewReader(jsonLines.String()), "replay", "-", "--start", "at", "--duration", "http.took_ms", "--status", "http.code"),
		"nginx": here(t, strings.NewReader(nginx.String()), "replay", "-", "--log-format", "$status [$begun] $took", "--start", "begun", "--duration", "took"),
		"gz":    here(t, nil, "replay", write(t, "calls.csv.gz", zipped.String())),
		"gzip":  here(t, &zipped, "replay", "-"),
		"tabs":  here(t, strings.NewReader(strings.ReplaceAll(string(text), ",", "\t")), "replay", "-", "--delimiter", "tab"),
	} {
		require.Zero(t, r.code, "%s: %s", name, r.err)
		require.Equal(t, after(want), after(r.out), name)
	}
}

// A replay refuses nothing as it is.
func TestReplayOfAShadow(t *testing.T) {
	shadow := write(t, "shadow.yaml", "shadow: true\n")
	r := breakersim(t, badMinute(), "replay", "-", "--settings", shadow)
	require.Zero(t, r.code, r.err)
	require.Regexp(t, `\nwould have refused +(\d+) +(\d+)\n`, r.out)
	row := strings.Fields(regexp.MustCompile(`would have refused .*`).FindString(r.out))
	require.Equal(t, row[3], row[4])
	require.NotEqual(t, "0", row[4])
}

// Each kind of input that is no log has its words, which name it once.
func TestReplayOfNoLog(t *testing.T) {
	empty, dir := write(t, "empty.gz", ""), t.TempDir()
	half := write(t, "half.gz", "\x1f\x8b")
	for path, want := range map[string]string{
		empty: empty + ": there is no call in it",
		half:  half + ": unexpected EOF",
		dir:   dir + ": is a directory",
	} {
		require.Equal(t, ran{exitFailed, "", "breakersim: " + want + "\n"}, here(t, nil, "replay", path))
	}
}

func TestReplayWithBadLines(t *testing.T) {
	log := strings.Replace(badMinute(), "20ms", "a while", 1)
	log = strings.Replace(log, "\n2026-03-02T03:01:30", "\n2026-03-01T03:01:30", 1)
	r := breakersim(t, log, "replay", "-", "--opens", "0")
	require.Zero(t, r.code)
	require.Equal(t, `breakersim: standard input:2: a duration must be a number, or as 12.5ms, got "a while"`+"\n"+
		"breakersim: standard input:902: it begins 23h59m59.8s before a call that came earlier, and --reorder is 1m0s\n", r.err)
	require.Contains(t, r.out, "bad lines: 2 of 1,200 (0.17 %)")

	r = here(t, strings.NewReader(log), "replay", "-", "--bad", "0.1%")
	require.Equal(t, exitFailed, r.code)
	require.Empty(t, r.out, "no result of half a log")
	require.Contains(t, r.err, "breakersim: standard input: 2 of 1200 lines are bad, and at most 0.1 % may be (--bad)\n")

	r = here(t, strings.NewReader(strings.ReplaceAll(badMinute(), ",20ms", "")), "replay", "-")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "breakersim: standard input: and 996 bad lines more\n", "it does not read on")
}

// What the breaker cannot place is a bad line, whatever the reader thought of it.
func TestWhatCannotBeReplayedIsBad(t *testing.T) {
	v, w := &variant{}, &variant{}
	for _, v := range []*variant{v, w} {
		require.NoError(t, v.begin(time.Date(2026, 3, 2, 3, 0, 59, 0, time.UTC)))
	}
	r := calls.NewReader(strings.NewReader(badMinute()), calls.Options{MostBad: 0.5})
	require.NoError(t, feed(t.Context(), r, []*variant{v, w}))
	require.EqualValues(t, 590, r.Counts().Bad)
	require.EqualError(t, r.Counts().First[0].Why, "simulation: a call must not begin before the one added last (0s), got -58.95s")
	require.EqualValues(t, 610, v.replay.Report().Calls.Offered)

	r = calls.NewReader(strings.NewReader(badMinute()), calls.Options{MostBad: 0.4})
	v = &variant{}
	require.NoError(t, v.begin(time.Date(2026, 3, 2, 3, 0, 59, 0, time.UTC)))
	var tooBad *calls.TooBadError
	require.ErrorAs(t, feed(t.Context(), r, []*variant{v}), &tooBad)
}

func TestReplayDraws(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.svg")
	r := breakersim(t, "", "replay", recorded, "--settings", "examples/replay/ramp.yaml", "-o", path)
	require.Zero(t, r.code, r.err)
	picture, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, words := range []string{">defaults<", ">ramp<", ">recovering<", ">03:06<", "from 2 March 2026, 03:00:00"} {
		require.True(t, strings.Contains(string(picture), words), words)
	}
}

// heaps is a log of 20 calls a second, that is written as it is read, and looks at the heap.
type heaps struct {
	lines, n int
	rest     []byte
	seen     []uint64
}

func (h *heaps) Read(p []byte) (int, error) {
	if len(h.rest) == 0 {
		if h.n == h.lines {
			return 0, io.EOF
		}
		if h.n == 0 {
			h.rest = append(h.rest[:0], "start,duration_ms,status\n"...)
		}
		status := 200
		if h.n%20_000 < 2000 {
			status = 503
		}
		h.rest = fmt.Appendf(h.rest, "%d.%03d,20,%d\n", 1772420400+h.n/20, h.n%20*50, status)
		if h.n++; h.n%50_000 == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			h.seen = append(h.seen, m.HeapAlloc)
		}
	}
	n := copy(p, h.rest)
	h.rest = h.rest[n:]
	return n, nil
}

// Neither calls nor seconds nor opens are kept: half a day takes what an hour takes.
func TestReplayInConstantMemory(t *testing.T) {
	log := &heaps{lines: 400_000}
	ramp := write(t, "ramp.yaml", "recovery: {fraction: 0.25}")
	r := here(t, log, "replay", "-", "--settings", ramp)
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.out, "400,000 calls")
	require.Len(t, log.seen, 8)
	for _, heap := range log.seen[1:] {
		require.Less(t, heap, log.seen[0]+1<<20, "heap in bytes, every 50,000 calls: %v", log.seen)
	}
}
