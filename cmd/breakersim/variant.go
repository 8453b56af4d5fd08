package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/cmd/breakersim/internal/calls"
	"github.com/normal-go/breaker/cmd/breakersim/internal/chart"
	"github.com/normal-go/breaker/simulation"
)

// variant is a breaker of some settings that is run over the calls of a log.
type variant struct {
	name     string
	settings breaker.Settings
	draw     bool

	start  time.Time // of its timeline
	replay *simulation.Replay
	series chart.Series
	opens  []breaker.Transition // the first of them
	shut   time.Duration        // not closed, to the second
}

const mostOpens = 1000

// variantsOf returns the defaults, and a variant for each file of settings.
func variantsOf(s streams, paths []string, draw bool) ([]*variant, error) {
	if len(paths)+1 > mostCompared {
		return nil, misused("replay: at most %d files of settings, got %d", mostCompared-1, len(paths))
	}
	variants := []*variant{{name: "defaults", draw: draw, opens: []breaker.Transition{}}}
	for _, path := range paths {
		settings, err := readSettings(s, path, breaker.Settings{})
		if err != nil {
			return nil, err
		}
		variants = append(variants, &variant{
			name: nameFrom(path), settings: settings, draw: draw, opens: []breaker.Transition{},
		})
	}
	return variants, nil
}

// add feeds the next call. With the first, the timeline begins.
func (v *variant) add(c calls.Call) error {
	if v.replay == nil {
		if err := v.begin(time.Unix(0, c.Start).UTC().Truncate(time.Second)); err != nil {
			return err
		}
	}
	return v.replay.Add(simulation.Call{
		Start:   time.Duration(c.Start - v.start.UnixNano()),
		Latency: c.Latency,
		Verdict: c.Verdict,
	})
}

func (v *variant) begin(start time.Time) (err error) {
	settings := v.settings
	settings.Shadow = false // a replay is a dry run already, and is to say what would be refused
	if settings.Name == "" {
		settings.Name = v.name
	}
	settings.OnTransition = func(_ context.Context, t breaker.Transition) {
		if t.To == breaker.Open && len(v.opens) < mostOpens {
			v.opens = append(v.opens, t)
		}
		if trip, ok := chart.TripOf(t, start); ok && len(v.series.Trips) < mostOpens {
			v.series.Trips = append(v.series.Trips, trip)
		}
	}
	v.start = start
	v.replay, err = simulation.NewReplay(simulation.Recording{
		Name:       v.name,
		Start:      start,
		Settings:   settings,
		NoTimeline: true,
		OnSecond: func(s simulation.Second) {
			if s.Closed == 0 {
				v.shut += time.Second
			}
			if v.draw {
				v.series.Add(s)
			}
		},
	})
	return err
}

// drawn returns what there is to draw of it.
func (v *variant) drawn(path string, several bool) *chart.Series {
	v.series.Title = nameFrom(path)
	if several {
		v.series.Title = v.name
	}
	r := v.replay.Report()
	v.series.Subtitle = summary(r)
	v.series.Start = v.start
	return &v.series
}

// result is what a replay comes to, also in JSON.
type result struct {
	File     string          `json:"file"`
	Lines    int64           `json:"lines"`
	BadLines int64           `json:"bad_lines"`
	Start    time.Time       `json:"start"`
	Variants []variantResult `json:"variants"`
}

type variantResult struct {
	Name      string               `json:"name"`
	Settings  breaker.Settings     `json:"settings"`
	NotClosed float64              `json:"not_closed_seconds"`
	Opens     []breaker.Transition `json:"opens"`
	Report    *simulation.Report   `json:"report"`
}

func resultOf(path string, c calls.Counts, variants []*variant) result {
	r := result{File: path, Lines: c.Lines, BadLines: c.Bad, Start: variants[0].start}
	for _, v := range variants {
		report := v.replay.Report() // which may be told of more opens
		r.Variants = append(r.Variants, variantResult{
			Name: v.name, Settings: v.settings, NotClosed: v.shut.Seconds(), Opens: v.opens, Report: report,
		})
	}
	return r
}

// write writes the result for a person, with so many opens of each variant.
func (r result) write(w io.Writer, most int) {
	first := r.Variants[0].Report
	end := r.Start.Add(first.Duration)
	fmt.Fprintf(w, "%s: %s calls, from %s to %s (%v)\n", nameFrom(r.File), thousands(first.Calls.Offered),
		r.Start.Format(time.RFC3339), end.Format(time.RFC3339), first.Duration.Round(time.Second))
	fmt.Fprintf(w, "bad lines: %s of %s (%s)\n\n", thousands(r.BadLines), thousands(r.Lines), share(r.BadLines, r.Lines))
	r.table().write(w)
	for _, v := range r.Variants {
		v.writeOpens(w, most)
	}
}

func (r result) table() (t table) {
	row := func(name string, of func(variantResult) string) {
		cells := []string{name}
		for _, v := range r.Variants {
			cells = append(cells, of(v))
		}
		t.add(cells...)
	}
	row("", func(v variantResult) string { return v.Name })
	row("would have tripped", func(v variantResult) string {
		n := 0
		for _, o := range v.Report.Opens {
			if o.Cause <= breaker.CauseSlowCalls {
				n += o.Count
			}
		}
		return thousands(int64(n))
	})
	row("would have opened, in all", func(v variantResult) string { return thousands(int64(opens(v.Report))) })
	row("not closed for", func(v variantResult) string { return (time.Duration(v.NotClosed) * time.Second).String() })
	row("would have refused", func(v variantResult) string { return thousands(v.Report.Calls.Refused) })
	row("  of all calls", func(v variantResult) string { return share(v.Report.Calls.Refused, v.Report.Calls.Offered) })
	row("  had failed anyway", func(v variantResult) string { return thousands(v.Report.Calls.RefusedAnyway) })
	row("  of the refused", func(v variantResult) string { return share(v.Report.Calls.RefusedAnyway, v.Report.Calls.Refused) })
	row("  had been served", func(v variantResult) string { return thousands(v.Report.Calls.RefusedServable) })
	row("let through", func(v variantResult) string { return thousands(v.Report.Calls.Offered - v.Report.Calls.Refused) })
	row("  served", func(v variantResult) string { return thousands(v.Report.Calls.Served) })
	row("  failed", func(v variantResult) string { return thousands(v.Report.Calls.Failed) })
	row("  throttled", func(v variantResult) string { return thousands(v.Report.Calls.Throttled) })
	row("  canceled", func(v variantResult) string { return thousands(v.Report.Calls.Canceled) })
	row("latency of the served, median", func(v variantResult) string { return shortly(v.Report.Latency.P50) })
	row("  99th percentile", func(v variantResult) string { return shortly(v.Report.Latency.P99) })
	return t
}

func (v variantResult) writeOpens(w io.Writer, most int) {
	all := opens(v.Report)
	if all == 0 || most == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s would have opened by %s\n", v.Name, causesOf(v.Report))
	shown := min(most, len(v.Opens))
	for _, t := range v.Opens[:shown] {
		fmt.Fprintf(w, "  %s  %v\n", t.At.UTC().Format("2006-01-02 15:04:05.000"), t)
	}
	if all > shown {
		fmt.Fprintf(w, "  and %s more\n", thousands(int64(all-shown)))
	}
}
