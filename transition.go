package breaker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Cause says why a breaker changed its state. Three are silent: RampCompleted,
// Isolated and Reset stand in the history, but [Settings.OnTransition] is not told.
// The zero Cause belongs to no transition. docs/operations.md says what each means
// at three in the morning.
type Cause uint8

const (
	_ Cause = iota

	// CauseConsecutiveFailures: Closed to Open, that many failures in a row.
	CauseConsecutiveFailures

	// CauseFailureRatio: Closed to Open, at the absolute failure rate.
	CauseFailureRatio

	// CauseRelativeFailures: Closed to Open, at a multiple of the dependency's
	// own failure rate, and more than chance.
	CauseRelativeFailures

	// CauseSlowCalls: Closed to Open, by the share of slow calls, and more than
	// chance.
	CauseSlowCalls

	// CauseProbeFailed: HalfOpen to Open, a probe was Transient.
	CauseProbeFailed

	// CauseSlowProbe: HalfOpen to Open, a probe was slow and there is no ramp.
	CauseSlowProbe

	// CauseProbesInconclusive: HalfOpen to Open, ten probes in a row decided
	// nothing.
	CauseProbesInconclusive

	// CauseRampFailed: Recovering to Open, calls in the ramp were Transient, more
	// than is normal; see [Recovery].
	CauseRampFailed

	// CauseBreakElapsed: Open to HalfOpen, the break is over.
	CauseBreakElapsed

	// CauseProbeRequested: Open to HalfOpen, ProbeNow ended the break.
	CauseProbeRequested

	// CauseProbesSucceeded: HalfOpen to Closed, or to Recovering with a ramp.
	CauseProbesSucceeded

	// CauseRampCompleted: Recovering to Closed. Silent.
	CauseRampCompleted

	// CauseIsolated: any state to Isolated, by Isolate. Silent.
	CauseIsolated

	// CauseReset: any state to Closed, by Reset. Silent.
	CauseReset

	causes = iota
)

var causeNames = []string{
	CauseConsecutiveFailures: "consecutive-failures",
	CauseFailureRatio:        "failure-ratio",
	CauseRelativeFailures:    "relative-failures",
	CauseSlowCalls:           "slow-calls",
	CauseProbeFailed:         "probe-failed",
	CauseSlowProbe:           "slow-probe",
	CauseProbesInconclusive:  "probes-inconclusive",
	CauseRampFailed:          "ramp-failed",
	CauseBreakElapsed:        "break-elapsed",
	CauseProbeRequested:      "probe-requested",
	CauseProbesSucceeded:     "probes-succeeded",
	CauseRampCompleted:       "ramp-completed",
	CauseIsolated:            "isolated",
	CauseReset:               "reset",
}

// String returns the cause in kebab case, such as "consecutive-failures", and
// Cause(n) for a value that is no cause.
func (c Cause) String() string { return nameOf(causeNames, "Cause", uint8(c)) }

// MarshalText returns what String returns, or an error for a value that is no
// cause.
func (c Cause) MarshalText() ([]byte, error) { return marshalName(causeNames, "Cause", uint8(c)) }

// UnmarshalText reads what MarshalText writes. On an error it leaves c as it was.
func (c *Cause) UnmarshalText(text []byte) error {
	return unmarshalName(causeNames, "Cause", (*uint8)(c), text)
}

// silent reports that OnTransition is not told: an operator's own move is no news,
// and the end of a ramp was announced by its start.
func (c Cause) silent() bool { return c >= CauseRampCompleted }

// Transition is one change of state, with the numbers behind the decision as they
// stood when it was made. It is a plain value.
type Transition struct {
	// Seq numbers the transitions of a breaker from 1, without gaps.
	Seq uint64

	// Name of the breaker.
	Name string

	// Shadow marks a dry run: the breaker refuses nothing.
	Shadow bool

	// From and To are the states. From is the To of the transition before, and
	// Closed in the first.
	From, To State

	// At is when it happened, by the clock. It may lie up to a second before that of
	// the transition before, when the reading by which it was decided was taken first.
	At time.Time

	// Cause is why.
	Cause Cause

	// Break is the length of the break that begins, with its jitter; 0 unless
	// To is Open.
	Break time.Duration

	// Calls, Failures and Slow are the trip window at the decision; 0 where no
	// rate trip is configured, and there is no window.
	Calls, Failures, Slow int

	// FailureEvidence and SlowEvidence are what the relative trips weighed; zero where
	// there is no window.
	FailureEvidence, SlowEvidence Evidence

	// Run is the number of failures in a row at the decision, and RunNeeded the number
	// that opens a closed breaker.
	Run, RunNeeded int

	// NormalLatency was the dependency's normal latency; 0 unless
	// NormalLatencyKnown.
	NormalLatency      time.Duration
	NormalLatencyKnown bool

	// NormalFailureRate was the dependency's normal failure rate, in [0, 1]; 0
	// unless NormalFailureRateKnown.
	NormalFailureRate      float64
	NormalFailureRateKnown bool
}

// String returns the transition in one line, for a log:
//
//	"db" closed -> open: relative-failures, 12 of 40 failed, normally 1.1 %, chance below 1 in 10^9, break 11.3s
func (t Transition) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%q ", t.Name)
	if t.Shadow {
		s.WriteString("(shadow) ")
	}
	fmt.Fprintf(&s, "%v -> %v: %v", t.From, t.To, t.Cause)
	if t.Cause == CauseConsecutiveFailures {
		fmt.Fprintf(&s, ", %d in a row", t.Run)
	}
	if t.Failures > 0 {
		fmt.Fprintf(&s, ", %d of %d failed%s", t.Failures, t.Calls, t.FailureEvidence.words())
	}
	if t.Slow > 0 {
		fmt.Fprintf(&s, ", %d of %d slow%s", t.Slow, t.Calls, t.SlowEvidence.words())
		if t.NormalLatencyKnown {
			fmt.Fprintf(&s, ", normal latency %v", t.NormalLatency)
		}
	}
	if t.To == Open {
		fmt.Fprintf(&s, ", break %v", t.Break.Round(time.Millisecond))
	}
	return s.String()
}

const historyLength = 64

// history is the newest transitions, in a ring that grows to its full length only
// in a breaker that has so many.
type history struct {
	ring   []Transition
	oldest int
	seq    uint64
}

func (h *history) add(t Transition) Transition {
	h.seq++
	t.Seq = h.seq
	if len(h.ring) < historyLength {
		h.ring = append(h.ring, t)
		return t
	}
	h.ring[h.oldest] = t
	h.oldest = (h.oldest + 1) % historyLength
	return t
}

// all returns a copy, oldest first.
func (h *history) all() []Transition { return slices.Concat(h.ring[h.oldest:], h.ring[:h.oldest]) }

// last returns a copy of the newest transition, or nil.
func (h *history) last() *Transition {
	if len(h.ring) == 0 {
		return nil
	}
	t := h.ring[(h.oldest+len(h.ring)-1)%len(h.ring)]
	return &t
}

// outbox holds the transitions that OnTransition has not been told of. Its lock is
// taken inside the breaker's by put, which keeps the order, and never the other way
// round; it is not held while a listener runs.
type outbox struct {
	mu    sync.Mutex
	queue []event
	busy  bool // some call is delivering
}

type event struct {
	tell       func(context.Context, Transition)
	ctx        context.Context
	transition Transition
}

func (o *outbox) put(e event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, e)
}

// deliver tells the listeners of all that is queued, until nothing is, unless another
// call is at it already: that one takes ours along, so no call waits for another,
// and a listener that calls the breaker never waits for itself. A panic of the
// listener passes through, and leaves the rest for the next event.
func (o *outbox) deliver() {
	e, ok := o.take()
	if !ok {
		return
	}
	done := false
	defer func() {
		if !done {
			o.release()
		}
	}()
	for ok {
		e.tell(e.ctx, e.transition)
		e, ok = o.next()
	}
	done = true
}

// take returns the first event and makes this call the one that delivers.
func (o *outbox) take() (event, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy {
		return event{}, false
	}
	return o.popLocked()
}

// next returns the next event, or ends the delivery. One step, so that no event can
// be queued in between and stay behind.
func (o *outbox) next() (event, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.popLocked()
}

func (o *outbox) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy = false
}

func (o *outbox) popLocked() (event, bool) {
	o.busy = len(o.queue) > 0
	if !o.busy {
		o.queue = nil
		return event{}, false
	}
	e := o.queue[0]
	o.queue[0] = event{} // its context may be large
	o.queue = o.queue[1:]
	return e, true
}
