package league

import (
	"context"
	"time"
)

// dependency is what the calls go to.
type dependency interface {
	// answer is what the caller of a call sent now gets. Unless the call is sent, it is
	// what would be, and nothing changes.
	answer(c *call, sent bool) reply

	// wise reports whether the oracle sends the call.
	wise(c *call) bool
}

// refusedAt is how soon a dependency that is down says so.
const refusedAt = time.Millisecond

// weather is what a dependency is like at one instant. Its zero value is a good day.
type weather struct {
	slower    float64 // times the usual latency; 0: 1
	failing   float64 // share of the calls that fail, after their usual latency
	shards    float64 // share of the calls that go to shards which are down
	throttled float64 // share of the calls that get a 429, at once
	down      bool    // every call fails at once
	hangs     bool    // no call is answered
}

// fated is a dependency that does not feel its load: the fate of a call is decided by its
// number and its instant, whatever else was sent.
type fated struct {
	weather  func(at time.Duration) weather
	latency  func(c *call) time.Duration
	canceled float64 // share of the callers who go away when half of the latency has passed
}

func (f *fated) answer(c *call, _ bool) reply {
	r := f.unhurried(c)
	if f.canceled > 0 && c.draw(drawCanceled) < f.canceled {
		r = reply{r.after / 2, context.Canceled}
	}
	return r.waitedFor(Deadline, context.DeadlineExceeded)
}

func (f *fated) unhurried(c *call) reply {
	w := f.weather(c.at)
	latency := f.latency(c)
	if w.slower != 0 {
		latency = time.Duration(float64(latency) * w.slower)
	}
	switch {
	case w.down, w.shards > 0 && c.draw(drawShard) < w.shards:
		return reply{refusedAt, errFailed}
	case w.hangs:
		return reply{Deadline, context.DeadlineExceeded}
	case w.throttled > 0 && c.draw(drawThrottled) < w.throttled:
		return reply{refusedAt, errThrottled}
	case w.failing > 0 && c.draw(drawFailing) < w.failing:
		return reply{latency, errFailed}
	}
	return reply{latency, nil}
}

// wise sends what will be served, and nothing else.
func (f *fated) wise(c *call) bool { return f.answer(c, false).served() }

// warming is a dependency with a capacity that an outage takes away. It is cold when it
// comes back, warms by being used, and is knocked back when it gets more than twice what
// it has room for. Its time goes in steps.
type warming struct {
	down     span
	capacity float64 // calls a step
	step     int
	sent     int // in this step
}

const (
	warmStep = 100 * time.Millisecond
	warmFast = 10 * time.Millisecond
	warmFull = 20 // calls a step: 200 a second
)

func newWarming(down span) *warming { return &warming{down: down, capacity: warmFull} }

// advance ends the steps before that of an instant.
func (w *warming) advance(at time.Duration) {
	for step := int(at / warmStep); w.step < step; w.step++ {
		switch end := time.Duration(w.step) * warmStep; {
		case w.down.has(end):
			w.capacity = 1
		case w.sent > 2*w.room():
			w.capacity = max(1, w.capacity-1)
		case w.sent == 0:
			w.capacity = min(warmFull, w.capacity+0.05)
		default:
			w.capacity = min(warmFull, w.capacity+0.2)
		}
		w.sent = 0
	}
}

func (w *warming) room() int { return max(1, int(w.capacity)) }

func (w *warming) answer(c *call, sent bool) reply {
	w.advance(c.at)
	load := float64(w.sent + 1)
	if sent {
		w.sent++
	}
	cold := float64(warmFast) * warmFull / max(1, w.capacity)
	switch {
	case w.down.has(c.at):
		return reply{refusedAt, errFailed}
	case load <= w.capacity:
		return reply{time.Duration(cold), nil}
	case load <= 3*w.capacity:
		return reply{time.Duration(cold * load / w.capacity), nil}
	}
	return reply{warmFast, errFailed}
}

// wise sends what will be served and does not knock the dependency back.
func (w *warming) wise(c *call) bool {
	return w.answer(c, false).served() && w.sent < 2*w.room()
}

// queue is a dependency that works off one call after another. A call that finds the
// queue too long is turned away, which is work too.
type queue struct {
	latency spread        // of what is not the queue
	free    time.Duration // the instant at which all that was sent is done
}

const (
	queueWork    = 5 * time.Millisecond   // a call: 200 a second
	queueShed    = 500 * time.Microsecond // to turn one away
	queueLongest = 500 * time.Millisecond
)

func (q *queue) answer(c *call, sent bool) reply {
	free := max(q.free, c.at)
	wait := free - c.at
	r := reply{wait + q.latency.latency(c), nil}
	work := queueWork
	if wait > queueLongest {
		r, work = reply{refusedAt, errFailed}, queueShed
	}
	if sent {
		q.free = free + work
	}
	return r.waitedFor(Deadline, context.DeadlineExceeded)
}

// wise sends what will be served. Nothing else costs the others any room.
func (q *queue) wise(c *call) bool { return q.answer(c, false).served() }
