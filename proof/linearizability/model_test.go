package linearizability

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/normal-go/breaker"
)

// What the model knows of the settings.
const (
	failuresInARow = 3
	slots          = 2
	successes      = 2
	inconclusive   = 10
	firstBreak     = 10 * time.Second
	longestBreak   = 20 * time.Second
	probeTimeout   = 5 * time.Second

	mostAttempts = rounds * aRound // in one history

	released = breaker.Canceled + 1 // an end without a verdict
)

// A kind is what a client asks for.
type kind uint8

const (
	admit kind = iota
	end
	reset
	isolate
	probeNow
	state
	snapshot
	advance // of the clock, while no other operation is under way
)

// input is one operation.
type input struct {
	kind
	attempt int             // of admit and end
	verdict breaker.Verdict // of end
	by      time.Duration   // of advance
}

// answer is what a client gets.
type answer struct {
	refused bool
	state   breaker.State // of state, and of the refusal
	seen    view          // of snapshot
}

// view is the part of a snapshot that the model explains.
type view struct {
	state        breaker.State
	probes       int
	run          int
	opens        int // in a row
	retryAfter   time.Duration
	retryKnown   bool
	transitions  uint64
	cause        breaker.Cause
	verdicts     [released + 1]uint64
	stale        uint64
	opened       uint64
	recoveries   uint64
	breakServing time.Duration
}

// attempt is a call under way.
type attempt struct {
	generation uint8
	probe      bool
	lost       bool
}

// slot is one that a probe has taken.
type slot struct {
	attempt int
	since   time.Duration
}

// model is a breaker without concurrency: plain values, one after another. It is comparable,
// which is all that the checker needs to know two states for one.
type model struct {
	now      time.Duration
	state    breaker.State
	breakEnd time.Duration
	length   time.Duration // of the newest break
	asked    bool          // ProbeNow ended it

	generation uint8
	attempts   [mostAttempts]attempt
	taken      [slots]slot // the oldest first
	probes     int         // how many of them
	successes  int
	undecided  int // in a row

	run   int
	opens int // in a row

	transitions uint64
	cause       breaker.Cause
	verdicts    [released + 1]uint64
	stale       uint64
	opened      uint64
	recoveries  uint64
}

// step is what an operation does to a breaker, and what it answers.
func (m *model) step(in input) (out answer) {
	switch in.kind {
	case admit:
		out.refused = !m.admit(in.attempt)
		if out.refused {
			out.state = m.state
		}
	case end:
		m.end(in.attempt, in.verdict)
	case reset:
		if m.state == breaker.Closed {
			m.clear()
			m.opens = 0
		} else {
			m.close(breaker.CauseReset)
		}
	case isolate:
		if m.state != breaker.Isolated {
			m.move(breaker.Isolated, breaker.CauseIsolated)
			m.clearProbes()
		}
	case probeNow:
		if m.state == breaker.Open && m.now < m.breakEnd {
			m.breakEnd, m.asked = m.now, true
		}
	case state:
		out.state = m.apparent()
	case snapshot:
		out.seen = m.view()
	case advance:
		m.now += in.by
	}
	return out
}

func (m *model) admit(id int) bool {
	switch m.state {
	case breaker.Closed:
		m.attempts[id] = attempt{generation: m.generation}
		return true
	case breaker.Isolated:
		return false
	case breaker.Open:
		if m.now < m.breakEnd {
			return false
		}
		cause := breaker.CauseBreakElapsed
		if m.asked {
			cause = breaker.CauseProbeRequested
		}
		m.move(breaker.HalfOpen, cause)
	}
	if m.probes == slots {
		oldest := m.taken[0]
		if m.now-oldest.since < probeTimeout {
			return false
		}
		m.attempts[oldest.attempt].lost = true
		m.giveBack(oldest.attempt)
		if m.decidedNothing() {
			return false
		}
	}
	m.attempts[id] = attempt{generation: m.generation, probe: true}
	m.taken[m.probes] = slot{id, m.now}
	m.probes++
	return true
}

func (m *model) end(id int, v breaker.Verdict) {
	a := m.attempts[id]
	m.attempts[id] = attempt{}
	m.verdicts[v]++
	late := m.late(a)
	if late && v != released {
		m.stale++
	}
	if late || m.state == breaker.Open || m.state == breaker.Isolated {
		return
	}
	switch v {
	case breaker.OK:
		m.run = 0
	case breaker.Transient:
		m.run++
	}
	if m.state == breaker.Closed {
		if v == breaker.Transient && m.run >= failuresInARow {
			m.open(breaker.CauseConsecutiveFailures)
		}
		return
	}
	m.giveBack(id)
	switch v {
	case breaker.Transient:
		m.open(breaker.CauseProbeFailed)
	case breaker.OK:
		m.undecided = 0
		if m.successes++; m.successes >= successes {
			m.close(breaker.CauseProbesSucceeded)
		}
	default:
		m.decidedNothing()
	}
}

func (m *model) late(a attempt) bool { return a.generation != m.generation || a.lost }

func (m *model) giveBack(id int) {
	for i, s := range m.taken[:m.probes] {
		if s.attempt == id {
			copy(m.taken[i:], m.taken[i+1:])
			m.probes--
			m.taken[m.probes] = slot{}
			return
		}
	}
}

func (m *model) decidedNothing() (opened bool) {
	m.undecided++
	if m.undecided < inconclusive {
		return false
	}
	m.open(breaker.CauseProbesInconclusive)
	return true
}

func (m *model) open(cause breaker.Cause) {
	if cause != breaker.CauseProbesInconclusive {
		m.opens++
	}
	m.length = min(longestBreak, firstBreak<<min(m.opens-1, 8))
	m.breakEnd, m.asked = m.now+m.length, false
	m.generation++
	m.opened++
	m.move(breaker.Open, cause)
	m.clear()
}

func (m *model) close(cause breaker.Cause) {
	if cause == breaker.CauseProbesSucceeded {
		m.recoveries++
	}
	m.move(breaker.Closed, cause)
	m.clear()
	m.opens = 0
}

func (m *model) move(to breaker.State, cause breaker.Cause) {
	m.state, m.cause = to, cause
	m.transitions++
}

func (m *model) clear() {
	m.run = 0
	m.clearProbes()
}

func (m *model) clearProbes() {
	m.taken, m.probes, m.successes, m.undecided = [slots]slot{}, 0, 0, 0
}

// apparent is the state that the next call would find.
func (m *model) apparent() breaker.State {
	if m.state == breaker.Open && m.now >= m.breakEnd {
		return breaker.HalfOpen
	}
	return m.state
}

func (m *model) view() view {
	v := view{
		state:       m.apparent(),
		probes:      m.probes,
		run:         m.run,
		opens:       m.opens,
		transitions: m.transitions,
		cause:       m.cause,
		verdicts:    m.verdicts,
		stale:       m.stale,
		opened:      m.opened,
		recoveries:  m.recoveries,
	}
	if m.state == breaker.Open {
		v.retryAfter, v.retryKnown = max(0, m.breakEnd-m.now), true
	}
	if v.state == breaker.Open || v.state == breaker.HalfOpen {
		v.breakServing = m.length
	}
	return v
}

// viewOf is the same of a snapshot.
func viewOf(s breaker.Snapshot) view {
	v := view{
		state:        s.State,
		probes:       s.ProbesInFlight,
		run:          s.Run,
		opens:        s.ConsecutiveOpens,
		retryAfter:   s.RetryAfter,
		retryKnown:   s.RetryAfterKnown,
		verdicts:     [released + 1]uint64{s.Totals.OK, s.Totals.Transient, s.Totals.Throttled, s.Totals.Permanent, s.Totals.Canceled, s.Totals.Released},
		stale:        s.Totals.Stale,
		recoveries:   s.Totals.Recoveries,
		breakServing: s.Break,
	}
	if s.Last != nil {
		v.transitions, v.cause = s.Last.Seq, s.Last.Cause
	}
	for _, n := range s.Totals.Opens {
		v.opened += n
	}
	return v
}

// checked is the model in the checker's terms, with a step that may be a wrong one.
func checked(step func(*model, input) answer) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return model{} },
		Step: func(before, in, out any) (bool, any) {
			m := before.(model)
			return step(&m, in.(input)) == out.(answer), m
		},
		DescribeOperation: func(in, out any) string { return describe(in.(input), out.(answer)) },
	}
}

func describe(in input, out answer) string {
	switch in.kind {
	case admit:
		if out.refused {
			return fmt.Sprintf("admit %d: refused, %v", in.attempt, out.state)
		}
		return fmt.Sprintf("admit %d", in.attempt)
	case end:
		if in.verdict == released {
			return fmt.Sprintf("end %d: released", in.attempt)
		}
		return fmt.Sprintf("end %d: %v", in.attempt, in.verdict)
	case state:
		return fmt.Sprintf("state: %v", out.state)
	case snapshot:
		return fmt.Sprintf("snapshot: %+v", out.seen)
	case advance:
		return fmt.Sprintf("advance %v", in.by)
	}
	return [...]string{reset: "reset", isolate: "isolate", probeNow: "probe now"}[in.kind]
}
