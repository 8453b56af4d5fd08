package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/normal-go/breaker/cmd/breakersim/internal/chart"
	"github.com/normal-go/breaker/simulation"
)

// mostCompared is how many columns a person can read beside each other.
const mostCompared = 6

func newCompare(s streams) *cobra.Command {
	var (
		output    string
		settings  []string
		noBreaker bool
		asJSON    bool
	)
	c := &cobra.Command{
		Use:   "compare FILE...",
		Short: "Run several incident files, or one with several settings, side by side",
		Long: `Compare runs incident files and writes what they came to in one table, a column each.
With one file, --settings and --no-breaker add columns: the same incidents, the same
calls with the same luck, and other settings, or none. Up to 6 columns in all.

With --output it draws the timelines beside each other, with the same axes.`,
		Example: `  breakersim compare examples/incidents/cold-start.yaml examples/incidents/cold-start-ramp.yaml -o cold.png
  breakersim compare examples/incidents/brownout.yaml --settings a.yaml --settings b.yaml --no-breaker`,
		Args: files(1, mostCompared, "one to 6 incident files"),
		RunE: func(c *cobra.Command, args []string) error {
			if output != "" {
				if _, err := plotFormat(output); err != nil {
					return err
				}
			}
			scenarios, err := compared(s, args, settings, noBreaker)
			if err != nil {
				return err
			}
			var reports []*simulation.Report
			var series []*chart.Series
			for _, scenario := range scenarios {
				report, err := simulate(c, s, scenario)
				if err != nil {
					return err
				}
				reports = append(reports, report)
				series = append(series, seriesOf(report, simulationStart))
			}
			if output != "" {
				if err := writePlot(output, series...); err != nil {
					return err
				}
			}
			if asJSON {
				return writeJSON(s.out, reports)
			}
			writeComparison(s.out, reports)
			return nil
		},
	}
	outputFlag(c, &output)
	c.Flags().StringArrayVar(&settings, "settings", nil, "with one file: a column with the settings changed that this YAML or JSON `FILE` names; may be repeated")
	c.Flags().BoolVar(&noBreaker, "no-breaker", false, "with one file: a column without any breaker")
	c.Flags().BoolVar(&asJSON, "json", false, "write a list of the whole reports as JSON")
	return c
}

// compared returns the scenarios, one a column.
func compared(s streams, paths, settings []string, noBreaker bool) (scenarios []simulation.Scenario, err error) {
	for _, path := range paths {
		scenario, err := readScenario(s, path)
		if err != nil {
			return nil, err
		}
		scenarios = append(scenarios, scenario)
	}
	if len(paths) > 1 {
		if len(settings) > 0 || noBreaker {
			return nil, misused("compare: --settings and --no-breaker go with one file, got %d", len(paths))
		}
		return scenarios, nil
	}
	base := scenarios[0]
	for _, path := range settings {
		variant := base
		variant.Name = nameFrom(path)
		if variant.Settings, err = readSettings(s, path, base.Settings); err != nil {
			return nil, err
		}
		scenarios = append(scenarios, variant)
	}
	if noBreaker {
		variant := base
		variant.Name, variant.NoBreaker = "no breaker", true
		scenarios = append(scenarios, variant)
	}
	switch {
	case len(scenarios) < 2:
		return nil, misused("compare: name another file, or --settings, or --no-breaker: there is nothing to compare with")
	case len(scenarios) > mostCompared:
		return nil, misused("compare: at most %d columns, got %d", mostCompared, len(scenarios))
	}
	return scenarios, nil
}

func writeComparison(w io.Writer, reports []*simulation.Report) {
	var t table
	row := func(name string, of func(*simulation.Report) string) {
		cells := []string{name}
		for _, r := range reports {
			cells = append(cells, of(r))
		}
		t.add(cells...)
	}
	count := func(name string, of func(*simulation.Report) int64) {
		row(name, func(r *simulation.Report) string { return thousands(of(r)) })
	}
	breaker := func(of func(*simulation.Report) string) func(*simulation.Report) string {
		return func(r *simulation.Report) string {
			if r.NoBreaker {
				return "-"
			}
			return of(r)
		}
	}
	row("", func(r *simulation.Report) string { return r.Name })
	count("calls", func(r *simulation.Report) int64 { return r.Calls.Offered })
	count("  served", func(r *simulation.Report) int64 { return r.Calls.Served })
	count("  failed", func(r *simulation.Report) int64 { return r.Calls.Failed })
	count("  throttled", func(r *simulation.Report) int64 { return r.Calls.Throttled })
	count("  canceled", func(r *simulation.Report) int64 { return r.Calls.Canceled })
	count("  refused", func(r *simulation.Report) int64 { return r.Calls.Refused })
	count("    would have failed", func(r *simulation.Report) int64 { return r.Calls.RefusedAnyway })
	count("    would have been served", func(r *simulation.Report) int64 { return r.Calls.RefusedServable })
	row("share of the oracle's", func(r *simulation.Report) string { return fmt.Sprintf("%.2f %%", 100*r.Goodput) })
	count("attempts that got through", func(r *simulation.Report) int64 { return r.Attempts.Reached })
	count("  met it dead", func(r *simulation.Report) int64 { return r.Attempts.Dead })
	row("latency, median", func(r *simulation.Report) string { return shortly(r.Latency.P50) })
	row("latency, 99th percentile", func(r *simulation.Report) string { return shortly(r.Latency.P99) })
	row("waited, 99th percentile", func(r *simulation.Report) string { return shortly(r.Waited.P99) })
	row("opens", breaker(func(r *simulation.Report) string { return strconv.Itoa(opens(r)) }))
	row("  false trips", breaker(func(r *simulation.Report) string { return strconv.Itoa(r.FalseTrips) }))
	row("probes", breaker(func(r *simulation.Report) string { return thousands(r.Probes.Count) }))
	for i := range longestList(reports) {
		outcome := func(of func(*simulation.Report, simulation.Outcome) string) func(*simulation.Report) string {
			return func(r *simulation.Report) string {
				if i >= len(r.Incidents) {
					return "-"
				}
				return of(r, r.Incidents[i])
			}
		}
		row(fmt.Sprintf("incident %d", i+1), outcome(func(_ *simulation.Report, o simulation.Outcome) string { return string(o.Kind) }))
		row("  first trip after", outcome(func(_ *simulation.Report, o simulation.Outcome) string {
			if o.Opened == 0 {
				return "-"
			}
			return shortly(o.FirstTrip)
		}))
		row("  full service after its end", outcome(func(_ *simulation.Report, o simulation.Outcome) string {
			if !o.FullServiceKnown {
				return "-"
			}
			return shortly(o.FullService)
		}))
	}
	t.write(w)
	for _, r := range reports {
		if causes := causesOf(r); causes != "" {
			fmt.Fprintf(w, "\n%s opened by %s", r.Name, causes)
		}
	}
	fmt.Fprintln(w)
}

func opens(r *simulation.Report) (n int) {
	for _, o := range r.Opens {
		n += o.Count
	}
	return n
}

func causesOf(r *simulation.Report) string {
	var causes []string
	for _, o := range r.Opens {
		causes = append(causes, fmt.Sprintf("%v %d", o.Cause, o.Count))
	}
	return strings.Join(causes, ", ")
}

func longestList(reports []*simulation.Report) (most int) {
	for _, r := range reports {
		most = max(most, len(r.Incidents))
	}
	return most
}
