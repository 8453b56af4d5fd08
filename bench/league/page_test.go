package league

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var theUpdate = flag.Bool("update", false, "write README.md from results.json again")

func theRecord(t *testing.T) *Record {
	t.Helper()
	text, err := os.ReadFile(recordFile)
	require.NoError(t, err)
	var run Record
	require.NoError(t, json.Unmarshal(text, &run))
	return &run
}

// The page is what its record says, and the record is of this league.
func TestPageIsOfTheRecord(t *testing.T) {
	run := theRecord(t)
	require.Equal(t, full, run.Pace)
	for _, in := range full.incidents(run.Seed, 0) {
		for _, col := range columns() {
			require.Contains(t, run.Results[in.name], col.name, in.name)
		}
	}
	if *theUpdate {
		require.NoError(t, os.WriteFile(pageFile, []byte(run.page(command)), 0o644))
	}
	text, err := os.ReadFile(pageFile)
	require.NoError(t, err)
	require.Equal(t, run.page(command), string(text))
}

func TestPageMarksTheBest(t *testing.T) {
	served := func(n int, tripped time.Duration) Result { return Result{Served: n, Lost: 7, Tripped: tripped} }
	run := Record{Pace: full, Results: results{"outage": {
		"no breaker":  served(900, -1),
		"oracle":      served(2000, -1),
		"breaker":     served(1000, -1),
		"gobreaker":   served(1500, 2*time.Second),
		"failsafe-go": {Served: 1500, Lost: 7, Tripped: time.Second, Early: true},
	}}}
	page := run.page("the command")
	for title, line := range map[string]string{
		"Share of the oracle's goodput":             "| outage | 45 | 2,000 | 50 | **75** | **75** |",
		"Seconds to trip":                           "| outage | – | 2.00 | open |",
		"Calls refused that would have been served": "| outage | 7 | 7 | 7 |",
	} {
		_, table, ok := strings.Cut(page, "## "+title+"\n")
		require.True(t, ok, title)
		table, _, _ = strings.Cut(table, "\n## ")
		require.Contains(t, table, line, title)
	}
	require.Contains(t, page, "the command")
	require.NotContains(t, page, "hystrix-go, tuned")
}

func TestNumbersAsWritten(t *testing.T) {
	for share, want := range map[float64]string{1: "100", 0.5: "50", 0.12345: "12.35", 0.999999: ">99.99", 0: "0", 1.000001: "100.00"} {
		require.Equal(t, want, percent(share))
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		require.Equal(t, want, thousands(n))
	}
	for trips, want := range map[float64]string{0: "0", 4: "4", 1.96: "2", 2.14: "2.1", 54812: "54,812"} {
		require.Equal(t, want, aDay(trips))
	}
	for d, want := range map[time.Duration]string{24 * time.Hour: "24h", 90 * time.Minute: "1h30m", 61*time.Second + 400*time.Millisecond: "1m1s", 10 * time.Second: "10s"} {
		require.Equal(t, want, short(d))
	}
}

// tables are the cells of a page's tables, by the title of the table, the row and the
// column.
func tables(page string) map[[3]string]string {
	cells := map[[3]string]string{}
	var title string
	var header []string
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			title = heading
		}
		if !strings.HasPrefix(line, "|") {
			header = nil
			continue
		}
		row := regexp.MustCompile(`\s*\|\s*`).Split(strings.Trim(line, "|"), -1)
		switch {
		case header == nil:
			header = row
			if first := strings.TrimSpace(row[0]); first != "" {
				title = first
			}
		case !strings.Contains(line, "--"):
			for i := 1; i < len(row) && i < len(header); i++ {
				cells[[3]string{title, strings.TrimSpace(row[0]), strings.TrimSpace(header[i])}] = strings.Trim(row[i], " *")
			}
		}
	}
	return cells
}

// The tables in docs/league.md are parts of the league's: the first cell of their header
// is the measure.
func TestDocQuotesThePage(t *testing.T) {
	text, err := os.ReadFile(pageFile)
	require.NoError(t, err)
	whole := tables(string(text))
	text, err = os.ReadFile("../../docs/league.md")
	require.NoError(t, err)
	quoted := tables(string(text))
	require.Greater(t, len(quoted), 100)
	for at, cell := range quoted {
		require.Equal(t, whole[at], cell, "%v", at)
	}
}
