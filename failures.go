package breaker

import (
	"cmp"
	"math"
	"time"
)

// Failures says how many failures are too many, relative to how often this
// dependency fails anyway: the relative failure trip. Its zero value in
// [Settings] means the default, FailuresAbove(5). A zero field of a value that
// someone wrote takes that field's default.
//
// The breaker opens when the failure rate in the trip window reaches
//
//	min((1 + reference) / 2, max(Floor, min(baseline, reference) * Multiple))
//
// where the baseline is the dependency's own failure rate over Window, and the
// reference is the same without the calls of the trip window. It takes MinimumSamples
// outcomes in the reference, [Settings.MinimumCalls] calls in the trip window, two
// failures among them, and a deviation that is more than chance: see FalseAlarm. See
// docs/design.md, "The failure baseline".
type Failures struct {
	// Off turns the trip off; the other fields must then be zero.
	Off bool `json:"off"`

	// Multiple is how many times the baseline rate is too many. Above 1.
	// Default 5.
	Multiple float64 `json:"multiple"`

	// Window is how far back the baseline reaches. It must outlive an outage
	// that the trip window is only beginning to show: Window / Multiple must be
	// at least twice [Settings.TripWindow]. Default 5 min.
	Window time.Duration `json:"window"`

	// MinimumSamples is how many outcomes the baseline needs before the trip is
	// armed. Default 100.
	MinimumSamples int `json:"minimum_samples"`

	// Floor is the rate below which nothing is wrong, however quiet the
	// baseline. In (0, 1]. Default 0.05.
	Floor float64 `json:"floor"`

	// FalseAlarm is the probability, for one look at the trip window, with which a
	// dependency that is merely itself may show a deviation that counts as more than
	// chance. In (0, 1]. Default 5e-5.
	//
	// The bound is Chernoff's on the tail of a binomial. If calls fail independently
	// with probability p, a window of n calls shows a failure rate of q > p or more
	// with a probability of at most exp(-n*KL(q, p)), where
	//
	//	KL(q, p) = q*ln(q/p) + (1-q)*ln((1-q)/(1-p))
	//
	// So the trip asks for n*KL(q, p) >= -ln(FalseAlarm): 9.9 nats at the default.
	// For p it takes the reference, (F-f+0.5) / (N-n+1) for F failures of N outcomes
	// in the baseline and f of n in the trip window. The window is left out because
	// it would otherwise vouch for itself; the half keeps a flawless past from making
	// every failure a certain sign.
	//
	// Two more rules go with it. A [Settings.ConsecutiveFailures] that nobody wrote is
	// 5, or as many as a dependency with this reference shows by itself once in 10^9
	// calls, ln(1e-9)/ln(reference), if that is more. And a ramp forgives failures of the
	// normal kind; see [Recovery].
	//
	// It is the chance of one look at the window, and a day is many looks: at one call a
	// second the default leaves up to one open a day to luck. Failures that come in
	// clumps surprise more than the bound thinks.
	//
	// 1 turns all of this off, and leaves the ratio. Setting FalseAlarm alone does not
	// make the value written: the window is still derived. docs/defaults.md has the
	// price of the default in seconds.
	FalseAlarm float64 `json:"false_alarm"`
}

const defaultFloor = 0.05

// defaultFalseAlarm serves both relative trips. docs/defaults.md says why.
const defaultFalseAlarm = 5e-5

// FailuresAbove returns the relative failure trip at the given multiple of the
// dependency's own failure rate, with every other field at its default. Above 5 that
// takes a longer Window, or a shorter [Settings.TripWindow], or New refuses it: the
// window of a value that is written is not derived. FailuresAbove panics with a
// [*SettingsError] unless multiple is a finite number above 1.
func FailuresAbove(multiple float64) Failures {
	var p problems
	p.given("Failures.Multiple", multiple != 0)
	p.multiple("Failures.Multiple", multiple)
	p.mustBeNone()
	return Failures{Multiple: multiple}.filled()
}

func (f Failures) filled() Failures {
	f.Multiple = cmp.Or(f.Multiple, 5)
	f.Window = cmp.Or(f.Window, 5*time.Minute)
	f.MinimumSamples = cmp.Or(f.MinimumSamples, 100)
	f.Floor = cmp.Or(f.Floor, defaultFloor)
	f.FalseAlarm = cmp.Or(f.FalseAlarm, defaultFalseAlarm)
	return f
}

// written reports that someone asked for more than another FalseAlarm.
func (f Failures) written() bool {
	f.FalseAlarm = 0
	return f != Failures{}
}

// failures returns the trip in force, either Off and nothing else or complete.
func (s *Settings) failures() Failures {
	if s.DisableAdaptive || s.Failures.Off {
		return Failures{Off: true}
	}
	f := s.Failures.filled()
	if !s.Failures.written() {
		f.Window, f.Off = defaultBaselineWindow(f.Window, f.raceNeeds(s.tripWindow()))
		if f.Off {
			return Failures{Off: true}
		}
	}
	return f
}

// raceNeeds returns the shortest baseline window, in whole nanoseconds, with which the
// trip can win its race. An outage of age t raises the baseline to t/Window, and a trip
// point of Multiple times that passes 1 at t = Window/Multiple: from then on no rate can
// trip. The trip window takes TripWindow to show the outage in full; the factor of two is
// margin.
func (f Failures) raceNeeds(tripWindow time.Duration) float64 {
	return math.Round(2 * float64(tripWindow) * f.Multiple)
}

// defaultBaselineWindow widens a window that nobody wrote to what its race needs
// and a second more, and reports off once that passes an hour.
func defaultBaselineWindow(window time.Duration, needs float64) (_ time.Duration, off bool) {
	switch {
	case needs > float64(widestDefaultBaseline):
		return 0, true
	case needs > float64(window):
		return time.Duration(needs) + time.Second, false
	}
	return window, false
}

func (s *Settings) validateFailures(p *problems) {
	f := s.Failures
	if f.Off {
		if f != (Failures{Off: true}) {
			f.Off = false
			p.add("Failures.Off must stand alone, got it with %s", writtenIn("Failures", f))
		}
		return
	}
	if s.DisableAdaptive && f.written() {
		p.add("DisableAdaptive turns Failures off, got it with %s: keep one of the two", writtenIn("Failures", f))
	}
	before := len(*p)
	p.multiple("Failures.Multiple", f.Multiple)
	p.duration("Failures.Window", f.Window)
	p.count("Failures.MinimumSamples", f.MinimumSamples)
	p.ratio("Failures.Floor", f.Floor)
	p.ratio("Failures.FalseAlarm", f.FalseAlarm)
	if len(*p) > before || !f.written() || s.TripWindow < 0 {
		return
	}
	f = f.filled()
	if needs := f.raceNeeds(s.tripWindow()); float64(f.Window) < needs {
		p.add("Failures.Window / Failures.Multiple must be at least 2 * TripWindow, or the baseline learns an outage before the window shows it, got %v / %v against 2 * %v: raise Failures.Window, or lower Failures.Multiple or TripWindow",
			f.Window, f.Multiple, s.tripWindow())
	}
}

// errorBaseline measures how often the dependency fails: OK and Transient
// outcomes over Failures.Window. Opening, closing, Reset and Isolate leave it
// alone, for it is a measurement and not a verdict; it forgets by age alone.
type errorBaseline struct {
	buckets
	minimum uint64
}

func newErrorBaseline(now time.Duration, f Failures) *errorBaseline {
	if f.Off {
		return nil
	}
	return &errorBaseline{buckets{newRing[counts](now, f.Window, bucketsPerWindow)}, uint64(f.MinimumSamples)}
}

// rate returns the failure rate as of now, if there are outcomes enough.
func (e *errorBaseline) rate(now time.Duration) (float64, bool) {
	if e == nil {
		return 0, false
	}
	c := e.at(now)
	if c.calls < e.minimum {
		return 0, false
	}
	return c.failureRate(), true
}

// reference is what is normal by the baseline without the trip window. It is unknown
// where the baseline holds too little besides.
func (e *errorBaseline) reference(now time.Duration, window counts) (p0 float64, ok bool) {
	if e == nil {
		return 0, false
	}
	c := e.at(now).without(window)
	if c.calls < e.minimum {
		return 0, false
	}
	return referenceRate(c.failures, c.calls), true
}

// failureEvidenceLocked weighs the failures in the trip window, c, against what is
// normal.
func (b *Breaker) failureEvidenceLocked(now time.Duration, c counts) Evidence {
	e := Evidence{Rate: c.failureRate()}
	normal, ok := b.errors.rate(now)
	if !ok {
		return e
	}
	f := b.settings.Failures.filled()
	if f.FalseAlarm == 1 {
		e.TripPoint = min(1, max(f.Floor, normal*f.Multiple))
		return e
	}
	reference, ok := b.errors.reference(now, c)
	if !ok {
		return e
	}
	// The lower of the two: an incident in the window must not raise its own bar.
	e.TripPoint = min(headroom(reference), max(f.Floor, min(normal, reference)*f.Multiple))
	e.against(reference, c.calls, f.FalseAlarm)
	return e
}

// lowestTripPoint is what no trip point of the relative rate is below.
func (s *Settings) lowestTripPoint() float64 {
	return min(headroom(0), cmp.Or(s.Failures.Floor, defaultFloor))
}

// How improbable a run of failures must be, by the reference, to be news.
const runFalseAlarm = 1e-9

// runNeededLocked returns how many failures in a row open the breaker.
func (b *Breaker) runNeededLocked(now time.Duration) int {
	s := &b.settings
	if s.ConsecutiveFailures != 0 || s.Failures.FalseAlarm == 1 || b.window == nil {
		return s.consecutiveFailures()
	}
	reference, ok := b.errors.reference(now, b.window.at(now))
	if !ok {
		return defaultConsecutiveFailures
	}
	needed := math.Ceil(math.Log(runFalseAlarm) / math.Log(reference))
	return max(defaultConsecutiveFailures, int(min(needed, math.MaxInt32)))
}
