package breaker

import (
	"encoding/json"
	"time"
)

// Snapshot is one consistent cut through a breaker. It is a plain value, which the
// breaker never changes afterwards. In JSON, durations are in seconds, and what is
// unknown is absent.
type Snapshot struct {
	// Name of the breaker.
	Name string

	// Shadow is [Settings.Shadow]: what follows is a dry run.
	Shadow bool

	// At is when the cut was made.
	At time.Time

	// State is what the next call would find; see [Breaker.State].
	State State

	// OpenedAt is when the breaker last opened, or was isolated; the zero time
	// when State is Closed.
	OpenedAt time.Time

	// RetryAfter is what is left of the break being served; 0 unless
	// RetryAfterKnown. See [Breaker.RetryAfter].
	RetryAfter      time.Duration
	RetryAfterKnown bool

	// Calls, Failures and Slow are the trip window; 0 unless WindowKnown, which
	// it is where a rate trip is configured.
	Calls, Failures, Slow int
	WindowKnown           bool

	// FailureEvidence and SlowEvidence are what the relative trips would weigh now;
	// zero unless WindowKnown.
	FailureEvidence, SlowEvidence Evidence

	// Run is the number of failures in a row, and RunNeeded the number that opens a
	// closed breaker.
	Run, RunNeeded int

	// NormalLatency is the dependency's normal latency; 0 unless
	// NormalLatencyKnown. See [Breaker.NormalLatency].
	NormalLatency      time.Duration
	NormalLatencyKnown bool

	// NormalFailureRate is the dependency's normal failure rate, in [0, 1]; 0
	// unless NormalFailureRateKnown. See [Breaker.NormalFailureRate].
	NormalFailureRate      float64
	NormalFailureRateKnown bool

	// SlowThreshold is the latency from which a call is slow; 0 while there is
	// none.
	SlowThreshold time.Duration

	// TripRatio is the failure rate in the trip window that opens the breaker: the
	// lower of FailureRatio and of FailureEvidence.TripPoint, which asks for more than
	// chance besides. 0 while there is none.
	TripRatio float64

	// AdmittedFraction is the share of the calls that a ramp admits; 0 unless
	// State is Recovering.
	AdmittedFraction float64

	// ProbesInFlight is the number of probe slots taken.
	ProbesInFlight int

	// Break is the break being served or, in HalfOpen and Recovering, just
	// served; 0 unless BreakKnown. ConsecutiveOpens is how many there were without a
	// clean close; the close of a ramp that has run out comes with the next call.
	Break            time.Duration
	BreakKnown       bool
	ConsecutiveOpens int

	// Last is the newest transition, nil before the first.
	Last *Transition

	// Totals since the breaker was built.
	Totals Totals
}

// Totals are cumulative since the breaker was built. No count ever decreases.
type Totals struct {
	// Admitted attempts that have ended: the sum of OK, Transient, Throttled,
	// Permanent, Canceled and Released.
	Admitted uint64

	// Refused calls. It may run ahead of the rest of the cut by the calls then
	// in progress.
	Refused uint64

	// OK, Transient, Throttled, Permanent and Canceled count outcomes by
	// verdict.
	OK, Transient, Throttled, Permanent, Canceled uint64

	// Released attempts ended without an outcome.
	Released uint64

	// Slow calls, among the OK ones.
	Slow uint64

	// Stale outcomes came too late to decide anything: from before the breaker
	// last opened, or from a probe whose slot had been taken over. They are
	// counted under their verdict as well.
	Stale uint64

	// WouldRefuseOK, WouldRefuseTransient and WouldRefuseOther count the calls that a
	// shadow breaker would have refused, by how they ended; the last are those of the
	// other verdicts, and those released. They are not among the admitted.
	WouldRefuseOK, WouldRefuseTransient, WouldRefuseOther uint64

	// Transitions by cause, the silent ones too. Every cause has an entry.
	Transitions map[Cause]uint64

	// Opens are those of the transitions that opened the breaker. Every cause that
	// opens has an entry.
	Opens map[Cause]uint64

	// ProbesSucceeded, ProbesFailed and ProbesInconclusive count the probes by what
	// they decided. A slow one has failed, unless there is a ramp. Those that decided
	// nothing are inconclusive: no evidence, released, or overtaken by the caller who
	// got the slot. A probe that ends after its half-open spell is in none of them.
	ProbesSucceeded, ProbesFailed, ProbesInconclusive uint64

	// Recoveries are the closes by probes or by a ramp.
	Recoveries uint64

	// TimeIn is the time spent in each state, from transition to transition: an
	// open breaker whose break has elapsed is Open until a call probes. Every
	// state has an entry. One of them may fall by up to a second, and another
	// grow by it, when a transition goes by a reading of the clock that was taken
	// before that of an earlier look.
	TimeIn map[State]time.Duration
}

// tally is what a breaker counts of its totals.
type tally struct {
	verdicts [verdicts + 1]uint64 // by verdict, and released
	slow     uint64
	stale    uint64
	timeIn   [states]time.Duration
}

// Snapshot returns one consistent cut: state, windows, baselines and totals as of
// one instant. It changes nothing that a decision would see, and is safe for
// concurrent use.
func (b *Breaker) Snapshot() Snapshot {
	b.mustExist()
	r := b.read()
	at := b.timeOfDay(r.wall)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.readAtLocked(r)
	trouble := b.troubleLocked()
	s := Snapshot{
		Name:             b.settings.Name,
		Shadow:           b.settings.Shadow,
		At:               at,
		State:            b.stateLocked(now),
		Run:              b.run,
		RunNeeded:        b.runNeededLocked(now),
		ProbesInFlight:   trouble.probes.taken.Len(),
		ConsecutiveOpens: trouble.consecutiveOpens,
		Last:             trouble.history.last(),
		Totals:           b.totalsLocked(now),
	}
	if s.State != Closed {
		s.OpenedAt = b.openedAt
	}
	s.RetryAfter, s.RetryAfterKnown = b.retryAfterLocked(now)
	if s.WindowKnown = b.window != nil; s.WindowKnown {
		c := b.window.at(now)
		s.Calls, s.Failures, s.Slow = int(c.calls), int(c.failures), int(c.slow)
		s.FailureEvidence = b.failureEvidenceLocked(now, c)
		s.SlowEvidence = b.slowEvidenceLocked(now, c)
	}
	s.NormalLatency, s.NormalLatencyKnown = b.normalLatencyLocked(now)
	s.NormalFailureRate, s.NormalFailureRateKnown = b.errors.rate(now)
	s.SlowThreshold = lowerThreshold(b.settings.SlowCallThreshold, b.latency.at(now).threshold)
	s.TripRatio = b.settings.FailureRatio
	if point := s.FailureEvidence.TripPoint; point > 0 && (s.TripRatio == 0 || point < s.TripRatio) {
		s.TripRatio = point
	}
	if s.State == Recovering {
		s.AdmittedFraction = trouble.ramp.fraction(now)
	}
	if s.BreakKnown = s.State == Open || s.State == HalfOpen || s.State == Recovering; s.BreakKnown {
		s.Break = b.breakLength
	}
	return s
}

func (b *Breaker) totalsLocked(now time.Duration) Totals {
	v := &b.tally.verdicts
	trouble := b.troubleLocked()
	t := Totals{
		Refused:    trouble.refused.total(),
		OK:         v[OK],
		Transient:  v[Transient],
		Throttled:  v[Throttled],
		Permanent:  v[Permanent],
		Canceled:   v[Canceled],
		Released:   v[released],
		Slow:       b.tally.slow,
		Stale:      b.tally.stale,
		Recoveries: trouble.recoveries,

		Transitions: make(map[Cause]uint64, causes),
		Opens:       make(map[Cause]uint64, CauseRampFailed),
		TimeIn:      make(map[State]time.Duration, states),

		ProbesSucceeded:    trouble.probesSucceeded,
		ProbesFailed:       trouble.moves[CauseProbeFailed] + trouble.moves[CauseSlowProbe],
		ProbesInconclusive: trouble.probesInconclusive,
	}
	for _, n := range v {
		t.Admitted += n
	}
	t.WouldRefuseOK, t.WouldRefuseTransient = trouble.aside[OK], trouble.aside[Transient]
	for v, n := range trouble.aside {
		if v := Verdict(v); v != OK && v != Transient {
			t.WouldRefuseOther += n
		}
	}
	for cause := CauseConsecutiveFailures; cause < causes; cause++ {
		t.Transitions[cause] = trouble.moves[cause]
		if cause <= CauseRampFailed {
			t.Opens[cause] = trouble.moves[cause]
		}
	}
	for state, d := range b.tally.timeIn {
		t.TimeIn[State(state)] = d
	}
	t.TimeIn[b.state] = later(t.TimeIn[b.state], now-b.since)
	return t
}

// MarshalJSON writes the snapshot with snake_case names, states and causes as
// words, durations in seconds, and without what is unknown.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name              string      `json:"name"`
		Shadow            bool        `json:"shadow,omitzero"`
		At                time.Time   `json:"at"`
		State             State       `json:"state"`
		OpenedAt          time.Time   `json:"opened_at,omitzero"`
		RetryAfter        *seconds    `json:"retry_after_seconds,omitempty"`
		Calls             *int        `json:"calls,omitempty"`
		Failures          *int        `json:"failures,omitempty"`
		Slow              *int        `json:"slow,omitempty"`
		FailureEvidence   *Evidence   `json:"failure_evidence,omitempty"`
		SlowEvidence      *Evidence   `json:"slow_evidence,omitempty"`
		Run               int         `json:"run"`
		RunNeeded         int         `json:"run_needed"`
		NormalLatency     *seconds    `json:"normal_latency_seconds,omitempty"`
		NormalFailureRate *float64    `json:"normal_failure_rate,omitempty"`
		SlowThreshold     seconds     `json:"slow_threshold_seconds,omitzero"`
		TripRatio         float64     `json:"trip_ratio,omitzero"`
		AdmittedFraction  float64     `json:"admitted_fraction,omitzero"`
		ProbesInFlight    int         `json:"probes_in_flight"`
		Break             *seconds    `json:"break_seconds,omitempty"`
		ConsecutiveOpens  int         `json:"consecutive_opens"`
		Last              *Transition `json:"last,omitempty"`
		Totals            Totals      `json:"totals"`
	}{
		Name:              s.Name,
		Shadow:            s.Shadow,
		At:                s.At,
		State:             s.State,
		OpenedAt:          s.OpenedAt,
		RetryAfter:        known(seconds(s.RetryAfter), s.RetryAfterKnown),
		Calls:             known(s.Calls, s.WindowKnown),
		Failures:          known(s.Failures, s.WindowKnown),
		Slow:              known(s.Slow, s.WindowKnown),
		FailureEvidence:   known(s.FailureEvidence, s.WindowKnown),
		SlowEvidence:      known(s.SlowEvidence, s.WindowKnown),
		Run:               s.Run,
		RunNeeded:         s.RunNeeded,
		NormalLatency:     known(seconds(s.NormalLatency), s.NormalLatencyKnown),
		NormalFailureRate: known(s.NormalFailureRate, s.NormalFailureRateKnown),
		SlowThreshold:     seconds(s.SlowThreshold),
		TripRatio:         s.TripRatio,
		AdmittedFraction:  s.AdmittedFraction,
		ProbesInFlight:    s.ProbesInFlight,
		Break:             known(seconds(s.Break), s.BreakKnown),
		ConsecutiveOpens:  s.ConsecutiveOpens,
		Last:              s.Last,
		Totals:            s.Totals,
	})
}

// MarshalJSON writes the totals with snake_case names, and durations in seconds.
func (t Totals) MarshalJSON() ([]byte, error) {
	in := make(map[State]seconds, len(t.TimeIn))
	for state, d := range t.TimeIn {
		in[state] = seconds(d)
	}
	return json.Marshal(struct {
		Admitted   uint64            `json:"admitted"`
		Refused    uint64            `json:"refused"`
		OK         uint64            `json:"ok"`
		Slow       uint64            `json:"slow"`
		Transient  uint64            `json:"transient"`
		Throttled  uint64            `json:"throttled"`
		Permanent  uint64            `json:"permanent"`
		Canceled   uint64            `json:"canceled"`
		Released   uint64            `json:"released"`
		Stale      uint64            `json:"stale"`
		WouldOK    uint64            `json:"would_refuse_ok"`
		WouldFail  uint64            `json:"would_refuse_transient"`
		WouldOther uint64            `json:"would_refuse_other"`
		Moves      map[Cause]uint64  `json:"transitions"`
		Opens      map[Cause]uint64  `json:"opens"`
		ProbesOK   uint64            `json:"probes_succeeded"`
		ProbesFail uint64            `json:"probes_failed"`
		ProbesNone uint64            `json:"probes_inconclusive"`
		Recoveries uint64            `json:"recoveries"`
		TimeIn     map[State]seconds `json:"seconds_in"`
	}{
		t.Admitted, t.Refused, t.OK, t.Slow, t.Transient, t.Throttled, t.Permanent, t.Canceled,
		t.Released, t.Stale, t.WouldRefuseOK, t.WouldRefuseTransient, t.WouldRefuseOther,
		t.Transitions, t.Opens, t.ProbesSucceeded, t.ProbesFailed, t.ProbesInconclusive, t.Recoveries, in,
	})
}

// MarshalJSON writes the transition as a [Snapshot] is written.
func (t Transition) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Seq               uint64    `json:"seq"`
		Name              string    `json:"name"`
		Shadow            bool      `json:"shadow,omitzero"`
		From              State     `json:"from"`
		To                State     `json:"to"`
		At                time.Time `json:"at"`
		Cause             Cause     `json:"cause"`
		Break             *seconds  `json:"break_seconds,omitempty"`
		Calls             int       `json:"calls"`
		Failures          int       `json:"failures"`
		Slow              int       `json:"slow"`
		FailureEvidence   Evidence  `json:"failure_evidence,omitzero"`
		SlowEvidence      Evidence  `json:"slow_evidence,omitzero"`
		Run               int       `json:"run"`
		RunNeeded         int       `json:"run_needed"`
		NormalLatency     *seconds  `json:"normal_latency_seconds,omitempty"`
		NormalFailureRate *float64  `json:"normal_failure_rate,omitempty"`
	}{
		Seq:               t.Seq,
		Name:              t.Name,
		Shadow:            t.Shadow,
		From:              t.From,
		To:                t.To,
		At:                t.At,
		Cause:             t.Cause,
		Break:             known(seconds(t.Break), t.To == Open),
		Calls:             t.Calls,
		Failures:          t.Failures,
		Slow:              t.Slow,
		FailureEvidence:   t.FailureEvidence,
		SlowEvidence:      t.SlowEvidence,
		Run:               t.Run,
		RunNeeded:         t.RunNeeded,
		NormalLatency:     known(seconds(t.NormalLatency), t.NormalLatencyKnown),
		NormalFailureRate: known(t.NormalFailureRate, t.NormalFailureRateKnown),
	})
}

type seconds time.Duration

func (s seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

func known[T any](v T, ok bool) *T {
	if !ok {
		return nil
	}
	return &v
}
