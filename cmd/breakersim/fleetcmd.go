package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/cmd/breakersim/internal/chart"
	"github.com/normal-go/breaker/simulation"
)

const mostFleets = 12

func newFleet(s streams) *cobra.Command {
	var (
		output    string
		instances []int
		jitters   []string
		asJSON    bool
	)
	c := &cobra.Command{
		Use:   "fleet FILE",
		Short: "Run one incident file with several numbers of instances and kinds of jitter",
		Long: `Fleet runs one incident file for every combination of --instances and --jitter, up to
12 of them, and writes how the fleet came to trip, to probe and to recover, a row each.
Every instance has a breaker of its own; the load of the file is that of all together,
so more instances have fewer calls each.

"probes" are the attempts that half-open breakers let through, "worst second" the most
of them in one second, "shortest rest" the shortest time from the open of a breaker to
its next probe, and "full service" how long it took from the end of the first incident.

With --output it draws the probes a second of each.`,
		Example: `  breakersim fleet examples/incidents/fleet-outage.yaml
  breakersim fleet examples/incidents/fleet-outage.yaml --instances 50,200 --jitter none,equal -o probes.svg`,
		Args: files(1, 1, "one incident file"),
		RunE: func(c *cobra.Command, args []string) error {
			if output != "" {
				if _, err := plotFormat(output); err != nil {
					return err
				}
			}
			base, err := readScenario(s, args[0])
			if err != nil {
				return err
			}
			fleets, err := fleetsOf(base, instances, jitters)
			if err != nil {
				return err
			}
			var reports []*simulation.Report
			var series []*chart.Series
			for _, f := range fleets {
				report, err := simulate(c, s, f)
				if err != nil {
					return err
				}
				drawn := seriesOf(report, simulationStart)
				drawn.Title = fmt.Sprintf("%s, jitter %v: %s probes, at most %d in a second",
					counted(report.Instances, "instance"), f.Settings.BreakJitter, thousands(report.Probes.Count), report.Probes.WorstSecond)
				reports, series = append(reports, report), append(series, drawn)
			}
			if output != "" {
				if err := writeProbes(output, base.Name, series); err != nil {
					return err
				}
			}
			if asJSON {
				return writeJSON(s.out, reports)
			}
			var t table
			t.add("instances", "jitter", "opened", "first trip", "last trip", "probes", "worst second", "shortest rest", "full service", "served")
			for i, r := range reports {
				t.add(fleetRow(r, fleets[i].Settings.BreakJitter)...)
			}
			t.write(s.out)
			return nil
		},
	}
	outputFlag(c, &output)
	c.Flags().Lookup("output").Usage = "draw the probes a second into this `FILE`, .png or .svg"
	c.Flags().IntSliceVar(&instances, "instances", nil, "how many `INSTANCES` there are, a list with commas (default what the file says)")
	c.Flags().StringSliceVar(&jitters, "jitter", []string{"none", "full", "equal"}, "which `JITTER` their breaks have, a list with commas of none, full and equal")
	c.Flags().BoolVar(&asJSON, "json", false, "write a list of the whole reports as JSON")
	return c
}

func fleetsOf(base simulation.Scenario, instances []int, jitters []string) (fleets []simulation.Scenario, err error) {
	if len(instances) == 0 {
		instances = []int{max(base.Instances, 1)}
	}
	if len(jitters) == 0 {
		return nil, misused("fleet: --jitter must be one of none, full and equal, got nothing")
	}
	name := base.Name
	for _, n := range instances {
		if n < 1 {
			return nil, misused("fleet: --instances must be at least 1, got %d", n)
		}
		for _, text := range jitters {
			f := base
			f.Instances = n
			if err := f.Settings.BreakJitter.UnmarshalText([]byte(text)); err != nil {
				return nil, misused("fleet: --jitter must be one of none, full and equal, got %q", text)
			}
			f.Name = name + ", jitter " + text
			fleets = append(fleets, f)
		}
	}
	if len(fleets) > mostFleets {
		return nil, misused("fleet: at most %d combinations, got %d", mostFleets, len(fleets))
	}
	return fleets, nil
}

func fleetRow(r *simulation.Report, jitter breaker.Jitter) []string {
	cells := []string{
		strconv.Itoa(r.Instances), jitter.String(), "-", "-", "-",
		thousands(r.Probes.Count), strconv.Itoa(r.Probes.WorstSecond), shortly(r.Probes.ShortestRest),
		"-", share(r.Calls.Served, r.Calls.Offered),
	}
	if len(r.Incidents) > 0 {
		first := r.Incidents[0]
		cells[2] = strconv.Itoa(first.Opened)
		if first.Opened > 0 {
			cells[3], cells[4] = shortly(first.FirstTrip), shortly(first.LastTrip)
		}
		if first.FullServiceKnown {
			cells[8] = shortly(first.FullService)
		}
	}
	return cells
}

func writeProbes(path, title string, series []*chart.Series) error {
	return writePicture(path, func(w io.Writer, format string) error {
		return chart.DrawProbes(w, format, title, "probes a second, of all breakers together", series...)
	})
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strings.TrimSpace(thousands(int64(n)) + " " + what)
}
