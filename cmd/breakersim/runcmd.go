package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

func newRun(s streams) *cobra.Command {
	var (
		output, settings               string
		asJSON, transitions, noBreaker bool
	)
	c := &cobra.Command{
		Use:   "run FILE",
		Short: "Run one incident file, and report what the breaker cost and saved",
		Long: `Run runs one incident file and writes a report: what became of the calls, what the
dependency had to bear, and what the breaker did, incident by incident. FILE may be
"-", for standard input. The same file gives the same bytes, every time.

With --output it draws the timeline as well: load, state, latency, failures.`,
		Example: `  breakersim run examples/incidents/brownout.yaml -o brownout.svg
  breakersim run examples/incidents/outage.yaml --settings mine.yaml
  breakersim run examples/incidents/outage.yaml --json | jq .calls`,
		Args: files(1, 1, "one incident file"),
		RunE: func(c *cobra.Command, args []string) error {
			if output != "" {
				if _, err := plotFormat(output); err != nil {
					return err
				}
			}
			scenario, err := readScenario(s, args[0])
			if err != nil {
				return err
			}
			if settings != "" {
				if scenario.Settings, err = readSettings(s, settings, scenario.Settings); err != nil {
					return err
				}
			}
			scenario.NoBreaker = scenario.NoBreaker || noBreaker
			report, err := simulate(c, s, scenario)
			if err != nil {
				return err
			}
			if output != "" {
				if err := writePlot(output, seriesOf(report, simulationStart)); err != nil {
					return err
				}
			}
			if asJSON {
				return writeJSON(s.out, report)
			}
			if _, err := report.WriteTo(s.out); err != nil {
				return err
			}
			if transitions {
				writeTransitions(s.out, report)
			}
			return nil
		},
	}
	outputFlag(c, &output)
	c.Flags().BoolVar(&asJSON, "json", false, "write the whole report, with its timeline, as JSON")
	c.Flags().BoolVar(&transitions, "transitions", false, "list every change of state, with the figures behind it")
	c.Flags().StringVar(&settings, "settings", "", "change the settings that this YAML or JSON `FILE` names")
	c.Flags().BoolVar(&noBreaker, "no-breaker", false, "run without any breaker")
	return c
}

func outputFlag(c *cobra.Command, output *string) {
	c.Flags().StringVarP(output, "output", "o", "", "draw the timeline into this `FILE`, .png or .svg")
}

// simulate runs a scenario, with its progress on a terminal.
func simulate(c *cobra.Command, s streams, scenario simulation.Scenario) (*simulation.Report, error) {
	p := newProgress(s, scenario.Name, int64(cmp.Or(scenario.Duration, simulationLasts).Seconds()))
	scenario.OnSecond = func(simulation.Second) { p.add(1) }
	report, err := simulation.Run(c.Context(), scenario)
	p.done()
	return report, err
}

func writeJSON(w io.Writer, of any) error {
	text, err := json.MarshalIndent(of, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

func writeTransitions(w io.Writer, r *simulation.Report) {
	if len(r.Transitions) > 0 {
		fmt.Fprint(w, "\ntransitions\n")
	}
	for _, t := range r.Transitions {
		fmt.Fprintf(w, "  %s\n", line(t, t.At.Sub(simulationStart).String()))
	}
	if more := r.TransitionsInAll - len(r.Transitions); more > 0 {
		fmt.Fprintf(w, "  and %d more\n", more)
	}
}

func line(t breaker.Transition, at string) string { return fmt.Sprintf("%-12s %v", at, t) }
