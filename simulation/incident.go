package simulation

import (
	"cmp"
	"time"
)

// Kind is what happens to the dependency in an [Incident].
type Kind string

const (
	// Brownout: calls take Factor times as long.
	Brownout Kind = "brownout"

	// Outage: calls fail at once.
	Outage Kind = "outage"

	// Hang: calls get no answer; they end when their caller gives up.
	Hang Kind = "hang"

	// Failing: Share of the calls fail, after the time that they take. Share has no
	// default.
	Failing Kind = "failing"

	// Flapping: an outage and no outage, in turn, each for half of Period.
	Flapping Kind = "flapping"

	// Shards: Share of the shards are down. Which of them a call needs is a matter of
	// the call, so a retry finds the same one. Share has no default.
	Shards Kind = "shards"

	// Throttling: calls are turned away at once with [ErrThrottled], a 429. An open
	// because of it is a false trip.
	Throttling Kind = "throttling"

	// Capacity: the dependency serves Rate calls a second; see [Dependency.Capacity]. The
	// lowest capacity in force holds.
	Capacity Kind = "capacity"

	// Latency: calls take Factor times as long, and that is the new normal. An open
	// because of it is a false trip.
	Latency Kind = "latency"
)

// Kinds returns all kinds of incidents, in the order in which they are listed above.
func Kinds() []Kind {
	return []Kind{Brownout, Outage, Hang, Failing, Flapping, Shards, Throttling, Capacity, Latency}
}

// Incident is something that happens to the dependency, from Start on, for Duration.
//
// Incidents in force at the same time add up. Their factors multiply. Which of the others
// meets a call is looked at in this order, the first that does deciding: Hang, Outage and
// Flapping, Shards, Throttling, Capacity, Warming, Failing. So an outage comes before a
// queue, and what is turned away is no load; a brownout leaves a part of the capacity, see
// [Dependency.Capacity]; and two incidents that fail a half each fail three quarters, but
// for Shards, of which the largest share holds.
type Incident struct {
	// Kind of the incident.
	Kind Kind `json:"kind"`

	// Start is when it begins, from the start of the run. Default 0.
	Start time.Duration `json:"start"`

	// Duration is how long it lasts. Default 0: to the end of the run.
	Duration time.Duration `json:"duration"`

	// Share of the calls that it meets, in (0, 1]. Default 1, where Kind does not say
	// otherwise. Capacity and Latency meet all.
	Share float64 `json:"share"`

	// Factor is how many times as long a call takes in a Brownout, above 1, and by
	// Latency, above 0. It has no default.
	Factor float64 `json:"factor"`

	// Period of Flapping, at least 1 ms. Default 20 s.
	Period time.Duration `json:"period"`

	// Rate is what Capacity leaves, in calls a second. It has no default.
	Rate float64 `json:"rate"`

	// Harmless says that a breaker should leave the incident alone: an open because of it
	// is a false trip. Throttling and Latency are harmless by their nature. A Capacity that
	// sheds calls is a trouble all the same, see [Report.FalseTrips]. Default false.
	Harmless bool `json:"harmless"`
}

func (i Incident) filled() Incident {
	if i.Kind != Capacity && i.Kind != Latency {
		i.Share = cmp.Or(i.Share, 1)
	}
	if i.Kind == Flapping {
		i.Period = cmp.Or(i.Period, 20*time.Second)
	}
	return i
}

func (i Incident) harmless() bool {
	return i.Harmless || i.Kind == Throttling || i.Kind == Latency
}

// dead reports that no call can be served while it lasts, or while it is down.
func (i Incident) dead() bool {
	return i.Share == 1 && (i.Kind == Outage || i.Kind == Hang || i.Kind == Flapping)
}

// end returns when it is over, and false if it lasts to the end of the run.
func (i Incident) end() (time.Duration, bool) { return i.Start + i.Duration, i.Duration > 0 }

// at reports whether the incident meets calls at an instant, and the next instant at which
// that may change; furthest if it never does.
func (i Incident) at(now time.Duration) (on bool, until time.Duration) {
	end, ends := i.end()
	switch {
	case now < i.Start:
		return false, i.Start
	case ends && now >= end:
		return false, furthest
	case !ends:
		end = furthest
	}
	if i.Kind != Flapping {
		return true, end
	}
	half := max(i.Period/2, 1)
	n := (now - i.Start) / half
	return n%2 == 0, min(end, i.Start+(n+1)*half)
}

// furthest is later than everything that happens in a run.
const furthest time.Duration = 1<<63 - 1
