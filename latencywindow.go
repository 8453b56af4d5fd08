package breaker

import (
	"math"
	"math/bits"
	"time"
)

const (
	slicesPerWindow = 4

	// The histogram is linear below 8 µs and has 8 buckets an octave from there
	// to the octave of 2^27 µs. The last bucket takes the rest.
	bucketsPerOctave = 8
	octaveBits       = 3 // log2 of bucketsPerOctave
	topOctave        = 27
	latencyBuckets   = bucketsPerOctave * (1 + topOctave - octaveBits + 1)
)

// latencyWindow measures normal latency: a quantile of the calls that succeeded over
// SlowCalls.Window, from a histogram in four slices. Up to the bound of its last bucket
// the answer errs upwards alone, by at most an eighth or a microsecond, which is what a
// threshold wants. It keeps no pointer a sample and allocates nothing.
//
// The quantile is computed when a call is recorded, and kept until the ring turns or the
// samples have doubled: a young baseline, which a few odd calls could spoil, is soon a
// better one, and a settled one reads its 832 counters once in a quarter of Window and
// not at every call. Opening, closing, Reset and Isolate leave the window alone; it
// forgets by age, so that a probe can still be told from normal.
type latencyWindow struct {
	ring[latencySlice]
	quantile float64
	multiple float64
	minimum  uint64

	memo latencyBaseline
	due  uint64 // memo is good until the newest slice holds so many samples
}

type latencySlice struct {
	n       uint64
	buckets [latencyBuckets]uint32
}

// latencyBaseline is what is normal, and what is slow by that measure. All is zero while
// there are too few samples; normal, threshold and samples never are otherwise.
type latencyBaseline struct {
	normal    time.Duration
	threshold time.Duration
	samples   uint64
	slow      uint64 // samples in or above the bucket of threshold
}

func newLatencyWindow(now time.Duration, c SlowCalls) *latencyWindow {
	if c.Off {
		return nil
	}
	return &latencyWindow{
		ring:     newRing[latencySlice](now, c.Window, slicesPerWindow),
		quantile: c.Quantile,
		multiple: c.Multiple,
		minimum:  uint64(c.MinimumSamples),
	}
}

// record adds a call that succeeded, and returns the threshold to judge it by, 0 for none.
// A call is added first and judged then.
func (w *latencyWindow) record(now, d time.Duration) (threshold time.Duration) {
	if now >= w.end {
		w.turn(now)
		w.due = 0
	}
	w.slot.add(d)
	if w.slot.n >= w.due {
		w.remember()
	}
	return w.memo.threshold
}

func (w *latencyWindow) remember() {
	w.memo = w.compute(slicesPerWindow)
	w.due = w.slot.n + w.memo.samples
}

func (s *latencySlice) add(d time.Duration) {
	if c := &s.buckets[latencyBucket(d)]; *c < math.MaxUint32 {
		*c++
		s.n++
	}
}

// at returns the baseline as of now. It stores nothing, so that no read can change what a
// later call is judged by.
func (w *latencyWindow) at(now time.Duration) latencyBaseline {
	if w == nil {
		return latencyBaseline{}
	}
	live := w.live(now)
	if live == slicesPerWindow {
		return w.memo
	}
	return w.compute(live)
}

// compute looks at the newest slices, as many as it is told.
func (w *latencyWindow) compute(newest int) latencyBaseline {
	var n uint64
	for age := range newest {
		n += w.back(age).n
	}
	if n < w.minimum {
		return latencyBaseline{}
	}
	bucket, seen := -1, uint64(0)
	for rank := rankOf(w.quantile, n); seen < rank; {
		bucket++
		seen += w.inBucket(bucket, newest)
	}
	normal := latencyBucketBound(bucket)
	threshold := slowerThan(normal, w.multiple)
	slow := uint64(0)
	for bucket := latencyBucket(threshold); bucket < latencyBuckets; bucket++ {
		slow += w.inBucket(bucket, newest)
	}
	return latencyBaseline{normal, threshold, n, slow}
}

// inBucket counts the samples of one bucket in the newest slices.
func (w *latencyWindow) inBucket(bucket, newest int) (n uint64) {
	for age := range newest {
		n += uint64(w.back(age).buckets[bucket])
	}
	return n
}

// rankOf returns ceil(q*n), the least k with k/n >= q. The product alone may come
// out a hair above a whole number: 0.07*100 does.
func rankOf(q float64, n uint64) uint64 {
	rank := uint64(math.Ceil(q * float64(n)))
	if quotient(rank-1, n) >= q {
		rank--
	}
	return rank
}

// latencyBucket returns the bucket of a duration.
func latencyBucket(d time.Duration) int {
	micros := uint64(d / time.Microsecond)
	if micros < bucketsPerOctave {
		return int(micros)
	}
	octave := bits.Len64(micros) - 1
	if octave > topOctave {
		return latencyBuckets - 1
	}
	within := int(micros>>(octave-octaveBits)) % bucketsPerOctave
	return (octave-octaveBits+1)*bucketsPerOctave + within
}

// latencyBucketBound returns the upper bound of a bucket.
func latencyBucketBound(bucket int) time.Duration {
	if bucket < bucketsPerOctave {
		return time.Duration(bucket+1) * time.Microsecond
	}
	shift := bucket/bucketsPerOctave - 1
	within := bucket % bucketsPerOctave
	return time.Duration(bucketsPerOctave+within+1) << shift * time.Microsecond
}
