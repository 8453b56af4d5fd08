package calls

import (
	"fmt"
	"time"
)

// Access logs are written when calls end, so calls come out of the order in which they
// began. order holds back those that began within the window before the newest start, and
// lets them go in the order of their starts. A start is the newest once another line has
// one as late: a single broken time would let everything go.
type order struct {
	window time.Duration
	most   int // held back
	heap   []Call
	newest int64
	last   int64 // the start of the line before
	passed int64 // the start of the newest that was let go
	any    bool
}

// mostHeld bounds the memory, whatever the window and the rate: 40 MiB.
const mostHeld = 1 << 20

// longestLog is how far from the first line a call may begin: what a replay can cover.
const longestLog = 31 * 24 * time.Hour

// put takes a call in. It refuses one that comes too late.
func (o *order) put(c Call, first int64) error {
	switch {
	case o.any && c.Start < o.passed:
		return fmt.Errorf("it begins %v before a call that came earlier, and --reorder is %v", time.Duration(o.newest-c.Start), o.window)
	case c.Start-first > int64(longestLog) || c.Start < first-int64(longestLog):
		return fmt.Errorf("it begins %v from the first line, and at most %v are replayed", time.Duration(c.Start-first).Round(time.Second), longestLog)
	}
	if len(o.heap) == 0 && !o.any {
		o.newest = c.Start - int64(longestLog)
	} else {
		o.newest = max(o.newest, min(o.last, c.Start))
	}
	o.last = c.Start
	o.heap = append(o.heap, c)
	i := len(o.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !c.before(&o.heap[parent]) {
			break
		}
		o.heap[i] = o.heap[parent]
		i = parent
	}
	o.heap[i] = c
	return nil
}

// due returns the next call if nothing may come before it any more.
func (o *order) due() (Call, bool) {
	if len(o.heap) == 0 || o.heap[0].Start > o.newest-int64(o.window) && len(o.heap) <= o.most {
		return Call{}, false
	}
	return o.pop(), true
}

// pop takes the first out, of which there must be one.
func (o *order) pop() Call {
	first, n := o.heap[0], len(o.heap)-1
	moved := o.heap[n]
	o.heap = o.heap[:n]
	for i := 0; n > 0; {
		child := 2*i + 1
		if child+1 < n && o.heap[child+1].before(&o.heap[child]) {
			child++
		}
		if child >= n || !o.heap[child].before(&moved) {
			o.heap[i] = moved
			break
		}
		o.heap[i] = o.heap[child]
		i = child
	}
	o.passed, o.any = first.Start, true
	return first
}
