package simulation

import (
	"time"

	"github.com/normal-go/breaker"
)

// Recording is what a [Replay] needs to know besides the calls. Its zero value is
// complete.
type Recording struct {
	// Name appears in the report. Default the empty name.
	Name string `json:"name"`

	// Seed of the jitter of the breaks. Default 0.
	Seed uint64 `json:"seed"`

	// Start is the time of day of the instant from which the calls count theirs. The
	// transitions in the report go by it. Default the first of January 2000, in UTC.
	Start time.Time `json:"start"`

	// Settings of the breaker, as in [Scenario]. Classify is not asked: a call has its
	// verdict.
	Settings breaker.Settings `json:"settings"`

	// OnSecond is as in [Scenario]; it runs in the goroutine of Add and Report.
	OnSecond func(Second) `json:"-"`
}

// Call is a call that really happened.
type Call struct {
	// Start is when it began, from the start of the recording.
	Start time.Duration

	// Latency is how long it took.
	Latency time.Duration

	// Verdict is how it ended.
	Verdict breaker.Verdict
}

// Replay runs a breaker over calls that really happened, one after another, in memory that
// grows with the seconds covered and the calls under way, not with the number of calls.
// Several, fed side by side, compare settings in one pass over a file. It is not safe for
// concurrent use.
//
// What happened has happened: a call that the breaker refuses would have ended as it did,
// so the report says how much of what was refused had failed anyway. It cannot say what
// callers would have done instead, nor how a dependency would have fared with less load.
type Replay struct{}

// Validate reports every problem of r at once, as a [*ScenarioError], or nil.
func (r Recording) Validate() error {
	var p problems
	p.settings(r.Settings)
	return p.err()
}

// NewReplay begins a replay. Its error is a [*ScenarioError].
func NewReplay(r Recording) (*Replay, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return &Replay{}, nil
}

// Add offers the next call. Calls are to be added in the order of their Start. One that
// begins before the one added last, or a negative number, or more than 31 days from the
// start, is refused with an error that says so, and counts for nothing. Add panics after
// Report.
func (r *Replay) Add(c Call) error { panic("not yet") }

// Report ends the replay: calls under way are seen through to their end. Asked again, it
// returns the same report. In it, Served are the calls of verdict OK and Permanent, which
// had an answer, and Failed those of verdict Transient.
func (r *Replay) Report() *Report { panic("not yet") }
