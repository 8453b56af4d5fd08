package simulation

import (
	"context"
	"time"

	"github.com/normal-go/breaker"
)

// flight is a call under way: an attempt that will be answered, or the wait before the
// next.
type flight struct {
	ctx     callContext
	attempt breaker.Attempt

	luck     luck
	began    time.Duration
	deadline time.Duration // of the caller
	leaves   time.Duration // the caller, without an answer
	try      int           // 0 for the first
	instance *instance

	waiting bool          // for the next attempt
	asked   time.Duration // when the attempt began
	err     error         // what the attempt ends with
	over    error         // what the caller's context ends with at the same time

	verdict breaker.Verdict // of a call that is replayed
}

// callContext is the context of a call, on the clock of the run.
type callContext struct{ err error }

func (c *callContext) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }
func (c *callContext) Value(any) any                           { return nil }
func (c *callContext) Err() error                              { return c.err }

func (c *callContext) Done() <-chan struct{} {
	if c.err == nil {
		return nil
	}
	return done
}

var done = func() <-chan struct{} {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx.Done()
}()

// flights are the calls under way, the next to need attention first: a heap, in which
// those of one instant keep their order. Flights that have landed are used again.
type flights struct {
	heap []due
	seq  uint64
	free []*flight
}

type due struct {
	at     time.Duration
	seq    uint64
	flight *flight
}

func (d due) before(e due) bool { return d.at < e.at || d.at == e.at && d.seq < e.seq }

func (f *flights) take() *flight {
	if n := len(f.free); n > 0 {
		taken := f.free[n-1]
		f.free = f.free[:n-1]
		return taken
	}
	return new(flight)
}

func (f *flights) giveBack(landed *flight) { f.free = append(f.free, landed) }

func (f *flights) push(at time.Duration, flight *flight) {
	f.seq++
	added := due{at, f.seq, flight}
	f.heap = append(f.heap, added)
	i := len(f.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !added.before(f.heap[parent]) {
			break
		}
		f.heap[i] = f.heap[parent]
		i = parent
	}
	f.heap[i] = added
}

// pop takes the first out, of which there must be one.
func (f *flights) pop() due {
	first := f.heap[0]
	n := len(f.heap) - 1
	moved := f.heap[n]
	f.heap[n] = due{}
	f.heap = f.heap[:n]
	if n == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && f.heap[child+1].before(f.heap[child]) {
			child++
		}
		if !f.heap[child].before(moved) {
			break
		}
		f.heap[i] = f.heap[child]
		i = child
	}
	f.heap[i] = moved
	return first
}

// before reports whether something is due before an instant.
func (f *flights) before(at time.Duration) bool { return len(f.heap) > 0 && f.heap[0].at < at }
