package breaker

import "time"

// tripWindow holds the calls over which the trip ratios are measured: those of the last
// TripWindow, in buckets; or, where TripCalls bounds it by number as well, each of the
// last TripCalls samples with its instant.
type tripWindow interface {
	add(now time.Duration, failed, slow bool)
	at(now time.Duration) counts // what is in the window as of now; moves nothing
	clear()
	moveBack(by time.Duration)
}

func newTripWindow(now, length time.Duration, calls int) tripWindow {
	if calls > 0 {
		return &sampleRing{length: length, ring: make([]sample, calls)}
	}
	return &buckets{newRing[counts](now, length, bucketsPerWindow)}
}

// counts is what a window knows of the calls in it. 64 bits whatever the platform: a
// long window under load would wrap 32.
type counts struct {
	calls, failures, slow uint64
}

func (c *counts) add(failed, slow bool) {
	c.calls++
	if failed {
		c.failures++
	}
	if slow {
		c.slow++
	}
}

func (c *counts) remove(s sample) {
	c.calls--
	if s.failed {
		c.failures--
	}
	if s.slow {
		c.slow--
	}
}

// without returns what is left of c besides another window's counts. The two windows
// turn at different times, so it stops at zero.
func (c counts) without(o counts) counts {
	c.calls -= min(c.calls, o.calls)
	c.failures -= min(c.failures, o.failures)
	c.failures = min(c.failures, c.calls)
	return c
}

func (c counts) failureRate() float64 { return quotient(c.failures, c.calls) }
func (c counts) slowShare() float64   { return quotient(c.slow, c.calls) }

// quotient compares with a ratio as it was written: 7 of 100 reach 0.07, and 49.6 %
// never reach a half. An empty window has a rate of zero.
func quotient(k, n uint64) float64 {
	if n == 0 {
		return 0
	}
	return float64(k) / float64(n)
}

const bucketsPerWindow = 10

// buckets is a sliding window of ten time buckets.
type buckets struct {
	ring[counts]
}

func (w *buckets) add(now time.Duration, failed, slow bool) {
	w.current(now).add(failed, slow)
}

// at sums up rather than keeping a total: a sum cannot drift from its buckets, and only
// failures, slow calls and reads ask.
func (w *buckets) at(now time.Duration) (sum counts) {
	for age := range w.live(now) {
		c := w.back(age)
		sum.calls += c.calls
		sum.failures += c.failures
		sum.slow += c.slow
	}
	return sum
}

func (w *buckets) clear() { clear(w.slots) }

// sample is one call in a window bounded by number.
type sample struct {
	at           time.Duration
	failed, slow bool
}

// sampleRing keeps the last samples, as many as the ring is long, of which those leave
// early that have reached the age of length. A window bounded by number alone goes stale
// on little traffic: at eight calls a minute, the last hundred reach back twelve minutes.
type sampleRing struct {
	length time.Duration
	ring   []sample
	oldest int
	n      int
	sum    counts
}

func (r *sampleRing) add(now time.Duration, failed, slow bool) {
	for r.n > 0 && (r.n == len(r.ring) || r.expired(r.sample(0), now)) {
		r.sum.remove(*r.sample(0))
		r.oldest = (r.oldest + 1) % len(r.ring)
		r.n--
	}
	r.n++
	*r.sample(r.n - 1) = sample{at: now, failed: failed, slow: slow}
	r.sum.add(failed, slow)
}

// sample returns the i-th sample, 0 for the oldest.
func (r *sampleRing) sample(i int) *sample { return &r.ring[(r.oldest+i)%len(r.ring)] }

func (r *sampleRing) expired(s *sample, now time.Duration) bool { return now-s.at >= r.length }

func (r *sampleRing) at(now time.Duration) counts {
	sum := r.sum
	for i := 0; i < r.n && r.expired(r.sample(i), now); i++ {
		sum.remove(*r.sample(i))
	}
	return sum
}

func (r *sampleRing) clear() { r.oldest, r.n, r.sum = 0, 0, counts{} }

func (r *sampleRing) moveBack(by time.Duration) {
	for i := range r.n {
		s := r.sample(i)
		s.at = earlier(s.at, by)
	}
}
