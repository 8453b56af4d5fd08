package simulation

import (
	"context"
	"fmt"
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

	// NoTimeline leaves [Report.Timeline] empty, so that a replay of any length takes the
	// same memory. OnSecond is told of every second all the same. Default false.
	NoTimeline bool `json:"no_timeline"`

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
// grows with the calls under way and the seconds covered, and not with the number of calls.
// Several, fed side by side, compare settings in one pass over a file. It is not safe for
// concurrent use.
//
// What happened has happened: a call that the breaker refuses would have ended as it did,
// so the report says how much of what was refused had failed anyway. It cannot say what
// callers would have done instead, nor how a dependency would have fared with less load.
type Replay struct {
	engine *engine
	last   time.Duration
	end    time.Duration
	report *Report
}

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
	start := r.Start
	if start.IsZero() {
		start = epoch
	}
	s := Scenario{Name: r.Name, Seed: r.Seed, Instances: 1, Settings: r.Settings, OnSecond: r.OnSecond}
	e := newEngine(context.Background(), s, start, false)
	e.book.noTimeline = r.NoTimeline
	return &Replay{engine: e}, nil
}

// Add offers the next call. Calls are to be added in the order of their Start. One that
// begins before the one added last, or before the start, or more than 31 days after it, is
// refused with an error that says so, and counts for nothing; so is one of an unknown
// verdict. A negative Latency counts as 0, and one of more than a day as a day. Add panics
// after Report.
func (r *Replay) Add(c Call) error {
	if r.report != nil {
		panic("simulation: Add after Report")
	}
	switch {
	case c.Start < r.last:
		return fmt.Errorf("simulation: a call must not begin before the one added last (%v), got %v", r.last, c.Start)
	case c.Start > longest:
		return fmt.Errorf("simulation: a call must begin within %v, got %v", longest, c.Start)
	case c.Verdict > breaker.Canceled:
		return fmt.Errorf("simulation: a call must have a verdict that is known, got %v", c.Verdict)
	}
	r.last = c.Start
	c.Latency = min(max(c.Latency, 0), longestLatency)
	r.end = max(r.end, c.Start+c.Latency)
	r.engine.advance(c.Start)
	r.engine.offerRecorded(c)
	return nil
}

// Report ends the replay: calls under way are seen through to their end. Asked again, it
// returns the same report. In it, Served are the calls of verdict OK and Permanent, which
// had an answer, and Failed those of verdict Transient; Duration is until the last call
// ended.
func (r *Replay) Report() *Report {
	if r.report == nil {
		r.engine.scenario.Duration = r.end
		r.engine.finish(r.end + 1)
		r.report = r.engine.book.report(r.engine)
	}
	return r.report
}

// offerRecorded begins a call that is known to its end.
func (e *engine) offerRecorded(c Call) {
	e.book.offered()
	e.book.asked()
	f := e.flights.take()
	in := e.instances[0]
	*f = flight{began: e.now, asked: e.now, verdict: c.Verdict, instance: in}
	var err error
	if f.attempt, err = in.breaker.TryAdmit(&f.ctx); err != nil {
		e.book.refused()
		e.end(f, endRefused, 0, recordedEnding(c.Verdict) == endServed)
		return
	}
	if f.attempt.Probe() && !e.scenario.Settings.Shadow {
		e.book.probe(e.now, in)
	}
	e.book.reached(e)
	e.flights.push(e.now+c.Latency, f)
}

func (e *engine) landRecorded(f *flight) {
	took := e.now - f.asked
	f.attempt.Record(f.verdict, took)
	how := recordedEnding(f.verdict)
	e.book.settled(how)
	e.end(f, how, took, false)
}

func recordedEnding(v breaker.Verdict) endKind {
	switch v {
	case breaker.Transient:
		return endFailed
	case breaker.Throttled:
		return endThrottled
	case breaker.Canceled:
		return endCanceled
	}
	return endServed // OK, and Permanent, whose caller had an answer
}
