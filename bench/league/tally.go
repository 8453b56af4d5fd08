package league

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Result is what a column came to in a row.
type Result struct {
	Offered int // calls
	Served  int // calls answered well, to a caller who was still there, by its deadline
	Refused int

	// Lost are the refused calls that would have been served, had they been sent as well.
	Lost int

	// Wasted are the calls that were sent while there was trouble, and not served.
	Wasted int

	// Tripped is how long after the trouble began half of the breakers had tripped; below
	// zero if they never did.
	Tripped time.Duration

	// Early says that they had before the trouble began.
	Early bool

	// FalseTrips are those of all breakers while nothing was wrong.
	FalseTrips int
}

// sum puts the times of a row together: the counts are added, and of the trips it takes
// the one in the middle.
func sum(times []Result) Result {
	var total Result
	for _, r := range times {
		total.Offered += r.Offered
		total.Served += r.Served
		total.Refused += r.Refused
		total.Lost += r.Lost
		total.Wasted += r.Wasted
		total.FalseTrips += r.FalseTrips
	}
	byTrip := slices.Clone(times)
	slices.SortFunc(byTrip, func(a, b Result) int { return cmp.Compare(a.trippedBy(), b.trippedBy()) })
	middle := byTrip[(len(byTrip)-1)/2]
	total.Tripped, total.Early = middle.Tripped, middle.Early
	return total
}

// trippedBy is Tripped with never as the latest.
func (r *Result) trippedBy() time.Duration {
	if r.Tripped < 0 {
		return math.MaxInt64
	}
	return r.Tripped
}

// tally counts.
type tally struct {
	Result
	incident *incident
	guards   []watched
	tripped  int // guards that were open since the trouble began
	early    int
}

// watched is what is known of one guard.
type watched struct {
	open        bool
	tripped     bool          // since the trouble began
	lastRefused time.Duration // of one without states; below zero: never
}

func newTally(in *incident) *tally {
	t := &tally{incident: in, guards: make([]watched, in.fleet), Result: Result{Tripped: -1}}
	for i := range t.guards {
		t.guards[i].lastRefused = -1
	}
	return t
}

func (t *tally) sent(c *call, r reply) {
	switch {
	case r.served():
		t.Served++
	case t.incident.troubled(c.at):
		t.Wasted++
	}
}

func (t *tally) refused(r reply) {
	t.Refused++
	if r.served() {
		t.Lost++
	}
}

// observe looks at a guard after something happened to it.
func (t *tally) observe(i int, g *guard, now time.Duration, refused bool) {
	w := &t.guards[i]
	var open bool
	if g.closed != nil {
		open = !g.closed()
	} else {
		if refused {
			w.lastRefused = now
		}
		open = w.lastRefused >= 0 && now-w.lastRefused < refusalsApart
	}
	trips := open && !w.open
	before := w.open
	w.open = open
	if trips && t.incident.calm(now) {
		t.FalseTrips++
	}
	if !open || w.tripped || !t.incident.troubled(now) {
		return
	}
	w.tripped = true
	t.tripped++
	if before {
		t.early++
	}
	if half := (len(t.guards) + 1) / 2; t.tripped == half {
		t.Tripped = now - t.incident.trouble[0].from
		t.Early = t.early == half
	}
}
