package breaker

import "time"

// Update changes the settings of a breaker in use. It refuses what [New] would refuse, with
// a [*SettingsError], and then the old settings stay in force.
//
// The breaker keeps its state, what is left of its break, its probes, a ramp under way as it
// began, its run of failures, its history and its totals. It keeps a baseline whose Window and Quantile did not
// change, and its trip window if TripWindow and TripCalls did not, and starts new ones
// otherwise. Everything else holds from the next call on, the new length of a break from the
// next open on. The Clock stays the one that the breaker was built with, because its own
// time counts on it. A transition that came before is told to the listener of then, and
// refusals of the break or isolation in force keep the name that they have. If the jitter is
// turned on, Update draws one number from Random.
//
// Start from [Breaker.Settings], or the functions of the old settings are gone:
//
//	s := b.Settings()
//	s.ConsecutiveFailures = 10
//	err := b.Update(s)
func (b *Breaker) Update(s Settings) error {
	b.mustExist()
	if err := s.Validate(); err != nil {
		return err
	}
	r := b.read()
	b.mu.Lock()
	defer b.unlock()
	b.acceptLocked(r)

	old := b.settings
	s.Clock = b.clock
	b.settings = s
	b.errors = b.errors.updated(b.now, old.failures(), s.failures())
	b.latency = b.latency.updated(b.now, old.slowCalls(), s.slowCalls())
	switch {
	case !s.hasWindow():
		b.window = nil
	case b.window == nil || old.tripWindow() != s.tripWindow() || old.TripCalls != s.TripCalls:
		b.window = newTripWindow(b.now, s.tripWindow(), s.TripCalls)
	}
	if s.BreakJitter != JitterNone && !b.drawn {
		b.owed.draw = s.random()
	}
	b.publishLocked()
	return nil
}

// updated returns the baseline to go on with.
func (e *errorBaseline) updated(now time.Duration, from, to Failures) *errorBaseline {
	if e == nil || from.Window != to.Window { // off, it has none
		return newErrorBaseline(now, to)
	}
	e.minimum = uint64(to.MinimumSamples)
	return e
}

// updated returns the baseline to go on with, computed anew.
func (w *latencyWindow) updated(now time.Duration, from, to SlowCalls) *latencyWindow {
	if w == nil || from.Window != to.Window || from.Quantile != to.Quantile {
		return newLatencyWindow(now, to)
	}
	w.multiple, w.minimum = to.Multiple, uint64(to.MinimumSamples)
	w.remember()
	return w
}
