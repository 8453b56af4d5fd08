package simulation

import (
	"context"
	"errors"
	"time"
)

// The life of a call: it is offered, asks its breaker, reaches the dependency or is
// refused, may try again, and ends.

// offer begins a call.
func (e *engine) offer(l luck) {
	e.book.offered()
	s := &e.scenario
	f := e.flights.take()
	*f = flight{luck: l, began: e.now, deadline: never, leaves: never, instance: e.instances[0]}
	if n := uint64(len(e.instances)); n > 1 {
		f.instance = e.instances[l.roll(rollInstance)>>32*n>>32]
	}
	if s.Callers.Deadline > 0 {
		f.deadline = e.now + s.Callers.Deadline
	}
	if p := s.Callers.CancelShare; p > 0 && shareOf(p).meets(l.roll(rollCancel)) {
		f.leaves = e.now + s.Callers.CancelAfter
	}
	e.ask(f)
}

// ask begins an attempt.
func (e *engine) ask(f *flight) {
	f.waiting, f.asked = false, e.now
	e.book.asked()
	in := f.instance
	if in.breaker != nil {
		var err error
		if f.attempt, err = in.breaker.TryAdmit(&f.ctx); err != nil {
			e.refused(f)
			return
		}
		if f.attempt.Probe() && !e.scenario.Settings.Shadow {
			e.book.probe(e.now, in)
		}
	}
	e.book.reached(e)
	a := e.model.answer(e.now, f.luck, f.try, true)
	var lasts time.Duration
	lasts, f.err, f.over = e.outcome(f, e.now, a)
	if e.scenario.Instant {
		e.settle(f, lasts)
		return
	}
	e.flights.push(e.now+lasts, f)
}

// outcome returns how long an attempt lasts that begins now, what it ends with, and what
// the caller's context ends with, if it does. The breaker knows of the caller's context
// and not of a timeout inside the call.
func (e *engine) outcome(f *flight, at time.Duration, a answer) (lasts time.Duration, err, over error) {
	lasts, err = a.latency, a.err
	if timeout := e.scenario.Callers.Timeout; timeout > 0 && timeout < lasts {
		lasts, err = timeout, context.DeadlineExceeded
	}
	if left := f.deadline - at; left < lasts {
		lasts, err, over = left, context.DeadlineExceeded, context.DeadlineExceeded
	}
	if left := f.leaves - at; left < lasts {
		lasts, err, over = max(left, 0), context.Canceled, context.Canceled
	}
	return lasts, err, over
}

// refused is what happens to an attempt that the breaker does not admit.
func (e *engine) refused(f *flight) {
	e.book.refused()
	c := &e.scenario.Callers
	pause := refusalPause
	if c.NoPause || e.scenario.Instant {
		pause = 0
	}
	back := min(e.now+pause, f.deadline, f.leaves) // the pause ends with the context
	if c.RetryRefusals && e.retry(f, pause) {
		return
	}
	e.end(f, endRefused, max(back, e.now)-f.began, e.servable(f))
}

// servable reports whether the call would have been served by one of its tries if the
// breaker had let them all through from the start, with the dependency as it is now.
func (e *engine) servable(f *flight) bool {
	c := &e.scenario.Callers
	at := f.began
	for try := 0; try <= c.Retries && at < f.deadline && at < f.leaves; try++ {
		lasts, err, over := e.outcome(f, at, e.model.answer(e.now, f.luck, try, false))
		if err == nil {
			return true
		}
		if over != nil {
			return false
		}
		if !e.scenario.Instant {
			at += lasts + c.backoff(try)
		}
	}
	return false
}

// land ends an attempt that was under way.
func (e *engine) land(f *flight) {
	if e.model == nil {
		e.landRecorded(f)
		return
	}
	e.settle(f, e.now-f.asked)
}

// settle ends an attempt, and with it the call unless there is another try.
func (e *engine) settle(f *flight, lasted time.Duration) {
	f.ctx.err = f.over
	if f.instance.breaker != nil {
		if e.scenario.Instant {
			f.attempt.DoneAfter(f.err, lasted)
		} else {
			f.attempt.Done(f.err)
		}
	}
	how := ending(f.err)
	e.book.settled(how)
	if (how == endFailed || how == endThrottled) && f.over == nil && e.retry(f, 0) {
		return
	}
	waited := e.now - f.began
	if e.scenario.Instant {
		waited = lasted
	}
	e.end(f, how, waited, false)
}

func ending(err error) endKind {
	switch {
	case err == nil:
		return endServed
	case errors.Is(err, context.Canceled):
		return endCanceled
	case err == ErrThrottled:
		return endThrottled
	}
	return endFailed
}

// longestBackoff is where the doubling of Callers.Backoff stops, unless it began beyond.
const longestBackoff = time.Minute

// retry lets a call try again after a pause and its backoff, if it has a try left and its
// caller will still be there.
func (e *engine) retry(f *flight, pause time.Duration) bool {
	c := &e.scenario.Callers
	if f.try >= c.Retries {
		return false
	}
	wait := pause
	if !e.scenario.Instant {
		wait += c.backoff(f.try)
	}
	if at := e.now + wait; at >= f.deadline || at >= f.leaves {
		return false
	}
	f.try++
	f.waiting = true
	if e.scenario.Instant {
		e.ask(f)
		return true
	}
	e.flights.push(e.now+wait, f)
	return true
}

// end ends a call.
func (e *engine) end(f *flight, how endKind, waited time.Duration, servable bool) {
	e.book.ended(how, waited, servable)
	e.flights.giveBack(f)
}

// backoff is the wait after a try, 0 for the first.
func (c *Callers) backoff(try int) time.Duration {
	wait := c.Backoff
	for ; try > 0 && wait < longestBackoff; try-- {
		wait = min(2*wait, longestBackoff)
	}
	return wait
}
