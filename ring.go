package breaker

import "time"

// ring is a row of slots for what happened lately, each for one span of time, whose
// boundaries count from when the breaker was built. The newest slot holds now; as time
// goes on it turns, and the oldest is emptied and becomes the newest. A window on a ring
// of n slots so forgets a whole slot at once, and reaches back between n-1 and n of them.
type ring[T any] struct {
	width  time.Duration
	end    time.Duration // where the newest slot ends
	newest int
	slot   *T // the newest
	slots  []T
}

func newRing[T any](now, length time.Duration, slots int) ring[T] {
	r := ring[T]{width: max(1, length/time.Duration(slots)), slots: make([]T, slots)}
	into := now % r.width
	if into < 0 { // a clock that was set back beyond the breaker's birth
		into += r.width
	}
	r.slot, r.end = &r.slots[0], later(now-into, r.width)
	return r
}

// current returns the slot that holds now. Nearly every call finds it to be the newest, and
// inlined, the look costs nothing.
func (r *ring[T]) current(now time.Duration) *T {
	if now >= r.end {
		r.turn(now)
	}
	return r.slot
}

// turn makes the newest slot the one that holds now, which is not before end.
func (r *ring[T]) turn(now time.Duration) {
	turns := r.turnsTo(now)
	for range min(turns, time.Duration(len(r.slots))) {
		r.newest = (r.newest + 1) % len(r.slots)
		clear(r.slots[r.newest : r.newest+1])
	}
	r.slot, r.end = &r.slots[r.newest], later(r.end, turns*r.width)
}

// turnsTo returns how often the ring turns until its newest slot is the one that holds
// now.
func (r *ring[T]) turnsTo(now time.Duration) time.Duration {
	if now < r.end {
		return 0
	}
	return (now-r.end)/r.width + 1
}

// live returns how many slots, from the newest back, are still within the window as of
// now. It moves nothing, so that no read can change what a later call finds.
func (r *ring[T]) live(now time.Duration) int {
	return len(r.slots) - int(min(r.turnsTo(now), time.Duration(len(r.slots))))
}

// back returns the slot that is so many turns old, 0 for the newest.
func (r *ring[T]) back(age int) *T {
	i := r.newest - age
	if i < 0 { // a division costs more than all the rest of a sum
		i += len(r.slots)
	}
	return &r.slots[i]
}

func (r *ring[T]) moveBack(by time.Duration) { r.end = earlier(r.end, by) }
