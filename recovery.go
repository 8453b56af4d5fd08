package breaker

import (
	"cmp"
	"math"
	"time"
)

// Recovery says how a breaker hands the traffic back once its probes succeeded:
// over a ramp, in the state [Recovering], instead of all at once. Its zero value
// means no ramp. A zero field of a value that someone wrote takes that field's
// default.
//
// The ramp lasts Fraction times the break just served, within MinimumDuration and
// MaximumDuration. It admits the lower of two fractions of the calls offered: a
// clock that climbs from InitialFraction to 1, and evidence that a slow call
// halves and that ProbeSuccesses fast calls in a row raise by InitialFraction.
//
// Failures re-open the breaker, with a longer break: the first one, where it is not known
// how often the dependency fails anyway; where it is, as many as are worth 3 nats of
// surprise (see [Failures]). Fewer, but more than normal, stall the ramp as a slow call
// does; those that are merely normal do nothing. See docs/design.md, "The ramp".
type Recovery struct {
	// Fraction of the break just served that the ramp lasts. Default 0.25.
	Fraction float64 `json:"fraction"`

	// MinimumDuration of a ramp. Default 1 s, or MaximumDuration if that is
	// less.
	MinimumDuration time.Duration `json:"minimum_duration"`

	// MaximumDuration of a ramp. Default 30 s, or MinimumDuration if that is
	// more.
	MaximumDuration time.Duration `json:"maximum_duration"`

	// InitialFraction is the share of the calls that the ramp admits when it
	// starts, the share below which it never falls, and the step by which fast
	// calls raise it. In (0, 1). Default 0.05.
	InitialFraction float64 `json:"initial_fraction"`
}

const (
	defaultRampMinimum = time.Second
	defaultRampMaximum = 30 * time.Second

	// What the last steps of a sum of floats may be short of 1.
	wholeFraction = 1 - 1e-9
)

// RecoveryOver returns a ramp over the given fraction of the break just served,
// with every other field at its default. It panics with a [*SettingsError] unless
// fraction is a finite number above 0.
func RecoveryOver(fraction float64) Recovery {
	var p problems
	p.given("Recovery.Fraction", fraction != 0)
	r := Recovery{Fraction: fraction}
	r.validate(&p)
	p.mustBeNone()
	return r.filled()
}

func (r Recovery) off() bool { return r == Recovery{} }

func (r Recovery) filled() Recovery {
	r.Fraction = cmp.Or(r.Fraction, 0.25)
	lower, upper := defaultRampMinimum, defaultRampMaximum
	if r.MaximumDuration != 0 {
		lower = min(lower, r.MaximumDuration)
	}
	r.MinimumDuration = cmp.Or(r.MinimumDuration, lower)
	r.MaximumDuration = cmp.Or(r.MaximumDuration, max(upper, r.MinimumDuration))
	r.InitialFraction = cmp.Or(r.InitialFraction, 0.05)
	return r
}

// recovery returns the ramp in force, either zero or complete.
func (s *Settings) recovery() Recovery {
	if s.Recovery.off() {
		return Recovery{}
	}
	return s.Recovery.filled()
}

func (r Recovery) validate(p *problems) {
	if !(r.Fraction >= 0) || math.IsInf(r.Fraction, 1) {
		p.add("Recovery.Fraction must be a finite number and not negative, got %v", r.Fraction)
	}
	p.duration("Recovery.MinimumDuration", r.MinimumDuration)
	p.duration("Recovery.MaximumDuration", r.MaximumDuration)
	if r.MaximumDuration > 0 && r.MinimumDuration > r.MaximumDuration {
		p.add("Recovery.MinimumDuration must be at most MaximumDuration (%v), got %v", r.MaximumDuration, r.MinimumDuration)
	}
	if f := r.InitialFraction; f != 0 && !(f > 0 && f < 1) {
		p.add("Recovery.InitialFraction must be in (0, 1), got %v", f)
	}
}

// length is how long the ramp after a break of the given length lasts.
func (r Recovery) length(served time.Duration) time.Duration {
	length := r.Fraction * float64(served)
	if length >= float64(r.MaximumDuration) {
		return r.MaximumDuration
	}
	return max(r.MinimumDuration, time.Duration(length))
}

// ramp is one recovery under way.
type ramp struct {
	start    time.Duration
	length   time.Duration
	initial  float64
	evidence float64 // what the admitted calls have earned
	credit   float64 // what the offered calls have saved up towards the next admission
	fast     int     // fast calls in a row

	reference float64 // the failure rate that is normal; 0 where that is not known
	settled   counts  // OK and Transient outcomes in this ramp
}

func newRamp(now time.Duration, r Recovery, served time.Duration, reference float64) ramp {
	return ramp{start: now, length: r.length(served), initial: r.InitialFraction, evidence: 1, reference: reference}
}

// fraction is the share of calls that the ramp admits as of now: the lower of
// what the clock and what the evidence allows. The clock alone would hand the
// traffic back to a dependency that is still slow; the evidence alone would be
// through in milliseconds on a busy one.
func (r *ramp) fraction(now time.Duration) float64 {
	if now-r.start >= r.length {
		return r.evidence
	}
	clock := r.initial + (1-r.initial)*float64(now-r.start)/float64(r.length)
	return min(clock, r.evidence)
}

// finished reports that the next call would find the breaker closed.
func (r *ramp) finished(now time.Duration) bool { return r.fraction(now) >= wholeFraction }

// admits spends a whole credit if the offered call completes one. Deficit instead
// of a coin: an even share, the same on every run.
func (r *ramp) admits(now time.Duration) bool {
	r.credit += r.fraction(now)
	if r.credit < 1 {
		return false
	}
	r.credit--
	return true
}

// stall halves the admitted fraction: the dependency answers, and is not ready.
func (r *ramp) stall(now time.Duration) {
	r.evidence = max(r.initial, r.fraction(now)/2)
	r.fast = 0
}

// advance counts a fast call, and raises the evidence when there were enough in a
// row. It adds where stall halves, for too much load costs more than too little: what a
// dependency fails to serve does not warm it.
func (r *ramp) advance(enough int) {
	r.fast++
	if r.fast >= enough {
		r.fast = 0
		r.evidence = min(1, r.evidence+r.initial)
	}
}

// rampSurprise is how many nats the failures of a ramp must be worth to re-open the
// breaker. A dependency that broke a moment ago gets less of the doubt than one in use.
const rampSurprise = 3

// fails weighs the failures of the ramp, after one more, and reports whether they
// re-open the breaker. Where it is not known how often the dependency fails anyway, one
// does. Where it is, it takes more than chance explains: the first failure of one that
// never fails, several of one that fails three calls in ten. Failures that are more than
// normal and not yet beyond chance stall the ramp, as a slow call does. Those that are
// merely normal do neither, or a dependency that fails at times would be held back for
// ever, each failure taking more than the fast calls before the next one earn.
func (r *ramp) fails(now time.Duration) bool {
	if r.reference == 0 {
		return true
	}
	surprise := surprise(r.settled.calls, r.settled.failureRate(), r.reference)
	if surprise >= rampSurprise {
		return true
	}
	if surprise > 0 {
		r.stall(now)
	}
	return false
}
