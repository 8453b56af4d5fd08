package breaker_test

import (
	"context"
	"errors"
	"time"

	"github.com/normal-go/breaker"
)

// model is the breaker over again, as slow and as plain as the rules are when they are
// read aloud: one goroutine, every sample kept for ever with its instant, every figure
// counted anew when it is asked for. FuzzModel and TestModelAgreesOnRandomSequences hold
// the breaker to it, step by step. It is written from the rules, not from the code.
//
// Times are readings of the clock, counted from the first one. Instants are the model's
// own time.
type model struct {
	set    breaker.Settings // with every default filled in
	anyRun bool             // nobody wrote ConsecutiveFailures
	random func() float64
	tell   func(context.Context, breaker.Transition)
	born   time.Time

	latest time.Duration // the reading accepted last
	newest time.Duration // the one that own time goes by
	own    time.Duration // own time at that reading

	state      breaker.State
	generation int
	since      time.Duration // when the state began
	named      string        // by which the state refuses
	openedAt   time.Time

	trip      []sample // since the window was last cleared
	past      []sample // OK and Transient, the error baseline
	latencies []sample // OK, the latency baseline
	memo      *normal
	run       int

	tripZero, pastZero, latencyZero time.Duration // from where their buckets count

	opens     int           // in a row
	served    time.Duration // the newest break
	deadline  time.Duration
	requested bool    // by ProbeNow
	breaks    int     // so that a refusal can tell its break from a later one
	draw      float64 // the number kept ahead for the jitter
	drawn     bool    // that there is one

	probes      []*tried // that hold a slot, the oldest first
	successes   int
	undecided   int      // probes in a row that decided nothing
	trouble     *float64 // the reference as the trouble found it
	rampStart   time.Duration
	rampLength  time.Duration
	rampInitial float64 // the share that it began with
	evidence    float64
	credit      float64
	fast        int // fast calls in a row
	rampCalls   int
	rampFailed  int
	rampNormal  *float64 // the reference that its failures are held against
	transitions []breaker.Transition
	totals      breaker.Totals
}

// tried is an admitted call.
type tried struct {
	ctx        context.Context
	generation int
	reading    time.Duration // at admission
	start      time.Duration // own time, of a probe
	lost       bool          // its slot, to a later caller
	aside      bool          // of a dry run, which would have refused it
	ended      bool
}

// modelRefusal is what a refused caller holds.
type modelRefusal struct {
	name  string
	state breaker.State
	brk   int
}

// openCauses are the causes that have an entry in Totals.Opens.
var openCauses = []breaker.Cause{
	breaker.CauseConsecutiveFailures, breaker.CauseFailureRatio, breaker.CauseRelativeFailures, breaker.CauseSlowCalls,
	breaker.CauseProbeFailed, breaker.CauseSlowProbe, breaker.CauseProbesInconclusive, breaker.CauseRampFailed,
}

func newModel(s breaker.Settings, born time.Time, random func() float64, tell func(context.Context, breaker.Transition)) *model {
	m := &model{set: filled(s), anyRun: s.ConsecutiveFailures == 0, born: born, random: random, tell: tell}
	m.totals.Opens = map[breaker.Cause]uint64{}
	for _, cause := range openCauses {
		m.totals.Opens[cause] = 0
	}
	m.totals.Transitions = map[breaker.Cause]uint64{}
	for cause := breaker.CauseConsecutiveFailures; cause <= breaker.CauseReset; cause++ {
		m.totals.Transitions[cause] = 0
	}
	m.totals.TimeIn = map[breaker.State]time.Duration{}
	for state := breaker.Closed; state <= breaker.Isolated; state++ {
		m.totals.TimeIn[state] = 0
	}
	m.drawAhead()
	return m
}

func (m *model) ramps() bool { return m.set.Recovery != breaker.Recovery{} }

// accept takes a reading into account.
func (m *model) accept(reading time.Duration) {
	m.latest = reading
	switch behind := m.newest - reading; {
	case behind <= 0:
		m.own += reading - m.newest
		m.newest = reading
	case behind > time.Second:
		m.newest = reading
	}
}

// instant is own time at a reading that is not accepted.
func (m *model) instant(reading time.Duration) time.Duration {
	return m.own + max(0, reading-m.newest)
}

// admit returns the admitted call, or the refusal, or the error of a context that is done.
func (m *model) admit(ctx context.Context, reading time.Duration) (*tried, *modelRefusal, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	refuse := func() (*tried, *modelRefusal, error) {
		if m.set.Shadow {
			return &tried{ctx: ctx, reading: reading, aside: true}, nil, nil
		}
		m.totals.Refused++
		return nil, &modelRefusal{name: m.named, state: m.state, brk: m.breaks}, nil
	}
	call := &tried{ctx: ctx, generation: m.generation, reading: reading}
	switch m.state {
	case breaker.Closed:
		return call, nil, nil
	case breaker.Isolated:
		return refuse()
	case breaker.Open:
		if reading < m.newest {
			m.accept(reading) // out of the gate
		}
		if m.instant(reading) < m.deadline {
			return refuse()
		}
		m.accept(reading)
		cause := breaker.CauseBreakElapsed
		if m.requested {
			cause = breaker.CauseProbeRequested
		}
		m.move(ctx, breaker.HalfOpen, cause, 0)
		m.successes, m.undecided = 0, 0
	case breaker.HalfOpen, breaker.Recovering:
		m.accept(reading)
	}

	if m.state == breaker.Recovering {
		fraction := m.fraction(m.own)
		if fraction >= 1-1e-9 {
			m.close(ctx, breaker.CauseRampCompleted)
			return call, nil, nil
		}
		m.credit += fraction
		if m.credit < 1 {
			return refuse()
		}
		m.credit--
		return call, nil, nil
	}

	for len(m.probes) >= m.set.HalfOpenProbes { // more than once, if there were more slots before
		oldest := m.probes[0]
		if m.own-oldest.start < m.probeTimeout() {
			return refuse()
		}
		oldest.lost = true
		m.giveBack(oldest)
		if m.decidedNothing(ctx) {
			return refuse()
		}
	}
	call.start = m.own
	m.probes = append(m.probes, call)
	return call, nil, nil
}

func (m *model) probeTimeout() time.Duration {
	if m.set.ProbeTimeout > 0 {
		return m.set.ProbeTimeout
	}
	return max(time.Second, m.served)
}

func (m *model) giveBack(call *tried) {
	for i, probe := range m.probes {
		if probe == call {
			m.probes = append(m.probes[:i:i], m.probes[i+1:]...)
			return
		}
	}
}

// decidedNothing counts a probe that decided nothing, and reports whether it was one too
// many.
func (m *model) decidedNothing(ctx context.Context) bool {
	m.totals.ProbesInconclusive++
	m.undecided++
	if m.undecided < 10 {
		return false
	}
	m.open(ctx, breaker.CauseProbesInconclusive)
	return true
}

// settle ends a call; release ends it without an outcome.
func (m *model) settle(call *tried, reading time.Duration, v breaker.Verdict, d time.Duration) {
	if call.ended {
		return
	}
	call.ended = true
	m.accept(reading)
	if call.aside {
		m.aside(v)
		return
	}
	m.totals.Admitted++
	switch v {
	case breaker.OK:
		m.totals.OK++
	case breaker.Transient:
		m.totals.Transient++
	case breaker.Throttled:
		m.totals.Throttled++
	case breaker.Canceled:
		m.totals.Canceled++
	default:
		v = breaker.Permanent
		m.totals.Permanent++
	}
	if call.lost || call.generation != m.generation {
		m.totals.Stale++
		return
	}
	m.outcome(call.ctx, call, v, max(0, d))
}

func (m *model) release(call *tried, reading time.Duration) {
	if call.ended {
		return
	}
	call.ended = true
	m.accept(reading)
	if call.aside {
		m.aside(breaker.Permanent)
		return
	}
	m.totals.Admitted++
	m.totals.Released++
	if !call.lost && call.generation == m.generation {
		m.outcome(call.ctx, call, breaker.Permanent, 0)
	}
}

// aside counts the end of a call that a dry run would have refused.
func (m *model) aside(v breaker.Verdict) {
	switch v {
	case breaker.OK:
		m.totals.WouldRefuseOK++
	case breaker.Transient:
		m.totals.WouldRefuseTransient++
	default:
		m.totals.WouldRefuseOther++
	}
}

// outcome is what a call of this generation does to the state.
func (m *model) outcome(ctx context.Context, call *tried, v breaker.Verdict, d time.Duration) {
	isEvidence := v == breaker.OK || v == breaker.Transient
	switch m.state {
	case breaker.Closed:
		if !isEvidence {
			return
		}
		slow := m.feed(v, d)
		if v == breaker.Transient || slow {
			if cause := m.tripped(); cause != 0 {
				m.open(ctx, cause)
			}
		}
	case breaker.HalfOpen:
		m.giveBack(call)
		if !isEvidence {
			m.decidedNothing(ctx)
			return
		}
		slow := m.feed(v, d)
		switch {
		case v == breaker.Transient:
			m.totals.ProbesFailed++
			m.open(ctx, breaker.CauseProbeFailed)
			return
		case slow && !m.ramps():
			m.totals.ProbesFailed++
			m.open(ctx, breaker.CauseSlowProbe)
			return
		}
		m.totals.ProbesSucceeded++
		m.undecided = 0
		m.successes++
		switch {
		case m.successes < m.set.ProbeSuccesses:
		case m.ramps():
			m.startRamp(ctx)
		default:
			m.close(ctx, breaker.CauseProbesSucceeded)
		}
	case breaker.Recovering:
		if isEvidence {
			m.ramp(ctx, v, m.feed(v, d))
		}
	}
}

// ramp is what an outcome does to a ramp.
func (m *model) ramp(ctx context.Context, v breaker.Verdict, slow bool) {
	m.rampCalls++
	stall := slow
	if v == breaker.Transient {
		m.rampFailed++
		if m.rampNormal == nil {
			m.open(ctx, breaker.CauseRampFailed)
			return
		}
		nats := surprise(m.rampFailed, m.rampCalls, *m.rampNormal)
		switch {
		case nats >= 3:
			m.open(ctx, breaker.CauseRampFailed)
			return
		case nats == 0:
			return
		}
		stall = true
	}
	if stall {
		m.evidence = max(m.rampInitial, m.fraction(m.own)/2)
		m.fast = 0
		return
	}
	m.fast++
	if m.fast >= m.set.ProbeSuccesses { // as many as are asked for by now
		m.fast = 0
		m.evidence = min(1, m.evidence+m.rampInitial)
	}
}

// fraction is the share of the calls that the ramp admits.
func (m *model) fraction(t time.Duration) float64 {
	clock := m.rampInitial + (1-m.rampInitial)*float64(t-m.rampStart)/float64(m.rampLength)
	return min(clock, m.evidence, 1)
}

func (m *model) startRamp(ctx context.Context) {
	m.move(ctx, breaker.Recovering, breaker.CauseProbesSucceeded, 0)
	m.clear()
	r := m.set.Recovery
	length := time.Duration(r.Fraction * float64(m.served))
	m.rampInitial = r.InitialFraction
	m.rampStart, m.rampLength = m.own, max(r.MinimumDuration, min(length, r.MaximumDuration))
	m.evidence, m.credit, m.fast, m.rampCalls, m.rampFailed = 1, 0, 0, 0, 0
	m.rampNormal = m.trouble
	if m.set.Failures.Off || m.set.Failures.FalseAlarm == 1 {
		m.rampNormal = nil
	}
}

// verdict is how Done judges an error.
func (m *model) verdict(call *tried, err error, reading, d time.Duration) breaker.Verdict {
	var carried interface{ Verdict() breaker.Verdict }
	switch {
	case err == nil:
		return breaker.OK
	case errors.As(err, &carried):
		return carried.Verdict()
	case errors.Is(call.ctx.Err(), context.Canceled) && errors.Is(err, context.Cause(call.ctx)):
		return breaker.Canceled
	}
	v := breaker.Transient
	switch {
	case m.set.Classify != nil:
		v = m.set.Classify(err)
	case errors.Is(err, context.Canceled):
		v = breaker.Canceled
	}
	normal := m.latency(m.instant(reading))
	impatient := errors.Is(call.ctx.Err(), context.DeadlineExceeded) && normal.known && max(0, d) < normal.latency
	if v == breaker.Transient && impatient {
		return breaker.Canceled
	}
	return v
}
