package league

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"
)

// measure is a table of the page.
type measure struct {
	title, what string
	rows        func(*incident) bool
	columns     func(*column) bool
	cell        func(in *incident, r, oracle Result) string

	// worth orders the results of a row, the best first and lowest. Not a number: it is in
	// no order.
	worth func(in *incident, r, oracle Result) float64
}

var (
	every    = func(*incident) bool { return true }
	troubled = func(in *incident) bool { return in.trouble != nil }
	breakers = func(c *column) bool { return c.module != "" }
)

var measures = []measure{
	{
		title: "Share of the oracle's goodput",
		what: "Goodput is the number of calls that were served: answered without an error, by the deadline of a caller who was " +
			"still there. The oracle's is a number of calls, the others are in percent of it. Where the dependency does not feel " +
			"its load, nothing that a breaker does can make this better: it loses what it refuses wrongly, and sending " +
			"everything serves as much as the oracle. A late answer counts as a good one until the deadline.",
		rows:    every,
		columns: func(*column) bool { return true },
		cell: func(_ *incident, r, oracle Result) string {
			return percent(float64(r.Served) / float64(oracle.Served))
		},
		worth: func(_ *incident, r, _ Result) float64 { return -float64(r.Served) },
	},
	{
		title: "Seconds to trip",
		what: "From the beginning of the trouble until half of the breakers of the row are open, within the trouble; the median of the times. " +
			"A dash: never. *open*: they were before it began.",
		rows: troubled, columns: breakers,
		cell: func(_ *incident, r, _ Result) string {
			switch {
			case r.Tripped < 0:
				return "–"
			case r.Early:
				return "open"
			}
			return fmt.Sprintf("%.2f", r.Tripped.Seconds())
		},
		worth: func(_ *incident, r, _ Result) float64 {
			if r.Tripped < 0 || r.Early {
				return math.NaN()
			}
			return r.Tripped.Seconds()
		},
	},
	{
		title:   "Calls sent into the dead dependency",
		what:    "The calls that were sent in the time of trouble and not served. The oracle sends none.",
		rows:    troubled,
		columns: func(c *column) bool { return !c.oracle },
		cell:    func(_ *incident, r, _ Result) string { return thousands(r.Wasted) },
		worth:   func(_ *incident, r, _ Result) float64 { return float64(r.Wasted) },
	},
	{
		title: "Calls refused that would have been served",
		what:  "Those that would have been served, had this one call been sent as well.",
		rows:  every, columns: breakers,
		cell:  func(_ *incident, r, _ Result) string { return thousands(r.Lost) },
		worth: func(_ *incident, r, _ Result) float64 { return float64(r.Lost) },
	},
	{
		title: "False trips a day",
		what:  "Trips in a row in which nothing is wrong, for each day of it.",
		rows:  (*incident).steady, columns: breakers,
		cell: func(in *incident, r, _ Result) string {
			return aDay(perDay(in, r))
		},
		worth: func(in *incident, r, _ Result) float64 { return perDay(in, r) },
	},
	{
		title:   "False trips in an incident",
		what:    "Trips while there is no trouble, of all breakers and all times of the row: their number, since the rows are short.",
		rows:    func(in *incident) bool { return !in.steady() },
		columns: breakers,
		cell:    func(_ *incident, r, _ Result) string { return thousands(r.FalseTrips) },
		worth:   func(_ *incident, r, _ Result) float64 { return float64(r.FalseTrips) },
	},
}

func perDay(in *incident, r Result) float64 {
	return float64(r.FalseTrips) / (float64(in.length) / float64(24*time.Hour))
}

// Record is a run of the league.
type Record struct {
	Go       string
	Seed     uint64
	Pace     pace
	Versions map[string]string // by module
	Results  results
}

// results are by row and column.
type results map[string]map[string]Result

// add is for one goroutine at a time.
func (r results) add(row, column string, result Result) {
	if r[row] == nil {
		r[row] = map[string]Result{}
	}
	r[row][column] = result
}

// page writes the table of a run. Rows and columns that it has not are left out.
func (r *Record) page(command string) string {
	var p strings.Builder
	p.WriteString(pageHead)
	fmt.Fprintf(&p, "```sh\n%s\n```\n\n", command)
	fmt.Fprintf(&p, "With seed %d, %s, and these versions:\n\n", r.Seed, r.Go)
	rows := slices.DeleteFunc(r.Pace.incidents(r.Seed, 0), func(in incident) bool { return r.Results[in.name] == nil })
	cols := slices.DeleteFunc(columns(), func(c column) bool {
		_, ok := r.Results[rows[0].name][c.name]
		return !ok
	})
	writeVersions(&p, cols, r.Versions)
	writeColumns(&p, cols)
	writeRows(&p, rows)
	for _, m := range measures {
		m.write(&p, rows, cols, r.Results)
	}
	return strings.TrimRight(p.String(), "\n") + "\n"
}

// here is what a run was made with.
func here() string { return fmt.Sprintf("%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH) }

func writeVersions(p *strings.Builder, cols []column, versions map[string]string) {
	p.WriteString("| module | version |\n|---|---|\n")
	var seen []string
	for _, c := range cols {
		if c.module == "" || slices.Contains(seen, c.module) {
			continue
		}
		seen = append(seen, c.module)
		fmt.Fprintf(p, "| %s | %s |\n", c.module, versions[c.module])
	}
	for _, module := range absent {
		fmt.Fprintf(p, "| %s | not in the table yet: it could not be had where this was run |\n", module)
	}
	p.WriteString("\n")
}

func writeColumns(p *strings.Builder, cols []column) {
	p.WriteString("## The columns\n\n| column | settings | whose they are |\n|---|---|---|\n")
	for _, c := range cols {
		fmt.Fprintf(p, "| %s | %s | %s |\n", c.name, c.how, c.why)
	}
	p.WriteString(pageColumns)
}

func writeRows(p *strings.Builder, rows []incident) {
	p.WriteString("## The rows\n\n| row | calls a second | times | length | trouble | what happens |\n|---|--:|--:|--:|---|---|\n")
	for _, in := range rows {
		trouble := "–"
		if n := len(in.trouble); n > 0 {
			trouble = fmt.Sprintf("%s to %s", short(in.trouble[0].from), short(in.trouble[n-1].until))
		}
		fmt.Fprintf(p, "| %s | %.3g | %d | %s | %s | %s |\n", in.name, in.load(0), in.times, short(in.length), trouble, in.what)
	}
	p.WriteString(pageRows)
}

// short writes a duration to the second, without the parts at its end that are zero.
func short(d time.Duration) string {
	text := d.Round(time.Second).String()
	if minutes, ok := strings.CutSuffix(text, "m0s"); ok {
		text = minutes + "m"
	}
	if hours, ok := strings.CutSuffix(text, "h0m"); ok {
		text = hours + "h"
	}
	return text
}

func (m *measure) write(p *strings.Builder, rows []incident, cols []column, found results) {
	fmt.Fprintf(p, "## %s\n\n%s\n\n|  |", m.title, m.what)
	for _, c := range cols {
		if m.columns(&c) {
			fmt.Fprintf(p, " %s |", c.name)
		}
	}
	p.WriteString("\n|---|")
	for _, c := range cols {
		if m.columns(&c) {
			p.WriteString("--:|")
		}
	}
	p.WriteString("\n")
	for _, in := range rows {
		if m.rows(&in) {
			m.writeRow(p, &in, cols, found)
		}
	}
	p.WriteString("\n")
}

func (m *measure) writeRow(p *strings.Builder, in *incident, cols []column, found results) {
	oracle := found[in.name]["oracle"]
	best, worst := m.extremes(in, cols, found)
	fmt.Fprintf(p, "| %s |", in.name)
	for _, c := range cols {
		r, ok := found[in.name][c.name]
		switch {
		case !m.columns(&c):
			continue
		case !ok:
			p.WriteString("  |")
			continue
		}
		text := m.cell(in, r, oracle)
		switch {
		case c.oracle:
			text = thousands(r.Served)
		case breakers(&c) && m.worth(in, r, oracle) == best && best != worst:
			text = "**" + text + "**"
		}
		fmt.Fprintf(p, " %s |", text)
	}
	p.WriteString("\n")
}

// extremes are the best and the worst worth of the breakers in a row.
func (m *measure) extremes(in *incident, cols []column, found results) (best, worst float64) {
	best, worst = math.Inf(1), math.Inf(-1)
	for _, c := range cols {
		r, ok := found[in.name][c.name]
		if w := m.worth(in, r, Result{}); ok && breakers(&c) && !math.IsNaN(w) {
			best, worst = min(best, w), max(worst, w)
		}
	}
	return best, worst
}

// aDay writes a number of trips, with a tenth where that is not zero.
func aDay(trips float64) string {
	tenths := int(math.Round(10 * trips))
	text := thousands(tenths / 10)
	if tenths%10 != 0 {
		text += fmt.Sprintf(".%d", tenths%10)
	}
	return text
}

// percent writes a share so that 100 means all.
func percent(share float64) string {
	text := fmt.Sprintf("%.2f", 100*share)
	if text == "100.00" && share != 1 {
		if share < 1 {
			return ">99.99"
		}
		return text
	}
	return strings.TrimSuffix(text, ".00")
}

func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
