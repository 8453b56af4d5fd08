// Package breaker is a circuit breaker that measures what is normal for a
// dependency and trips on deviation from it.
//
// A breaker stands in front of one dependency. While the dependency is well, calls
// pass. When it fails, or answers far slower than it usually does, the breaker
// opens and refuses calls, which gives the dependency its rest and the callers a
// fast answer. After a break it lets a probe through; enough successful probes
// close it again, at once or over a ramp.
//
//	b := breaker.MustNew(breaker.Settings{Name: "db"})
//
//	err := b.Do(ctx, func(ctx context.Context) error {
//		return db.PingContext(ctx)
//	})
//
//	user, err := breaker.Call(ctx, b, func(ctx context.Context) (User, error) {
//		return db.User(ctx, id)
//	})
//
// # What callers do
//
// Make one breaker for each thing that fails on its own, keep it, and share it: it
// is safe for concurrent use, and it learns from all calls together. Most callers
// want [Breaker.Do] or [Call]. Those with somewhere else to go on a refusal use
// [CallOr] or [Breaker.TryAdmit]; streams use [Breaker.Admit].
//
// A refusal is an error in which errors.Is finds [ErrRejected]. Before Do, Call and
// Admit return one, they pause for up to 100 ms: without that, a loop that retries
// at once would turn the breaker into a load generator that burns the client's own
// CPU. The pause ends early with the context.
//
// # What counts
//
// Only a [Verdict] of OK or Transient is evidence. A dependency that throttles, a
// caller's own mistake and a caller who went away are none. See [Classify].
//
// # Concurrency
//
// All methods are safe for concurrent use; an [Attempt] belongs to one goroutine.
// The package starts no goroutine and, but for the pause, never waits. No function
// of the caller's runs under a lock of the breaker's.
//
// # Mistakes
//
// Settings that cannot work are refused by [New]. A nil *Breaker, a nil context and
// a nil function panic with a text that names the mistake.
//
// The rules and the reasons for them are in docs/design.md, the arithmetic of the
// defaults in docs/defaults.md, and running it in docs/operations.md.
package breaker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// State is what a breaker does with calls. See docs/design.md, "States".
type State uint8

const (
	// Closed, the zero value: every call is admitted, and sampled.
	Closed State = iota

	// Open: every call is refused until the break is over.
	Open

	// HalfOpen: a few calls are admitted as probes, and the others refused.
	HalfOpen

	// Recovering: a growing share of the calls is admitted. Only with
	// [Settings.Recovery].
	Recovering

	// Isolated: every call is refused until Reset.
	Isolated

	states = iota
)

var stateNames = []string{"closed", "open", "half-open", "recovering", "isolated"}

// String returns "closed", "open", "half-open", "recovering" or "isolated", and
// State(n) for a value that is none of them.
func (s State) String() string { return nameOf(stateNames, "State", uint8(s)) }

// MarshalText returns what String returns, or an error for an unknown value.
func (s State) MarshalText() ([]byte, error) { return marshalName(stateNames, "State", uint8(s)) }

// UnmarshalText reads what MarshalText writes. On an error it leaves s as it was.
func (s *State) UnmarshalText(text []byte) error {
	return unmarshalName(stateNames, "State", (*uint8)(s), text)
}

// Breaker is a circuit breaker. Build it with [New], [MustNew] or [Of]; a nil or a
// zero Breaker is of no use, and a nil one panics saying so. All methods are safe
// for concurrent use. It must not be copied.
type Breaker struct {
	// gate is what admission sees of the state without the lock. It is replaced,
	// never changed, under mu.
	gate atomic.Pointer[gate]

	settings Settings  // as given
	born     time.Time // readings count from here
	refused  atomic.Uint64
	outbox   outbox

	mu    sync.Mutex
	now   time.Duration // own time: the newest reading that was accepted
	since time.Duration // of the state
	state State
	run   int // failures in a row
	owed  debts

	window  *tripWindow    // nil where no rate trip is configured
	errors  *errorBaseline // nil where Failures is off
	latency *latencyWindow // nil where SlowCalls is off

	generation       uint64  // counts the opens; an attempt belongs to the one it was admitted in
	consecutiveOpens int     // without a clean close; what the break has grown by
	troubleReference float64 // what failed normally, as the first of these opens found it; 0 unknown
	breakLength      time.Duration
	breakEnd         time.Duration
	openedAt         time.Time
	requested        bool           // ProbeNow ended the break
	refusal          *RejectedError // of the newest break, while its RetryAfter holds
	draw             float64        // for the next break's jitter
	drawn            bool

	probes probes
	ramp   ramp

	tally   tally
	history history
}

// gate is what admission sees of the state without the lock.
type gate struct {
	state      State
	generation uint64
	refusal    *RejectedError

	// A reading in [from, until) is refused without the lock.
	from, until time.Duration
}

// debts are what an operation owes user code, paid after the lock is given up.
type debts struct {
	draw  bool // a number from Settings.Random, in place of the one used
	event bool // a call of Settings.OnTransition
}

// New builds a closed breaker. Its error is a [*SettingsError] with every problem of
// the settings. It draws one number from [Settings.Random], unless BreakJitter is
// JitterNone.
func New(s Settings) (*Breaker, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	b := &Breaker{settings: s}
	if s.Clock != nil {
		b.born = s.Clock.Now()
	} else {
		b.born = time.Now()
	}
	failures, slowCalls := s.failures(), s.slowCalls()
	b.errors = newErrorBaseline(failures)
	b.latency = newLatencyWindow(slowCalls)
	if s.FailureRatio > 0 || !failures.Off || s.SlowCallThreshold > 0 || !slowCalls.Off {
		b.window = newTripWindow(s.tripWindow(), s.TripCalls)
	}
	if s.BreakJitter != JitterNone {
		b.draw, b.drawn = s.random()(), true
	}
	b.publishLocked() // nobody else knows the breaker yet
	return b, nil
}

// MustNew is [New] for settings written in the program: it panics with the error.
func MustNew(s Settings) *Breaker {
	b, err := New(s)
	if err != nil {
		panic(err)
	}
	return b
}

// Of returns the breaker that most people mean: it opens after so many failures in a
// row, for so long, under a name; the rest is at its defaults, and the relative trips
// are on. A break above two minutes raises [Settings.MaximumBreakDuration] to match.
// It takes its arguments as written and panics with a [*SettingsError] on those that
// New would refuse, and on zero.
func Of(consecutiveFailures int, breakDuration time.Duration, name string) *Breaker {
	var p problems
	p.given("ConsecutiveFailures", consecutiveFailures != 0)
	p.given("BreakDuration", breakDuration != 0)
	s := Settings{Name: name, ConsecutiveFailures: consecutiveFailures, BreakDuration: breakDuration}
	if err := s.Validate(); err != nil {
		p = append(p, err.(*SettingsError).Problems...)
	}
	p.mustBeNone()
	return MustNew(s)
}

// Do runs fn if the breaker admits the call, and records how it ended: by its error,
// see [Classify], and by the time it took. It returns fn's error as it is.
//
// A refusal returns a [*RejectedError] after a pause of up to 100 ms. A ctx that is
// done already returns its error, and touches nothing. A panic or runtime.Goexit in
// fn counts as Permanent and goes on up. Do panics if fn or ctx is nil.
func (b *Breaker) Do(ctx context.Context, fn func(context.Context) error) error {
	if fn == nil {
		panic("breaker: Do with a nil function")
	}
	attempt, err := b.Admit(ctx)
	if err != nil {
		return err
	}
	defer attempt.abandon() // a no-op after Done
	err = fn(ctx)
	attempt.Done(err)
	return err
}

// Call is [Breaker.Do] for a function with a result. On a refusal the result is the
// zero value.
func Call[T any](ctx context.Context, b *Breaker, fn func(context.Context) (T, error)) (T, error) {
	if fn == nil {
		panic("breaker: Call with a nil function")
	}
	attempt, err := b.Admit(ctx)
	if err != nil {
		var none T
		return none, err
	}
	return finish(ctx, &attempt, fn)
}

// CallOr is [Call] for a caller that has somewhere else to go: a refusal runs
// fallback at once, without the pause, and returns what it returns. The breaker
// neither times nor records fallback. It runs on a refusal alone: neither on an error
// of fn, nor when ctx is done. CallOr panics if fn or fallback is nil.
func CallOr[T any](ctx context.Context, b *Breaker, fn func(context.Context) (T, error), fallback func(context.Context, *RejectedError) (T, error)) (T, error) {
	if fn == nil || fallback == nil {
		panic("breaker: CallOr with a nil function")
	}
	attempt, err := b.TryAdmit(ctx)
	if err != nil {
		if refusal, ok := err.(*RejectedError); ok {
			return fallback(ctx, refusal)
		}
		var none T
		return none, err
	}
	return finish(ctx, &attempt, fn)
}

// finish runs an admitted call to its end.
func finish[T any](ctx context.Context, attempt *Attempt, fn func(context.Context) (T, error)) (T, error) {
	defer attempt.abandon() // a no-op after Done
	result, err := fn(ctx)
	attempt.Done(err)
	return result, err
}

// The pause before a refusal. A constant and not a setting: it is a floor under the
// pace of a loop that retries at once, too short for a person to notice.
const refusalPause = 100 * time.Millisecond

// Admit asks for one call, to be ended through the [Attempt]. A refusal returns a
// [*RejectedError] after a pause of up to 100 ms, which ends with ctx; the error then
// wraps the context's error too. A ctx that is done already returns its error, and
// touches nothing. Admit panics if ctx is nil.
func (b *Breaker) Admit(ctx context.Context) (attempt Attempt, err error) {
	attempt, err = b.TryAdmit(ctx)
	if refusal, ok := err.(*RejectedError); ok {
		err = b.pause(ctx, refusal)
	}
	return
}

func (b *Breaker) pause(ctx context.Context, refusal *RejectedError) error {
	select {
	case <-b.after(refusalPause):
		return refusal
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", refusal, ctx.Err())
	}
}

// TryAdmit is [Breaker.Admit] without the pause, for a caller that has somewhere else
// to go on a refusal. Do not call it in a loop that retries at once.
func (b *Breaker) TryAdmit(ctx context.Context) (Attempt, error) {
	b.mustExist()
	if ctx == nil {
		panic("breaker: nil context")
	}
	if err := ctx.Err(); err != nil {
		return Attempt{}, err
	}
	r := b.read()
	g := b.gate.Load()
	if g.state == Closed {
		return Attempt{breaker: b, ctx: ctx, start: r.offset, generation: g.generation}, nil
	}
	if g.from <= r.offset && r.offset < g.until {
		b.refused.Add(1)
		return Attempt{}, g.refusal
	}
	return b.admit(ctx, r)
}

// admit decides about a call with the lock.
func (b *Breaker) admit(ctx context.Context, r reading) (attempt Attempt, err error) {
	b.mu.Lock()
	b.acceptLocked(r)
	slot, ok := b.admitLocked(ctx, r)
	if ok {
		attempt = Attempt{breaker: b, ctx: ctx, start: r.offset, generation: b.generation, probe: slot}
	} else {
		err = b.gate.Load().refusal
		b.refused.Add(1)
	}
	told := false
	defer func() {
		if !told { // a listener panicked: the slot is not to be lost to it
			attempt.abandon()
		}
	}()
	b.unlock()
	told = true
	return
}

// unlock gives the lock up, and then pays what the operation owes user code.
func (b *Breaker) unlock() {
	owed := b.owed
	b.owed = debts{}
	b.mu.Unlock()
	if owed.draw {
		b.drawAhead()
	}
	if owed.event {
		b.outbox.deliver(b.settings.OnTransition)
	}
}

// drawAhead keeps one number for the next break, because an open happens under the
// lock and Random must not.
func (b *Breaker) drawAhead() {
	draw := b.settings.random()()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.draw, b.drawn = draw, true
}

// admitLocked decides about a call, and gives a probe its slot.
func (b *Breaker) admitLocked(ctx context.Context, r reading) (*probe, bool) {
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
		b.moveLocked(ctx, r, HalfOpen, cause)
		return b.admitProbeLocked(ctx, r)
	case HalfOpen:
		return b.admitProbeLocked(ctx, r)
	case Recovering:
		if b.ramp.finished(b.now) {
			b.closeLocked(ctx, r, CauseRampCompleted)
			return nil, true
		}
		return nil, b.ramp.admits(b.now)
	}
	return nil, false // Isolated
}

// recordLocked lets an outcome count, and decide what it decides.
func (b *Breaker) recordLocked(a *Attempt, r reading, v Verdict, d time.Duration, hurried bool) {
	if hurried {
		// A deadline that ran out before the dependency usually answers tells of
		// the caller's haste alone.
		if normal, ok := b.normalLatencyLocked(b.now); ok && d < normal {
			v = Canceled
		}
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
				b.openLocked(a.ctx, r, cause)
			}
		}
	case HalfOpen:
		b.settleProbeLocked(a.ctx, r, a.probe, v, slow)
	case Recovering:
		b.settleRampLocked(a.ctx, r, v, slow)
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
		slow = b.isSlowLocked(d)
	}
	if b.errors != nil {
		b.errors.add(b.now, failed, false)
	}
	if b.window != nil {
		b.window.add(b.now, failed, slow && b.state != Recovering)
	}
	return slow
}

// isSlowLocked adds a call that succeeded to the latency baseline, and judges it.
func (b *Breaker) isSlowLocked(d time.Duration) bool {
	threshold := b.settings.SlowCallThreshold
	if b.latency != nil {
		threshold = lowerThreshold(threshold, b.latency.record(b.now, d).threshold)
	}
	if threshold == 0 || d < threshold {
		return false
	}
	b.tally.slow++
	return true
}

// tripLocked looks for a reason to open a closed breaker: at a failure, and at a slow
// call. A fast success is reason for nothing, and is not asked.
func (b *Breaker) tripLocked() (Cause, bool) {
	s := &b.settings
	if b.run >= s.consecutiveFailures() && b.run >= b.runNeededLocked(b.now) {
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
	if c.failures >= 2 && b.failureEvidenceLocked(b.now, c).trips() {
		return CauseRelativeFailures, true
	}
	if c.slow > 0 && b.slowEvidenceLocked(b.now, c).trips() {
		return CauseSlowCalls, true
	}
	return 0, false
}

// openLocked begins a break, and a generation: what was admitted before decides
// nothing from here on. Inconclusive probes say nothing about the dependency, so the
// break that follows them is as long as the last and does not count as another.
func (b *Breaker) openLocked(ctx context.Context, r reading, cause Cause) {
	if cause != CauseProbesInconclusive {
		b.consecutiveOpens++
	}
	s := &b.settings
	nominal := grownBreak(s.breakDuration(), s.maximumBreakDuration(), b.consecutiveOpens)
	b.breakLength = s.BreakJitter.applied(nominal, b.takeDrawLocked())
	b.breakEnd = later(b.now, b.breakLength)
	b.requested = false
	b.generation++
	b.tally.opens[cause]++
	b.moveLocked(ctx, r, Open, cause)
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
	b.owed.draw = true
	return inUnitInterval(draw)
}

// settleRampLocked lets an outcome in a ramp count.
func (b *Breaker) settleRampLocked(ctx context.Context, r reading, v Verdict, slow bool) {
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
		b.openLocked(ctx, r, CauseRampFailed)
	}
}

// recoverLocked ends a half-open spell that succeeded.
func (b *Breaker) recoverLocked(ctx context.Context, r reading) {
	if b.settings.Recovery.off() {
		b.closeLocked(ctx, r, CauseProbesSucceeded)
		return
	}
	b.moveLocked(ctx, r, Recovering, CauseProbesSucceeded)
	b.clearLocked()
	b.ramp = newRamp(b.now, b.settings.Recovery.filled(), b.breakLength, b.troubleReference)
}

// closeLocked ends the trouble: the break starts over at its first length.
func (b *Breaker) closeLocked(ctx context.Context, r reading, cause Cause) {
	if cause != CauseReset {
		b.tally.recoveries++
	}
	b.moveLocked(ctx, r, Closed, cause)
	b.clearLocked()
	b.consecutiveOpens, b.troubleReference = 0, 0
}

// clearLocked forgets the evidence for a decision that has now been made. The
// baselines are measurements and stay.
func (b *Breaker) clearLocked() {
	if b.window != nil {
		b.window.clear()
	}
	b.run = 0
	b.probes.clear()
	b.ramp = ramp{}
}

// moveLocked changes the state and writes it down, with the numbers as they stand.
func (b *Breaker) moveLocked(ctx context.Context, r reading, to State, cause Cause) {
	t := Transition{
		Name:  b.settings.Name,
		From:  b.state,
		To:    to,
		At:    r.timeOfDay(),
		Cause: cause,
		Run:   b.run,
	}
	t.RunNeeded = b.runNeededLocked(b.now)
	if b.window != nil {
		c := b.window.at(b.now)
		t.Calls, t.Failures, t.Slow = int(c.calls), int(c.failures), int(c.slow)
		t.FailureEvidence = b.failureEvidenceLocked(b.now, c)
		t.SlowEvidence = b.slowEvidenceLocked(b.now, c)
	}
	if b.troubleReference == 0 {
		// Known first at the open, or, where the calls that opened it are all there
		// is to go by, soon after. Later the trouble itself would be in it.
		b.troubleReference = t.FailureEvidence.Reference
	}
	t.NormalLatency, t.NormalLatencyKnown = b.normalLatencyLocked(b.now)
	t.NormalFailureRate, t.NormalFailureRateKnown = b.errors.rate(b.now)
	if to == Open {
		t.Break = b.breakLength
	}
	if to == Open || to == Isolated {
		b.openedAt = t.At
	}
	t = b.history.add(t)
	if b.settings.OnTransition != nil && !cause.silent() {
		b.outbox.put(event{ctx, t})
		b.owed.event = true
	}
	b.tally.timeIn[b.state] = later(b.tally.timeIn[b.state], b.now-b.since)
	b.since = b.now
	b.state = to
	b.publishLocked()
}
