package breakerprom

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/normal-go/breaker"
)

// metric is one family of series that every breaker has.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType

	// read puts the values that a snapshot has: one, or one for each value of a label, or
	// none where what it asks for is not known.
	read func(s breaker.Snapshot, put func(value float64, label ...string))
}

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// define describes a metric with the label "breaker", and others.
func define(name string, kind prometheus.ValueType, help string, read func(breaker.Snapshot, func(float64, ...string)), labels ...string) metric {
	return metric{prometheus.NewDesc("breaker_"+name, help, append([]string{"breaker"}, labels...), nil), kind, read}
}

// number is a metric that is always known.
func number(name string, kind prometheus.ValueType, help string, read func(breaker.Snapshot) float64) metric {
	return define(name, kind, help, func(s breaker.Snapshot, put func(float64, ...string)) { put(read(s)) })
}

// unless is a metric that may not be known, and has no series then.
func unless(name, help string, read func(breaker.Snapshot) (value float64, known bool)) metric {
	return define(name, gauge, help, func(s breaker.Snapshot, put func(float64, ...string)) {
		if value, known := read(s); known {
			put(value)
		}
	})
}

var metrics = []metric{
	define("state", gauge, "1 for the state that the next call would find, and 0 for the others.",
		states, "state"),
	define("state_seconds_total", counter, "Time spent in each state, from transition to transition: an open breaker is half-open from the first probe on.",
		timeIn, "state"),
	define("transitions_total", counter, "Changes of state, by what it became and why.",
		transitions, "to", "cause"),
	unless("last_transition_timestamp_seconds", "When the state last changed. Absent before it first did.",
		lastTransition),
	number("shadow", gauge, "1 if the breaker is a dry run, which refuses nothing, and 0 if not.",
		func(s breaker.Snapshot) float64 { return oneIf(s.Shadow) }),

	define("calls_total", counter, "Admitted calls that have ended, by verdict; released are those that ended without one.",
		calls, "verdict"),
	number("slow_calls_total", counter, "Those of the calls with verdict ok that were slow.",
		func(s breaker.Snapshot) float64 { return float64(s.Totals.Slow) }),
	number("stale_calls_total", counter, "Those of the calls whose outcome came too late to decide anything.",
		func(s breaker.Snapshot) float64 { return float64(s.Totals.Stale) }),
	number("refused_calls_total", counter, "Calls that were refused and did not run.",
		func(s breaker.Snapshot) float64 { return float64(s.Totals.Refused) }),
	define("would_refuse_calls_total", counter, "Calls that a dry run would have refused, by how they ended. They are in no other count.",
		wouldRefuse, "verdict"),

	define("probes_total", counter, "Probes, by what they decided.",
		probes, "outcome"),
	number("probes_in_flight", gauge, "Probe slots taken.",
		func(s breaker.Snapshot) float64 { return float64(s.ProbesInFlight) }),

	unless("window_calls", "Calls in the trip window. Absent if no rate trip is configured.",
		inWindow(func(s breaker.Snapshot) int { return s.Calls })),
	unless("window_failures", "Failures in the trip window. Absent if no rate trip is configured.",
		inWindow(func(s breaker.Snapshot) int { return s.Failures })),
	unless("window_slow_calls", "Slow calls in the trip window. Absent if no rate trip is configured.",
		inWindow(func(s breaker.Snapshot) int { return s.Slow })),
	unless("trip_ratio", "Share of failures in the trip window that opens the breaker, if it is more than chance. Absent if there is none.",
		func(s breaker.Snapshot) (float64, bool) { return s.TripRatio, s.TripRatio > 0 }),
	number("consecutive_failures", gauge, "Failures in a row.",
		func(s breaker.Snapshot) float64 { return float64(s.Run) }),
	number("consecutive_failures_needed", gauge, "Failures in a row that open a closed breaker.",
		func(s breaker.Snapshot) float64 { return float64(s.RunNeeded) }),

	unless("normal_failure_ratio", "Share of calls that normally fail. Absent while it is not known.",
		func(s breaker.Snapshot) (float64, bool) { return s.NormalFailureRate, s.NormalFailureRateKnown }),
	unless("normal_latency_seconds", "Normal latency. Absent while it is not known.",
		func(s breaker.Snapshot) (float64, bool) { return s.NormalLatency.Seconds(), s.NormalLatencyKnown }),
	unless("slow_threshold_seconds", "Latency from which a call is slow. Absent while there is none.",
		func(s breaker.Snapshot) (float64, bool) { return s.SlowThreshold.Seconds(), s.SlowThreshold > 0 }),

	number("consecutive_opens", gauge, "Opens since the breaker last closed cleanly.",
		func(s breaker.Snapshot) float64 { return float64(s.ConsecutiveOpens) }),
	unless("break_seconds", "Length of the break being served or, half-open and recovering, just served. Absent when closed or isolated.",
		func(s breaker.Snapshot) (float64, bool) { return s.Break.Seconds(), s.BreakKnown }),
	unless("retry_after_seconds", "Time until the next call may be a probe; 0 if the break is over and nobody has called. Absent otherwise.",
		func(s breaker.Snapshot) (float64, bool) { return s.RetryAfter.Seconds(), s.RetryAfterKnown }),
	unless("admitted_ratio", "Share of the calls that a ramp admits. Absent unless recovering.",
		func(s breaker.Snapshot) (float64, bool) { return s.AdmittedFraction, s.State == breaker.Recovering }),
}

// What a collector says of itself.
var (
	breakersDesc = prometheus.NewDesc("breaker_collector_breakers",
		"Breakers in the source by state, those without series of their own too.", []string{"state"}, nil)
	droppedDesc = prometheus.NewDesc("breaker_collector_dropped_breakers",
		"Breakers in the source without series of their own: past the limit, or of a name that another has.", []string{"reason"}, nil)
)

const (
	reasonLimit = "limit"
	reasonName  = "duplicate_name"
)

func states(s breaker.Snapshot, put func(float64, ...string)) {
	for state := breaker.Closed; state <= breaker.Isolated; state++ {
		put(oneIf(state == s.State), state.String())
	}
}

func timeIn(s breaker.Snapshot, put func(float64, ...string)) {
	for state, d := range s.Totals.TimeIn {
		put(d.Seconds(), state.String())
	}
}

// transitions puts what each cause made of the breaker. Probes that succeed make it closed
// or recovering: closed are those recoveries that no ramp had a part in.
func transitions(s breaker.Snapshot, put func(float64, ...string)) {
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
			put(float64(closed), breaker.Closed.String(), cause.String())
			n, to = n-closed, breaker.Recovering
		}
		put(float64(n), to.String(), cause.String())
	}
}

func lastTransition(s breaker.Snapshot) (float64, bool) {
	if s.Last == nil {
		return 0, false
	}
	at := s.Last.At
	return float64(at.Unix()) + float64(at.Nanosecond())/float64(time.Second), true
}

func calls(s breaker.Snapshot, put func(float64, ...string)) {
	t := s.Totals
	put(float64(t.OK), breaker.OK.String())
	put(float64(t.Transient), breaker.Transient.String())
	put(float64(t.Throttled), breaker.Throttled.String())
	put(float64(t.Permanent), breaker.Permanent.String())
	put(float64(t.Canceled), breaker.Canceled.String())
	put(float64(t.Released), "released")
}

func wouldRefuse(s breaker.Snapshot, put func(float64, ...string)) {
	t := s.Totals
	put(float64(t.WouldRefuseOK), breaker.OK.String())
	put(float64(t.WouldRefuseTransient), breaker.Transient.String())
	put(float64(t.WouldRefuseOther), "other")
}

func probes(s breaker.Snapshot, put func(float64, ...string)) {
	t := s.Totals
	put(float64(t.ProbesSucceeded), "succeeded")
	put(float64(t.ProbesFailed), "failed")
	put(float64(t.ProbesInconclusive), "inconclusive")
}

func inWindow(read func(breaker.Snapshot) int) func(breaker.Snapshot) (float64, bool) {
	return func(s breaker.Snapshot) (float64, bool) { return float64(read(s)), s.WindowKnown }
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
