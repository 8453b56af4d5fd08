package breaker

import "context"

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
	b.moveLocked(context.Background(), Isolated, CauseIsolated)
	b.refusal = nil
	b.trouble.stop()
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
	if b.state != Closed {
		b.closeLocked(context.Background(), CauseReset)
	} else {
		b.clearLocked()
	}
	if b.trouble != nil {
		b.refusal = nil
	}
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
