package breaker

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// plainBounds are the upper bounds of all buckets: 8 steps of a microsecond, then each
// octave from 8 µs to 2^27 µs in 8 equal steps.
func plainBounds() (bounds []time.Duration) {
	for micros := 1; micros <= 8; micros++ {
		bounds = append(bounds, time.Duration(micros)*time.Microsecond)
	}
	for octave := 8; octave <= 1<<27; octave *= 2 {
		for i := 1; i <= 8; i++ {
			bounds = append(bounds, time.Duration(octave+i*octave/8)*time.Microsecond)
		}
	}
	return bounds
}

const lastBound = 268_435_456 * time.Microsecond

func TestLatencyBucketBounds(t *testing.T) {
	bounds := plainBounds()
	require.Len(t, bounds, 208)
	require.Equal(t, 208, latencyBuckets)
	require.Equal(t, lastBound, bounds[207])

	var lower time.Duration
	for bucket, bound := range bounds {
		require.Equal(t, bound, latencyBucketBound(bucket), "bucket %d", bucket)
		require.Equal(t, bucket, latencyBucket(lower), "bucket %d, its first", bucket)
		require.Equal(t, bucket, latencyBucket(lower+(bound-lower)/2), "bucket %d, its middle", bucket)
		require.Equal(t, bucket, latencyBucket(bound-1), "bucket %d, its last", bucket)
		lower = bound
	}
}

func TestLatencyBucketBeyondTheEnds(t *testing.T) {
	tests := []struct {
		d    time.Duration
		want int
	}{
		{0, 0}, // no less: a negative latency counts as 0 long before
		{lastBound - 1, 207}, {lastBound, 207}, {2 * lastBound, 207}, {time.Hour, 207}, {math.MaxInt64, 207},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, latencyBucket(tt.d), "%v", tt.d)
	}
}

func TestLatencyBoundErrsUpwardsByAnEighth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	check := func(d time.Duration) {
		over := latencyBucketBound(latencyBucket(d)) - d
		switch {
		case over < 0:
			t.Fatalf("bound of %v is below it by %v", d, -over)
		case d < 8*time.Microsecond && over > time.Microsecond:
			t.Fatalf("bound of %v is above it by %v", d, over)
		case d >= 8*time.Microsecond && 8*over > d:
			t.Fatalf("bound of %v is above it by %v, more than an eighth", d, over)
		}
	}
	for _, bound := range plainBounds() {
		check(bound - 1)
		if bound < lastBound {
			check(bound)
		}
	}
	for range 200_000 { // evenly spread over the orders of magnitude
		check(time.Duration(math.Exp2(random.Float64() * math.Log2(float64(lastBound-1)))))
	}
}

// exactRank is ceil(q*n) in whole numbers, for q in thousandths.
func exactRank(thousandths, n uint64) uint64 { return (thousandths*n + 999) / 1000 }

func TestRankIsCeilOfTheQuantileAsWritten(t *testing.T) {
	check := func(thousandths, n uint64) {
		got, want := rankOf(float64(thousandths)/1000, n), exactRank(thousandths, n)
		if got != want {
			t.Fatalf("rank of %d thousandths of %d: %d, want %d", thousandths, n, got, want)
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	for thousandths := uint64(1); thousandths <= 500; thousandths++ {
		for n := uint64(1); n <= 400; n++ {
			check(thousandths, n)
		}
		for range 200 {
			check(thousandths, 1+random.Uint64N(1<<36))
		}
	}
	require.EqualValues(t, 1, rankOf(math.SmallestNonzeroFloat64, 1000), "there is no rank 0")
}

func TestLatencyQuantileAgainstSorting(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, thousandths := range []uint64{1, 10, 70, 100, 250, 333, 499, 500} {
		for _, n := range []int{1, 2, 3, 7, 10, 99, 100, 101, 1000} {
			w := newLatencyWindow(0, SlowCalls{
				Multiple: 3, Quantile: float64(thousandths) / 1000, Window: time.Minute, MinimumSamples: n,
			})
			sorted := make([]time.Duration, n)
			for i := range sorted {
				sorted[i] = randomBelow(random, time.Duration(math.Exp2(10+20*random.Float64())))
				w.record(0, sorted[i])
			}
			slices.Sort(sorted)
			value := sorted[exactRank(thousandths, uint64(n))-1]
			require.Equal(t, latencyBucketBound(latencyBucket(value)), w.at(0).normal,
				"%d thousandths of %d", thousandths, n)
		}
	}
}

// naiveLatency is a latency window that keeps every sample, sorts, and writes down in
// which slice it computed what it last judged by.
type naiveLatency struct {
	thousandths   uint64
	width         time.Duration
	minimum       int
	samples       []latencySample
	moved         time.Duration // back in all; the slice boundaries count from birth
	memo          latencyBaseline
	memoizedSlice time.Duration
}

type latencySample struct{ slice, d time.Duration }

func (w *naiveLatency) slice(at time.Duration) time.Duration { return (at + w.moved) / w.width }

func (w *naiveLatency) record(now, d time.Duration) latencyBaseline {
	slice := w.slice(now)
	w.samples = append(w.samples, latencySample{slice, d})
	if fresh := w.baseline(slice); w.memoizedSlice != slice || fresh.samples >= 2*w.memo.samples {
		w.memo, w.memoizedSlice = fresh, slice
	}
	return w.memo
}

func (w *naiveLatency) at(now time.Duration) latencyBaseline {
	if slice := w.slice(now); w.memo.samples == 0 || w.memoizedSlice != slice {
		return w.baseline(slice)
	}
	return w.memo
}

// baseline goes by a multiple of 2.
func (w *naiveLatency) baseline(slice time.Duration) latencyBaseline {
	var sorted []time.Duration
	for _, s := range w.samples {
		if slice-s.slice < 4 {
			sorted = append(sorted, s.d)
		}
	}
	n := uint64(len(sorted))
	if len(sorted) < w.minimum {
		return latencyBaseline{}
	}
	slices.Sort(sorted)
	normal := latencyBucketBound(latencyBucket(sorted[exactRank(w.thousandths, n)-1]))
	slow := uint64(0)
	for _, d := range sorted {
		if latencyBucket(d) >= latencyBucket(2*normal) {
			slow++
		}
	}
	return latencyBaseline{normal, 2 * normal, n, slow}
}

// judge records a call and returns what it is judged by.
func (w *latencyWindow) judge(now, d time.Duration) latencyBaseline {
	threshold := w.record(now, d)
	if threshold != w.memo.threshold {
		panic("judged by another threshold than that of the memo")
	}
	return w.memo
}

func TestLatencyWindowAgainstListOfSamples(t *testing.T) {
	for _, length := range []time.Duration{1, 4, 5, 1000, 5 * time.Minute, oneYear} {
		for _, minimum := range []int{1, 5, 20} {
			random := rand.New(rand.NewPCG(uint64(length), uint64(minimum)))
			w := newLatencyWindow(0, SlowCalls{Multiple: 2, Quantile: 0.3, Window: length, MinimumSamples: minimum})
			model := &naiveLatency{thousandths: 300, width: max(1, length/4), minimum: minimum}
			var now time.Duration
			for i := range 400 {
				if random.IntN(8) == 0 { // or several calls would hardly ever share a slice
					start := model.slice(now)*model.width - model.moved
					now += stride(random, now, start, model.width)
				}
				if random.IntN(30) == 0 {
					by := randomBelow(random, 5*model.width)
					now -= by
					model.moved += by
					w.moveBack(by)
				}
				ahead := randomBelow(random, 5*model.width)
				for _, at := range []time.Duration{now, now + ahead} {
					want := model.at(at)
					require.Equal(t, want, w.at(at),
						"length %v, minimum %d, step %d, at %d", length, minimum, i, at)
				}
				d := time.Duration(math.Exp2(30 * random.Float64()))
				want := model.record(now, d)
				require.Equal(t, want, w.judge(now, d),
					"length %v, minimum %d, step %d, a record at %d", length, minimum, i, now)
			}
		}
	}
}

// latencyRig is a window of four slices of a second each, of which the median of at least
// two samples is normal.
func latencyRig() *latencyWindow {
	return newLatencyWindow(0, SlowCalls{Multiple: 2, Quantile: 0.5, Window: 4 * time.Second, MinimumSamples: 2})
}

const (
	quick, quickBound = 10 * time.Microsecond, 11 * time.Microsecond
	tardy, tardyBound = 100 * time.Microsecond, 104 * time.Microsecond
)

func TestLatencySlicesExpire(t *testing.T) {
	w := latencyRig()
	w.record(0, quick)
	w.record(1*time.Second-1, quick)
	require.Equal(t, quickBound, w.at(4*time.Second-1).normal)
	require.Zero(t, w.at(4*time.Second), "the first slice is over")

	w.record(1*time.Second, tardy)
	require.Equal(t, quickBound, w.at(4*time.Second-1).normal)
	require.Zero(t, w.at(4*time.Second), "one sample is left, and two are needed")

	w.record(3*time.Second, tardy)
	require.Equal(t, tardyBound, w.at(4*time.Second).normal, "the tardy calls alone are left")
	require.Equal(t, tardyBound, w.at(5*time.Second-1).normal)
	require.Zero(t, w.at(5*time.Second))
	require.Zero(t, w.at(furthest))

	require.Zero(t, w.record(1_000_000*time.Second, quick), "idle for many windows: nothing is left")
	require.Equal(t, quickBound, w.judge(1_000_001*time.Second-1, quick).normal)
}

func TestLatencyMemo(t *testing.T) {
	w := latencyRig()
	require.Zero(t, w.at(0))
	require.Zero(t, w.record(0, quick), "below the minimum")
	require.Equal(t, latencyBaseline{quickBound, 2 * quickBound, 2, 1}, w.judge(0, tardy), "the call that arms is in it")
	require.Equal(t, quickBound, w.judge(1*time.Second-1, tardy).normal, "kept while the slice lasts")
	require.Equal(t, quickBound, w.at(1*time.Second-1).normal, "by reads too")
	require.Equal(t, latencyBaseline{tardyBound, 2 * tardyBound, 4, 0}, w.judge(1*time.Second-1, tardy), "and the samples have not doubled")
	for range 3 {
		require.EqualValues(t, 4, w.judge(1*time.Second-1, quick).samples)
	}
	require.EqualValues(t, 8, w.judge(1*time.Second-1, tardy).samples)
	for range 6 {
		require.EqualValues(t, 8, w.judge(1*time.Second-1, tardy).samples)
	}
	require.Equal(t, tardyBound, w.at(1*time.Second).normal, "computed for a read once the slice is over")
	require.Equal(t, tardyBound, w.judge(1*time.Second, quick).normal)
	for range 14 {
		w.record(1*time.Second, quick)
	}
	require.Equal(t, tardyBound, w.at(1*time.Second).normal)
	require.Equal(t, quickBound, w.judge(2*time.Second, quick).normal)
}

func TestLatencyMemoIsNeverStoredByARead(t *testing.T) {
	w := latencyRig()
	w.record(0, quick)
	w.record(0, tardy)
	before := *w
	before.slots = slices.Clone(w.slots)
	before.slot = &before.slots[w.newest]
	for _, at := range []time.Duration{0, 1 * time.Second, 3 * time.Second, 4 * time.Second, time.Hour} {
		w.at(at)
	}
	require.Equal(t, before, *w, "a read changed the window")

	require.Equal(t, quickBound, w.at(1*time.Second).normal)
	require.Equal(t, tardyBound, w.judge(1*time.Second, tardy).normal, "judged with itself in, read before or not")
}

func TestLatencyBelowMinimumIsComputedEachTime(t *testing.T) {
	w := newLatencyWindow(0, SlowCalls{Multiple: 2, Quantile: 0.5, Window: time.Minute, MinimumSamples: 20})
	for i := range 19 {
		require.Zero(t, w.record(0, quick), "call %d", i+1)
		require.Zero(t, w.at(0), "call %d", i+1)
	}
	require.Equal(t, quickBound, w.judge(0, tardy).normal)
	require.Equal(t, quickBound, w.at(0).normal)
}

func TestLatencyCountersSaturate(t *testing.T) {
	w := latencyRig()
	bucket := latencyBucket(tardy)
	w.record(0, tardy)
	w.slots[0].buckets[bucket] = math.MaxUint32 - 1
	w.slots[0].n = math.MaxUint32 - 1
	for range 3 {
		w.record(0, tardy)
	}
	require.EqualValues(t, uint32(math.MaxUint32), w.slots[0].buckets[bucket])
	require.EqualValues(t, uint32(math.MaxUint32), w.slots[0].n, "what no counter took is not counted")
	for i := range w.slots { // as many again in each slice: more than 32 bits hold
		w.slots[i] = w.slots[0]
	}
	require.Equal(t, tardyBound, w.judge(1*time.Second, quick).normal)
	require.Equal(t, tardyBound, w.judge(2*time.Second, quick).normal)
}

func TestSlowerThan(t *testing.T) {
	tests := []struct {
		d        time.Duration
		multiple float64
		want     time.Duration
	}{
		{10 * time.Millisecond, 3, 30 * time.Millisecond},
		{11, 1.5, 17}, // 16.5: a call of 16 is not slow, one of 17 is
		{3, 1.1, 4},
		{10 * time.Millisecond, 1.1, 11 * time.Millisecond},
		{lastBound, 1e6, 268_435_456_000_000_000},
		{lastBound, 1e9, math.MaxInt64},
		{lastBound, math.MaxFloat64, math.MaxInt64}, // the product is infinite
		{1, 1 << 62, 1 << 62},
		{2, 1 << 62, math.MaxInt64},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, slowerThan(tt.d, tt.multiple), "%v times %v", tt.multiple, tt.d)
	}

	random := rand.New(rand.NewPCG(7, 8))
	for range 10_000 {
		d, multiple := latencyBucketBound(random.IntN(latencyBuckets)), 1+9*random.Float64()
		threshold := slowerThan(d, multiple)
		product := multiple * float64(d)
		require.True(t, float64(threshold) >= product && float64(threshold-1) < product,
			"%v times %v: %v", multiple, d, threshold)
	}
}

func TestLowerThreshold(t *testing.T) {
	require.Zero(t, lowerThreshold(0, 0))
	require.Equal(t, 2*time.Second, lowerThreshold(2*time.Second, 0))
	require.Equal(t, 3*time.Second, lowerThreshold(0, 3*time.Second))
	require.Equal(t, 2*time.Second, lowerThreshold(2*time.Second, 3*time.Second))
	require.Equal(t, 2*time.Second, lowerThreshold(3*time.Second, 2*time.Second))
}

func TestLatencyWindowIsSmall(t *testing.T) {
	w := latencyRig()
	require.Less(t, unsafe.Sizeof(*w)+slicesPerWindow*unsafe.Sizeof(*w.slot), uintptr(3500))
	var now time.Duration
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		now += 100 * time.Millisecond
		w.record(now, quick)
		w.at(now)
	}))
}
