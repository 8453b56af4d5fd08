package breaker

import (
	"context"
	"math"
	"time"
)

// Isolate refuses every call until Reset: a breaker opened by hand does not heal by
// itself. Attempts under way end as usual, and decide nothing while it lasts. Isolated
// again, nothing changes. OnTransition is not told; the history is.
func (b *Breaker) Isolate() {
	b.mustExist()
	r := b.read()
	b.mu.Lock()
	defer b.unlock()
	b.acceptLocked(r)
	if b.state == Isolated {
		return
	}
	b.refusal = nil
	b.moveLocked(context.Background(), r, Isolated, CauseIsolated)
	b.probes.clear()
	b.ramp = ramp{}
}

// Reset closes the breaker at once, without a ramp, and forgets the trip window, the
// run of failures and the growth of the break. The baselines stay: they measure the
// dependency. A probe under way lands as an ordinary call, and can trip. OnTransition
// is not told; the history is, if the state changed.
func (b *Breaker) Reset() {
	b.mustExist()
	r := b.read()
	b.mu.Lock()
	defer b.unlock()
	b.acceptLocked(r)
	b.refusal = nil
	if b.state == Closed {
		b.clearLocked()
		b.consecutiveOpens, b.troubleReference = 0, 0
		return
	}
	b.closeLocked(context.Background(), r, CauseReset)
}

// ProbeNow ends the break of an open breaker: the next call is a probe. The break
// counts as served in full, for the ramp and for the probe's timeout. In any other
// state, and when the break is over already, it does nothing.
func (b *Breaker) ProbeNow() {
	b.mustExist()
	r := b.read()
	b.mu.Lock()
	defer b.unlock()
	b.acceptLocked(r)
	if b.state != Open || b.now >= b.breakEnd {
		return
	}
	b.breakEnd = b.now
	b.requested = true
	b.publishLocked()
}

// publishLocked shows admission the state. A closed breaker admits, an isolated one
// refuses, and an open one refuses until its break is over, all without the lock. A
// reading that is too far behind for an open breaker goes to acceptLocked, and so
// does every call in the other states.
func (b *Breaker) publishLocked() {
	g := &gate{state: b.state, generation: b.generation}
	old := b.gate.Load()
	switch {
	case b.state == Closed:
	case old != nil && old.state == b.state && old.generation == b.generation:
		g.refusal = old.refusal
	default:
		g.refusal = &RejectedError{Name: b.settings.Name, State: b.state}
	}
	switch b.state {
	case Open:
		if g.refusal.breaker == nil {
			g.refusal.breaker = b
			b.refusal = g.refusal
		}
		g.from, g.until = earlier(b.now, lateReading), b.breakEnd
	case Isolated:
		g.from, g.until = math.MinInt64, math.MaxInt64
	}
	b.gate.Store(g)
}

// mustExist turns a nil dereference somewhere below into a text that helps.
func (b *Breaker) mustExist() {
	if b == nil {
		panic("breaker: nil *Breaker; build one with New, MustNew or Of")
	}
}

// Name returns [Settings.Name].
func (b *Breaker) Name() string {
	b.mustExist()
	return b.settings.Name
}

// Settings returns the settings as they were given: New(b.Settings()) builds an equal
// breaker.
func (b *Breaker) Settings() Settings {
	b.mustExist()
	return b.settings
}

// Effective returns the settings in force, with every default and derived value
// filled in. A trip that is off is Off there; ProbeTimeout stays 0 where it follows
// the break. It is there to be read: as input to New, a value that was derived would
// count as written.
func (b *Breaker) Effective() Settings {
	b.mustExist()
	return b.settings.effective()
}

// look runs a read under the lock, as of now.
func look[T any](b *Breaker, read func(now time.Duration) (T, bool)) (T, bool) {
	b.mustExist()
	r := b.read()
	b.mu.Lock()
	defer b.mu.Unlock()
	return read(b.readAtLocked(r))
}

// State returns what the next call would find: HalfOpen for an open breaker whose
// break is over, Closed for a recovering one whose ramp has run out. It changes
// nothing and takes no probe slot, so a health check can ask as often as it likes.
func (b *Breaker) State() State {
	state, _ := look(b, func(now time.Duration) (State, bool) { return b.stateLocked(now), true })
	return state
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

// OpenedAt returns when the breaker last opened or was isolated, and false while
// State is Closed. A ramp keeps the time of its open.
func (b *Breaker) OpenedAt() (time.Time, bool) {
	return look(b, func(now time.Duration) (time.Time, bool) {
		if b.stateLocked(now) == Closed {
			return time.Time{}, false
		}
		return b.openedAt, true
	})
}

// NormalLatency returns how long a call to this dependency usually takes: the
// quantile of the successful calls over [SlowCalls.Window], never below the true
// value and, from 8 µs to 268 s, at most an eighth above it. False while there are
// too few samples, after an idle Window, and where SlowCalls is off.
func (b *Breaker) NormalLatency() (time.Duration, bool) { return look(b, b.normalLatencyLocked) }

func (b *Breaker) normalLatencyLocked(now time.Duration) (time.Duration, bool) {
	if b.latency == nil {
		return 0, false
	}
	normal := b.latency.at(now).normal
	return normal, normal > 0
}

func (b *Breaker) slowThresholdLocked(now time.Duration) time.Duration {
	if b.latency == nil {
		return b.settings.SlowCallThreshold
	}
	return lowerThreshold(b.settings.SlowCallThreshold, b.latency.at(now).threshold)
}

// NormalFailureRate returns the share of calls to this dependency that usually fail,
// over [Failures.Window]. False while there are too few samples, after an idle
// Window, and where Failures is off.
func (b *Breaker) NormalFailureRate() (float64, bool) {
	return look(b, func(now time.Duration) (float64, bool) { return b.errors.rate(now) })
}

// RetryAfter returns what is left of the break being served: zero once it is over and
// no call has probed yet. False when the breaker is not open: isolated, half-open,
// recovering or closed.
func (b *Breaker) RetryAfter() (time.Duration, bool) { return look(b, b.retryAfterLocked) }

func (b *Breaker) retryAfterLocked(now time.Duration) (time.Duration, bool) {
	if b.state != Open {
		return 0, false
	}
	return max(0, b.breakEnd-now), true
}

// leftOfBreak answers for a refusal, which knows its own break alone.
func (b *Breaker) leftOfBreak(refusal *RejectedError) (time.Duration, bool) {
	return look(b, func(now time.Duration) (time.Duration, bool) {
		if b.refusal != refusal {
			return 0, false
		}
		return max(0, b.breakEnd-now), true
	})
}

// History returns the newest 64 transitions, oldest first, in a slice of the caller's
// own.
func (b *Breaker) History() []Transition {
	b.mustExist()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.history.all()
}
