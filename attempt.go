package breaker

import (
	"context"
	"time"
)

// Attempt is an admitted call that has not ended, for callers that cannot put it
// into one function: a stream, a body still being read. It ends with the first call
// of Done, DoneAfter, Record or Release; later ones do nothing. One that never ends
// costs nothing and tells nothing: no window has it, and [Totals] do not either, which
// count attempts as they end. A probe that never ends holds its slot until
// [Settings.ProbeTimeout].
//
//	attempt, err := b.Admit(ctx)
//	if err != nil {
//		return err
//	}
//	defer attempt.Release() // a no-op after Done
//	err = send(ctx)
//	attempt.Done(err)
//
// The zero Attempt, which comes with a refusal, does nothing either. An Attempt
// belongs to one goroutine and must not be copied.
type Attempt struct {
	_ noCopy

	breaker    *Breaker        // nil once ended
	ctx        context.Context // the caller's, for the rules about its end and for OnTransition
	start      time.Duration
	generation uint64
	probe      *probe // nil unless it took a slot
	aside      bool   // a shadow breaker would have refused it
}

// noCopy makes vet complain about copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

func (a *Attempt) begin(b *Breaker, ctx context.Context, start time.Duration, generation uint64) {
	a.breaker, a.ctx, a.start, a.generation = b, ctx, start, generation
}

// beginAside begins what a shadow breaker would have refused.
func (a *Attempt) beginAside(b *Breaker, ctx context.Context, start time.Duration, generation uint64) {
	a.begin(b, ctx, start, generation)
	a.aside = true
}

// Done ends the attempt with the error of the call: it is classified, nil being OK, and
// the time since admission is its latency. A panic of Classify or of OnTransition, which
// it may run, goes up from here once the attempt has ended.
func (a *Attempt) Done(err error) {
	if a.breaker == nil {
		return
	}
	r := a.breaker.read()
	if err != nil {
		a.fail(r, err, r.offset-a.start)
		return
	}
	a.end(r, OK, r.offset-a.start, false)
}

// DoneAfter is Done with a latency of the caller's own, such as the time to the
// first byte. A negative d counts as 0.
func (a *Attempt) DoneAfter(err error, d time.Duration) {
	if a.breaker == nil {
		return
	}
	r := a.breaker.read()
	if err != nil {
		a.fail(r, err, d)
		return
	}
	a.end(r, OK, d, false)
}

// fail is apart so that a success need not pass its deferred call.
func (a *Attempt) fail(r reading, err error, d time.Duration) {
	defer a.abandon() // only a panic of the classifier leaves it something to do
	v, hurried := a.breaker.judge(a.ctx, err)
	a.end(r, v, d, hurried)
}

// Record ends the attempt with a verdict and a latency, for a caller that knows
// better: there is no classification, and no rule about its context. An unknown
// verdict counts as Permanent, and a negative d as 0. It may run OnTransition, as Done.
func (a *Attempt) Record(v Verdict, d time.Duration) {
	if a.breaker == nil {
		return
	}
	a.end(a.breaker.read(), v.known(), d, false)
}

// Release ends the attempt without an outcome. A probe slot is given back. It may run
// OnTransition, as Done.
func (a *Attempt) Release() {
	if a.breaker == nil {
		return
	}
	a.end(a.breaker.read(), released, 0, false)
}

// Probe reports whether the call was admitted as a probe: to find out, for a breaker that
// is half-open, whether the dependency is back. It stays true if the probe loses its slot,
// and is false once the attempt has ended, and for the zero Attempt. It is for logs and
// traces; whoever makes the call should make it like any other.
func (a *Attempt) Probe() bool { return a.probe != nil }

// released is the verdict of an attempt without an outcome.
const released Verdict = verdicts

// abandon ends an attempt that a panic or runtime.Goexit is leaving, and does nothing to
// one that has ended.
func (a *Attempt) abandon() {
	if a.breaker != nil {
		a.endQuietly(Permanent)
	}
}

// endQuietly ends an attempt while a panic or runtime.Goexit goes up, which must go on
// unchanged: a panic of the listener, which this end may call, does not take its place.
func (a *Attempt) endQuietly(v Verdict) {
	defer func() { _ = recover() }()
	a.end(a.breaker.read(), v, 0, false)
}

// end is where every attempt ends, once.
func (a *Attempt) end(r reading, v Verdict, d time.Duration, hurried bool) {
	b := a.breaker
	a.breaker = nil // first: whatever panics from here on, it has ended
	b.mu.Lock()
	b.acceptLocked(r)
	b.recordLocked(a, v, max(d, 0), hurried)
	a.ctx, a.probe = nil, nil // an attempt may lie around for long
	if b.owed.none() {        // nearly always; a call less
		b.mu.Unlock()
		return
	}
	b.unlock()
}
