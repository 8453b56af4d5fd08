package breaker_test

import (
	"context"
	"time"

	"github.com/normal-go/breaker"
)

// open begins a break.
func (m *model) open(ctx context.Context, cause breaker.Cause) {
	if cause != breaker.CauseProbesInconclusive {
		m.opens++
	}
	nominal := m.set.BreakDuration
	for i := 1; i < m.opens && nominal < m.set.MaximumBreakDuration; i++ {
		nominal *= 2
	}
	nominal = min(nominal, m.set.MaximumBreakDuration)
	switch random := m.draw; m.set.BreakJitter {
	case breaker.JitterNone:
		m.served = nominal
	case breaker.JitterEqual:
		m.served = nominal/2 + time.Duration(random*float64(nominal-nominal/2))
	case breaker.JitterFull:
		m.served = time.Duration(random * float64(nominal))
	}
	m.move(ctx, breaker.Open, cause, m.served)
	m.clear()
	m.generation++
	m.breaks++
	m.requested = false
	m.deadline = m.own + m.served
	m.totals.Opens[cause]++
	m.drawAhead()
}

// drawAhead keeps one number for the next open.
func (m *model) drawAhead() {
	if m.set.BreakJitter == breaker.JitterNone {
		return
	}
	m.draw, m.drawn = m.random(), true
	if !(m.draw >= 0 && m.draw < 1) {
		m.draw = 0
	}
}

func (m *model) close(ctx context.Context, cause breaker.Cause) {
	m.move(ctx, breaker.Closed, cause, 0)
	m.clear()
	m.opens, m.trouble = 0, nil
	m.totals.Recoveries++
}

// clear forgets what was evidence for a decision that has been made.
func (m *model) clear() {
	m.trip, m.run, m.probes = nil, 0, nil
}

// move writes a transition down, with the numbers as they stand.
func (m *model) move(ctx context.Context, to breaker.State, cause breaker.Cause, brk time.Duration) {
	f := m.figures(m.own)
	t := breaker.Transition{
		Seq: uint64(len(m.transitions) + 1), Name: m.set.Name, Shadow: m.set.Shadow, From: m.state, To: to, Cause: cause, Break: brk,
		At:    m.born.Add(m.latest),
		Calls: f.calls, Failures: f.failed, Slow: f.slow,
		FailureEvidence: f.failures, SlowEvidence: f.slowCalls,
		Run: m.run, RunNeeded: m.runNeeded(f),
		NormalLatency: f.normal.latency, NormalLatencyKnown: f.normal.known,
		NormalFailureRate: f.rate, NormalFailureRateKnown: f.rateKnown,
	}
	m.transitions = append(m.transitions, t)
	m.totals.Transitions[cause]++
	if p0, known := m.reference(f); known && m.trouble == nil {
		m.trouble = &p0
	}
	if to == breaker.Open || to == breaker.Isolated {
		m.openedAt = t.At
	}
	m.totals.TimeIn[m.state] += m.own - m.since
	m.state, m.since, m.named = to, m.own, m.set.Name
	if cause != breaker.CauseRampCompleted && cause != breaker.CauseIsolated && cause != breaker.CauseReset {
		m.tell(ctx, t)
	}
}

func (m *model) reset(reading time.Duration) {
	m.accept(reading)
	if m.state != breaker.Closed {
		m.move(context.Background(), breaker.Closed, breaker.CauseReset, 0)
	}
	m.clear()
	m.opens, m.trouble = 0, nil
	m.breaks++
}

func (m *model) isolate(reading time.Duration) {
	m.accept(reading)
	if m.state == breaker.Isolated {
		return
	}
	m.move(context.Background(), breaker.Isolated, breaker.CauseIsolated, 0)
	m.probes = nil
	m.breaks++
}

func (m *model) probeNow(reading time.Duration) {
	m.accept(reading)
	if m.state == breaker.Open && m.own < m.deadline {
		m.deadline, m.requested = m.own, true
	}
}

// update puts other settings in force.
func (m *model) update(reading time.Duration, s breaker.Settings, random func() float64, tell func(context.Context, breaker.Transition)) {
	m.accept(reading)
	was, hadWindow, zero := m.set, m.hasWindow(), m.own-m.newest
	m.set, m.anyRun, m.random, m.tell = filled(s), s.ConsecutiveFailures == 0, random, tell
	if !hadWindow || m.set.TripWindow != was.TripWindow || m.set.TripCalls != was.TripCalls {
		m.trip, m.tripZero = nil, zero
	}
	if was.Failures.Off || m.set.Failures.Window != was.Failures.Window {
		m.past, m.pastZero = nil, zero
	}
	if was.SlowCalls.Off || m.set.SlowCalls.Window != was.SlowCalls.Window || m.set.SlowCalls.Quantile != was.SlowCalls.Quantile {
		m.latencies, m.latencyZero = nil, zero
	}
	m.memo = nil
	if n := len(m.latencies); n > 0 { // as of the newest
		if computed := m.computeLatency(m.latencies[n-1].at); computed.known {
			m.memo = &computed
		}
	}
	if !m.drawn {
		m.drawAhead()
	}
}
