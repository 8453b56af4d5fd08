package chart

import (
	"math"
	"time"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

// mostBins is how many bins a series has at most: about as many as a person can tell
// apart, so that a timeline of any length takes the same memory.
const mostBins = 1200

// Series is a timeline to be drawn. Fill in what is known, and [Series.Add] the seconds in
// their order.
type Series struct {
	// Title and Subtitle stand above it. Default none.
	Title, Subtitle string

	// Start is the time of day of the first second. Default: the axis counts from 0.
	Start time.Time

	// Incidents are shaded and named.
	Incidents []simulation.Incident

	// Fleet says that there are several instances, of which the readings are those of the
	// first.
	Fleet bool

	// NoBreaker says that there is none.
	NoBreaker bool

	// Trips are the opens of a closed breaker.
	Trips []Trip

	bins  []bin
	width int // of a bin, in seconds
}

// Trip is an open of a closed breaker.
type Trip struct {
	At    time.Duration
	Cause breaker.Cause

	// Failures and Slow are the shares of failures and of slow calls in the trip window.
	Failures, Slow float64
}

// TripOf returns the trip that a transition is, and false if it is none.
func TripOf(t breaker.Transition, start time.Time) (Trip, bool) {
	if t.To != breaker.Open || t.From != breaker.Closed {
		return Trip{}, false
	}
	trip := Trip{At: t.At.Sub(start), Cause: t.Cause}
	if t.Calls > 0 {
		trip.Failures = float64(t.Failures) / float64(t.Calls)
		trip.Slow = float64(t.Slow) / float64(t.Calls)
	}
	return trip, true
}

// bin is some seconds. Counts and shares are sums over them, medians a sum of one for each
// call served, other latencies and rates the highest of them, and what the breaker goes by
// the newest.
type bin struct {
	seconds int

	offered, served, failed, throttled, refused, canceled, asked, reached, probes float64

	closed, open, halfOpen, recovering float64 // shares of the instances
	admitted                           float64

	medians                    float64
	p99, threshold             time.Duration
	failures, slow, tripsAbove float64
}

func binOf(s simulation.Second) bin {
	b := bin{
		seconds: 1,
		offered: float64(s.Offered), served: float64(s.Served), failed: float64(s.Failed),
		throttled: float64(s.Throttled), refused: float64(s.Refused), canceled: float64(s.Canceled),
		asked: float64(s.Asked), reached: float64(s.Reached), probes: float64(s.Probes),
		admitted: s.AdmittedFraction,
		medians:  s.LatencyP50.Seconds() * float64(s.Served), p99: s.LatencyP99, threshold: s.SlowThreshold,
		failures: s.FailureRate, slow: s.SlowRate, tripsAbove: s.TripRatio,
	}
	if n := float64(s.Closed + s.Open + s.HalfOpen + s.Recovering); n > 0 {
		b.closed, b.open = float64(s.Closed)/n, float64(s.Open)/n
		b.halfOpen, b.recovering = float64(s.HalfOpen)/n, float64(s.Recovering)/n
	}
	return b
}

func (b *bin) add(c bin) {
	b.seconds += c.seconds
	for _, sum := range []struct{ to, of *float64 }{
		{&b.offered, &c.offered},
		{&b.served, &c.served},
		{&b.failed, &c.failed},
		{&b.throttled, &c.throttled},
		{&b.refused, &c.refused},
		{&b.canceled, &c.canceled},
		{&b.asked, &c.asked},
		{&b.reached, &c.reached},
		{&b.probes, &c.probes},
		{&b.closed, &c.closed},
		{&b.open, &c.open},
		{&b.halfOpen, &c.halfOpen},
		{&b.recovering, &c.recovering},
		{&b.admitted, &c.admitted},
		{&b.medians, &c.medians},
	} {
		*sum.to += *sum.of
	}
	b.p99 = max(b.p99, c.p99)
	b.failures, b.slow = max(b.failures, c.failures), max(b.slow, c.slow)
	b.threshold, b.tripsAbove = c.threshold, c.tripsAbove
}

// Add takes the next second in.
func (s *Series) Add(second simulation.Second) {
	s.width = max(s.width, 1)
	added := binOf(second)
	if n := len(s.bins); n > 0 && s.bins[n-1].seconds < s.width {
		s.bins[n-1].add(added)
		return
	}
	if len(s.bins) == mostBins {
		for i := range mostBins / 2 {
			s.bins[i] = s.bins[2*i]
			s.bins[i].add(s.bins[2*i+1])
		}
		s.bins = s.bins[:mostBins/2]
		s.width *= 2
	}
	s.bins = append(s.bins, added)
}

// length returns the seconds covered.
func (s *Series) length() float64 {
	n := 0
	for _, b := range s.bins {
		n += b.seconds
	}
	return float64(n)
}

// edges returns where the bins begin, and where the last ends.
func (s *Series) edges() []float64 {
	at, edges := 0.0, make([]float64, 0, len(s.bins)+1)
	for _, b := range s.bins {
		edges = append(edges, at)
		at += float64(b.seconds)
	}
	return append(edges, at)
}

// each returns a value of each bin.
func (s *Series) each(of func(bin) float64) []float64 {
	values := make([]float64, len(s.bins))
	for i, b := range s.bins {
		values[i] = of(b)
	}
	return values
}

// mean returns the mean of a sum over the seconds of each bin.
func (s *Series) mean(of func(bin) float64) []float64 {
	return s.each(func(b bin) float64 { return of(b) / float64(b.seconds) })
}

// known returns a value of each bin, and a gap where it is 0, which stands for unknown.
func (s *Series) known(of func(bin) float64) []float64 {
	return s.each(func(b bin) float64 {
		if v := of(b); v > 0 {
			return v
		}
		return math.NaN()
	})
}

func highest(values []float64) (most float64) {
	for _, v := range values {
		if v > most { // NaN never is
			most = v
		}
	}
	return most
}
