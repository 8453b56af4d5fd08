package chart

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker/simulation"
)

// The median of a bin is that of its calls, as far as the seconds tell: one with few calls
// weighs little.
func TestMediansAreWeighed(t *testing.T) {
	a := binOf(simulation.Second{Served: 99, LatencyP50: 20 * time.Millisecond})
	a.add(binOf(simulation.Second{Served: 1, LatencyP50: 120 * time.Millisecond}))
	a.add(binOf(simulation.Second{}))
	require.InDelta(t, 0.021, a.medians/a.served, 1e-9)
}

// However many seconds there are, none is lost, and none is counted twice.
func TestBinsKeepTheSums(t *testing.T) {
	for _, n := range []int{1, 2, mostBins - 1, mostBins, mostBins + 1, 2 * mostBins, 2*mostBins + 1, 5*mostBins + 3} {
		var s Series
		for i := range n {
			s.Add(simulation.Second{Offered: i, Served: 1, Closed: 3, Open: 1, AdmittedFraction: 0.5, LatencyP99: time.Duration(i), SlowThreshold: time.Duration(i)})
		}
		require.LessOrEqual(t, len(s.bins), mostBins)
		require.EqualValues(t, n, s.length())
		offered, served := 0.0, 0.0
		for i, b := range s.bins {
			offered, served = offered+b.offered, served+b.served
			require.Equal(t, b.p99, b.threshold, "the highest and the newest are the same here")
			require.EqualValues(t, b.seconds, 2*b.admitted)
			require.EqualValues(t, 3*b.open, b.closed)
			require.LessOrEqual(t, b.seconds, s.width)
			if i < len(s.bins)-1 {
				require.Equal(t, s.width, b.seconds, "only the last may be short")
			}
		}
		require.EqualValues(t, n*(n-1)/2, offered)
		require.EqualValues(t, n, served)
		edges := s.edges()
		require.Len(t, edges, len(s.bins)+1)
		require.EqualValues(t, n, edges[len(s.bins)])
	}
}

func names(ticks []tick) (all []string) {
	for _, t := range ticks {
		all = append(all, t.name)
	}
	return all
}

func TestTimeTicks(t *testing.T) {
	morning := time.Date(2026, time.March, 2, 2, 59, 59, 0, time.UTC)
	for _, c := range []struct {
		seconds float64
		start   time.Time
		want    []string
	}{
		{3, time.Time{}, []string{"0", "1s", "2s", "3s"}},
		{90, time.Time{}, []string{"0", "20s", "40s", "1m", "1m20s"}},
		{360, time.Time{}, []string{"0", "1m", "2m", "3m", "4m", "5m", "6m"}},
		{86400, time.Time{}, []string{"0", "6h", "12h", "18h", "24h"}},
		{31 * 86400, time.Time{}, []string{"0", "168h", "336h", "504h", "672h"}},
		{90, morning, []string{"03:00:00", "03:00:20", "03:00:40", "03:01:00", "03:01:20"}},
		{10001, morning, []string{"03:00", "03:30", "04:00", "04:30", "05:00", "05:30"}},
		{5 * 86400, morning, []string{"Mar 3", "Mar 4", "Mar 5", "Mar 6", "Mar 7"}},
	} {
		ticks, _ := timeTicks(c.seconds, c.start, 6)
		require.Equal(t, c.want, names(ticks))
	}
}

func TestValueTicks(t *testing.T) {
	for most, want := range map[float64][]string{
		0:      {"0", "0.2", "0.4", "0.6", "0.8", "1"},
		0.9:    {"0", "0.2", "0.4", "0.6", "0.8", "1"},
		1:      {"0", "0.2", "0.4", "0.6", "0.8", "1"},
		120:    {"0", "25", "50", "75", "100", "125"},
		37:     {"0", "10", "20", "30", "40"},
		21_000: {"0", "5000", "10 k", "15 k", "20 k", "25 k"},
		3e6:    {"0", "1 M", "2 M", "3 M"},
	} {
		ticks, high := evenTicks(most, plainNumber)
		require.Equal(t, want, names(ticks))
		require.GreaterOrEqual(t, high, most)
		require.Equal(t, high, ticks[len(ticks)-1].at)
	}
	require.Equal(t, []string{"10 ms", "20 ms", "30 ms", "50 ms", "100 ms"}, names(latencyTicks(0.009, 0.15)))
	require.Equal(t, []string{"1 ms", "2 ms", "5 ms", "10 ms", "20 ms", "50 ms", "100 ms", "200 ms", "500 ms"}, names(latencyTicks(0.001, 0.9)))
	require.Equal(t, []string{"10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s"}, names(latencyTicks(1e-5, 20)))
}

// Incidents that overlap, and names that would run into each other, are in rows of their own.
func TestIncidentsInRows(t *testing.T) {
	var s Series
	for range 100 {
		s.Add(simulation.Second{Offered: 1})
	}
	at := func(start, duration int) simulation.Incident {
		return simulation.Incident{Kind: simulation.Outage, Start: time.Duration(start) * time.Second, Duration: time.Duration(duration) * time.Second}
	}
	for _, c := range []struct {
		incidents []simulation.Incident
		rows      int
	}{
		{nil, 0},
		{[]simulation.Incident{at(10, 20), at(40, 20)}, 1},
		{[]simulation.Incident{at(40, 20), at(10, 20)}, 1},
		{[]simulation.Incident{at(10, 20), at(20, 20)}, 2},
		{[]simulation.Incident{at(10, 20), at(30, 20)}, 1},
		{[]simulation.Incident{at(10, 1), at(12, 20)}, 2},
		{[]simulation.Incident{at(10, 0), at(50, 1)}, 2},
		{[]simulation.Incident{at(100, 10)}, 0},
	} {
		s.Incidents = c.incidents
		_, rows := newFigure([]*Series{&s}, nil).spans(&s)
		require.Equal(t, c.rows, rows, "%v", c.incidents)
	}
}
