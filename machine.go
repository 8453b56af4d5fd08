package breaker

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// The state machine. All of it runs under mu and calls no function of the user's; what it
// owes them is paid by unlock.

// gate is what admission sees of the state without the lock.
type gate struct {
	state      State
	shadow     bool
	generation uint64
	refusal    *RejectedError
	refused    *refusals

	// A reading in [from, until) is refused without the lock.
	from, until time.Duration
}

func (g *gate) refuse() error {
	g.refused.add()
	return g.refusal
}

// trouble is what a breaker holds from its first transition on. Most never have one, and
// there may be many of them.
type trouble struct {
	consecutiveOpens int     // without a clean close; what the break has grown by
	reference        float64 // what failed normally, as the first of these opens found it; 0 unknown
	breakLength      time.Duration
	breakEnd         time.Duration
	openedAt         time.Time
	requested        bool           // ProbeNow ended the break
	refusal          *RejectedError // of the newest break, while its RetryAfter holds

	probes  probes
	ramp    ramp
	history history
	outbox  outbox

	moves      [causes]uint64 // by cause
	recoveries uint64

	probesSucceeded, probesInconclusive uint64 // each one that failed is a move

	aside [verdicts + 1]uint64 // what a shadow breaker would have refused, by how it ended

	refused refusals
}

// stop ends a half-open spell or a ramp.
func (t *trouble) stop() {
	t.probes.clear()
	t.ramp = ramp{}
}

func (b *Breaker) beginTroubleLocked() {
	if b.trouble == nil {
		b.trouble = new(trouble)
	}
}

// untroubled stands for the trouble that a breaker has not had yet, to be read.
var untroubled trouble

func (b *Breaker) troubleLocked() *trouble { return cmp.Or(b.trouble, &untroubled) }

// admitLocked decides about a call, and gives a probe its slot.
func (b *Breaker) admitLocked(ctx context.Context) (*probe, bool) {
	switch b.state {
	case Closed:
		return nil, true
	case Open:
		if b.now < b.breakEnd {
			return nil, false
		}
		cause := CauseBreakElapsed
		if b.requested {
			cause = CauseProbeRequested
		}
		b.moveLocked(ctx, HalfOpen, cause)
		return b.admitProbeLocked(ctx)
	case HalfOpen:
		return b.admitProbeLocked(ctx)
	case Recovering:
		if b.ramp.finished(b.now) {
			b.closeLocked(ctx, CauseRampCompleted)
			return nil, true
		}
		return nil, b.ramp.admits(b.now)
	}
	return nil, false // Isolated
}

// recordLocked lets an outcome count, and decide what it decides.
func (b *Breaker) recordLocked(a *Attempt, v Verdict, d time.Duration, hurried bool) {
	if hurried {
		// A deadline that ran out before the dependency usually answers tells of
		// the caller's haste alone.
		if normal, ok := b.normalLatencyLocked(b.now); ok && d < normal {
			v = Canceled
		}
	}
	if a.aside {
		b.aside[v]++
		return
	}
	b.tally.verdicts[v]++
	late := a.generation != b.generation || a.probe != nil && a.probe.lost
	if late && v != released {
		b.tally.stale++
	}
	if late || b.state == Open || b.state == Isolated {
		return
	}
	slow := false
	if v == OK || v == Transient {
		slow = b.sampleLocked(v, d)
	}
	switch b.state {
	case Closed:
		if v == Transient || slow {
			if cause, ok := b.tripLocked(); ok {
				b.openLocked(a.ctx, cause)
			}
		}
	case HalfOpen:
		b.settleProbeLocked(a.ctx, a.probe, v, slow)
	case Recovering:
		b.settleRampLocked(a.ctx, v, slow)
	}
}

// sampleLocked lets evidence into the run, the baselines and the trip window, and
// reports whether the call was slow. A failure is never slow. In a ramp, slow is what
// a dependency that is warming up looks like: it stalls the ramp and is no evidence
// for the window.
func (b *Breaker) sampleLocked(v Verdict, d time.Duration) (slow bool) {
	failed := v == Transient
	if failed {
		b.run++
	} else {
		b.run = 0
		threshold := b.settings.SlowCallThreshold
		if b.latency != nil {
			threshold = lowerThreshold(threshold, b.latency.record(b.now, d))
		}
		if threshold != 0 && d >= threshold {
			slow = true
			b.tally.slow++
		}
	}
	if b.errors != nil {
		b.errors.current(b.now).add(failed, false)
	}
	if b.window != nil {
		b.window.add(b.now, failed, slow && b.state != Recovering)
	}
	return slow
}

// tripLocked looks for a reason to open a closed breaker: at a failure, and at a slow
// call. A fast success is reason for nothing, and is not asked.
func (b *Breaker) tripLocked() (Cause, bool) {
	s := &b.settings
	if b.run >= s.consecutiveFailures() && b.run >= b.runNeededLocked(b.now) { // the first look is cheap, and is mostly enough
		return CauseConsecutiveFailures, true
	}
	if b.window == nil {
		return 0, false
	}
	c := b.window.at(b.now)
	if c.calls < uint64(s.minimumCalls()) {
		return 0, false
	}
	if s.FailureRatio > 0 && c.failureRate() >= s.FailureRatio {
		return CauseFailureRatio, true
	}
	// Of the evidence, too, the first look is cheap.
	if c.failures >= 2 && c.failureRate() >= s.lowestTripPoint() && b.failureEvidenceLocked(b.now, c).trips() {
		return CauseRelativeFailures, true
	}
	if c.slowShare() >= s.slowCallRatio() && b.slowEvidenceLocked(b.now, c).trips() {
		return CauseSlowCalls, true
	}
	return 0, false
}

// openLocked begins a break, and a generation: what was admitted before decides
// nothing from here on. Inconclusive probes say nothing about the dependency, so the
// break that follows them is as long as the last and does not count as another.
func (b *Breaker) openLocked(ctx context.Context, cause Cause) {
	b.beginTroubleLocked()
	if cause != CauseProbesInconclusive {
		b.consecutiveOpens++
	}
	s := &b.settings
	nominal := grownBreak(s.breakDuration(), s.maximumBreakDuration(), b.consecutiveOpens)
	b.breakLength = s.BreakJitter.applied(nominal, b.takeDrawLocked())
	b.breakEnd = later(b.now, b.breakLength)
	b.requested = false
	b.generation++
	b.moveLocked(ctx, Open, cause)
	b.clearLocked()
}

// takeDrawLocked returns the number that was kept for this break.
func (b *Breaker) takeDrawLocked() float64 {
	if b.settings.BreakJitter == JitterNone {
		return 0
	}
	draw := b.draw
	if !b.drawn { // a second open before the first could draw again
		draw = rand.Float64()
	}
	b.drawn = false
	b.owed.draw = b.settings.random()
	return inUnitInterval(draw)
}

// settleRampLocked lets an outcome in a ramp count.
func (b *Breaker) settleRampLocked(ctx context.Context, v Verdict, slow bool) {
	if v != OK && v != Transient {
		return
	}
	b.ramp.settled.add(v == Transient, false)
	switch {
	case v == OK && slow:
		b.ramp.stall(b.now)
	case v == OK:
		b.ramp.advance(b.settings.probeSuccesses())
	case b.ramp.fails(b.now):
		b.openLocked(ctx, CauseRampFailed)
	}
}

// recoverLocked ends a half-open spell that succeeded.
func (b *Breaker) recoverLocked(ctx context.Context) {
	if b.settings.Recovery.off() {
		b.closeLocked(ctx, CauseProbesSucceeded)
		return
	}
	b.moveLocked(ctx, Recovering, CauseProbesSucceeded)
	b.clearLocked()
	reference := b.reference
	if f := b.settings.failures(); f.Off || f.FalseAlarm == 1 {
		reference = 0 // an update may have turned it off since
	}
	b.ramp = newRamp(b.now, b.settings.Recovery.filled(), b.breakLength, reference)
}

// closeLocked ends the trouble: the break starts over at its first length.
func (b *Breaker) closeLocked(ctx context.Context, cause Cause) {
	if cause != CauseReset {
		b.recoveries++
	}
	b.moveLocked(ctx, Closed, cause)
	b.clearLocked()
	b.consecutiveOpens, b.reference = 0, 0
}

// clearLocked forgets the evidence for a decision that has now been made. The
// baselines are measurements and stay.
func (b *Breaker) clearLocked() {
	if b.window != nil {
		b.window.clear()
	}
	b.run = 0
	if b.trouble != nil {
		b.trouble.stop()
	}
}

// moveLocked changes the state and writes it down, with the numbers as they stand.
func (b *Breaker) moveLocked(ctx context.Context, to State, cause Cause) {
	b.beginTroubleLocked()
	t := Transition{
		Name:   b.settings.Name,
		Shadow: b.settings.Shadow,
		From:   b.state,
		To:     to,
		At:     b.timeOfDay(b.wall),
		Cause:  cause,
		Run:    b.run,
	}
	t.RunNeeded = b.runNeededLocked(b.now)
	if b.window != nil {
		c := b.window.at(b.now)
		t.Calls, t.Failures, t.Slow = int(c.calls), int(c.failures), int(c.slow)
		t.FailureEvidence = b.failureEvidenceLocked(b.now, c)
		t.SlowEvidence = b.slowEvidenceLocked(b.now, c)
	}
	if b.reference == 0 {
		// Known first at the open, or, where the calls that opened it are all there
		// is to go by, soon after. Later the trouble itself would be in it.
		b.reference = t.FailureEvidence.Reference
	}
	t.NormalLatency, t.NormalLatencyKnown = b.normalLatencyLocked(b.now)
	t.NormalFailureRate, t.NormalFailureRateKnown = b.errors.rate(b.now)
	if to == Open {
		t.Break = b.breakLength
	}
	if to == Open || to == Isolated {
		b.openedAt = t.At
	}
	b.moves[cause]++
	t = b.history.add(t)
	if b.settings.OnTransition != nil && !cause.silent() {
		b.outbox.put(event{b.settings.OnTransition, ctx, t})
		b.owed.tell = true
	}
	b.countTimeLocked()
	b.state = to
	b.publishLocked()
}

// countTimeLocked counts the time in the state so far.
func (b *Breaker) countTimeLocked() {
	b.tally.timeIn[b.state] = later(b.tally.timeIn[b.state], b.now-b.since)
	b.since = b.now
}

// publishLocked shows admission the state. A closed breaker admits, an isolated one
// refuses, and an open one refuses until its break is over, all without the lock. A
// reading that is too far behind for an open breaker goes to acceptLocked, and so
// does every call in the other states.
func (b *Breaker) publishLocked() {
	b.odd = b.clock != nil || b.state == Open // here, so that acceptLocked is inlined
	g := &gate{state: b.state, generation: b.generation, shadow: b.settings.Shadow}
	old := b.gate.Load()
	switch {
	case b.state == Closed:
		b.gate.Store(g)
		return
	case old != nil && old.state == b.state && old.generation == b.generation:
		g.refusal = old.refusal
	default:
		g.refusal = &RejectedError{Name: b.settings.Name, State: b.state}
	}
	g.refused = &b.refused
	switch b.state {
	case Open:
		if g.refusal.breaker == nil {
			g.refusal.breaker = b
			b.refusal = g.refusal
		}
		if b.now < b.breakEnd { // else every reading finds the break over, a late one too
			g.from, g.until = earlier(b.now, lateReading), b.breakEnd
		}
	case Isolated:
		g.from, g.until = math.MinInt64, math.MaxInt64
	}
	b.gate.Store(g)
}
