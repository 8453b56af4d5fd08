package breaker

import "time"

// Jitter says how much of a break is random, so that the instances of a fleet,
// which opened together, do not probe together. It is drawn once an open, from
// the duration already grown and capped, and never lengthens a break. See
// docs/design.md, "Breaks".
type Jitter uint8

const (
	// JitterEqual, the zero value and default, serves half of the break for
	// certain and a random share of the other half: the dependency gets its
	// rest, and the fleet spreads.
	JitterEqual Jitter = iota

	// JitterNone serves the break exactly. For tests, and for one instance.
	JitterNone

	// JitterFull serves a random share of the break, which may be next to
	// nothing.
	JitterFull
)

var jitterNames = []string{"equal", "none", "full"}

func (j Jitter) known() bool { return int(j) < len(jitterNames) }

// String returns "equal", "none" or "full", and Jitter(n) for a value that is
// none of the three.
func (j Jitter) String() string { return nameOf(jitterNames, "Jitter", uint8(j)) }

// MarshalText returns what String returns, or an error for an unknown value.
func (j Jitter) MarshalText() ([]byte, error) { return marshalName(jitterNames, "Jitter", uint8(j)) }

// UnmarshalText reads what MarshalText writes. On an error it leaves j as it was.
func (j *Jitter) UnmarshalText(text []byte) error {
	return unmarshalName(jitterNames, "Jitter", (*uint8)(j), text)
}

// applied returns the break that is served of a nominal one, for a draw in [0, 1).
func (j Jitter) applied(nominal time.Duration, draw float64) time.Duration {
	switch j {
	case JitterNone:
		return nominal
	case JitterFull:
		return time.Duration(draw * float64(nominal))
	}
	half := nominal / 2
	return half + time.Duration(draw*float64(nominal-half))
}

// inUnitInterval makes a draw of 0 out of one that no source of numbers in [0, 1)
// would give, NaN among them.
func inUnitInterval(draw float64) float64 {
	if draw >= 0 && draw < 1 {
		return draw
	}
	return 0
}

// grownBreak returns the nominal length of the n-th consecutive break: the first
// doubled n-1 times, and at most the maximum. The shift goes the other way, on
// the maximum, where it cannot overflow: shifted by 63 and more, that is 0.
func grownBreak(first, maximum time.Duration, n int) time.Duration {
	if first > maximum>>(n-1) {
		return maximum
	}
	return first << (n - 1)
}
