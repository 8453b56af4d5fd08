package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/normal-go/breaker"
)

// duelClock is set by hand, back and forth. Its pauses are over at once.
type duelClock struct{ now time.Time }

func (c *duelClock) Now() time.Time { return c.now }

func (c *duelClock) After(time.Duration) <-chan time.Time {
	over := make(chan time.Time, 1)
	over <- c.now
	return over
}

// lateContext has a deadline that passes when the duel says so.
type lateContext struct {
	context.Context
	passed bool
}

func (c *lateContext) Err() error {
	if c.passed {
		return context.DeadlineExceeded
	}
	return nil
}

// duel lets a breaker and the model do the same, and compares all that can be seen of
// them after every step.
type duel struct {
	breaker *breaker.Breaker
	model   *model
	clock   *duelClock
	reading time.Duration // since the breaker was built

	header          []byte // of the settings in force
	listener        int    // the one in force
	told, expected  []told
	mood            int
	draws, modelled int // numbers taken from Random
	compared        int // transitions
	kept            []keptCall
	updated         map[breaker.State]int // updates, by state
	declined        int                   // updates that were refused
	refused         []keptRefusal

	steps map[breaker.State]int
	log   func(format string, a ...any) // nil: nobody reads along
	differences
}

type told struct {
	listener   int
	ctx        context.Context
	transition breaker.Transition
}

// keptCall is a call under way, on both sides.
type keptCall struct {
	attempt *breaker.Attempt
	tried   *tried
	cancel  context.CancelCauseFunc // one of the two, or neither
	late    *lateContext
}

type keptRefusal struct {
	err   *breaker.RejectedError
	model *modelRefusal
}

var born = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// newDuel returns nil if New refuses the settings.
func newDuel(s breaker.Settings, draws []float64, steps map[breaker.State]int) *duel {
	d := &duel{clock: &duelClock{born}, steps: steps, updated: map[breaker.State]int{}}
	s.Clock = d.clock
	s.Random, s.OnTransition = d.numbers(&d.draws, draws), d.listen(&d.told)
	var err error
	if d.breaker, err = breaker.New(s); err != nil {
		return nil
	}
	d.model = newModel(s, born, d.numbers(&d.modelled, draws), d.listen(&d.expected))
	return d
}

// numbers returns a Random that counts what is taken of it.
func (d *duel) numbers(taken *int, draws []float64) func() float64 {
	return func() float64 {
		*taken++
		return draws[*taken%len(draws)]
	}
}

// listen returns an OnTransition that writes down what it is told.
func (d *duel) listen(list *[]told) func(context.Context, breaker.Transition) {
	listener := d.listener
	return func(ctx context.Context, t breaker.Transition) { *list = append(*list, told{listener, ctx, t}) }
}

func (d *duel) note(format string, a ...any) {
	if d.log != nil {
		d.log(format, a...)
	}
}

// set moves the clock.
func (d *duel) set(reading time.Duration) {
	d.reading = reading
	d.clock.now = born.Add(reading)
}

// step takes one step on both sides, and compares.
func (d *duel) step(do func()) {
	if d.first != "" {
		return
	}
	d.steps[d.model.state]++
	do()
	d.compare()
	if d.log != nil {
		s := d.breaker.Snapshot()
		d.log("\t%v, %d of %d failed, %d slow, run %d\n", s.State, s.Failures, s.Calls, s.Slow, s.Run)
	}
}

func (d *duel) compare() {
	m, t := d.model, d.model.instant(d.reading)
	want := m.snapshot(d.reading)
	same(&d.differences, "State", d.breaker.State(), want.State)
	openedAt, known := d.breaker.OpenedAt()
	same(&d.differences, "OpenedAt known", known, want.State != breaker.Closed)
	d.instant("OpenedAt", openedAt, want.OpenedAt)
	left, known := d.breaker.RetryAfter()
	wantLeft, wantKnown := m.retryAfter(t)
	same(&d.differences, "RetryAfter", left, wantLeft)
	same(&d.differences, "RetryAfter known", known, wantKnown)
	latency, known := d.breaker.NormalLatency()
	same(&d.differences, "NormalLatency", latency, want.NormalLatency)
	same(&d.differences, "NormalLatency known", known, want.NormalLatencyKnown)
	rate, known := d.breaker.NormalFailureRate()
	d.near("NormalFailureRate", rate, want.NormalFailureRate)
	same(&d.differences, "NormalFailureRate known", known, want.NormalFailureRateKnown)
	d.snapshot(d.breaker.Snapshot(), want)

	same(&d.differences, "transitions told", len(d.told), len(d.expected))
	for i := range min(len(d.told), len(d.expected)) {
		same(&d.differences, "listener told", d.told[i].listener, d.expected[i].listener)
		same(&d.differences, "context told", d.told[i].ctx, d.expected[i].ctx)
		d.transition("told", d.told[i].transition, d.expected[i].transition)
	}
	d.told, d.expected = d.told[:0], d.expected[:0]
	same(&d.differences, "numbers taken from Random", d.draws, d.modelled)

	if len(m.transitions) != d.compared {
		d.compared = len(m.transitions)
		history, want := d.breaker.History(), m.history()
		same(&d.differences, "len(History)", len(history), len(want))
		for i := range min(len(history), len(want)) {
			d.transition(fmt.Sprintf("History[%d]", i), history[i], want[i])
		}
	}
	for _, r := range d.refused {
		left, known := r.err.RetryAfter()
		wantLeft, wantKnown := m.left(r.model, d.reading)
		same(&d.differences, "RejectedError.RetryAfter known", known, wantKnown)
		same(&d.differences, "RejectedError.RetryAfter", left, wantLeft)
	}
}

// newContext returns a context by its number, and what ends it.
func newContext(kind int) (ctx context.Context, cancel context.CancelCauseFunc, late *lateContext) {
	switch kind {
	case 1:
		ctx, cancel = context.WithCancelCause(bg)
		return ctx, cancel, nil
	case 2:
		late = &lateContext{Context: bg}
		return late, nil, late
	}
	return bg, nil, nil
}

// admit asks both sides for a call, and keeps what they give.
func (d *duel) admit(kind int, pause bool) (call keptCall, admitted bool) {
	ctx, cancel, late := newContext(kind)
	call = keptCall{cancel: cancel, late: late}
	ask := d.breaker.TryAdmit
	if pause {
		ask = d.breaker.Admit
	}
	attempt, err := ask(ctx)
	call.attempt = &attempt
	var refusal *modelRefusal
	call.tried, refusal, _ = d.model.admit(ctx, d.reading)
	return call, d.answered(err, refusal)
}

// answered compares the answers to a call that was offered.
func (d *duel) answered(err error, refusal *modelRefusal) (admitted bool) {
	same(&d.differences, "admitted", err == nil, refusal == nil)
	if err == nil || refusal == nil {
		return d.first == ""
	}
	var rejected *breaker.RejectedError
	same(&d.differences, "refused with ErrRejected", errors.Is(err, breaker.ErrRejected), true)
	if !errors.As(err, &rejected) {
		same(&d.differences, "refusal", err.Error(), "a *RejectedError")
		return false
	}
	same(&d.differences, "RejectedError.Name", rejected.Name, refusal.name)
	same(&d.differences, "RejectedError.State", rejected.State, refusal.state)
	same(&d.differences, "RejectedError.Reason", rejected.Reason, breaker.DependencyUnavailable)
	if n := len(d.refused); n == 0 || d.refused[n-1].err != rejected {
		d.refused = append(d.refused[max(0, n-7):], keptRefusal{rejected, refusal})
	}
	return false
}

// call admits a call and ends it at once.
func (d *duel) call(v breaker.Verdict, latency time.Duration) {
	d.note("call, %v after %v", v, latency)
	d.step(func() {
		if call, admitted := d.admit(0, false); admitted {
			call.attempt.Record(v, latency)
			d.model.settle(call.tried, d.reading, v, latency)
		} else {
			d.note(" (refused)")
		}
	})
}

// do lets the breaker run a function, which takes some time and may panic.
func (d *duel) do(kind int, err error, takes time.Duration, panics bool) {
	d.note("Do in context %d, %v after %v, panic %v", kind, err, takes, panics)
	d.step(func() {
		ctx, cancel, late := newContext(kind)
		start := d.reading
		tried, refusal, _ := d.model.admit(ctx, start)
		got := func() (got error) {
			defer func() {
				if panics {
					_ = recover()
				}
			}()
			return d.breaker.Do(ctx, func(context.Context) error {
				d.set(start + takes)
				endContext(keptCall{cancel: cancel, late: late})
				if panics {
					panic("fn")
				}
				return err
			})
		}()
		switch {
		case refusal != nil:
			d.answered(got, refusal)
		case panics:
			d.model.settle(tried, d.reading, breaker.Permanent, d.reading-start)
		default:
			same(&d.differences, "error of Do", got, err)
			d.model.settle(tried, d.reading, d.model.verdict(tried, err, d.reading, d.reading-start), d.reading-start)
		}
	})
}

// endContext ends the context of a call.
func endContext(call keptCall) {
	switch {
	case call.cancel != nil:
		call.cancel(errGone)
	case call.late != nil:
		call.late.passed = true
	}
}

var errGone = errors.New("the caller is gone")

// errorsOfCalls are what calls end with.
var errorsOfCalls = []error{
	nil, errDown, errDown, context.Canceled, context.DeadlineExceeded, errGone, fmt.Errorf("read: %w", errGone),
	breaker.WithVerdict(errDown, breaker.OK), breaker.WithVerdict(errDown, breaker.Throttled),
	breaker.WithVerdict(errGone, breaker.Transient), breaker.WithVerdict(errDown, breaker.Permanent),
	breaker.WithVerdict(context.Canceled, breaker.Transient), breaker.WithVerdict(errDown, breaker.Verdict(9)),
	fmt.Errorf("read: %w", breaker.WithVerdict(errDown, breaker.Canceled)),
	breaker.WithVerdict(breaker.WithVerdict(errDown, breaker.OK), breaker.Transient), errUnknown,
}

// errUnknown is one that the classifier of half of the settings knows better.
var errUnknown = errors.New("unknown")
