package simulation

import (
	"math"
	"math/bits"
	"time"
)

// histogram is a distribution of latencies in microseconds: linear below 32, and from there
// on 32 buckets an octave.
type histogram struct {
	counts    [buckets]uint64
	low, high int // the buckets that are not empty lie in [low, high)
	n         uint64
	longest   time.Duration
}

const (
	perOctave = 32
	octaves   = 32 // up to 2^36 µs, which is 19 hours
	buckets   = (octaves + 1) * perOctave
)

func bucketOf(d time.Duration) int {
	us := uint64(d) / 1000
	if us < perOctave {
		return int(us)
	}
	shift := bits.Len64(us) - 6
	return min(shift*perOctave+int(us>>shift), buckets-1)
}

// bound is above all that is in the bucket.
func bound(bucket int) time.Duration {
	if bucket < perOctave {
		return time.Duration(bucket+1) * time.Microsecond
	}
	shift := bucket/perOctave - 1
	return time.Duration(bucket%perOctave+perOctave+1) << shift * time.Microsecond
}

func (h *histogram) add(d time.Duration) {
	bucket := bucketOf(d)
	if h.n == 0 {
		h.low, h.high = bucket, bucket+1
	}
	h.low, h.high = min(h.low, bucket), max(h.high, bucket+1)
	h.counts[bucket]++
	h.n++
	h.longest = max(h.longest, d)
}

// take adds what is in another, and empties it.
func (h *histogram) take(from *histogram) {
	h.merge(from)
	clear(from.counts[from.low:from.high])
	from.low, from.high, from.n, from.longest = 0, 0, 0, 0
}

func (h *histogram) merge(from *histogram) {
	if from.n == 0 {
		return
	}
	if h.n == 0 {
		h.low, h.high = from.low, from.high
	}
	h.low, h.high = min(h.low, from.low), max(h.high, from.high)
	for bucket := from.low; bucket < from.high; bucket++ {
		h.counts[bucket] += from.counts[bucket]
	}
	h.n += from.n
	h.longest = max(h.longest, from.longest)
}

// quantile returns the upper bound of the bucket that holds the rank, or the longest if
// that is less; 0 if there is nothing.
func (h *histogram) quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := uint64(math.Ceil(q * float64(h.n)))
	for bucket := h.low; bucket < h.high; bucket++ {
		if count := h.counts[bucket]; count < rank {
			rank -= count
			continue
		}
		if bucket == buckets-1 {
			break
		}
		return min(bound(bucket), h.longest)
	}
	return h.longest
}

func (h *histogram) quantiles() Quantiles {
	return Quantiles{
		P50:  h.quantile(0.5),
		P90:  h.quantile(0.9),
		P99:  h.quantile(0.99),
		P999: h.quantile(0.999),
		Max:  h.longest,
	}
}
