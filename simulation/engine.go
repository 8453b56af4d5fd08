package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/normal-go/breaker"
)

// engine moves a run through time, from event to event: calls that are offered come as a
// stream in their order, what is under way lies in a heap, and what changes by itself, the
// incidents and the seconds of the timeline, has an edge.
type engine struct {
	scenario  Scenario // filled
	ctx       context.Context
	stopped   bool // ctx is done, and nothing that follows will be reported
	clock     *clock
	now       time.Duration
	model     *model // nil in a replay
	instances []*instance
	flights   flights

	tick time.Duration // the end of the second
	edge time.Duration // the end of the second or the next change of the model
	book *book
}

// instance is one process of the callers'.
type instance struct {
	number  int
	breaker *breaker.Breaker // nil without one
	opened  time.Duration    // the newest time
}

func newEngine(ctx context.Context, s Scenario, epoch time.Time, withModel bool) *engine {
	e := &engine{scenario: s, ctx: ctx, clock: newClock(epoch), book: newBook(&s)}
	if withModel {
		e.model = newModel(&e.scenario)
	}
	for n := range s.Instances {
		e.instances = append(e.instances, e.newInstance(n))
	}
	e.tick = time.Second
	e.setEdge()
	return e
}

func (e *engine) newInstance(n int) *instance {
	in := &instance{number: n}
	if e.scenario.NoBreaker {
		return in
	}
	settings := e.scenario.Settings
	if e.scenario.Instances > 1 {
		settings.Name = fmt.Sprintf("%s/%d", settings.Name, n+1)
	}
	settings.Clock = e.clock
	settings.Random = rand.New(stream(e.scenario.Seed, streamJitter+n)).Float64
	tell := settings.OnTransition
	settings.OnTransition = func(ctx context.Context, t breaker.Transition) {
		e.turned(in, t)
		if tell != nil {
			tell(ctx, t)
		}
	}
	in.breaker = breaker.MustNew(settings) // they are valid
	return in
}

// Run runs a scenario to its end. Its error is a [*ScenarioError], or that of ctx, which
// is looked at once every simulated second, and at the end.
func Run(ctx context.Context, s Scenario) (*Report, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s = s.filled()
	e := newEngine(ctx, s, epoch, true)
	offered, dice := newArrivals(s.Load, s.Duration, s.Seed), stream(s.Seed, streamLuck)
	for !e.stopped {
		at, more := offered.next()
		if !more {
			break
		}
		e.advance(at)
		e.offer(luck(dice.Uint64()))
	}
	e.finish(s.Duration)
	if e.stopped {
		return nil, ctx.Err()
	}
	return e.book.report(e), nil
}

// advance brings the run to an instant, at which a call is to be offered. What ends at it
// has ended.
func (e *engine) advance(to time.Duration) {
	for e.flights.before(to + 1) {
		e.next()
	}
	e.moveTo(to)
}

// next attends to what is due first.
func (e *engine) next() {
	first := e.flights.pop()
	e.moveTo(first.at)
	if first.flight.waiting {
		e.ask(first.flight)
		return
	}
	e.land(first.flight)
}

func (e *engine) moveTo(at time.Duration) {
	for at >= e.edge && !e.stopped {
		e.now = e.edge
		e.clock.moveTo(e.edge)
		e.cross()
	}
	e.now = at
	e.clock.moveTo(at)
}

// cross lets happen what happens at the edge.
func (e *engine) cross() {
	if e.now == e.tick {
		e.endSecond()
		e.tick += time.Second
	}
	if e.model != nil && e.now == e.model.until {
		e.model.enter(e.now)
	}
	e.setEdge()
}

func (e *engine) setEdge() {
	e.edge = e.tick
	if e.model != nil {
		e.edge = min(e.edge, e.model.until)
	}
}

// finish ends the run: no more calls come after end, and those under way are seen through
// to theirs, in the last second.
func (e *engine) finish(end time.Duration) {
	for e.flights.before(end) && !e.stopped {
		e.next()
	}
	e.moveTo(end - 1)
	e.tick = furthest
	e.setEdge()
	e.moveTo(end)
	e.observe()
	e.book.lookForWorst()
	for len(e.flights.heap) > 0 && !e.stopped {
		e.next()
	}
	if e.stopped = e.stopped || e.ctx.Err() != nil; !e.stopped {
		e.book.endSecond(e)
	}
}

// endSecond writes a second down, and begins the next.
func (e *engine) endSecond() {
	e.observe()
	e.book.lookForWorst()
	e.book.endSecond(e)
	e.stopped = e.ctx.Err() != nil
}

// observe looks at the breakers, for the second that is ending.
func (e *engine) observe() {
	second := &e.book.second
	second.AdmittedFraction = 1
	if e.scenario.NoBreaker {
		return
	}
	for _, in := range e.instances {
		switch in.breaker.State() {
		case breaker.Closed:
			second.Closed++
		case breaker.Open:
			second.Open++
		case breaker.HalfOpen:
			second.HalfOpen++
		case breaker.Recovering:
			second.Recovering++
		}
	}
	s := e.instances[0].breaker.Snapshot()
	second.State = s.State
	switch s.State {
	case breaker.Closed:
	case breaker.Recovering:
		second.AdmittedFraction = rounded(s.AdmittedFraction)
	default:
		second.AdmittedFraction = 0
	}
	second.SlowThreshold, second.NormalLatency, second.TripRatio = s.SlowThreshold, s.NormalLatency, rounded(s.TripRatio)
	second.FailureRate = ratio(int64(s.Failures), int64(s.Calls))
	second.SlowRate = ratio(int64(s.Slow), int64(s.Calls))
}

// turned takes note of a transition.
func (e *engine) turned(in *instance, t breaker.Transition) {
	e.book.transition(t)
	if t.To != breaker.Open {
		return
	}
	in.opened = e.now
	trouble := noTrouble
	if e.model != nil {
		trouble = e.model.troubleAt(e.now)
	}
	e.book.open(e, in, t.Cause, trouble)
}
