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
// Make one breaker for each thing that fails on its own, keep it, and share it: it is
// safe for concurrent use, and it learns from all calls together. A [Scope] keeps one
// for each key. Most callers want [Breaker.Do] or [Call]. Those with somewhere else to
// go on a refusal use [CallOr] or [Breaker.TryAdmit]; streams use [Breaker.Admit].
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
// Settings that cannot work are refused by [New]. A nil or zero Breaker, a nil context
// and a nil function panic with a text that names the mistake.
//
// The rules and the reasons for them are in docs/design.md, the arithmetic of the
// defaults in docs/defaults.md, and running it in docs/operations.md.
package breaker

import (
	"context"
	"fmt"
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
// zero Breaker panics saying so. All methods are safe for concurrent use. It must not
// be copied.
type Breaker struct {
	// gate is what admission sees of the state without the lock. It is replaced,
	// never changed, under mu.
	gate atomic.Pointer[gate]

	clock Clock     // nil for the system clock
	born  time.Time // readings count from here

	mu    sync.Mutex
	state State
	odd   bool          // a reading asks for more than a step forward; kept beside state
	now   time.Duration // own time: the newest reading that was accepted
	wall  time.Duration // the time of day at the reading decided by, with a Clock of the caller's own
	since time.Duration // of the state
	run   int           // failures in a row
	owed  debts

	settings Settings // as given

	window  tripWindow     // nil where no rate trip is configured
	errors  *errorBaseline // nil where Failures is off
	latency *latencyWindow // nil where SlowCalls is off

	generation uint64  // counts the opens; an attempt belongs to the one it was admitted in
	draw       float64 // for the next break's jitter
	drawn      bool

	tally tally

	*trouble // nil before the first transition
}

// debts are what an operation owes user code, paid after the lock is given up.
type debts struct {
	draw func() float64 // Settings.Random, for a number in place of the one used
	tell bool           // what is in the outbox
}

func (d *debts) none() bool { return d.draw == nil && !d.tell }

// New builds a closed breaker. Its error is a [*SettingsError] with every problem of
// the settings. It draws one number from [Settings.Random], unless BreakJitter is
// JitterNone.
func New(s Settings) (*Breaker, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	b := &Breaker{settings: s, clock: s.Clock}
	if b.clock != nil {
		b.born = b.clock.Now()
	} else {
		b.born = time.Now()
	}
	b.errors = newErrorBaseline(0, s.failures())
	b.latency = newLatencyWindow(0, s.slowCalls())
	if s.hasWindow() {
		b.window = newTripWindow(0, s.tripWindow(), s.TripCalls)
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
// row, at first for at most breakDuration, of which half is random (see
// [Settings.BreakJitter]), and for twice as long each time it opens again, up to
// [Settings.MaximumBreakDuration]. A break above two minutes raises that to match. The
// rest is at its defaults, and the relative trips are on.
//
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
	var attempt Attempt
	if err := b.admit(ctx, &attempt); err != nil {
		return b.pause(ctx, err)
	}
	defer attempt.abandon() // a no-op after Done
	err := fn(ctx)
	attempt.Done(err)
	return err
}

// Call is [Breaker.Do] for a function with a result. On a refusal the result is the
// zero value.
func Call[T any](ctx context.Context, b *Breaker, fn func(context.Context) (T, error)) (T, error) {
	if fn == nil {
		panic("breaker: Call with a nil function")
	}
	var attempt Attempt
	if err := b.admit(ctx, &attempt); err != nil {
		var none T
		return none, b.pause(ctx, err)
	}
	return finish(ctx, &attempt, fn)
}

// CallOr is [Call] for a caller that has somewhere else to go: a refusal runs
// fallback at once, without the pause, and returns what it returns. The breaker
// neither times nor records fallback. It runs on a refusal alone: neither on an error
// of fn, nor when ctx is done, nor for a shadow breaker, which refuses nothing. CallOr
// panics if fn, fallback or ctx is nil.
func CallOr[T any](ctx context.Context, b *Breaker, fn func(context.Context) (T, error), fallback func(context.Context, *RejectedError) (T, error)) (T, error) {
	if fn == nil || fallback == nil {
		panic("breaker: CallOr with a nil function")
	}
	var attempt Attempt
	if err := b.admit(ctx, &attempt); err != nil {
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
	if err = b.admit(ctx, &attempt); err != nil {
		err = b.pause(ctx, err)
	}
	return
}

// pause makes a refusal wait, and nothing else.
func (b *Breaker) pause(ctx context.Context, err error) error {
	if _, ok := err.(*RejectedError); !ok {
		return err
	}
	select {
	case <-b.after(refusalPause):
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", err, ctx.Err())
	}
}

// TryAdmit is [Breaker.Admit] without the pause, for a caller that has somewhere else
// to go on a refusal. Do not call it in a loop that retries at once. Like Admit, it may
// run OnTransition, whose panic goes up from here and takes no probe slot with it.
// TryAdmit panics if ctx is nil.
func (b *Breaker) TryAdmit(ctx context.Context) (attempt Attempt, err error) {
	err = b.admit(ctx, &attempt)
	return
}

// admit decides about a call, and begins its attempt if it may run. The attempt lies with
// the caller, because an Attempt handed up by value is copied at every step.
func (b *Breaker) admit(ctx context.Context, attempt *Attempt) error {
	g := b.mustExist()
	if ctx == nil {
		panic("breaker: nil context")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r := b.read()
	if g.state == Closed {
		attempt.begin(b, ctx, r.offset, g.generation)
		return nil
	}
	if r.offset < g.from || g.until <= r.offset {
		return b.admitUnderLock(ctx, r, attempt)
	}
	if g.shadow {
		attempt.beginAside(b, ctx, r.offset, g.generation)
		return nil
	}
	return g.refuse()
}

func (b *Breaker) admitUnderLock(ctx context.Context, r reading, attempt *Attempt) (err error) {
	b.mu.Lock()
	b.acceptLocked(r)
	slot, ok := b.admitLocked(ctx)
	switch g := b.gate.Load(); {
	case ok:
		attempt.begin(b, ctx, r.offset, g.generation)
		attempt.probe = slot
	case g.shadow:
		attempt.beginAside(b, ctx, r.offset, g.generation)
	default:
		err = g.refuse()
	}
	told, tells := false, b.owed.tell
	defer func() {
		if !told && attempt.breaker != nil { // a listener panicked: the slot is not to be lost to it
			attempt.endQuietly(released)
		}
	}()
	b.unlock()
	told = true
	if tells && attempt.breaker != nil {
		attempt.start = b.read().offset // the listener's time is not the dependency's
	}
	return err
}

// unlock gives the lock up, and then pays what the operation owes user code.
func (b *Breaker) unlock() {
	owed := b.owed
	b.owed = debts{}
	b.mu.Unlock()
	if owed.tell {
		defer b.outbox.deliver() // also if Random panics
	}
	if owed.draw != nil {
		b.drawAhead(owed.draw)
	}
}

// drawAhead keeps one number for the next break, because an open happens under the lock
// and Random must not.
func (b *Breaker) drawAhead(random func() float64) {
	draw := random()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.draw, b.drawn = draw, true
}
