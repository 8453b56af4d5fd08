package breaker_test

import (
	"math"
	"slices"
	"time"

	"github.com/normal-go/breaker"
)

// sample is one outcome of the model's windows.
type sample struct {
	at           time.Duration // own time
	failed, slow bool
	latency      time.Duration
}

// normal is what the latency baseline says.
type normal struct {
	known   bool
	latency time.Duration
	samples int
	above   int // of the samples, at Multiple times the latency and above

	slice, newest int // when it was computed: the slice, and the samples in it
}

// figures are all that a decision looks at.
type figures struct {
	calls, failed, slow int
	past, pastFailed    int
	rate                float64
	rateKnown           bool
	normal              normal
	threshold           time.Duration // 0: none
	tripRatio           float64       // 0: none

	failures, slowCalls breaker.Evidence
}

// feed records an outcome that is evidence, and reports whether it was slow.
func (m *model) feed(v breaker.Verdict, d time.Duration) (slow bool) {
	s := sample{at: m.own, failed: v == breaker.Transient, latency: d}
	if s.failed {
		m.run++
	} else {
		m.run = 0
		slow = m.isSlow(s)
		if slow {
			m.totals.Slow++
		}
	}
	s.slow = slow && m.state != breaker.Recovering
	m.past = append(m.past, s)
	m.trip = append(m.trip, s)
	return slow
}

// isSlow adds a call to the latency baseline, and judges it.
func (m *model) isSlow(s sample) bool {
	m.latencies = append(m.latencies, s)
	if m.memo != nil {
		slice, newest := m.newestSlice(m.own)
		if m.memo.slice != slice || newest-m.memo.newest >= m.memo.samples {
			m.memo = nil
		}
	}
	if m.memo == nil {
		if computed := m.computeLatency(m.own); computed.known {
			m.memo = &computed
		}
	}
	threshold := m.threshold(m.latency(m.own))
	return threshold > 0 && s.latency >= threshold
}

// threshold is the latency from which a call is slow, or 0.
func (m *model) threshold(n normal) time.Duration {
	constant := m.set.SlowCallThreshold
	if !n.known {
		return constant
	}
	relative := m.multiple(n.latency)
	if constant > 0 {
		return min(constant, relative)
	}
	return relative
}

// multiple is the shortest whole duration that reaches the multiple of a normal latency.
func (m *model) multiple(latency time.Duration) time.Duration {
	return time.Duration(math.Ceil(m.set.SlowCalls.Multiple * float64(latency)))
}

// bucket numbers the buckets of a window from the instant that is its zero.
func bucket(at, zero, window time.Duration, buckets int) int {
	width := max(1, window/time.Duration(buckets))
	n := (at - zero) / width
	if at < zero+n*width {
		n-- // before it: own time can have been set back by then
	}
	return int(n)
}

// within returns the samples in the newest buckets of a window.
func within(samples []sample, t, zero, window time.Duration, buckets int) []sample {
	first := bucket(t, zero, window, buckets) - buckets + 1
	for i, s := range samples {
		if bucket(s.at, zero, window, buckets) >= first {
			return samples[i:]
		}
	}
	return nil
}

func (m *model) hasWindow() bool {
	return m.set.FailureRatio > 0 || !m.set.Failures.Off || m.set.SlowCallThreshold > 0 || !m.set.SlowCalls.Off
}

func (m *model) tripWindow(t time.Duration) (samples []sample) {
	switch {
	case !m.hasWindow():
		return nil
	case m.set.TripCalls == 0:
		return within(m.trip, t, m.tripZero, m.set.TripWindow, 10)
	}
	for _, s := range m.trip[max(0, len(m.trip)-m.set.TripCalls):] {
		if t-s.at < m.set.TripWindow {
			samples = append(samples, s)
		}
	}
	return samples
}

func (m *model) newestSlice(t time.Duration) (slice, samples int) {
	return bucket(t, m.latencyZero, m.set.SlowCalls.Window, 4), len(within(m.latencies, t, m.latencyZero, m.set.SlowCalls.Window/4, 1))
}

// latency is the normal latency as a decision or a read at t finds it.
func (m *model) latency(t time.Duration) normal {
	if m.memo != nil && m.memo.slice == bucket(t, m.latencyZero, m.set.SlowCalls.Window, 4) {
		return *m.memo
	}
	return m.computeLatency(t)
}

func (m *model) computeLatency(t time.Duration) normal {
	set := m.set.SlowCalls
	if set.Off {
		return normal{}
	}
	samples := within(m.latencies, t, m.latencyZero, set.Window, 4)
	if len(samples) == 0 || len(samples) < set.MinimumSamples {
		return normal{}
	}
	bounds := make([]time.Duration, len(samples))
	for i, s := range samples {
		bounds[i] = upperBound(s.latency)
	}
	slices.Sort(bounds)
	rank := 1 // the least that is such a share of them
	for float64(rank)/float64(len(bounds)) < set.Quantile {
		rank++
	}
	n := normal{known: true, latency: bounds[rank-1], samples: len(bounds)}
	from := upperBound(m.multiple(n.latency))
	for _, bound := range bounds {
		if bound >= from {
			n.above++
		}
	}
	n.slice, n.newest = m.newestSlice(t)
	return n
}

// upperBound is the upper bound of the histogram's bucket that holds d: 1 µs wide below
// 8 µs, an eighth of an octave from there.
func upperBound(d time.Duration) time.Duration {
	us := int64(d / time.Microsecond)
	width := int64(1)
	for us >= 16*width && width < 1<<24 {
		width *= 2
	}
	bound := (us/width + 1) * width
	return time.Duration(min(bound, 1<<28)) * time.Microsecond
}

// figures counts everything at an instant.
func (m *model) figures(t time.Duration) figures {
	var f figures
	if m.hasWindow() {
		for _, s := range m.tripWindow(t) {
			f.calls++
			if s.failed {
				f.failed++
			}
			if s.slow {
				f.slow++
			}
		}
	}
	if !m.set.Failures.Off {
		for _, s := range within(m.past, t, m.pastZero, m.set.Failures.Window, 10) {
			f.past++
			if s.failed {
				f.pastFailed++
			}
		}
		if f.past > 0 && f.past >= m.set.Failures.MinimumSamples {
			f.rate, f.rateKnown = float64(f.pastFailed)/float64(f.past), true
		}
	}
	f.normal = m.latency(t)
	f.threshold = m.threshold(f.normal)
	if m.hasWindow() {
		f.failures, f.slowCalls = m.weighFailures(f), m.weighSlow(f)
	}
	f.tripRatio = m.set.FailureRatio
	if point := f.failures.TripPoint; point > 0 && (f.tripRatio == 0 || point < f.tripRatio) {
		f.tripRatio = point
	}
	return f
}

// reference is the failure rate of the baseline without the trip window, once armed.
func (m *model) reference(f figures) (p0 float64, known bool) {
	set := m.set.Failures
	if set.Off || set.FalseAlarm == 1 || f.past-f.calls < set.MinimumSamples {
		return 0, false
	}
	return (float64(max(0, f.pastFailed-f.failed)) + 0.5) / float64(f.past-f.calls+1), true
}

func (m *model) weighFailures(f figures) (e breaker.Evidence) {
	set := m.set.Failures
	if f.calls > 0 {
		e.Rate = float64(f.failed) / float64(f.calls)
	}
	if set.Off {
		return e
	}
	if set.FalseAlarm == 1 {
		if f.rateKnown {
			e.TripPoint = min(1, max(set.Floor, f.rate*set.Multiple))
		}
		return e
	}
	if p0, known := m.reference(f); known {
		e.Required = -math.Log(set.FalseAlarm)
		e.Reference, e.ReferenceKnown = p0, true
		e.TripPoint = min((1+p0)/2, max(set.Floor, min(f.rate, p0)*set.Multiple))
		e.Surprise = surprise(f.failed, f.calls, p0)
	}
	return e
}

func (m *model) weighSlow(f figures) (e breaker.Evidence) {
	set := m.set.SlowCalls
	if f.calls > 0 {
		e.Rate = float64(f.slow) / float64(f.calls)
	}
	if f.threshold > 0 {
		e.TripPoint = m.set.SlowCallRatio
	}
	if set.Off || set.FalseAlarm == 1 {
		return e
	}
	if n := f.normal; n.known {
		e.Required = -math.Log(set.FalseAlarm)
		e.TripPoint = max(e.TripPoint, (1+float64(n.above)/float64(n.samples))/2)
		e.Reference = (float64(n.above) + 0.5) / float64(n.samples+1)
		e.ReferenceKnown = true
		e.Surprise = surprise(f.slow, f.calls, e.Reference)
	}
	return e
}

// runNeeded is how many failures in a row open the breaker.
func (m *model) runNeeded(f figures) int {
	needed := m.set.ConsecutiveFailures
	if p0, known := m.reference(f); m.anyRun && known {
		return max(needed, int(math.Ceil(math.Log(1e-9)/math.Log(p0))))
	}
	return needed
}

// tripped returns the cause that opens a closed breaker now, or 0.
func (m *model) tripped() breaker.Cause {
	f := m.figures(m.own)
	reaches := func(e breaker.Evidence) bool {
		return e.TripPoint > 0 && e.Rate >= e.TripPoint && e.Surprise >= e.Required
	}
	switch {
	case m.run >= m.runNeeded(f):
		return breaker.CauseConsecutiveFailures
	case !m.hasWindow() || f.calls < m.set.MinimumCalls:
		return 0
	case m.set.FailureRatio > 0 && f.failures.Rate >= m.set.FailureRatio:
		return breaker.CauseFailureRatio
	case f.failed >= 2 && reaches(f.failures):
		return breaker.CauseRelativeFailures
	case reaches(f.slowCalls):
		return breaker.CauseSlowCalls
	}
	return 0
}

// surprise is n*KL(k/n, p).
func surprise(k, n int, p float64) float64 {
	if n == 0 {
		return 0
	}
	q := float64(k) / float64(n)
	switch {
	case q <= p:
		return 0
	case q == 1:
		return float64(n) * math.Log(1/p)
	}
	return float64(n) * (q*math.Log(q/p) + (1-q)*math.Log((1-q)/(1-p)))
}
