package league

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

var (
	theLeague  = flag.Bool("league", false, "run the whole league and write README.md")
	theSeed    = flag.Uint64("seed", 1, "where all the chance comes from")
	theOnly    = flag.String("only", "", "with -league: the rows whose names match; the rest stays as it was")
	theColumns = flag.String("columns", "", "with -league: the columns whose names match; the rest stays as it was")
	theQuick   = flag.Bool("quick", false, "with -league: short rows; prints the page instead of writing it")

	theErrand = flag.String("errand", "", "what a process of its own is to do")
)

const command = `go test -C bench/league -count=1 -timeout=3h -v -run '^TestLeague$' -league`

// inBubble drives a column through a row.
func inBubble(t *testing.T, in *incident, col *column) (r Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { r = drive(in, col) })
	return r
}

// inProcess does so in a process of its own.
func inProcess(t *testing.T, p pace, row string, seed uint64, time int, col *column) (r Result) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	answer := filepath.Join(t.TempDir(), "answer") // libraries write to the standard output
	order, err := json.Marshal(errand{p, row, seed, time, col.name, answer})
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run=^TestErrand$", "-test.timeout=0", "-errand", string(order))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", cmd, out)
	text, err := os.ReadFile(answer)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &r), "%s", text)
	return r
}

// resultOf drives a column through a row, as often as the row is run.
func resultOf(t *testing.T, p pace, row string, seed uint64, col *column) Result {
	t.Helper()
	var times []Result
	for time := 0; ; time++ {
		in := rowNamed(t, p.incidents(seed, time), row)
		if time == in.times {
			return sum(times)
		}
		if col.endless {
			times = append(times, inProcess(t, p, row, seed, time, col))
		} else {
			times = append(times, inBubble(t, in, col))
		}
	}
}

// errand is what a process of its own is to do.
type errand struct {
	Pace   pace
	Row    string
	Seed   uint64
	Time   int
	Column string
	Answer string // the file for it
}

// TestErrand is a process of inProcess's. It ends within the bubble, which would wait for
// goroutines that never end.
func TestErrand(t *testing.T) {
	if *theErrand == "" {
		t.Skip("part of other tests")
	}
	var e errand
	require.NoError(t, json.Unmarshal([]byte(*theErrand), &e))
	runtime.GOMAXPROCS(1) // what runs at the same instant then runs in much the same order
	in, col := rowNamed(t, e.Pace.incidents(e.Seed, e.Time), e.Row), columnNamed(t, e.Column)
	synctest.Test(t, func(t *testing.T) {
		text, err := json.Marshal(drive(in, col))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(e.Answer, text, 0o600))
		os.Exit(0)
	})
}

func rowNamed(t *testing.T, rows []incident, name string) *incident {
	t.Helper()
	for _, in := range rows {
		if in.name == name {
			return &in
		}
	}
	require.FailNow(t, "no row", name)
	return nil
}

func columnNamed(t *testing.T, name string) *column {
	t.Helper()
	for _, col := range columns() {
		if col.name == name {
			return &col
		}
	}
	require.FailNow(t, "no column", name)
	return nil
}

// TestLeague makes the table.
func TestLeague(t *testing.T) {
	if !*theLeague {
		t.Skip("-league is not set")
	}
	p := full
	if *theQuick {
		p = quick
	}
	rows := chosen(t, p.incidents(*theSeed, 0), *theOnly, func(in *incident) string { return in.name })
	cols := chosen(t, columns(), *theColumns, func(c *column) string { return c.name })
	run := Record{Go: here(), Seed: *theSeed, Pace: p, Versions: versions(t), Results: results{}}
	var mu sync.Mutex
	t.Run("of", func(t *testing.T) {
		for _, in := range rows {
			for _, col := range cols {
				t.Run(in.name+"/"+col.name, func(t *testing.T) {
					t.Parallel()
					r := resultOf(t, p, in.name, *theSeed, &col)
					mu.Lock()
					defer mu.Unlock()
					run.Results.add(in.name, col.name, r)
					t.Logf("%+v", r)
				})
			}
		}
	})
	require.False(t, t.Failed())
	if *theQuick {
		fmt.Println(run.page(command))
		return
	}
	if *theOnly != "" || *theColumns != "" {
		run.takeRest(t)
	}
	run.write(t)
}

// takeRest takes what was not run from the record that is there.
func (r *Record) takeRest(t *testing.T) {
	t.Helper()
	before := theRecord(t)
	require.Equal(t, []any{before.Go, before.Seed, before.Pace, before.Versions}, []any{r.Go, r.Seed, r.Pace, r.Versions}, "the rest is of another league: run all of it")
	for row, cols := range before.Results {
		for col, result := range cols {
			if _, ok := r.Results[row][col]; !ok {
				r.Results.add(row, col, result)
			}
		}
	}
}

func (r *Record) write(t *testing.T) {
	t.Helper()
	text, err := json.MarshalIndent(r, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(recordFile, append(text, '\n'), 0o644))
	require.NoError(t, os.WriteFile(pageFile, []byte(r.page(command)), 0o644))
}

const (
	recordFile = "results.json"
	pageFile   = "README.md"
)

func chosen[T any](t *testing.T, all []T, pattern string, name func(*T) string) (some []T) {
	t.Helper()
	expression, err := regexp.Compile(pattern)
	require.NoError(t, err)
	for _, x := range all {
		if expression.MatchString(name(&x)) {
			some = append(some, x)
		}
	}
	require.NotEmpty(t, some, pattern)
	return some
}

// versions are those of the modules in this build, and the newest commit to this library.
func versions(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, col := range columns() {
		switch col.module {
		case "", ourselves:
		default:
			found[col.module] = output(t, "go", "list", "-m", "-f", "{{.Version}}", col.module)
		}
	}
	found[ourselves] = "commit " + output(t, "git", "log", "-1", "--format=%h", "--abbrev=12", "--", ":(top,glob)*.go")
	return found
}

func output(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	out, err := exec.Command(name, arguments...).Output()
	require.NoError(t, err, "%s %v", name, arguments)
	return string(bytes.TrimSpace(out))
}
