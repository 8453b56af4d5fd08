package linearizability

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/normal-go/breaker"
)

// subject is what is under test: a breaker, or something that claims to be as good.
type subject interface {
	TryAdmit(context.Context) (breaker.Attempt, error)
	Reset()
	Isolate()
	ProbeNow()
	State() breaker.State
	Snapshot() breaker.Snapshot
}

// heldClock stands still while clients work. To read it may let others go first, which
// makes operations overlap at the one place where a breaker calls out before it decides. It
// shares nothing that could keep a race from the race detector.
type heldClock struct{ now time.Time }

func (c *heldClock) Now() time.Time {
	if rand.IntN(3) == 0 {
		runtime.Gosched()
	}
	return c.now
}

func (c *heldClock) After(time.Duration) <-chan time.Time { panic("nobody waits here") }

// history is of some rounds of clients at work, between which the clock goes on.
type history struct {
	seed       uint64
	clients    int
	operations []porcupine.Operation
}

const (
	mostClients = 8
	rounds      = 3
	aRound      = 16 // operations of all clients together, or a few less
)

// record makes the history of a seed. What the clients do depends on the seed alone, how
// they interleave does not.
func record(seed uint64, wrap func(*breaker.Breaker) subject) history {
	random := rand.New(rand.NewPCG(seed, 0))
	h := history{seed: seed, clients: 4 + random.IntN(mostClients-3)}
	clock := &heldClock{now: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}
	b := breaker.MustNew(breaker.Settings{
		DisableAdaptive:      true,
		ConsecutiveFailures:  failuresInARow,
		HalfOpenProbes:       slots,
		ProbeSuccesses:       successes,
		BreakDuration:        firstBreak,
		MaximumBreakDuration: longestBreak,
		BreakJitter:          breaker.JitterNone,
		ProbeTimeout:         probeTimeout,
		Clock:                clock,
		OnTransition:         func(context.Context, breaker.Transition) { runtime.Gosched() },
	})
	s := wrap(b)
	born := time.Now()
	clients := make([]client, h.clients)
	each := aRound / h.clients
	for i := range clients {
		clients[i] = client{
			subject: s, id: i, firstID: i * rounds * each, born: born,
			random:   rand.New(rand.NewPCG(seed, uint64(i)+1)),
			attempts: map[int]*breaker.Attempt{},
		}
	}
	for round := range rounds {
		for i, failing := 0, random.Float64(); i < len(clients); i++ {
			clients[i].failing = failing
		}
		if round > 0 {
			by := [...]time.Duration{0, probeTimeout, firstBreak - 1, firstBreak, longestBreak}[random.IntN(5)]
			began := time.Since(born)
			clock.now = clock.now.Add(by)
			h.operations = append(h.operations, porcupine.Operation{
				ClientId: h.clients, Input: input{kind: advance, by: by}, Output: answer{},
				Call: int64(began), Return: int64(time.Since(born)),
			})
		}
		var ready atomic.Int64
		var working sync.WaitGroup
		for i := range clients {
			working.Go(func() {
				for ready.Add(1); ready.Load() < int64(h.clients); {
					runtime.Gosched()
				}
				for range each {
					clients[i].work()
				}
			})
		}
		working.Wait()
	}
	for i := range clients {
		h.operations = append(h.operations, clients[i].operations...)
	}
	return h
}

// client is one goroutine's part in a history.
type client struct {
	subject
	id         int
	firstID    int // of its attempts
	born       time.Time
	random     *rand.Rand
	failing    float64 // how many of its calls fail in this round
	admits     int
	attempts   map[int]*breaker.Attempt // under way
	operations []porcupine.Operation
}

// work does one thing.
func (c *client) work() {
	switch n := c.random.IntN(100); {
	case n < 45 && len(c.attempts) < 3 || n < 80 && len(c.attempts) == 0:
		in := input{kind: admit, attempt: c.firstID + c.admits}
		c.admits++
		c.do(in, func() (out answer) {
			a, err := c.TryAdmit(context.Background())
			var refusal *breaker.RejectedError
			if errors.As(err, &refusal) {
				return answer{refused: true, state: refusal.State}
			}
			c.attempts[in.attempt] = &a
			return out
		})
	case n < 80:
		c.end()
	case n < 84:
		c.do(input{kind: reset}, func() (out answer) { c.Reset(); return out })
	case n < 85:
		c.do(input{kind: isolate}, func() (out answer) { c.Isolate(); return out })
	case n < 92:
		c.do(input{kind: probeNow}, func() (out answer) { c.ProbeNow(); return out })
	case n < 95:
		c.do(input{kind: state}, func() answer { return answer{state: c.State()} })
	default:
		c.do(input{kind: snapshot}, func() answer { return answer{seen: viewOf(c.Snapshot())} })
	}
}

// end ends one of the client's attempts.
func (c *client) end() {
	under := make([]int, 0, len(c.attempts))
	for id := range c.attempts {
		under = append(under, id)
	}
	slices.Sort(under)
	in := input{kind: end, attempt: under[c.random.IntN(len(under))]}
	switch p := c.random.Float64(); {
	case p < 0.1:
		in.verdict = released
	case p < 0.2:
		in.verdict = breaker.Throttled + breaker.Verdict(c.random.IntN(3))
	case c.random.Float64() < c.failing:
		in.verdict = breaker.Transient
	}
	a := c.attempts[in.attempt]
	delete(c.attempts, in.attempt)
	c.do(in, func() (out answer) {
		if in.verdict == released {
			a.Release()
		} else {
			a.Record(in.verdict, 0)
		}
		return out
	})
}

// do writes an operation down.
func (c *client) do(in input, operation func() answer) {
	began := time.Since(c.born)
	out := operation()
	c.operations = append(c.operations, porcupine.Operation{
		ClientId: c.id, Input: in, Output: out, Call: int64(began), Return: int64(time.Since(c.born)),
	})
}

// overlaps counts the operations that began before one that had begun earlier returned.
func (h history) overlaps() (n int) {
	ops := slices.SortedFunc(slices.Values(h.operations), byCall)
	latest := int64(-1)
	for _, op := range ops {
		if op.Call < latest {
			n++
		}
		latest = max(latest, op.Return)
	}
	return n
}

func byCall(a, b porcupine.Operation) int { return int(a.Call - b.Call) }

// String lists the operations in the order in which they began.
func (h history) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "seed %d\n", h.seed)
	for _, op := range slices.SortedFunc(slices.Values(h.operations), byCall) {
		fmt.Fprintf(&s, "%9d to %9d ns, client %d: %s\n", op.Call, op.Return, op.ClientId, describe(op.Input.(input), op.Output.(answer)))
	}
	return s.String()
}
