package breaker

import (
	"cmp"
	"math"
	"time"
)

// SlowCalls says which calls are slow, relative to how long this dependency takes
// anyway. Its zero value in [Settings] means the default, SlowCallsAbove(3). A
// zero field of a value that someone wrote takes that field's default.
//
// A call that succeeded is slow when it took at least Multiple times the Quantile
// of the successful calls over Window. The breaker opens when
// [Settings.SlowCallRatio] of the calls in the trip window were slow, and that is more
// than chance: see FalseAlarm. See docs/design.md, "The latency baseline".
type SlowCalls struct {
	// Off turns the relative threshold off; the other fields must then be zero.
	Off bool `json:"off"`

	// Multiple is how many times normal is slow. Above 1. Default 3.
	Multiple float64 `json:"multiple"`

	// Quantile of recent latency that counts as normal, in (0, 0.5]. Default
	// 0.5, the median. A high quantile moves with the first slow calls, and half of
	// the calls are never above it. The lower it is, the larger a share of Window a
	// brownout may fill before it passes for normal.
	Quantile float64 `json:"quantile"`

	// Window is how far back the baseline reaches. It must remember normal until
	// the trip window is full of slow calls: Quantile * Window must be at least
	// 2 * SlowCallRatio * TripWindow. Default 5 min.
	Window time.Duration `json:"window"`

	// MinimumSamples is how many successful calls the baseline needs before it
	// is known. Default 20.
	MinimumSamples int `json:"minimum_samples"`

	// FalseAlarm is the probability, for one look at the trip window, with which a
	// dependency that is merely itself may show a share of slow calls that counts as
	// more than chance. In (0, 1]. Default 5e-5. [Failures] has the arithmetic.
	//
	// A share s of the baseline's own m samples is slow by its own measure: a cache in
	// front of a database has two humps, and the median tells of one. The trip then
	// needs a share of max(SlowCallRatio, (1+s)/2), and -ln(FalseAlarm) nats against
	// (s*m+0.5) / (m+1). With a constant SlowCallThreshold alone there is no s, and
	// SlowCallRatio stands.
	//
	// 1 turns this off, and leaves the ratio. Setting FalseAlarm alone does not make
	// the value written: the window is still derived.
	FalseAlarm float64 `json:"false_alarm"`
}

// SlowCallsAbove returns the relative slow threshold at the given multiple of the
// dependency's own median latency, with every other field at its default. It
// panics with a [*SettingsError] unless multiple is a finite number above 1.
func SlowCallsAbove(multiple float64) SlowCalls {
	var p problems
	p.given("SlowCalls.Multiple", multiple != 0)
	p.multiple("SlowCalls.Multiple", multiple)
	p.mustBeNone()
	return SlowCalls{Multiple: multiple}.filled()
}

func (c SlowCalls) filled() SlowCalls {
	c.Multiple = cmp.Or(c.Multiple, 3)
	c.Quantile = cmp.Or(c.Quantile, 0.5)
	c.Window = cmp.Or(c.Window, 5*time.Minute)
	c.MinimumSamples = cmp.Or(c.MinimumSamples, 20)
	c.FalseAlarm = cmp.Or(c.FalseAlarm, defaultFalseAlarm)
	return c
}

// written reports that someone asked for more than another FalseAlarm.
func (c SlowCalls) written() bool {
	c.FalseAlarm = 0
	return c != SlowCalls{}
}

// slowCalls returns the threshold in force, either Off and nothing else or
// complete.
func (s *Settings) slowCalls() SlowCalls {
	if s.DisableAdaptive || s.SlowCalls.Off {
		return SlowCalls{Off: true}
	}
	c := s.SlowCalls.filled()
	if !s.SlowCalls.written() {
		c.Window, c.Off = defaultBaselineWindow(c.Window, c.raceNeeds(s.slowCallRatio(), s.tripWindow()))
		if c.Off {
			return SlowCalls{Off: true}
		}
	}
	return c
}

// raceNeeds returns the shortest baseline window, in whole nanoseconds, with which the
// trip can win its race. A brownout fills the ratio of the trip window after
// ratio * TripWindow; it moves the quantile once it fills that share of the baseline,
// after Quantile * Window. The factor of two is margin.
func (c SlowCalls) raceNeeds(ratio float64, tripWindow time.Duration) float64 {
	return math.Round(2 * ratio * float64(tripWindow) / c.Quantile)
}

func (s *Settings) validateSlowCalls(p *problems) {
	c := s.SlowCalls
	if c.Off {
		if c != (SlowCalls{Off: true}) {
			c.Off = false
			p.add("SlowCalls.Off must stand alone, got it with %s", writtenIn("SlowCalls", c))
		}
		return
	}
	if s.DisableAdaptive && c.written() {
		p.add("DisableAdaptive turns SlowCalls off, got it with %s: keep one of the two", writtenIn("SlowCalls", c))
	}
	before := len(*p)
	p.multiple("SlowCalls.Multiple", c.Multiple)
	if c.Quantile != 0 && !(c.Quantile > 0 && c.Quantile <= 0.5) {
		p.add("SlowCalls.Quantile must be in (0, 0.5], got %v", c.Quantile)
	}
	p.duration("SlowCalls.Window", c.Window)
	p.count("SlowCalls.MinimumSamples", c.MinimumSamples)
	p.ratio("SlowCalls.FalseAlarm", c.FalseAlarm)
	ratio := s.slowCallRatio()
	if len(*p) > before || !c.written() || s.TripWindow < 0 || !(ratio > 0 && ratio <= 1) {
		return
	}
	c = c.filled()
	if float64(c.Window) < c.raceNeeds(ratio, s.tripWindow()) {
		p.add("SlowCalls.Quantile * SlowCalls.Window must be at least 2 * SlowCallRatio * TripWindow, or the baseline learns a brownout before the window shows it, got %v * %v against 2 * %v * %v: raise SlowCalls.Window or SlowCalls.Quantile, or lower SlowCallRatio or TripWindow",
			c.Quantile, c.Window, ratio, s.tripWindow())
	}
}

// slowerThan returns the shortest duration that is at least multiple times d. A
// whole number of nanoseconds reaches the product exactly when it reaches the
// product rounded up.
func slowerThan(d time.Duration, multiple float64) time.Duration {
	product := math.Ceil(multiple * float64(d))
	if product >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(product)
}

// lowerThreshold returns the lower of two slow thresholds, of which zero is none.
func lowerThreshold(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// slowEvidenceLocked weighs the slow calls in the trip window, c, against what is
// normal.
func (b *Breaker) slowEvidenceLocked(now time.Duration, c counts) Evidence {
	e := Evidence{Rate: c.slowShare()}
	baseline := b.latency.at(now)
	if baseline.samples == 0 && b.settings.SlowCallThreshold == 0 {
		return e // nothing can be slow
	}
	e.TripPoint = b.settings.slowCallRatio()
	falseAlarm := b.settings.SlowCalls.filled().FalseAlarm
	if baseline.samples == 0 || falseAlarm == 1 {
		return e
	}
	e.TripPoint = max(e.TripPoint, headroom(quotient(baseline.slow, baseline.samples)))
	e.against(referenceRate(baseline.slow, baseline.samples), c.calls, falseAlarm)
	return e
}
