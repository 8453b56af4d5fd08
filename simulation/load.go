package simulation

import (
	"cmp"
	"time"
)

// Load is when calls are offered, to all instances together. The rate at an instant is
// Rate, or that of the newest of Steps, times the factor of each burst in force, times
// where the day is.
//
// At a given rate, calls come evenly, or as Poisson or Every say.
type Load struct {
	// Rate is the calls a second. It has no default, but it may be left out beside Steps:
	// nothing is then offered before the first.
	Rate float64 `json:"rate"`

	// Poisson makes calls come at random, each independent of the others, as they do from
	// many callers who do not know of each other. Default false: evenly.
	Poisson bool `json:"poisson"`

	// Every makes calls come in batches, at the multiples of Every, each call after the
	// other at the same instant: what a cron job or a test in steps does. Not beside
	// Poisson. Default 0: no batches.
	Every time.Duration `json:"every"`

	// Steps change the rate for good, in order of their time. Default none.
	Steps []Step `json:"steps"`

	// Bursts multiply it for a while. Default none.
	Bursts []Burst `json:"bursts"`

	// Day is a curve from night to night. Default: it is always noon.
	Day Day `json:"day"`
}

// Step is a change of the rate.
type Step struct {
	// At is when it happens.
	At time.Duration `json:"at"`

	// Rate is the calls a second from then on. 0 is none.
	Rate float64 `json:"rate"`
}

// Burst is a while of more, or less, load.
type Burst struct {
	// Start is when it begins, and Duration how long it lasts. Duration has no default.
	Start    time.Duration `json:"start"`
	Duration time.Duration `json:"duration"`

	// Every is when it comes again, counted from Start to Start, at least 1 ms. Default 0:
	// once.
	Every time.Duration `json:"every"`

	// Factor is what the rate is multiplied with. It has no default; below 1, it is a lull.
	Factor float64 `json:"factor"`
}

// Day is a curve of load, smooth, from the lowest point at time 0 to the highest half a
// Length later, and back.
type Day struct {
	// Lowest is the share of the rate that is offered at night, in (0, 1]. Default 0: there
	// is no curve.
	Lowest float64 `json:"lowest"`

	// Length of the day. Default 24 h.
	Length time.Duration `json:"length"`
}

func (l Load) filled() Load {
	l.Day.Length = cmp.Or(l.Day.Length, 24*time.Hour)
	return l
}
