package breaker_test

import (
	"maps"
	"time"

	"github.com/normal-go/breaker"
)

// stateAt is what the next call would find.
func (m *model) stateAt(t time.Duration) breaker.State {
	switch {
	case m.state == breaker.Open && t >= m.deadline:
		return breaker.HalfOpen
	case m.state == breaker.Recovering && m.fraction(t) >= 1-1e-9:
		return breaker.Closed
	}
	return m.state
}

func (m *model) retryAfter(t time.Duration) (time.Duration, bool) {
	if m.state != breaker.Open {
		return 0, false
	}
	return max(0, m.deadline-t), true
}

// left is what a refused caller reads from its error.
func (m *model) left(r *modelRefusal, reading time.Duration) (time.Duration, bool) {
	if r.state != breaker.Open || r.brk != m.breaks {
		return 0, false
	}
	return max(0, m.deadline-m.instant(reading)), true
}

func (m *model) snapshot(reading time.Duration) breaker.Snapshot {
	t := m.instant(reading)
	f := m.figures(t)
	s := breaker.Snapshot{
		Name: m.set.Name, Shadow: m.set.Shadow, At: m.born.Add(reading), State: m.stateAt(t),
		Calls: f.calls, Failures: f.failed, Slow: f.slow, WindowKnown: m.hasWindow(),
		FailureEvidence: f.failures, SlowEvidence: f.slowCalls,
		Run: m.run, RunNeeded: m.runNeeded(f),
		NormalLatency: f.normal.latency, NormalLatencyKnown: f.normal.known,
		NormalFailureRate: f.rate, NormalFailureRateKnown: f.rateKnown,
		SlowThreshold: f.threshold, TripRatio: f.tripRatio,
		ProbesInFlight: len(m.probes), ConsecutiveOpens: m.opens, Totals: m.totals,
	}
	s.RetryAfter, s.RetryAfterKnown = m.retryAfter(t)
	if s.State != breaker.Closed {
		s.OpenedAt = m.openedAt
	}
	switch s.State {
	case breaker.Recovering:
		s.AdmittedFraction = m.fraction(t)
		fallthrough
	case breaker.Open, breaker.HalfOpen:
		s.Break, s.BreakKnown = m.served, true
	}
	if n := len(m.transitions); n > 0 {
		s.Last = &m.transitions[n-1]
	}
	s.Totals.TimeIn = maps.Clone(m.totals.TimeIn)
	s.Totals.TimeIn[m.state] += t - m.since
	return s
}

func (m *model) history() []breaker.Transition {
	return m.transitions[max(0, len(m.transitions)-64):]
}
