package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// timeSteps are how far apart names on the axis of time may be.
var timeSteps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour,
}

// timeTicks returns at most so many ticks, and what the axis is called. From a time of day
// on they are those of a clock.
func timeTicks(seconds float64, start time.Time, most int) ([]tick, string) {
	step := timeSteps[len(timeSteps)-1]
	for _, s := range timeSteps {
		if seconds/s.Seconds() <= float64(most) {
			step = s
			break
		}
	}
	var ticks []tick
	if start.IsZero() {
		for at := time.Duration(0); at.Seconds() <= seconds; at += step {
			ticks = append(ticks, tick{at.Seconds(), clockless(at)})
		}
		return ticks, "time since the start"
	}
	start = start.UTC()
	layout := "15:04"
	switch {
	case step < time.Minute:
		layout = "15:04:05"
	case step >= 24*time.Hour:
		layout = "Jan 2"
	}
	first := start.Truncate(step)
	if first.Before(start) {
		first = first.Add(step)
	}
	for at := first; at.Sub(start).Seconds() <= seconds; at = at.Add(step) {
		ticks = append(ticks, tick{at.Sub(start).Seconds(), at.Format(layout)})
	}
	return ticks, "time of day in UTC, from " + start.Format("2 January 2006, 15:04:05")
}

// clockless writes a duration without the units that are 0: "0", "90s" as "1m30s", "2h".
func clockless(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	text := d.String()
	text = strings.TrimSuffix(text, "m0s")
	if text != d.String() {
		text += "m"
	}
	if short, cut := strings.CutSuffix(text, "h0m"); cut {
		text = short + "h"
	}
	return text
}

// evenTicks returns round numbers from 0 to what is at or above most, which it returns too.
func evenTicks(most float64, name func(float64) string) ([]tick, float64) {
	if !(most > 0) {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for _, finer := range []float64{0.2, 0.25, 0.5, 1, 2} {
		if most/(step*finer) <= 5 {
			step *= finer
			break
		}
	}
	var ticks []tick
	n := math.Ceil(most/step - 1e-9)
	for i := range int(n) + 1 {
		ticks = append(ticks, tick{float64(i) * step, name(float64(i) * step)})
	}
	return ticks, n * step
}

// latencyTicks returns the powers of ten, and with few of them also 2 and 5 times each.
func latencyTicks(low, high float64) (ticks []tick) {
	within := []float64{1}
	if high/low < 3000 {
		within = []float64{1, 2, 5}
	}
	if high/low < 300 {
		within = []float64{1, 2, 3, 5}
	}
	for decade := math.Pow(10, math.Floor(math.Log10(low))); decade <= high; decade *= 10 {
		for _, n := range within {
			if at := n * decade; at >= low*0.999 && at <= high*1.001 {
				d := time.Duration(math.Round(at * 1e9))
				ticks = append(ticks, tick{at, spaced(d)})
			}
		}
	}
	return ticks
}

// spaced writes a round duration with a space before its unit.
func spaced(d time.Duration) string {
	text := d.String()
	if d >= time.Minute {
		return clockless(d)
	}
	i := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	return text[:i] + " " + text[i:]
}

func plainNumber(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 4, 64) + " M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 4, 64) + " k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func percent(v float64) string { return fmt.Sprintf("%.4g %%", 100*v) }
