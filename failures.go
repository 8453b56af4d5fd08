package breaker

import (
	"cmp"
	"time"
)

// Failures says how many failures are too many, relative to how often this
// dependency fails anyway: the relative failure trip. Its zero value in
// [Settings] means the default, FailuresAbove(5). A zero field of a value that
// someone wrote takes that field's default.
//
// The breaker opens when the failure rate in the trip window reaches
//
//	min(1, max(Floor, baseline * Multiple))
//
// where the baseline is the dependency's own failure rate over Window. It takes
// MinimumSamples outcomes in the baseline, [Settings.MinimumCalls] calls in the
// trip window, and two failures among them: one failure is an event, not a rate.
// See docs/design.md, "The failure baseline".
type Failures struct {
	// Off turns the trip off; the other fields must then be zero.
	Off bool

	// Multiple is how many times the baseline rate is too many. Above 1.
	// Default 5.
	Multiple float64

	// Window is how far back the baseline reaches. It must outlive an outage
	// that the trip window is only beginning to show: Window / Multiple must be
	// at least twice [Settings.TripWindow]. Default 5 min.
	Window time.Duration

	// MinimumSamples is how many outcomes the baseline needs before the trip is
	// armed. Default 100.
	MinimumSamples int

	// Floor is the rate below which nothing is wrong, however quiet the
	// baseline. In (0, 1]. Default 0.05.
	Floor float64
}

// FailuresAbove returns the relative failure trip at the given multiple of the
// dependency's own failure rate, with every other field at its default. It panics
// with a [*SettingsError] unless multiple is a finite number above 1.
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
	f.Floor = cmp.Or(f.Floor, 0.05)
	return f
}

// failures returns the trip in force, either Off and nothing else or complete.
func (s *Settings) failures() Failures {
	if s.DisableAdaptive || s.Failures.Off {
		return Failures{Off: true}
	}
	f := s.Failures.filled()
	if s.Failures == (Failures{}) {
		f.Window, f.Off = defaultBaselineWindow(f.Window, f.raceNeeds(s.tripWindow()))
		if f.Off {
			return Failures{Off: true}
		}
	}
	return f
}

// raceNeeds returns the shortest baseline window, in nanoseconds, with which the
// trip can win its race. An outage of age t raises the baseline to t/Window, and
// a trip point of Multiple times that passes 1 at t = Window/Multiple: from then
// on no rate can trip. The trip window takes TripWindow to show the outage in
// full; the factor of two is margin.
func (f Failures) raceNeeds(tripWindow time.Duration) float64 {
	return 2 * float64(tripWindow) * f.Multiple
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
			p.add("Failures.Off must stand alone, got %+v", f)
		}
		return
	}
	if s.DisableAdaptive && f != (Failures{}) {
		p.add("DisableAdaptive turns Failures off, got DisableAdaptive with Failures %+v: keep one of the two", f)
	}
	before := len(*p)
	p.multiple("Failures.Multiple", f.Multiple)
	p.duration("Failures.Window", f.Window)
	p.count("Failures.MinimumSamples", f.MinimumSamples)
	p.ratio("Failures.Floor", f.Floor)
	if len(*p) > before || f == (Failures{}) || s.TripWindow < 0 {
		return
	}
	f = f.filled()
	if needs := f.raceNeeds(s.tripWindow()); float64(f.Window) < needs {
		p.add("Failures.Window / Failures.Multiple must be at least 2 * TripWindow (%v), or the baseline learns an outage before the window shows it, got %v / %v: raise Failures.Window, or lower Failures.Multiple or TripWindow",
			2*s.tripWindow(), f.Window, f.Multiple)
	}
}

// errorBaseline measures how often the dependency fails: OK and Transient
// outcomes over Failures.Window. Opening, closing, Reset and Isolate leave it
// alone, for it is a measurement and not a verdict; it forgets by age alone.
type errorBaseline struct {
	buckets
	minimum uint64
}

func newErrorBaseline(f Failures) *errorBaseline {
	if f.Off {
		return nil
	}
	return &errorBaseline{buckets: newBuckets(f.Window), minimum: uint64(f.MinimumSamples)}
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

// relativeTripPoint is the failure rate at which the relative trip fires, given
// what is normal.
func (s *Settings) relativeTripPoint(normal float64) float64 {
	f := s.Failures.filled()
	return min(1, max(f.Floor, normal*f.Multiple))
}
