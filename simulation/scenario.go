package simulation

import (
	"cmp"
	"time"

	"github.com/normal-go/breaker"
)

// Scenario is one run: callers, a breaker for each of some instances, and the dependency
// that they share. The zero value of every field means its default, and Load.Rate is the
// one field without which there is nothing to see. It is plain data: copy it, change the
// copy, run both.
//
// No duration may be above 31 days. In JSON, names are in snake_case and durations are
// text, such as "90s".
type Scenario struct {
	// Name appears in the report. Default the empty name.
	Name string `json:"name"`

	// Seed of everything that is drawn. Default 0, which is a seed like any other.
	Seed uint64 `json:"seed"`

	// Duration is for how long calls are offered. Those under way at its end are seen
	// through to theirs. Default 10 min.
	Duration time.Duration `json:"duration"`

	// Instances is how many callers' processes there are, each with a breaker of its own,
	// of the same Settings and its own jitter. Each call goes to one of them at random. At
	// most 100,000. Default 1.
	Instances int `json:"instances"`

	// Load is when calls are offered.
	Load Load `json:"load"`

	// Callers are who makes them.
	Callers Callers `json:"callers"`

	// Dependency is what they call.
	Dependency Dependency `json:"dependency"`

	// Incidents are what happens to the dependency. They may overlap, in any order; see
	// [Incident] for what they come to together.
	Incidents []Incident `json:"incidents"`

	// Settings of the breakers. Clock and Random must be left out: the run has its own.
	// Classify is asked about [ErrFailed] and the like, and OnTransition is told, in the
	// goroutine of Run. With several instances, a slash and the number of the instance
	// follow the name.
	Settings breaker.Settings `json:"settings"`

	// NoBreaker runs without any breaker: what there is to compare with. Settings are then
	// not looked at. Default false.
	NoBreaker bool `json:"no_breaker"`

	// Instant makes each attempt end at the instant at which it begins, before the next
	// call: its latency is told to the breaker, and passes on no clock. Nor do pauses and
	// backoffs. For counting by hand. Default false.
	Instant bool `json:"instant"`

	// Grace is for how long after a trouble an open may still be owed to it. See
	// [Report.FalseTrips]. Default 30 s and what a call that began in the trouble may last
	// beyond it: Callers.Timeout, or else Callers.Deadline.
	Grace time.Duration `json:"grace"`

	// OnSecond is told of every second of the timeline once it is over, in order: for
	// progress, and for reading along. It runs in the goroutine of Run. Default none.
	OnSecond func(Second) `json:"-"`
}

// Dependency is what is called, when it is well.
//
// A call takes a time of its own, from a lognormal distribution: the long tail that
// latencies have. It is cut off at the quantile of one in 2^25, and at a day.
type Dependency struct {
	// Median is what half of the calls take at most. Default 20 ms.
	Median time.Duration `json:"median"`

	// P99 is what 99 of 100 calls take at most. Equal to Median, all take the same.
	// Default 4 times Median.
	P99 time.Duration `json:"p99"`

	// Hump is a second kind of calls, which take another time: those that miss a cache,
	// for instance. Default none.
	Hump Hump `json:"hump"`

	// FailureRate is the share of the calls that fail when all is well, after the time that
	// they take, in [0, 1]. Default 0.
	FailureRate float64 `json:"failure_rate"`

	// FailureLatency is what a call takes that fails or is turned away at once: in an
	// outage, by throttling, or for lack of capacity. Default 1 ms.
	FailureLatency time.Duration `json:"failure_latency"`

	// Capacity is how many calls a second it can serve. More than that queue, and those
	// that would wait for longer than Queue are shed: they fail at once. A call holds its
	// share of the capacity for as long as it takes, compared with when all is well: n
	// times slower leaves an n-th of the capacity. What nobody waits for any more is done
	// all the same, at the rate at which it was taken in: below one call a second, a single
	// call can hold the capacity for long after an incident. Default 0: no bound.
	Capacity float64 `json:"capacity"`

	// Queue is the longest wait for capacity. Default 1 s.
	Queue time.Duration `json:"queue"`

	// Warming makes it cold after an outage. Default: it is never cold.
	Warming Warming `json:"warming"`
}

// Hump is a share of the calls with a latency of its own.
type Hump struct {
	// Share of the calls, in [0, 1]. Default 0: there is no hump.
	Share float64 `json:"share"`

	// Median and P99 are as those of [Dependency], and Median has no default.
	Median time.Duration `json:"median"`
	P99    time.Duration `json:"p99"`
}

// Warming is a dependency that comes back cold from an [Outage] and warms by being used:
// its caches are empty, its pools are not filled. It counts in steps of time, and has room
// for a number of calls a step.
//
// It comes back with a room of 1. With a room of r, calls take Full/r times as long. The
// calls of a step beyond r take longer still, in proportion, and those beyond 3r fail. A
// step with more than twice the room's calls knocks it back by Loss, to no less than 1; any
// other warms it: by Gain if it had calls, by IdleGain if not, to no more than Full.
type Warming struct {
	// Full is the room when warm, in calls a step, of which it can have three times as
	// many. Default 0: it is never cold, and its room not bounded.
	Full float64 `json:"full"`

	// Step is what the room is counted by, at least 1 ms. Default 100 ms.
	Step time.Duration `json:"step"`

	// Gain, IdleGain and Loss are in calls a step, for each step. Defaults 0.2, 0.05
	// and 1.
	Gain     float64 `json:"gain"`
	IdleGain float64 `json:"idle_gain"`
	Loss     float64 `json:"loss"`
}

// Callers are who makes the calls.
type Callers struct {
	// Deadline is how long a caller waits for a call, with its retries and pauses: the
	// deadline of its context, so the breaker knows of it. Default 0: for ever, which a
	// [Hang] does not allow.
	Deadline time.Duration `json:"deadline"`

	// Timeout is how long one attempt may take. It ends inside the call, so the breaker
	// sees the error alone. Default 0: none.
	Timeout time.Duration `json:"timeout"`

	// Retries is how many attempts may follow the first, after one that failed or was
	// throttled. At most 100. Default 0.
	Retries int `json:"retries"`

	// RetryRefusals retries a refusal as well, after its pause. Default false.
	RetryRefusals bool `json:"retry_refusals"`

	// Backoff is the wait before the first retry. It doubles with each, up to a minute, or
	// itself if that is longer. Default 0: none.
	Backoff time.Duration `json:"backoff"`

	// CancelShare is the share of the callers that go away CancelAfter they began, unless
	// they have their answer, in [0, 1]. Default 0.
	CancelShare float64 `json:"cancel_share"`

	// CancelAfter is when they go away. Default half of Dependency.Median.
	CancelAfter time.Duration `json:"cancel_after"`

	// NoPause spares refused callers the 100 ms that Do, Call and Admit take: they use
	// TryAdmit or CallOr. Default false.
	NoPause bool `json:"no_pause"`
}

// refusalPause is what a refused caller of Do, Call or Admit waits.
const refusalPause = 100 * time.Millisecond

// filled returns the scenario with every default filled in.
func (s Scenario) filled() Scenario {
	s.Duration = cmp.Or(s.Duration, 10*time.Minute)
	s.Instances = cmp.Or(s.Instances, 1)
	s.Grace = cmp.Or(s.Grace, min(30*time.Second+cmp.Or(s.Callers.Timeout, s.Callers.Deadline), longest))
	d := &s.Dependency
	d.Median = cmp.Or(d.Median, 20*time.Millisecond)
	d.P99 = cmp.Or(d.P99, 4*d.Median)
	d.Hump.P99 = cmp.Or(d.Hump.P99, 4*d.Hump.Median)
	d.FailureLatency = cmp.Or(d.FailureLatency, time.Millisecond)
	d.Queue = cmp.Or(d.Queue, time.Second)
	w := &d.Warming
	w.Step = cmp.Or(w.Step, 100*time.Millisecond)
	w.Gain = cmp.Or(w.Gain, 0.2)
	w.IdleGain = cmp.Or(w.IdleGain, 0.05)
	w.Loss = cmp.Or(w.Loss, 1)
	s.Callers.CancelAfter = cmp.Or(s.Callers.CancelAfter, d.Median/2)
	s.Load = s.Load.filled()
	filled := make([]Incident, len(s.Incidents))
	for i, incident := range s.Incidents {
		filled[i] = incident.filled()
	}
	s.Incidents = filled
	return s
}
