package simulation_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker/simulation"
)

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// offered returns the calls offered in each second.
func offered(t *testing.T, load simulation.Load, length time.Duration) (n []int) {
	t.Helper()
	s := steady()
	s.Load, s.Duration = load, length
	for _, second := range run(t, s).Timeline {
		n = append(n, second.Offered)
	}
	return n
}

func TestLoad(t *testing.T) {
	step := func(at, rate float64) simulation.Step { return simulation.Step{At: seconds(at), Rate: rate} }
	for _, test := range []struct {
		name string
		load simulation.Load
		want []int
	}{
		{"even", simulation.Load{Rate: 10}, []int{10, 10, 10, 10, 10, 10}},
		{"less than one a second", simulation.Load{Rate: 0.5}, []int{1, 0, 1, 0, 1, 0}},
		{"a third of a second does not drift", simulation.Load{Rate: 1.5}, []int{2, 1, 2, 1, 2, 1}},
		{"steps", simulation.Load{Rate: 10, Steps: []simulation.Step{step(2, 30), step(4, 0)}}, []int{10, 10, 30, 30, 0, 0}},
		{"steps alone", simulation.Load{Steps: []simulation.Step{step(2, 5)}}, []int{0, 0, 5, 5, 5, 5}},
		{"what is owed is kept over a step", simulation.Load{Rate: 0.5, Steps: []simulation.Step{step(1, 0.25)}}, []int{1, 0, 0, 1, 0, 0}},
		{"a burst", simulation.Load{Rate: 10, Bursts: []simulation.Burst{{Start: seconds(1), Duration: seconds(2), Factor: 10}}}, []int{10, 100, 100, 10, 10, 10}},
		{"bursts that come again", simulation.Load{Rate: 10, Bursts: []simulation.Burst{{Duration: seconds(1), Every: seconds(3), Factor: 2}}}, []int{20, 10, 10, 20, 10, 10}},
		{"a burst in a burst", simulation.Load{Rate: 1, Bursts: []simulation.Burst{
			{Start: seconds(1), Duration: seconds(3), Factor: 10},
			{Start: seconds(2), Duration: seconds(1), Factor: 10},
		}}, []int{1, 10, 100, 10, 1, 1}},
		{"a burst within a second", simulation.Load{Rate: 10, Bursts: []simulation.Burst{{Start: seconds(1.2), Duration: seconds(0.5), Factor: 3}}}, []int{10, 20, 10, 10, 10, 10}},
		{"batches", simulation.Load{Rate: 4, Every: 2 * time.Second}, []int{8, 0, 8, 0, 8, 0}},
		{"batches of less than one", simulation.Load{Rate: 0.5, Every: time.Second}, []int{0, 1, 0, 1, 0, 1}},
		{"batches in steps", simulation.Load{Rate: 20, Every: 100 * time.Millisecond, Steps: []simulation.Step{step(3, 200)}}, []int{20, 20, 20, 200, 200, 200}},
		{"a day of six seconds", simulation.Load{Rate: 1000, Day: simulation.Day{Lowest: 0.1, Length: 6 * time.Second}}, []int{215, 550, 885, 885, 550, 215}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := offered(t, test.load, time.Duration(len(test.want))*time.Second)
			if test.load.Day.Lowest == 0 {
				require.Equal(t, test.want, got)
				return
			}
			for i := range got {
				require.InDelta(t, test.want[i], got[i], 40, "second %d", i)
			}
		})
	}
}

func TestBatchesComeAtOneInstant(t *testing.T) {
	s := steady()
	s.Load = simulation.Load{Rate: 100, Every: time.Second}
	s.Dependency.Capacity, s.Dependency.Queue = 1000, 10*time.Second
	require.GreaterOrEqual(t, run(t, s).Latency.Max, usual+99*time.Millisecond, "the last of a batch waits for the others")
	s.Load.Every = 0
	require.Equal(t, usual, run(t, s).Latency.Max)
}

// By Poisson, the variance of the calls in a second is their mean. Even calls have none.
func TestPoisson(t *testing.T) {
	const rate, n = 20, 2000
	var sum, squares float64
	for _, calls := range offered(t, simulation.Load{Rate: rate, Poisson: true}, n*time.Second) {
		sum += float64(calls)
		squares += float64(calls * calls)
	}
	mean := sum / n
	variance := squares/n - mean*mean
	require.InDelta(t, rate, mean, 4*math.Sqrt(rate)/math.Sqrt(n))
	require.InDelta(t, rate, variance, 0.2*rate)
}

func TestPoissonFollowsTheRate(t *testing.T) {
	got := offered(t, simulation.Load{Poisson: true, Rate: 1000, Steps: []simulation.Step{{At: seconds(1), Rate: 0}, {At: seconds(2), Rate: 4000}}}, 3*time.Second)
	require.InDelta(t, 1000, got[0], 150)
	require.Zero(t, got[1])
	require.InDelta(t, 4000, got[2], 300)
}
