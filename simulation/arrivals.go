package simulation

import (
	"math/rand/v2"
	"time"
)

// arrivals is a load as a stream: when the next call is offered. It goes from stretch to
// stretch of a rate that does not change.
type arrivals struct {
	load Load
	end  time.Duration
	dice *rand.PCG

	from, until time.Duration // the stretch
	rate        float64       // in it
	come        float64       // calls in it so far

	// owed is how much of the next call has come already: 1 is a whole one. By Poisson, it
	// is how much is still to come.
	owed float64

	batch int // of calls still to be offered at from
}

func newArrivals(load Load, end time.Duration, seed uint64) *arrivals {
	a := &arrivals{load: load, end: end, dice: stream(seed, streamArrivals), owed: 1}
	switch {
	case load.Poisson:
		a.owed = exponential(a.dice)
	case load.Every > 0:
		a.from, a.owed = -load.Every, 0
	}
	a.enter(0)
	return a
}

// enter begins the stretch at an instant.
func (a *arrivals) enter(at time.Duration) {
	a.rate, a.until = a.load.at(at)
	a.until = min(a.until, a.end)
	a.come = 0
	if a.load.Every == 0 {
		a.from = at
	}
}

// next returns when the next call is offered, or false if none is before the end.
func (a *arrivals) next() (time.Duration, bool) {
	switch {
	case a.load.Every > 0:
		return a.nextInBatch()
	case a.load.Poisson:
		return a.nextAtRandom()
	}
	for {
		if a.rate > 0 {
			// From the start of the stretch and not from the call before, or roundings
			// would add up.
			at := a.from + time.Duration((a.come+1-a.owed)*1e9/a.rate)
			if at < a.until {
				a.come++
				return at, true
			}
		}
		if a.until >= a.end {
			return 0, false
		}
		a.owed = min(max(a.owed+float64(a.until-a.from)*a.rate/1e9-a.come, 0), 1)
		a.enter(a.until)
	}
}

func (a *arrivals) nextAtRandom() (time.Duration, bool) {
	for {
		if a.rate > 0 {
			wait := a.owed * 1e9 / a.rate
			if wait < float64(a.until-a.from) {
				a.from += time.Duration(wait)
				a.owed = exponential(a.dice)
				return a.from, true
			}
			a.owed = max(a.owed-float64(a.until-a.from)*a.rate/1e9, 0)
		}
		if a.until >= a.end {
			return 0, false
		}
		a.enter(a.until)
	}
}

func (a *arrivals) nextInBatch() (time.Duration, bool) {
	for a.batch == 0 {
		a.from += a.load.Every
		if a.from >= a.end {
			return 0, false
		}
		for a.from >= a.until {
			a.enter(a.until)
		}
		a.owed += a.rate * float64(a.load.Every) / 1e9
		a.batch = int(a.owed + 1e-9) // what sums of fractions may be short of a whole one
		a.owed -= float64(a.batch)
	}
	a.batch--
	return a.from, true
}

// at returns the rate at an instant, and until when it holds.
func (l Load) at(now time.Duration) (rate float64, until time.Duration) {
	rate, until = l.Rate, furthest
	for _, step := range l.Steps {
		if now < step.At {
			until = step.At
			break
		}
		rate = step.Rate
	}
	for _, burst := range l.Bursts {
		on, change := burst.at(now)
		if on {
			rate *= burst.Factor
		}
		until = min(until, change)
	}
	if l.Day.Lowest > 0 {
		share, change := l.Day.at(now)
		rate *= share
		until = min(until, change)
	}
	return rate, until
}

func (b Burst) at(now time.Duration) (on bool, until time.Duration) {
	if now < b.Start {
		return false, b.Start
	}
	start := b.Start
	if b.Every > 0 {
		start = now - (now-b.Start)%b.Every
	}
	switch {
	case now < start+b.Duration:
		return true, start + b.Duration
	case b.Every > 0:
		return false, start + b.Every
	}
	return false, furthest
}

// at takes the day in stretches, a minute each if it has 24 hours.
func (d Day) at(now time.Duration) (share float64, until time.Duration) {
	const stretches = 1440
	length := d.Length / stretches
	n := now / length
	rise := (float64(n%stretches) + 0.5) / (stretches / 2)
	if rise > 1 {
		rise = 2 - rise
	}
	rise = rise * rise * (3 - 2*rise) // smooth at night and at noon
	return d.Lowest + float64((1-d.Lowest)*rise), (n + 1) * length
}
