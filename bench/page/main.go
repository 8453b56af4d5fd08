// Command page writes the results of a run into README.md. It reads what benchstat -format
// csv prints, and fills what stands between two comments of the same name:
//
//	<!-- Closed -->
//	<!-- /Closed -->
package main

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	runs := flag.Int("runs", 0, "how often each benchmark was run")
	each := flag.String("each", "", "how long each run was")
	flag.Parse()
	if flag.NArg() != 2 {
		log.Fatal("usage: page [-runs n] [-each duration] results.csv README.md")
	}
	results, err := os.ReadFile(flag.Arg(0))
	check(err)
	page, err := os.ReadFile(flag.Arg(1))
	check(err)
	r, err := parse(string(results))
	check(err)
	text, err := fill(string(page), tables(r))
	check(err)
	text, err = fill(text, map[string]string{"Machine": ""}) // so that no version speaks for itself
	check(err)
	text, err = fill(text, map[string]string{"Machine": machine(r, *runs, *each, versions(text))})
	check(err)
	check(os.WriteFile(flag.Arg(1), []byte(text), 0o644))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// figure is a median, with the half-width of its confidence interval as a share of it.
type figure struct {
	median float64
	noise  float64
	known  bool // the noise: benchstat gives none below six runs
}

func (f figure) plusMinus() string {
	if !f.known {
		return "± ?"
	}
	return fmt.Sprintf("± %.0f %%", 100*f.noise)
}

// results are figures by unit and by name, and the names in their order.
type results struct {
	figures map[string]map[string]figure
	names   []string
}

func parse(text string) (results, error) {
	r := results{figures: map[string]map[string]figure{}}
	seen := map[string]bool{}
	reader := csv.NewReader(strings.NewReader(text))
	reader.FieldsPerRecord, reader.LazyQuotes = -1, true
	rows, err := reader.ReadAll()
	if err != nil {
		return r, err
	}
	unit := ""
	for _, row := range rows {
		switch {
		case len(row) != 3 || row[0] == "geomean":
		case row[0] == "" && row[2] != "CI": // the name of the file
		case row[0] == "":
			unit = row[1]
			r.figures[unit] = map[string]figure{}
		case unit == "":
			return r, fmt.Errorf("%s has no unit", row[0])
		default:
			f := figure{}
			if f.median, err = strconv.ParseFloat(row[1], 64); err != nil {
				return r, err
			}
			if percent, err := strconv.ParseFloat(strings.TrimSuffix(row[2], "%"), 64); err == nil && !strings.Contains(row[2], "∞") {
				f.noise, f.known = percent/100, true
			}
			r.figures[unit][row[0]] = f
			if !seen[row[0]] {
				seen[row[0]] = true
				r.names = append(r.names, row[0])
			}
		}
	}
	if len(r.names) == 0 {
		return r, fmt.Errorf("no results")
	}
	return r, nil
}

// of returns what was measured in a case, by library and number of goroutines.
func (r results) of(unit, benchmark, library string, goroutines int) (figure, bool) {
	name := benchmark + "/" + library
	if goroutines > 1 {
		name += fmt.Sprint("-", goroutines)
	}
	f, ok := r.figures[unit][name]
	return f, ok
}

// libraries returns the libraries of a case, in order.
func (r results) libraries(benchmark string) (libraries []string) {
	for _, name := range r.names {
		if library, ok := strings.CutPrefix(name, benchmark+"/"); ok && !manyGoroutines.MatchString(name) {
			libraries = append(libraries, library)
		}
	}
	return libraries
}

var manyGoroutines = regexp.MustCompile(`-\d+$`)

const (
	seconds   = "sec/op"
	bytes     = "B/op"
	allocs    = "allocs/op"
	held      = "B/breaker"
	processor = "cpu-sec/op"

	// What the others are compared with.
	yardstick = "gobreaker"
	bare      = "bare"
)

var goroutineCounts = []int{1, 2, 8}

func tables(r results) map[string]string {
	return map[string]string{
		"Closed":          many(r, "Closed", figureOf),
		"Work":            many(r, "Work", overhead),
		"Failing":         many(r, "Failing", figureOf),
		"Refused":         many(r, "Refused", figureOf),
		"HalfOpen":        one(r, "HalfOpen"),
		"HalfOpenRefused": one(r, "HalfOpenRefused"),
		"Ramp":            one(r, "Ramp"),
		"Value":           one(r, "Value"),
		"Create":          one(r, "Create"),
		"Held":            plain(r, "Held", held, "bytes", func(f figure) string { return fmt.Sprintf("%.0f", f.median) }),
		"Pause":           plain(r, "Pause", processor, "processor time a refusal", func(f figure) string { return nanoseconds(f.median) + " " + f.plusMinus() }),
		"Parts":           one(r, "Parts"),
	}
}

// many is a case that ran on several goroutines. Value returns what stands in its cells.
func many(r results, benchmark string, value func(results, string, string, int) (f figure, cell string, ok bool)) string {
	head, rule := "| library |", "|---|"
	for _, n := range goroutineCounts {
		head += fmt.Sprintf(" %d | ratio |", n)
		rule += "--:|--:|"
	}
	table := head + " B/op | allocs/op |\n" + rule + "--:|--:|\n"
	for _, library := range r.libraries(benchmark) {
		table += "| " + library + " |"
		for _, n := range goroutineCounts {
			f, cell, ok := value(r, benchmark, library, n)
			to, _, known := value(r, benchmark, yardstick, n)
			table += " " + cell + " | " + ratio(f, to, ok && known && library != bare) + " |"
		}
		table += allocations(r, benchmark, library)
	}
	return table
}

func figureOf(r results, benchmark, library string, goroutines int) (figure, string, bool) {
	f, ok := r.of(seconds, benchmark, library, goroutines)
	if !ok {
		return f, "", false
	}
	return f, nanoseconds(f.median) + " " + f.plusMinus(), true
}

// overhead is what a call takes above a bare one. What is uncertain about the two adds up.
func overhead(r results, benchmark, library string, goroutines int) (figure, string, bool) {
	with, ok := r.of(seconds, benchmark, library, goroutines)
	without, known := r.of(seconds, benchmark, bare, goroutines)
	if !ok || !known {
		return figure{}, "", false
	}
	if library == bare {
		return with, "(" + nanoseconds(with.median) + " " + with.plusMinus() + ")", true
	}
	f := figure{median: with.median - without.median, known: with.known && without.known}
	cell := nanoseconds(f.median) + " ± ?"
	if f.known {
		cell = nanoseconds(f.median) + " ± " + nanoseconds(with.median*with.noise+without.median*without.noise)
	}
	return f, cell, true
}

// one is a case that ran on one goroutine.
func one(r results, benchmark string) string {
	_, compared := r.of(seconds, benchmark, yardstick, 1)
	table := "| " + benchmark + " | time | B/op | allocs/op |\n|---|--:|--:|--:|\n"
	if compared {
		table = "| library | time | ratio | B/op | allocs/op |\n|---|--:|--:|--:|--:|\n"
	}
	for _, library := range r.libraries(benchmark) {
		f, cell, ok := figureOf(r, benchmark, library, 1)
		table += "| " + library + " | " + cell + " |"
		if compared {
			to, _, known := figureOf(r, benchmark, yardstick, 1)
			table += " " + ratio(f, to, ok && known && library != bare) + " |"
		}
		table += allocations(r, benchmark, library)
	}
	return table
}

// plain is a case with one figure.
func plain(r results, benchmark, unit, title string, cell func(figure) string) string {
	table := "| " + benchmark + " | " + title + " |\n|---|--:|\n"
	for _, library := range r.libraries(benchmark) {
		if f, ok := r.of(unit, benchmark, library, 1); ok {
			table += "| " + library + " | " + cell(f) + " |\n"
		}
	}
	return table
}

func allocations(r results, benchmark, library string) string {
	b, _ := r.of(bytes, benchmark, library, 1)
	n, _ := r.of(allocs, benchmark, library, 1)
	return fmt.Sprintf(" %.0f | %.0f |\n", b.median, n.median)
}

func ratio(f, to figure, ok bool) string {
	if !ok || to.median <= 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", f.median/to.median)
}

func nanoseconds(s float64) string {
	ns := s * 1e9
	switch {
	case ns >= 9999.5:
		return fmt.Sprintf("%.1f µs", ns/1000)
	case ns >= 99.5:
		return fmt.Sprintf("%.0f ns", ns)
	}
	return fmt.Sprintf("%.1f ns", ns)
}

// machine says where, when and with what the results were taken, and how still it was.
func machine(r results, runs int, each string, versions [][2]string) string {
	noise := []string{}
	for _, n := range goroutineCounts {
		if f, ok := r.of(seconds, "Closed", yardstick, n); ok {
			noise = append(noise, fmt.Sprintf("%s at %d", f.plusMinus(), n))
		}
	}
	text := "| | |\n|---|---|\n"
	row := func(name, value string) { text += "| " + name + " | " + value + " |\n" }
	row("date", time.Now().UTC().Format(time.DateOnly))
	row("processor", fmt.Sprintf("%s, %d logical processors", processorName(), runtime.NumCPU()))
	row("Go", fmt.Sprintf("%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH))
	row("runs of each benchmark", fmt.Sprintf("%d of %s", runs, cmp.Or(each, "?")))
	row("noise: gobreaker, Closed", strings.Join(noise, ", "))
	row("github.com/normal-go/breaker", commit())
	for _, version := range versions {
		row(version[0], version[1])
	}
	return text
}

// commit is what was measured.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude=*").Output()
	if err != nil {
		return "unknown commit"
	}
	return "commit " + strings.TrimSpace(string(out))
}

func processorName() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "model name"); ok {
			return strings.TrimLeft(name, "\t: ")
		}
	}
	return runtime.GOARCH
}

// versions returns the modules that the page speaks of, with the versions required.
func versions(page string) (versions [][2]string) {
	const format = `{{if not (or .Main .Indirect .Replace)}}{{.Path}} {{.Version}}{{end}}`
	out, err := exec.Command("go", "list", "-m", "-f", format, "all").Output()
	check(err)
	for line := range strings.Lines(string(out)) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.Contains(page, path) {
			versions = append(versions, [2]string{path, version})
		}
	}
	return versions
}

// fill replaces what is between the markers of each name.
func fill(page string, tables map[string]string) (string, error) {
	for name, table := range tables {
		begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->\n"
		before, rest, ok := strings.Cut(page, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			return "", fmt.Errorf("no %sand %s", begin, end)
		}
		page = before + begin + "\n" + table + "\n" + end + after
	}
	return page, nil
}
