package chart_test

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/cmd/breakersim/internal/chart"
	"github.com/normal-go/breaker/simulation"
)

var update = flag.Bool("update", false, "write the golden pictures anew")

// eventful has something of all that is drawn.
func eventful() *chart.Series {
	s := &chart.Series{
		Title:    "eventful <&>",
		Subtitle: "of 12,000 calls",
		Incidents: []simulation.Incident{
			{Kind: simulation.Brownout, Factor: 10, Start: 20 * time.Second, Duration: 20 * time.Second},
			{Kind: simulation.Outage, Share: 0.5, Start: 30 * time.Second, Duration: 5 * time.Second},
			{Kind: simulation.Latency, Factor: 2, Start: 110 * time.Second},
		},
		Trips: []chart.Trip{
			{At: 30 * time.Second, Cause: breaker.CauseSlowCalls, Slow: 0.6},
			{At: 31 * time.Second, Cause: breaker.CauseRelativeFailures, Failures: 0.62},
			{At: 119 * time.Second, Cause: breaker.CauseConsecutiveFailures, Failures: 0.01},
		},
	}
	for i := range 120 {
		second := simulation.Second{
			Start: time.Duration(i) * time.Second, Offered: 100, Asked: 100, Served: 98, Failed: 1, Canceled: 1, Reached: 100,
			Closed: 1, AdmittedFraction: 1, LatencyP50: 20 * time.Millisecond, LatencyP99: 80 * time.Millisecond,
			SlowThreshold: 60 * time.Millisecond, FailureRate: 0.01, SlowRate: 0.03, TripRatio: 0.05,
		}
		switch {
		case i >= 30 && i < 60:
			second.Served, second.Refused, second.Reached = 0, 98, 2
			second.Closed, second.Open, second.AdmittedFraction = 0, 1, 0
			second.LatencyP50, second.LatencyP99, second.FailureRate, second.SlowRate = 0, 0, 0, 0
		case i == 60:
			second.Closed, second.HalfOpen, second.AdmittedFraction, second.Probes = 0, 1, 0, 2
		case i > 60 && i < 70:
			second.Served, second.Refused, second.Throttled = 10*(i-60), 98-10*(i-60), 1
			second.Asked = 150
			second.Closed, second.Recovering, second.AdmittedFraction = 0, 1, 0.1*float64(i-60)
		}
		s.Add(second)
	}
	return s
}

func draw(t *testing.T, format string, series ...*chart.Series) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, chart.Draw(&out, format, series...))
	return out.Bytes()
}

// After a change that is meant to change the pictures:
//
//	go test -run '^TestGolden$' ./internal/chart -update
//
// and look at them.
func TestGolden(t *testing.T) {
	none := eventful()
	none.Title, none.NoBreaker, none.Trips = "none", true, nil
	none.Incidents = none.Incidents[:2]
	var probes bytes.Buffer
	require.NoError(t, chart.DrawProbes(&probes, "svg", "probes", "of all", eventful(), eventful()))
	for name, got := range map[string][]byte{
		"testdata/alone.svg":  draw(t, "svg", eventful()),
		"testdata/beside.svg": draw(t, "svg", eventful(), none),
		"testdata/probes.svg": probes.Bytes(),
	} {
		if *update {
			require.NoError(t, os.WriteFile(name, got, 0o644))
		}
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), name)
	}
}

func TestSameBytesEachTime(t *testing.T) {
	for _, format := range chart.Formats() {
		one := draw(t, format, eventful())
		require.Equal(t, one, draw(t, format, eventful()), format)
		other := eventful()
		other.Add(simulation.Second{Start: 2 * time.Minute, Offered: 200})
		require.NotEqual(t, one, draw(t, format, other), format)
	}
}

func TestPNG(t *testing.T) {
	picture, err := png.Decode(bytes.NewReader(draw(t, "png", eventful())))
	require.NoError(t, err)
	require.Equal(t, 1600, picture.Bounds().Dx())
	colors := map[[3]uint32]bool{}
	for x := 0; x < picture.Bounds().Dx(); x += 2 { // no area is so narrow
		for y := 0; y < picture.Bounds().Dy(); y += 7 {
			r, g, b, a := picture.At(x, y).RGBA()
			require.EqualValues(t, 0xFFFF, a, "nothing is transparent")
			colors[[3]uint32{r >> 8, g >> 8, b >> 8}] = true
		}
	}
	for name, c := range map[string][3]uint32{
		"served": {0xBF, 0xDC, 0xEF}, "refused": {0xE6, 0x9F, 0x00}, "open": {0x8A, 0x2B, 0x3C},
		"half-open": {0xF4, 0xC9, 0x5D}, "recovering": {0x4C, 0x9B, 0xD3}, "incident": {0xF3, 0xEA, 0xD8},
	} {
		require.True(t, colors[c], name)
	}
}

// Only what there is to see has its line in a legend, and each has its words.
func TestLegends(t *testing.T) {
	all := string(draw(t, "svg", eventful()))
	for _, words := range []string{
		"eventful &lt;&amp;&gt;", "of 12,000 calls", "brownout, 10 times as slow", "outage, 50 % of the calls",
		">offered<", ">tries that got through<", ">served<", ">failed<", ">throttled (429)<", ">caller went away<", ">refused<",
		">closed<", ">open<", ">half-open<", ">recovering<", ">let through<", ">median<", ">99th percentile<",
		">slow from here on<", ">failures trip here<", ">tripped, and why<", ">slow-calls<", ">consecutive-failures<",
		">time since the start<", ">1m40s<",
	} {
		require.True(t, strings.Contains(all, words), words)
	}
	var quiet chart.Series
	quiet.Add(simulation.Second{Offered: 1, Served: 1, Closed: 1, AdmittedFraction: 1})
	few := string(draw(t, "svg", &quiet))
	for _, words := range []string{"tries that", "throttled", "went away", "refused", ">open<", "half-open", "recovering", "Latency", "trip here", "tripped"} {
		require.False(t, strings.Contains(few, words), words)
	}
}

func TestTimeOfDay(t *testing.T) {
	s := eventful()
	s.Start = time.Date(2026, time.March, 2, 4, 59, 30, 0, time.FixedZone("", 3600))
	text := string(draw(t, "svg", s))
	for _, words := range []string{">04:00:00<", ">04:01:20<", "time of day in UTC, from 2 March 2026, 03:59:30"} {
		require.Contains(t, text, words)
	}
}

func TestNothingToDraw(t *testing.T) {
	for _, series := range [][]*chart.Series{nil, {eventful(), {}}} {
		require.EqualError(t, chart.Draw(&bytes.Buffer{}, "svg", series...), "chart: there is nothing to draw")
	}
	require.EqualError(t, chart.DrawProbes(&bytes.Buffer{}, "svg", "", ""), "chart: there is nothing to draw")
	require.EqualError(t, chart.Draw(&bytes.Buffer{}, "gif", eventful()), `chart: format must be one of png, svg, got "gif"`)
}

func TestTripOf(t *testing.T) {
	start := time.Date(2026, time.March, 2, 3, 0, 0, 0, time.UTC)
	opened := breaker.Transition{From: breaker.Closed, To: breaker.Open, At: start.Add(time.Minute), Cause: breaker.CauseSlowCalls, Calls: 40, Failures: 4, Slow: 30}
	trip, ok := chart.TripOf(opened, start)
	require.True(t, ok)
	require.Equal(t, chart.Trip{At: time.Minute, Cause: breaker.CauseSlowCalls, Failures: 0.1, Slow: 0.75}, trip)
	opened.Calls = 0
	trip, _ = chart.TripOf(opened, start)
	require.Zero(t, trip.Slow)
	opened.From = breaker.HalfOpen
	_, ok = chart.TripOf(opened, start)
	require.False(t, ok, "an open again is no trip")
}

// A picture of a month takes no more than one of an hour.
func TestLongSeriesAreDrawnInBins(t *testing.T) {
	var s chart.Series
	for i := range 100_000 {
		s.Add(simulation.Second{Start: time.Duration(i) * time.Second, Offered: 10, Served: 10, Closed: 1, AdmittedFraction: 1, LatencyP50: time.Millisecond, LatencyP99: time.Millisecond})
	}
	text := string(draw(t, "svg", &s))
	require.Less(t, len(text), 200_000)
	require.Contains(t, text, ">24h<")
	require.Less(t, strings.Count(text, "\n"), 500)
}
