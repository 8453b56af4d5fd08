package simulation

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestArithmetic(t *testing.T) {
	for x := -40.0; x < 40; x += 0.37 {
		require.InEpsilon(t, math.Exp(x), exp(x), 1e-11, "exp(%v)", x)
		require.InDelta(t, x, ln(math.Exp(x)), 1e-12, "ln(exp(%v))", x)
	}
	require.InDelta(t, 0, ln(1), 1e-15)
	for p := 1e-7; p < 1; p += 0.0007 {
		z := normalQuantile(p)
		require.InEpsilon(t, p, math.Erfc(-z/math.Sqrt2)/2, 1e-7, "p = %v", p)
	}
}

func TestQuantilesAreThoseOfALognormal(t *testing.T) {
	const median, p99 = 20 * time.Millisecond, 80 * time.Millisecond
	q := newQuantiles(median, p99)
	dice := stream(1, 1)
	const n = 1_000_000
	var below, beyond, mean float64
	for range n {
		d := q.draw(dice.Uint64())
		if d <= median {
			below++
		}
		if d > p99 {
			beyond++
		}
		mean += float64(d) / n
	}
	require.InDelta(t, 0.5, below/n, 0.003)
	require.InDelta(t, 0.01, beyond/n, 0.0005)
	sigma := math.Log(4) / 2.3263478740408408
	require.InEpsilon(t, float64(median)*math.Exp(sigma*sigma/2), mean, 0.003)
	require.IsIncreasing(t, q.body[:])
	require.IsIncreasing(t, q.tail[:])
	require.InEpsilon(t, q.body[strata-1], q.tail[0], 0.01)
}

func TestQuantilesDoNotOverflow(t *testing.T) {
	q := newQuantiles(1, time.Hour)
	require.Equal(t, longestLatency, q.tail[strata])
	require.Positive(t, q.draw(math.MaxUint64))
	require.LessOrEqual(t, q.draw(math.MaxUint64), longestLatency)
}

func TestExponential(t *testing.T) {
	dice := stream(1, 1)
	const n = 1_000_000
	var sum, squares, beyond float64
	for range n {
		x := exponential(dice)
		sum += x
		squares += x * x
		if x > 10 {
			beyond++
		}
	}
	require.InDelta(t, 1, sum/n, 0.005)
	require.InDelta(t, 2, squares/n, 0.03)
	require.InDelta(t, n*math.Exp(-10), beyond, 30)
}

// One purpose says nothing about another, nor one try about the next.
func TestRollsAreIndependent(t *testing.T) {
	const n = 100_000
	half := shareOf(0.5)
	var both [4]float64
	dice := stream(1, streamLuck)
	for range n {
		l := luck(dice.Uint64())
		first := half.meets(l.roll(rollFail))
		for i, second := range []uint64{l.roll(rollLatency), l.roll(rollInstance), l.of(1).roll(rollFail), l.of(2).roll(rollFail)} {
			if first && half.meets(second) {
				both[i]++
			}
		}
	}
	for i, count := range both {
		require.InDelta(t, 0.25, count/n, 0.006, "pair %d", i)
	}
	require.False(t, shareOf(0).meets(0))
	require.True(t, shareOf(1).meets(math.MaxUint64))
}

func TestHistogramBounds(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 999, time.Microsecond, 31 * time.Microsecond, 32 * time.Microsecond,
		63 * time.Microsecond, 64 * time.Microsecond, 1234567, time.Second, time.Hour, 19 * time.Hour} {
		upper := bound(bucketOf(d))
		require.Greater(t, upper, d)
		require.LessOrEqual(t, upper-d, max(time.Microsecond, d/32+time.Microsecond), "%v", d)
	}
	for bucket := 1; bucket < buckets; bucket++ {
		require.Equal(t, bucket, bucketOf(bound(bucket-1)), "the bound of a bucket begins the next")
		require.Equal(t, bucket-1, bucketOf(bound(bucket-1)-1))
	}
	require.Equal(t, buckets-1, bucketOf(furthest))
}

func TestHistogramQuantiles(t *testing.T) {
	var h, other, sum histogram
	require.Zero(t, h.quantile(0.5))
	for us := 1; us <= 1000; us++ {
		h.add(time.Duration(us) * time.Microsecond)
		other.add(time.Duration(us+9000) * time.Microsecond)
	}
	require.InEpsilon(t, 500*time.Microsecond, h.quantile(0.5), 0.04)
	require.Equal(t, time.Millisecond, h.quantile(1))
	sum.take(&h)
	sum.take(&other)
	require.Zero(t, h.n)
	require.Equal(t, histogram{}, h)
	require.InEpsilon(t, time.Millisecond, sum.quantile(0.5), 0.04)
	require.Equal(t, 10*time.Millisecond, sum.quantiles().Max)
}

// Flights land in the order of their time, and at one instant in the order of their
// departure.
func TestFlightsLandInOrder(t *testing.T) {
	var f flights
	dice := stream(1, 1)
	for i := range 10_000 {
		f.push(time.Duration(dice.Uint64()%100), &flight{try: i})
		if i%3 == 0 {
			f.pop()
		}
	}
	last := f.pop()
	for len(f.heap) > 0 {
		next := f.pop()
		require.True(t, last.before(next))
		last = next
	}
}

func TestIncidentsEnd(t *testing.T) {
	flapping := Incident{Kind: Flapping, Start: 10, Duration: 35, Period: 20}
	for _, step := range []struct {
		at    time.Duration
		on    bool
		until time.Duration
	}{{0, false, 10}, {9, false, 10}, {10, true, 20}, {19, true, 20}, {20, false, 30}, {30, true, 40}, {40, false, 45}, {44, false, 45}, {45, false, furthest}} {
		on, until := flapping.at(step.at)
		require.Equal(t, step.on, on, "at %d", step.at)
		require.Equal(t, step.until, until, "at %d", step.at)
	}
	on, until := Incident{Kind: Outage, Start: 10}.at(11)
	require.True(t, on)
	require.Equal(t, furthest, until)
}

func TestWarmthByTheStep(t *testing.T) {
	for _, test := range []struct {
		room  float64
		calls int
		want  float64
	}{
		{5, 0, 5.05}, {5, 1, 5.2}, {5, 10, 5.2}, {5, 11, 4}, {5.9, 11, 4.9}, {1.5, 3, 1}, {1, 2, 1.2}, {1, 3, 1},
		{19.9, 5, 20}, {19.99, 0, 20}, {20, 0, 20}, {20, 41, 19},
	} {
		w := warmth{Warming: Scenario{Dependency: Dependency{Warming: Warming{Full: 20}}}.filled().Dependency.Warming, room: test.room}
		for range test.calls {
			w.take(99*time.Millisecond, 1, true)
		}
		w.take(99*time.Millisecond, 1, false)
		require.Equal(t, test.room < 20, w.cold(99*time.Millisecond))
		w.catchUp(100 * time.Millisecond)
		require.InDelta(t, test.want, w.room, 1e-12, "%d calls with a room of %v", test.calls, test.room)
	}
}
