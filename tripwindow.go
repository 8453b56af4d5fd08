package breaker

import "time"

// tripWindow holds the calls over which the trip ratios are measured: those of the
// last TripWindow, in ten buckets; or, where TripCalls bounds it by number as well,
// each of the last TripCalls samples with its instant.
type tripWindow struct {
	buckets
	samples *sampleRing // nil unless bounded by number
}

func newTripWindow(length time.Duration, calls int) *tripWindow {
	if calls > 0 {
		return &tripWindow{samples: &sampleRing{length: length, ring: make([]sample, calls)}}
	}
	return &tripWindow{buckets: newBuckets(length)}
}

func (w *tripWindow) add(now time.Duration, failed, slow bool) {
	if w.samples != nil {
		w.samples.add(sample{at: now, failed: failed, slow: slow})
		return
	}
	w.buckets.add(now, failed, slow)
}

// at returns what is in the window as of now, and moves nothing.
func (w *tripWindow) at(now time.Duration) counts {
	if w.samples != nil {
		return w.samples.at(now)
	}
	return w.buckets.at(now)
}

func (w *tripWindow) clear() {
	if w.samples != nil {
		w.samples.clear()
		return
	}
	w.buckets.clear()
}

func (w *tripWindow) moveBack(by time.Duration) {
	if w.samples != nil {
		w.samples.moveBack(by)
	}
	w.buckets.moveBack(by)
}

// counts is what a window knows of the calls in it. 64 bits whatever the platform:
// a long window under load would wrap 32.
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
// turn their buckets at different times, so it stops at zero.
func (c counts) without(o counts) counts {
	c.calls -= min(c.calls, o.calls)
	c.failures -= min(c.failures, o.failures)
	c.failures = min(c.failures, c.calls)
	return c
}

func (c counts) failureRate() float64 { return quotient(c.failures, c.calls) }
func (c counts) slowShare() float64   { return quotient(c.slow, c.calls) }

// quotient compares with a ratio as it was written: 7 of 100 reach 0.07, and
// 49.6 % never reach a half. An empty window has a rate of zero.
func quotient(k, n uint64) float64 {
	if n == 0 {
		return 0
	}
	return float64(k) / float64(n)
}

const bucketsPerWindow = 10

// buckets is a sliding window of ten time buckets, whose boundaries count from when
// the breaker was built. The oldest tenth leaves at once, so the window reaches back
// between nine and ten tenths of its length.
type buckets struct {
	width  time.Duration
	end    time.Duration // where the newest bucket ends
	newest int
	ring   [bucketsPerWindow]counts
}

func newBuckets(length time.Duration) buckets {
	width := max(1, length/bucketsPerWindow)
	return buckets{width: width, end: width}
}

func (w *buckets) add(now time.Duration, failed, slow bool) {
	if now >= w.end {
		w.rotate(now)
	}
	w.ring[w.newest].add(failed, slow)
}

// rotate lets the newest bucket be the one that holds now, and empties those that
// come into use again.
func (w *buckets) rotate(now time.Duration) {
	n := turns(now, w.end, w.width)
	for range min(n, bucketsPerWindow) {
		w.newest = (w.newest + 1) % bucketsPerWindow
		w.ring[w.newest] = counts{}
	}
	w.end = later(w.end, n*w.width)
}

// at returns what is in the window as of now, and moves nothing. It sums up rather
// than keeping a total: a sum cannot drift from its buckets, and only failures,
// slow calls and reads ask.
func (w *buckets) at(now time.Duration) (sum counts) {
	expired := min(turns(now, w.end, w.width), bucketsPerWindow)
	for age := range bucketsPerWindow - int(expired) {
		c := w.ring[(w.newest-age+bucketsPerWindow)%bucketsPerWindow]
		sum.calls += c.calls
		sum.failures += c.failures
		sum.slow += c.slow
	}
	return sum
}

func (w *buckets) clear()                    { w.ring = [bucketsPerWindow]counts{} }
func (w *buckets) moveBack(by time.Duration) { w.end = earlier(w.end, by) }

// sample is one call in a window bounded by number.
type sample struct {
	at           time.Duration
	failed, slow bool
}

// sampleRing keeps the last samples, as many as the ring is long, of which those
// leave early that have reached the age of length. A window bounded by number alone
// goes stale on little traffic: at eight calls a minute, the last hundred reach back
// twelve minutes.
type sampleRing struct {
	length time.Duration
	ring   []sample
	oldest int
	n      int
	sum    counts
}

func (r *sampleRing) add(s sample) {
	for r.n > 0 && (r.n == len(r.ring) || r.expired(r.ring[r.oldest], s.at)) {
		r.sum.remove(r.ring[r.oldest])
		r.oldest = (r.oldest + 1) % len(r.ring)
		r.n--
	}
	r.ring[(r.oldest+r.n)%len(r.ring)] = s
	r.n++
	r.sum.add(s.failed, s.slow)
}

func (r *sampleRing) expired(s sample, now time.Duration) bool { return now-s.at >= r.length }

// at returns what is in the window as of now, and moves nothing.
func (r *sampleRing) at(now time.Duration) counts {
	sum := r.sum
	for i := range r.n {
		s := r.ring[(r.oldest+i)%len(r.ring)]
		if !r.expired(s, now) {
			break
		}
		sum.remove(s)
	}
	return sum
}

func (r *sampleRing) clear() { r.oldest, r.n, r.sum = 0, 0, counts{} }

func (r *sampleRing) moveBack(by time.Duration) {
	for i := range r.n {
		s := &r.ring[(r.oldest+i)%len(r.ring)]
		s.at = earlier(s.at, by)
	}
}
