package breaker

import "time"

// mustExist turns a nil dereference somewhere below into a text that helps. It returns
// the gate, at which it has to look.
func (b *Breaker) mustExist() *gate {
	if b == nil {
		panic("breaker: nil *Breaker; build one with New, MustNew or Of")
	}
	g := b.gate.Load()
	if g == nil {
		panic("breaker: zero Breaker; build one with New, MustNew or Of")
	}
	return g
}

// Name returns [Settings.Name].
func (b *Breaker) Name() string { return b.Settings().Name }

// Settings returns the settings as they were given: New(b.Settings()) builds an equal
// breaker.
func (b *Breaker) Settings() Settings {
	b.mustExist()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settings
}

// Effective returns the settings in force, with every default and derived value
// filled in. A trip that is off is Off there; ProbeTimeout stays 0 where it follows
// the break. It is there to be read: as input to New, a value that was derived would
// count as written.
func (b *Breaker) Effective() Settings { return b.Settings().effective() }

// lockToRead takes the lock for a read, and returns the own time that it is as of.
func (b *Breaker) lockToRead() (now time.Duration) {
	b.mustExist()
	r := b.read()
	b.mu.Lock()
	return b.readAtLocked(r)
}

// State returns what the next call would find: HalfOpen for an open breaker whose
// break is over, Closed for a recovering one whose ramp has run out. It changes
// nothing and takes no probe slot, so a health check can ask as often as it likes.
func (b *Breaker) State() State {
	now := b.lockToRead()
	defer b.mu.Unlock()
	return b.stateLocked(now)
}

func (b *Breaker) stateLocked(now time.Duration) State {
	switch {
	case b.state == Open && now >= b.breakEnd:
		return HalfOpen
	case b.state == Recovering && b.ramp.finished(now):
		return Closed
	}
	return b.state
}

// standing reports whether the breaker is clean, closed and without a failure in its trip
// window or its run, and whether it is closed at all. It takes a time that is on its
// clock, because a scope asks under a lock, where the clock must not be read.
func (b *Breaker) standing(at time.Time) (clean, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.readAtLocked(reading{offset: min(at.Sub(b.born), furthest)})
	closed = b.stateLocked(now) == Closed
	clean = closed && b.run == 0 && (b.window == nil || b.window.at(now).failures == 0)
	return clean, closed
}

// OpenedAt returns when the breaker last opened or was isolated, and false while
// State is Closed. A ramp keeps the time of its open.
func (b *Breaker) OpenedAt() (time.Time, bool) {
	now := b.lockToRead()
	defer b.mu.Unlock()
	if b.stateLocked(now) == Closed {
		return time.Time{}, false
	}
	return b.openedAt, true
}

// NormalLatency returns how long a call to this dependency usually takes: the
// quantile of the successful calls over [SlowCalls.Window]. Up to 268.435456 s, above
// which it stays there, it is never below the true value, and above it by at most an
// eighth from 8 µs on and by 1 µs below. False while there are
// too few samples, after an idle Window, and where SlowCalls is off.
func (b *Breaker) NormalLatency() (time.Duration, bool) {
	now := b.lockToRead()
	defer b.mu.Unlock()
	return b.normalLatencyLocked(now)
}

func (b *Breaker) normalLatencyLocked(now time.Duration) (time.Duration, bool) {
	normal := b.latency.at(now).normal
	return normal, normal > 0
}

// NormalFailureRate returns the share of calls to this dependency that usually fail,
// over [Failures.Window]. False while there are too few samples, after an idle
// Window, and where Failures is off.
func (b *Breaker) NormalFailureRate() (float64, bool) {
	now := b.lockToRead()
	defer b.mu.Unlock()
	return b.errors.rate(now)
}

// RetryAfter returns what is left of the break being served: zero once it is over and
// no call has probed yet. False when the breaker is not open: isolated, half-open,
// recovering or closed.
func (b *Breaker) RetryAfter() (time.Duration, bool) {
	now := b.lockToRead()
	defer b.mu.Unlock()
	return b.retryAfterLocked(now)
}

func (b *Breaker) retryAfterLocked(now time.Duration) (time.Duration, bool) {
	if b.state != Open {
		return 0, false
	}
	return max(0, b.breakEnd-now), true
}

// leftOfBreak answers for a refusal, which knows its own break alone.
func (b *Breaker) leftOfBreak(refusal *RejectedError) (time.Duration, bool) {
	now := b.lockToRead()
	defer b.mu.Unlock()
	if b.refusal != refusal {
		return 0, false
	}
	return max(0, b.breakEnd-now), true
}

// History returns the newest 64 transitions, oldest first, in a slice of the caller's
// own.
func (b *Breaker) History() []Transition {
	b.mustExist()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.troubleLocked().history.all()
}
