package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const sample = `goos: linux
cpu: Some Processor
,/tmp/results.out,
,sec/op,CI
Closed/bare,2e-09,1%
Closed/bare-2,1e-09,0%
Closed/breaker,5.71e-08,2%
Closed/breaker-2,8.5e-08,∞
Closed/gobreaker,1.24e-07,3%
Closed/gobreaker-2,1.38e-07,10%
Work/bare,1e-06,1%
Work/breaker,1.05e-06,2%
Work/gobreaker,1.1e-06,1%
Create/gobreaker,2.5e-07,1%
Create/breaker,1.25e-05,1%
Ramp/breaker,8.8e-08,1%
geomean,1e-07,

,/tmp/results.out,
,B/op,CI
Closed/breaker,0,0%
Create/breaker,5264,0%
Create/gobreaker,248,0%

,/tmp/results.out,
,allocs/op,CI
Create/breaker,8,0%
Create/gobreaker,3,0%

,/tmp/results.out,
,B/breaker,CI
Held/breaker,5264,0%
Held/breaker-after-64-transitions,21648,0%

,/tmp/results.out,
,cpu-sec/op,CI
Pause/timer,3.8e-06,4%
`

func TestTables(t *testing.T) {
	r, err := parse(sample)
	require.NoError(t, err)
	all := tables(r)
	for name, want := range map[string]string{
		"Closed": `
| library | 1 | ratio | 2 | ratio | 8 | ratio | B/op | allocs/op |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
| bare | 2.0 ns ± 1 % |  | 1.0 ns ± 0 % |  |  |  | 0 | 0 |
| breaker | 57.1 ns ± 2 % | 0.46 | 85.0 ns ± ? | 0.62 |  |  | 0 | 0 |
| gobreaker | 124 ns ± 3 % | 1.00 | 138 ns ± 10 % | 1.00 |  |  | 0 | 0 |
`,
		"Work": `
| library | 1 | ratio | 2 | ratio | 8 | ratio | B/op | allocs/op |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
| bare | (1000 ns ± 1 %) |  |  |  |  |  | 0 | 0 |
| breaker | 50.0 ns ± 31.0 ns | 0.50 |  |  |  |  | 0 | 0 |
| gobreaker | 100 ns ± 21.0 ns | 1.00 |  |  |  |  | 0 | 0 |
`,
		"Create": `
| library | time | ratio | B/op | allocs/op |
|---|--:|--:|--:|--:|
| gobreaker | 250 ns ± 1 % | 1.00 | 248 | 3 |
| breaker | 12.5 µs ± 1 % | 50.00 | 5264 | 8 |
`,
		"Ramp": `
| Ramp | time | B/op | allocs/op |
|---|--:|--:|--:|
| breaker | 88.0 ns ± 1 % | 0 | 0 |
`,
		"Held": `
| Held | bytes |
|---|--:|
| breaker | 5264 |
| breaker-after-64-transitions | 21648 |
`,
		"Pause": `
| Pause | processor time a refusal |
|---|--:|
| timer | 3800 ns ± 4 % |
`,
	} {
		require.Equal(t, strings.TrimPrefix(want, "\n"), all[name], name)
	}
}

func TestParseRefusesWhatIsNoResult(t *testing.T) {
	for _, text := range []string{"", "Closed/breaker,1,1%\n", ",sec/op,CI\nClosed/breaker,fast,1%\n"} {
		_, err := parse(text)
		require.Error(t, err, text)
	}
}

func TestFill(t *testing.T) {
	const page = "before\n<!-- A -->\nold\n<!-- /A -->\nafter\n"
	const want = "before\n<!-- A -->\n\nnew\n\n<!-- /A -->\nafter\n"
	for _, page := range []string{page, want} { // again is the same
		got, err := fill(page, map[string]string{"A": "new\n"})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, broken := range []string{"", "<!-- A -->\n", "<!-- /A -->\n<!-- A -->\n"} {
		_, err := fill(broken, map[string]string{"A": "new\n"})
		require.Error(t, err, broken)
	}
}

// Every table has its place in the page, and the page has no place without a table.
func TestPageHasAPlaceForEveryTable(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	all := tables(results{})
	all["Machine"] = ""
	_, err = fill(string(page), all)
	require.NoError(t, err)
	require.Equal(t, 2*len(all), strings.Count(string(page), "<!-- "))
}

func TestVersions(t *testing.T) {
	require.Empty(t, versions("a page about nothing"))
	got := versions("see github.com/sony/gobreaker/v2")
	require.Len(t, got, 1)
	require.Equal(t, "github.com/sony/gobreaker/v2", got[0][0])
	require.Regexp(t, `^v2\.`, got[0][1])
}

func TestProcessorName(t *testing.T) { require.NotEmpty(t, processorName()) }
