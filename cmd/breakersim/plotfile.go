package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/normal-go/breaker/cmd/breakersim/internal/chart"
	"github.com/normal-go/breaker/simulation"
)

// plotFormat returns the format that a file's name asks for.
func plotFormat(path string) (string, error) {
	format := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	if !slices.Contains(chart.Formats(), format) {
		return "", misused("--output must end in .png or .svg, got %q", path)
	}
	return format, nil
}

// writePlot draws timelines into a file.
func writePlot(path string, series ...*chart.Series) error {
	return writePicture(path, func(w io.Writer, format string) error {
		return chart.Draw(w, format, series...)
	})
}

// writePicture draws into a file, which is there only if all went well.
func writePicture(path string, draw func(w io.Writer, format string) error) error {
	format, err := plotFormat(path)
	if err != nil {
		return err
	}
	var picture bytes.Buffer
	if err := draw(&picture, format); err != nil {
		return err
	}
	if err := os.WriteFile(path, picture.Bytes(), 0o644); err != nil {
		return fileError(err)
	}
	return nil
}

// simulationStart is the time of day at which a scenario begins, on its own clock.
var simulationStart = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// simulationLasts is how long a scenario lasts that does not say.
const simulationLasts = 10 * time.Minute

// seriesOf returns what there is to draw of a run.
func seriesOf(r *simulation.Report, start time.Time) *chart.Series {
	s := &chart.Series{Title: r.Name, Subtitle: summary(r), Fleet: r.Instances > 1, NoBreaker: r.NoBreaker}
	for _, o := range r.Incidents {
		s.Incidents = append(s.Incidents, o.Incident)
	}
	s.Trips = tripsOf(r, start)
	for _, second := range r.Timeline {
		s.Add(second)
	}
	return s
}

// tripsOf returns the trips of the first instance.
func tripsOf(r *simulation.Report, start time.Time) (trips []chart.Trip) {
	for _, t := range r.Transitions {
		if r.Instances > 1 && !strings.HasSuffix(t.Name, "/1") {
			continue
		}
		if trip, ok := chart.TripOf(t, start); ok {
			trips = append(trips, trip)
		}
	}
	return trips
}

// summary says in one line what became of the calls.
func summary(r *simulation.Report) string {
	c := r.Calls
	parts := []string{"served " + share(c.Served, c.Offered), "failed " + share(c.Failed, c.Offered)}
	for _, part := range []struct {
		name string
		n    int64
	}{{"throttled", c.Throttled}, {"went away", c.Canceled}, {"refused", c.Refused}} {
		if part.n > 0 {
			parts = append(parts, part.name+" "+share(part.n, c.Offered))
		}
	}
	return fmt.Sprintf("of %s calls: %s", thousands(c.Offered), strings.Join(parts, ", "))
}
