package league

import (
	"container/heap"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// outlast is longer than whatever a library leaves behind that ends by itself.
const outlast = 2 * time.Minute

// driver drives a column through a row. It must run in a bubble.
type driver struct {
	incident *incident
	column   *column
	luck     luck
	born     time.Time

	// Guards that run functions have goroutines of their own.
	mu         sync.Mutex
	dependency dependency
	tally      *tally
	guards     []guard
	flight     sync.WaitGroup

	pending endings
}

// drive returns what the column came to.
func drive(in *incident, col *column) Result {
	d := &driver{incident: in, column: col, luck: in.luck, dependency: in.build(), tally: newTally(in)}
	time.Sleep(time.Duration(d.luck % luck(time.Second))) // some libraries seed themselves with the time
	d.born = time.Now()
	for i := range in.fleet {
		random := rand.New(rand.NewPCG(uint64(d.luck), uint64(i)))
		d.guards = append(d.guards, col.build(random))
	}
	for c, ok := d.next(nil); ok; c, ok = d.next(c) {
		for len(d.pending) > 0 && d.pending[0].at <= c.at {
			d.end()
		}
		d.sleepUntil(c.at)
		d.offer(c)
	}
	for len(d.pending) > 0 {
		d.end()
	}
	d.flight.Wait()
	time.Sleep(outlast)
	return d.tally.Result
}

// next returns the call after c. Where the load changes, the wait for it begins anew,
// which is no change as long as calls come at random.
func (d *driver) next(c *call) (*call, bool) {
	n := call{luck: d.luck}
	if c != nil {
		n.number, n.at = c.number+1, c.at
	}
	for from := n.at; ; n.number++ {
		n.at = from + d.luck.gap(n.number, d.incident.load(from))
		change, ok := d.incident.changes(from, n.at)
		if !ok {
			return &n, n.at < d.incident.length
		}
		from = change
	}
}

func (d *driver) now() time.Duration { return time.Since(d.born) }

func (d *driver) sleepUntil(at time.Duration) {
	if d.column.module != "" { // the others have no use for the time
		time.Sleep(at - d.now())
	}
}

// offer offers a call at its instant.
func (d *driver) offer(c *call) {
	i := int(c.draw(drawBreaker) * float64(len(d.guards)))
	g := &d.guards[i]
	if g.run != nil {
		d.flight.Add(1)
		go d.run(c, i, g)
		return
	}
	d.tally.Offered++
	ctx := new(callContext)
	var end func(error)
	var ok bool
	if d.column.oracle {
		ok = d.dependency.wise(c)
	} else {
		end, ok = g.admit(ctx)
	}
	if ok {
		r := d.send(c)
		heap.Push(&d.pending, &ending{at: c.at + r.after, number: c.number, guard: i, ctx: ctx, end: end, err: r.err})
	} else {
		d.refuse(c)
	}
	d.tally.observe(i, g, c.at, !ok)
}

func (d *driver) send(c *call) reply {
	r := d.dependency.answer(c, true)
	d.tally.sent(c, r)
	return r
}

func (d *driver) refuse(c *call) { d.tally.refused(d.dependency.answer(c, false)) }

// end ends the call that is the next to end.
func (d *driver) end() {
	e := heap.Pop(&d.pending).(*ending)
	d.sleepUntil(e.at)
	if e.end == nil { // the oracle's
		return
	}
	e.ctx.end(e.err)
	e.end(e.err)
	d.tally.observe(e.guard, &d.guards[e.guard], e.at, false)
}

// run drives a call through a guard that takes a function.
func (d *driver) run(c *call, i int, g *guard) {
	defer d.flight.Done()
	var sent atomic.Bool
	_ = g.run(func() reply {
		sent.Store(true)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.tally.observe(i, g, c.at, false)
		return d.send(c)
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tally.Offered++
	if !sent.Load() {
		d.refuse(c)
	}
	d.tally.observe(i, g, d.now(), !sent.Load())
}

// ending is an admitted call that has not ended.
type ending struct {
	at     time.Duration
	number uint64
	guard  int
	ctx    *callContext
	end    func(error)
	err    error
}

// endings is a heap, the next one first.
type endings []*ending

func (e endings) Len() int { return len(e) }
func (e endings) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].number < e[j].number
}
func (e endings) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)   { *e = append(*e, x.(*ending)) }
func (e *endings) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = nil
	*e = (*e)[:last]
	return x
}
