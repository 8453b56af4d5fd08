package breaker

import (
	"container/list"
	"context"
	"time"
)

// In one half-open spell, so many probes in a row that decide nothing re-open the
// breaker. A dependency that only ever answers 429, or callers who only ever give
// up, would otherwise keep it half-open, and busy, for ever.
const mostInconclusive = 10

// probe is one slot taken. It belongs to the attempt that took it.
type probe struct {
	start   time.Duration
	lost    bool          // taken over by another caller; what the attempt reports is late
	element *list.Element // nil once given back, or cleared away by a change of state
}

// probes are the slots of one half-open spell.
type probes struct {
	taken        list.List // of *probe, oldest first
	successes    int
	inconclusive int // in a row
}

// clear ends the spell. Attempts still under way keep their probe, but hold no slot.
func (p *probes) clear() {
	for e := p.taken.Front(); e != nil; e = e.Next() {
		e.Value.(*probe).element = nil
	}
	*p = probes{}
}

func (p *probes) take(now time.Duration) *probe {
	slot := &probe{start: now}
	slot.element = p.taken.PushBack(slot)
	return slot
}

func (p *probes) giveBack(slot *probe) {
	if slot.element != nil {
		p.taken.Remove(slot.element)
		slot.element = nil
	}
}

func (p *probes) moveBack(by time.Duration) {
	for e := p.taken.Front(); e != nil; e = e.Next() {
		slot := e.Value.(*probe)
		slot.start = earlier(slot.start, by)
	}
}

// probeTimeoutLocked is how long a probe of this spell may take.
func (b *Breaker) probeTimeoutLocked() time.Duration {
	if d := b.settings.ProbeTimeout; d != 0 {
		return d
	}
	return max(b.breakLength, minimumProbeTimeout)
}

// admitProbeLocked takes a slot for a caller of a half-open breaker: a free one, or
// that of the oldest probe if it has expired. The probe that never returns loses its
// slot to someone who wants it, so it cannot hold the breaker half-open; until then
// it may still decide.
func (b *Breaker) admitProbeLocked(ctx context.Context) (*probe, bool) {
	for b.probes.taken.Len() >= b.settings.halfOpenProbes() { // more than once if an update took slots away
		oldest := b.probes.taken.Front().Value.(*probe)
		if b.now-oldest.start < b.probeTimeoutLocked() {
			return nil, false
		}
		oldest.lost = true
		b.probes.giveBack(oldest)
		if b.inconclusiveLocked(ctx) {
			return nil, false
		}
	}
	return b.probes.take(b.now), true
}

// settleProbeLocked lets the outcome of a probe decide.
func (b *Breaker) settleProbeLocked(ctx context.Context, slot *probe, v Verdict, slow bool) {
	b.probes.giveBack(slot)
	switch {
	case v == Transient:
		b.openLocked(ctx, CauseProbeFailed)
	case v != OK:
		b.inconclusiveLocked(ctx)
	case slow && b.settings.Recovery.off():
		b.openLocked(ctx, CauseSlowProbe)
	default:
		b.probesSucceeded++
		b.probes.inconclusive = 0
		b.probes.successes++
		if b.probes.successes >= b.settings.probeSuccesses() {
			b.recoverLocked(ctx)
		}
	}
}

// inconclusiveLocked counts a probe that decided nothing, and reports whether that
// re-opened the breaker.
func (b *Breaker) inconclusiveLocked(ctx context.Context) bool {
	b.probesInconclusive++
	b.probes.inconclusive++
	if b.probes.inconclusive < mostInconclusive {
		return false
	}
	b.openLocked(ctx, CauseProbesInconclusive)
	return true
}
