package breaker

import "time"

// Clock is where a breaker reads the time, so that tests can drive it. The mock
// clock of github.com/benbjohnson/clock fits as it is. Both methods must be safe
// for concurrent use; the breaker calls neither under its lock.
//
// A breaker trusts the steps of its clock, not its readings. Steps forward add up
// to the breaker's own time. A reading up to a second behind the newest, which
// another goroutine may have taken, counts as the newest. One further behind is a
// clock that was set back: time goes on from there, and what was left of every
// deadline is left. Only readings by which something was recorded or changed count as
// such; a refusal and a read move nothing. A reading more than 146 years from the first
// counts as 146, also in the times of day that are told. See docs/design.md, "Time".
type Clock interface {
	// Now returns the time. Where it carries a monotonic reading, as that of
	// time.Now does, only that one is used for durations.
	Now() time.Time

	// After returns a channel that receives once d has passed: the pause before
	// a refusal. The channel is abandoned if the caller's context ends first, so
	// sending on it must not block. A fake that returns one that is ready at once
	// takes the pause away.
	After(d time.Duration) <-chan time.Time
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// reading is one look at the clock, taken before the lock and passed down to
// everything that the look decides.
type reading struct {
	// offset since the breaker was built, as the clock counts.
	offset time.Duration

	// wall is the same by the time of day. It is not read with the system clock: a call
	// then reads the monotonic clock alone, which costs two thirds, and the rare
	// transition asks for the time of day itself.
	wall time.Duration
}

// furthest bounds every instant on either side of the breaker's birth, to 146
// years, so that no difference of two instants overflows.
const furthest time.Duration = 1<<62 - 1

func (b *Breaker) read() reading {
	if b.clock == nil {
		return reading{offset: time.Since(b.born)}
	}
	now := b.clock.Now()
	return reading{
		offset: clamped(now.Sub(b.born)),
		wall:   clamped(now.Round(0).Sub(b.born.Round(0))),
	}
}

func clamped(d time.Duration) time.Duration { return min(max(d, -furthest), furthest) }

func (b *Breaker) after(d time.Duration) <-chan time.Time {
	if b.clock != nil {
		return b.clock.After(d)
	}
	return time.After(d)
}

// timeOfDay returns the time of day at a reading.
func (b *Breaker) timeOfDay(wall time.Duration) time.Time {
	if b.clock == nil {
		return time.Now()
	}
	return b.born.Round(0).Add(wall)
}

// How far a reading may lie behind the newest and still be a late one.
const lateReading = time.Second

// acceptLocked moves the breaker's own time, b.now, to a reading.
func (b *Breaker) acceptLocked(r reading) {
	if r.offset < b.now || b.odd {
		b.acceptOddLocked(r) // apart, so that the rest is inlined
		return
	}
	b.now = r.offset
}

// acceptOddLocked accepts what is not a step forward, or has more to tell. A clock that
// was set back takes every instant that the breaker holds back with it. That keeps each
// remaining span as it was, and it keeps own time equal to the reading, so that however
// often a clock goes back and forth, nothing adds up until it overflows: a package-level
// breaker meets such steps, of decades, each time that a test in a synctest bubble uses
// it.
func (b *Breaker) acceptOddLocked(r reading) {
	b.wall = r.wall
	behind := b.now - r.offset
	switch {
	case behind <= 0:
		b.now = r.offset
		if b.state == Open {
			b.publishLocked() // its gate goes by the newest reading
		}
	case behind > lateReading:
		b.moveBackLocked(behind)
	}
}

// readAtLocked returns the own time at which a read answers. Unlike a decision, a
// read moves nothing.
func (b *Breaker) readAtLocked(r reading) time.Duration { return max(b.now, r.offset) }

func (b *Breaker) moveBackLocked(by time.Duration) {
	b.countTimeLocked()
	b.now = earlier(b.now, by)
	b.since = b.now
	if b.trouble != nil {
		b.breakEnd = earlier(b.breakEnd, by)
		b.ramp.start = earlier(b.ramp.start, by)
		b.probes.moveBack(by)
	}
	if b.window != nil {
		b.window.moveBack(by)
	}
	if b.errors != nil {
		b.errors.moveBack(by)
	}
	if b.latency != nil {
		b.latency.moveBack(by)
	}
	b.publishLocked()
}

// later and earlier move an instant, or lengthen a span, and stop at the furthest.

func later(instant, by time.Duration) time.Duration {
	if by > furthest-instant {
		return furthest
	}
	return instant + by
}

func earlier(instant, by time.Duration) time.Duration {
	if by > instant+furthest {
		return -furthest
	}
	return instant - by
}
