package simulation

import (
	"math"
	"time"

	"github.com/normal-go/breaker"
)

// book is where a run is written down as it goes.
type book struct {
	calls    Calls
	attempts Attempts
	served   histogram // what callers waited
	unserved histogram
	inSecond histogram // served, in the second so far

	second   Second
	timeline []Second
	worst    Second
	onSecond func(Second)

	noTimeline bool

	opens            [breaker.CauseReset + 1]int
	falseTrips       int
	transitions      []breaker.Transition
	transitionsInAll int

	probes    Probes
	lastProbe time.Duration

	incidents  []incidentBook
	wellServed float64 // the share served in a second of full service, at least
}

type incidentBook struct {
	Outcome
	opened []bool // by instance; nil before the first
}

// How a call ends.
type endKind uint8

const (
	endServed endKind = iota
	endFailed
	endThrottled
	endRefused
	endCanceled
)

const mostTransitions = 1000

// fullServiceShare is how much of what a dependency serves when it is well has to be
// served for a second to count as full service.
const fullServiceShare = 0.9

func newBook(s *Scenario) *book {
	b := &book{
		onSecond:   s.OnSecond,
		wellServed: fullServiceShare * (1 - s.Dependency.FailureRate),
	}
	for _, incident := range s.Incidents {
		b.incidents = append(b.incidents, incidentBook{Outcome: Outcome{Incident: incident}})
	}
	return b
}

func (b *book) offered() {
	b.calls.Offered++
	b.second.Offered++
}

func (b *book) asked() {
	b.attempts.Asked++
	b.second.Asked++
}

func (b *book) refused() { b.attempts.Refused++ }

func (b *book) reached(e *engine) {
	b.attempts.Reached++
	b.second.Reached++
	if e.model == nil || !e.model.effect.dead {
		return
	}
	b.attempts.Dead++
	for i := range b.incidents {
		if on, _ := b.incidents[i].at(e.now); on && b.incidents[i].dead() {
			b.incidents[i].DeadAttempts++
		}
	}
}

func (b *book) probe(now time.Duration, in *instance) {
	p := &b.probes
	p.Count++
	b.second.Probes++
	if rest := now - in.opened; p.Count == 1 || rest < p.ShortestRest {
		p.ShortestRest = rest
	}
	if gap := now - b.lastProbe; p.Count == 2 || p.Count > 2 && gap < p.ShortestGap {
		p.ShortestGap = gap
	}
	b.lastProbe = now
}

func (b *book) settled(how endKind) {
	switch how {
	case endServed:
		b.attempts.OK++
	case endFailed:
		b.attempts.Failed++
	case endThrottled:
		b.attempts.Throttled++
	case endCanceled:
		b.attempts.Canceled++
	}
}

func (b *book) ended(how endKind, waited time.Duration, servable bool) {
	if how == endServed {
		b.calls.Served++
		b.second.Served++
		b.inSecond.add(waited)
		return
	}
	b.unserved.add(waited)
	switch how {
	case endFailed:
		b.calls.Failed++
		b.second.Failed++
	case endThrottled:
		b.calls.Throttled++
		b.second.Throttled++
	case endCanceled:
		b.calls.Canceled++
		b.second.Canceled++
	case endRefused:
		b.calls.Refused++
		b.second.Refused++
		if servable {
			b.calls.RefusedServable++
		} else {
			b.calls.RefusedAnyway++
		}
	}
}

func (b *book) transition(t breaker.Transition) {
	b.transitionsInAll++
	if len(b.transitions) < mostTransitions {
		round(&t.FailureEvidence)
		round(&t.SlowEvidence)
		t.NormalFailureRate = rounded(t.NormalFailureRate)
		b.transitions = append(b.transitions, t)
	}
}

// round cuts off the digits in which machines may differ: the breaker weighs with the
// logarithms of package math.
func round(e *breaker.Evidence) {
	e.Rate, e.TripPoint, e.Reference = rounded(e.Rate), rounded(e.TripPoint), rounded(e.Reference)
	e.Surprise, e.Required = rounded(e.Surprise), rounded(e.Required)
}

// open takes note of an open, with the time of the last trouble.
func (b *book) open(e *engine, in *instance, cause breaker.Cause, trouble time.Duration) {
	b.opens[cause]++
	b.second.Opens++
	if e.model == nil {
		return
	}
	if e.now-trouble > e.scenario.Grace {
		b.falseTrips++
	}
	for i := range b.incidents {
		incident := &b.incidents[i]
		end, ends := incident.end()
		if e.now < incident.Start || ends && e.now >= end {
			continue
		}
		if incident.opened == nil {
			incident.opened = make([]bool, len(e.instances))
		}
		if incident.opened[in.number] {
			continue
		}
		incident.opened[in.number] = true
		incident.Opened++
		incident.LastTrip = e.now - incident.Start
		if incident.Opened == 1 {
			incident.FirstTrip = incident.LastTrip
		}
	}
}

// lookForWorst compares the second that is ending with the worst so far. What ends after
// the run has no part in it.
func (b *book) lookForWorst() {
	s := &b.second
	s.LatencyP50, s.LatencyP99 = b.inSecond.quantile(0.5), b.inSecond.quantile(0.99)
	unserved := s.Failed + s.Throttled + s.Refused + s.Canceled
	if unserved > b.worst.Failed+b.worst.Throttled+b.worst.Refused+b.worst.Canceled {
		b.worst = *s
	}
	if s.Probes > b.probes.WorstSecond {
		b.probes.WorstSecond, b.probes.WorstSecondAt = s.Probes, s.Start
	}
}

// endSecond closes the second that has ended.
func (b *book) endSecond(e *engine) {
	s := &b.second
	s.LatencyP50, s.LatencyP99 = b.inSecond.quantile(0.5), b.inSecond.quantile(0.99)
	b.served.take(&b.inSecond)
	b.lookForFullService(e)
	if !b.noTimeline {
		b.timeline = append(b.timeline, *s)
	}
	if b.onSecond != nil {
		b.onSecond(*s)
	}
	b.second = Second{Start: s.Start + time.Second}
}

func (b *book) lookForFullService(e *engine) {
	s := &b.second
	ended := s.Served + s.Failed + s.Throttled
	whole := s.Start+time.Second <= e.scenario.Duration
	if !whole || ended == 0 || s.Refused > 0 || float64(s.Served) < b.wellServed*float64(ended) ||
		!e.scenario.NoBreaker && s.Closed < len(e.instances) {
		return
	}
	for i := range b.incidents {
		incident := &b.incidents[i]
		end, ends := incident.end()
		if ends && s.Start >= end && !incident.FullServiceKnown {
			incident.FullServiceKnown = true
			incident.FullService = s.Start + time.Second - end
		}
	}
}

func (b *book) report(e *engine) *Report {
	s := &e.scenario
	r := &Report{
		Name:             s.Name,
		Seed:             s.Seed,
		Duration:         s.Duration,
		Instances:        s.Instances,
		NoBreaker:        s.NoBreaker,
		Replayed:         e.model == nil,
		Calls:            b.calls,
		Attempts:         b.attempts,
		LoadMultiplier:   ratio(b.attempts.Reached, b.calls.Offered),
		Goodput:          ratio(b.calls.Served, b.calls.Served+b.calls.RefusedServable),
		FalseTrips:       b.falseTrips,
		Probes:           b.probes,
		Latency:          b.served.quantiles(),
		Worst:            b.worst,
		Transitions:      b.transitions,
		TransitionsInAll: b.transitionsInAll,
		Timeline:         b.timeline,
	}
	for _, incident := range b.incidents {
		r.Incidents = append(r.Incidents, incident.Outcome)
	}
	for cause, n := range b.opens {
		if n > 0 {
			r.Opens = append(r.Opens, Opens{breaker.Cause(cause), n})
		}
	}
	b.unserved.merge(&b.served)
	r.Waited = b.unserved.quantiles()
	if b.falseTrips > 0 {
		days := s.Duration.Hours() / 24
		r.FalseTripsADay = rounded(float64(b.falseTrips) / days / float64(s.Instances))
	}
	return r
}

func ratio(k, n int64) float64 {
	if n == 0 {
		return 0
	}
	return rounded(float64(k) / float64(n))
}

// rounded leaves six digits after the point: more would say nothing.
func rounded(x float64) float64 { return math.Round(x*1e6) / 1e6 }
