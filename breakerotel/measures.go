package breakerotel

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/normal-go/breaker"
)

// kind of an instrument. All are observable.
type kind uint8

const (
	counter kind = iota
	upDownCounter
	gauge
)

// measure is one instrument, and what it has to say about a breaker.
type measure[N int64 | float64] struct {
	name        string
	kind        kind
	unit        string
	description string
	observe     func(s *breaker.Snapshot, say func(N, ...attribute.KeyValue))
}

const (
	nameKey    = attribute.Key("breaker.name")
	stateKey   = attribute.Key("breaker.state")
	verdictKey = attribute.Key("breaker.verdict")
	outcomeKey = attribute.Key("breaker.outcome")
	toKey      = attribute.Key("breaker.to")
	causeKey   = attribute.Key("breaker.cause")
	reasonKey  = attribute.Key("breaker.reason")
)

var states = []breaker.State{breaker.Closed, breaker.Open, breaker.HalfOpen, breaker.Recovering, breaker.Isolated}

var integers = []measure[int64]{
	{
		"breaker.status", upDownCounter, "1", "1 for the state that the next call would find, 0 for each other.",
		func(s *breaker.Snapshot, say func(int64, ...attribute.KeyValue)) {
			for _, state := range states {
				say(one(s.State == state), stateKey.String(state.String()))
			}
		},
	},
	{
		"breaker.transitions", counter, "{transition}", "Changes of state, by what it became and why.",
		transitions,
	},
	{
		"breaker.shadow", upDownCounter, "1", "1 for a dry run, which refuses nothing, else 0.",
		func(s *breaker.Snapshot, say func(int64, ...attribute.KeyValue)) { say(one(s.Shadow)) },
	},
	{
		"breaker.calls", counter, "{call}", "Admitted calls that have ended.",
		func(s *breaker.Snapshot, say func(int64, ...attribute.KeyValue)) {
			byVerdict(say, map[string]uint64{
				breaker.OK.String():        s.Totals.OK,
				breaker.Transient.String(): s.Totals.Transient,
				breaker.Throttled.String(): s.Totals.Throttled,
				breaker.Permanent.String(): s.Totals.Permanent,
				breaker.Canceled.String():  s.Totals.Canceled,
				"released":                 s.Totals.Released,
			})
		},
	},
	total("breaker.slow_calls", "{call}", "Slow calls, among the ok ones.", func(t *breaker.Totals) uint64 { return t.Slow }),
	total("breaker.stale_calls", "{call}", "Calls that ended too late to decide anything.", func(t *breaker.Totals) uint64 { return t.Stale }),
	total("breaker.refused_calls", "{call}", "Calls that were refused.", func(t *breaker.Totals) uint64 { return t.Refused }),
	{
		"breaker.would_refuse_calls", counter, "{call}", "Calls that a dry run would have refused.",
		func(s *breaker.Snapshot, say func(int64, ...attribute.KeyValue)) {
			byVerdict(say, map[string]uint64{
				breaker.OK.String():        s.Totals.WouldRefuseOK,
				breaker.Transient.String(): s.Totals.WouldRefuseTransient,
				"other":                    s.Totals.WouldRefuseOther,
			})
		},
	},
	{
		"breaker.probes", counter, "{probe}", "Probes, by what they decided.",
		func(s *breaker.Snapshot, say func(int64, ...attribute.KeyValue)) {
			say(int64(s.Totals.ProbesSucceeded), outcomeKey.String("succeeded"))
			say(int64(s.Totals.ProbesFailed), outcomeKey.String("failed"))
			say(int64(s.Totals.ProbesInconclusive), outcomeKey.String("inconclusive"))
		},
	},
	count("breaker.probes_in_flight", "{probe}", "Probe slots taken.", always, func(s *breaker.Snapshot) int { return s.ProbesInFlight }),
	count("breaker.window.calls", "{call}", "Calls in the trip window.", inWindow, func(s *breaker.Snapshot) int { return s.Calls }),
	count("breaker.window.failures", "{call}", "Calls in the trip window that failed.", inWindow, func(s *breaker.Snapshot) int { return s.Failures }),
	count("breaker.window.slow_calls", "{call}", "Calls in the trip window that were slow.", inWindow, func(s *breaker.Snapshot) int { return s.Slow }),
	count("breaker.consecutive_failures", "{call}", "Failures in a row.", always, func(s *breaker.Snapshot) int { return s.Run }),
	count("breaker.consecutive_failures_needed", "{call}", "Failures in a row that open a closed breaker.", always, func(s *breaker.Snapshot) int { return s.RunNeeded }),
	count("breaker.consecutive_opens", "{open}", "Opens without a clean close between them.", always, func(s *breaker.Snapshot) int { return s.ConsecutiveOpens }),
}

var numbers = []measure[float64]{
	{
		"breaker.time", counter, "s", "Time spent in each state, from transition to transition.",
		func(s *breaker.Snapshot, say func(float64, ...attribute.KeyValue)) {
			for state, d := range s.Totals.TimeIn {
				say(d.Seconds(), stateKey.String(state.String()))
			}
		},
	},
	known("breaker.last_transition.timestamp", "s", "When the state last changed, in Unix time.",
		func(s *breaker.Snapshot) (float64, bool) {
			if s.Last == nil {
				return 0, false
			}
			at := s.Last.At
			return float64(at.Unix()) + float64(at.Nanosecond())/float64(time.Second), true
		}),
	seconds("breaker.normal_latency", "What the dependency usually takes.",
		func(s *breaker.Snapshot) (time.Duration, bool) { return s.NormalLatency, s.NormalLatencyKnown }),
	seconds("breaker.slow_threshold", "The latency from which a call is slow.",
		func(s *breaker.Snapshot) (time.Duration, bool) { return s.SlowThreshold, s.SlowThreshold > 0 }),
	share("breaker.normal_failure_ratio", "The share of the calls that usually fails.",
		func(s *breaker.Snapshot) (float64, bool) { return s.NormalFailureRate, s.NormalFailureRateKnown }),
	share("breaker.trip_ratio", "The share of failures in the trip window that opens the breaker.",
		func(s *breaker.Snapshot) (float64, bool) { return s.TripRatio, s.TripRatio > 0 }),
	share("breaker.admitted_ratio", "The share of the calls that a ramp admits.",
		func(s *breaker.Snapshot) (float64, bool) { return s.AdmittedFraction, s.State == breaker.Recovering }),
	seconds("breaker.retry_after", "Time until the next probe.",
		func(s *breaker.Snapshot) (time.Duration, bool) { return s.RetryAfter, s.RetryAfterKnown }),
	seconds("breaker.break", "The break being served or, in half-open and recovering, just served.",
		func(s *breaker.Snapshot) (time.Duration, bool) { return s.Break, s.BreakKnown }),
}

// transitions says what each cause made of the breaker. Probes that succeed make it closed or
// recovering: closed are those recoveries that are no ends of ramps.
func transitions(s *breaker.Snapshot, say func(int64, ...attribute.KeyValue)) {
	t := s.Totals
	for cause, n := range t.Transitions {
		to := breaker.Open
		switch cause {
		case breaker.CauseBreakElapsed, breaker.CauseProbeRequested:
			to = breaker.HalfOpen
		case breaker.CauseRampCompleted, breaker.CauseReset:
			to = breaker.Closed
		case breaker.CauseIsolated:
			to = breaker.Isolated
		case breaker.CauseProbesSucceeded:
			closed := t.Recoveries - t.Transitions[breaker.CauseRampCompleted]
			say(int64(closed), toKey.String(breaker.Closed.String()), causeKey.String(cause.String()))
			n, to = n-closed, breaker.Recovering
		}
		say(int64(n), toKey.String(to.String()), causeKey.String(cause.String()))
	}
}

// nameOf returns the attribute with the name of a breaker. Exporters cannot send a text that
// is not UTF-8, and lose all that they would send with it.
func nameOf(name string) attribute.KeyValue {
	return nameKey.String(strings.ToValidUTF8(name, "\uFFFD"))
}

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

func always(*breaker.Snapshot) bool     { return true }
func inWindow(s *breaker.Snapshot) bool { return s.WindowKnown }

func byVerdict(say func(int64, ...attribute.KeyValue), counts map[string]uint64) {
	for verdict, n := range counts {
		say(int64(n), verdictKey.String(verdict))
	}
}

// total is a counter of its own among the totals.
func total(name, unit, description string, of func(*breaker.Totals) uint64) measure[int64] {
	return measure[int64]{name, counter, unit, description,
		func(s *breaker.Snapshot, say func(int64, ...attribute.KeyValue)) { say(int64(of(&s.Totals))) },
	}
}

// count is a number of things that there are now, if that is known.
func count(name, unit, description string, known func(*breaker.Snapshot) bool, of func(*breaker.Snapshot) int) measure[int64] {
	return measure[int64]{name, gauge, unit, description,
		func(s *breaker.Snapshot, say func(int64, ...attribute.KeyValue)) {
			if known(s) {
				say(int64(of(s)))
			}
		},
	}
}

// seconds is a duration, if it is known.
func seconds(name, description string, of func(*breaker.Snapshot) (time.Duration, bool)) measure[float64] {
	return known(name, "s", description, func(s *breaker.Snapshot) (float64, bool) {
		d, ok := of(s)
		return d.Seconds(), ok
	})
}

// share is a number in [0, 1], if it is known.
func share(name, description string, of func(*breaker.Snapshot) (float64, bool)) measure[float64] {
	return known(name, "1", description, of)
}

func known(name, unit, description string, of func(*breaker.Snapshot) (float64, bool)) measure[float64] {
	return measure[float64]{name, gauge, unit, description,
		func(s *breaker.Snapshot, say func(float64, ...attribute.KeyValue)) {
			if v, ok := of(s); ok {
				say(v)
			}
		},
	}
}
