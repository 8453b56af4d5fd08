package breaker_test

import (
	"fmt"
	"math"
	"time"

	"github.com/normal-go/breaker"
)

// differences collects the first thing that breaker and model disagree about.
type differences struct{ first string }

func same[T comparable](d *differences, what string, got, want T) {
	if got != want && d.first == "" {
		d.first = fmt.Sprintf("%s: breaker %v, model %v", what, got, want)
	}
}

// near compares what was calculated.
func (d *differences) near(what string, got, want float64) {
	if math.Abs(got-want) > 1e-9*math.Max(math.Abs(got), math.Abs(want)) {
		same(d, what, got, want)
	}
}

func (d *differences) instant(what string, got, want time.Time) {
	if !got.Equal(want) {
		same(d, what, got.UTC(), want.UTC())
	}
}

func (d *differences) evidence(what string, got, want breaker.Evidence) {
	d.near(what+".Rate", got.Rate, want.Rate)
	d.near(what+".TripPoint", got.TripPoint, want.TripPoint)
	d.near(what+".Reference", got.Reference, want.Reference)
	same(d, what+".ReferenceKnown", got.ReferenceKnown, want.ReferenceKnown)
	d.near(what+".Surprise", got.Surprise, want.Surprise)
	d.near(what+".Required", got.Required, want.Required)
}

func (d *differences) transition(what string, got, want breaker.Transition) {
	if d.first != "" || got == want {
		return
	}
	same(d, what+".Seq", got.Seq, want.Seq)
	same(d, what+".Name", got.Name, want.Name)
	same(d, what+".Shadow", got.Shadow, want.Shadow)
	same(d, what+".From", got.From, want.From)
	same(d, what+".To", got.To, want.To)
	same(d, what+".Cause", got.Cause, want.Cause)
	d.instant(what+".At", got.At, want.At)
	same(d, what+".Break", got.Break, want.Break)
	same(d, what+".Calls", got.Calls, want.Calls)
	same(d, what+".Failures", got.Failures, want.Failures)
	same(d, what+".Slow", got.Slow, want.Slow)
	d.evidence(what+".FailureEvidence", got.FailureEvidence, want.FailureEvidence)
	d.evidence(what+".SlowEvidence", got.SlowEvidence, want.SlowEvidence)
	same(d, what+".Run", got.Run, want.Run)
	same(d, what+".RunNeeded", got.RunNeeded, want.RunNeeded)
	same(d, what+".NormalLatency", got.NormalLatency, want.NormalLatency)
	same(d, what+".NormalLatencyKnown", got.NormalLatencyKnown, want.NormalLatencyKnown)
	d.near(what+".NormalFailureRate", got.NormalFailureRate, want.NormalFailureRate)
	same(d, what+".NormalFailureRateKnown", got.NormalFailureRateKnown, want.NormalFailureRateKnown)
}

func (d *differences) snapshot(got, want breaker.Snapshot) {
	same(d, "Snapshot.Name", got.Name, want.Name)
	same(d, "Snapshot.Shadow", got.Shadow, want.Shadow)
	d.instant("Snapshot.At", got.At, want.At)
	same(d, "Snapshot.State", got.State, want.State)
	d.instant("Snapshot.OpenedAt", got.OpenedAt, want.OpenedAt)
	same(d, "Snapshot.RetryAfter", got.RetryAfter, want.RetryAfter)
	same(d, "Snapshot.RetryAfterKnown", got.RetryAfterKnown, want.RetryAfterKnown)
	same(d, "Snapshot.Calls", got.Calls, want.Calls)
	same(d, "Snapshot.Failures", got.Failures, want.Failures)
	same(d, "Snapshot.Slow", got.Slow, want.Slow)
	same(d, "Snapshot.WindowKnown", got.WindowKnown, want.WindowKnown)
	d.evidence("Snapshot.FailureEvidence", got.FailureEvidence, want.FailureEvidence)
	d.evidence("Snapshot.SlowEvidence", got.SlowEvidence, want.SlowEvidence)
	same(d, "Snapshot.Run", got.Run, want.Run)
	same(d, "Snapshot.RunNeeded", got.RunNeeded, want.RunNeeded)
	same(d, "Snapshot.NormalLatency", got.NormalLatency, want.NormalLatency)
	same(d, "Snapshot.NormalLatencyKnown", got.NormalLatencyKnown, want.NormalLatencyKnown)
	d.near("Snapshot.NormalFailureRate", got.NormalFailureRate, want.NormalFailureRate)
	same(d, "Snapshot.NormalFailureRateKnown", got.NormalFailureRateKnown, want.NormalFailureRateKnown)
	same(d, "Snapshot.SlowThreshold", got.SlowThreshold, want.SlowThreshold)
	d.near("Snapshot.TripRatio", got.TripRatio, want.TripRatio)
	d.near("Snapshot.AdmittedFraction", got.AdmittedFraction, want.AdmittedFraction)
	same(d, "Snapshot.ProbesInFlight", got.ProbesInFlight, want.ProbesInFlight)
	same(d, "Snapshot.Break", got.Break, want.Break)
	same(d, "Snapshot.BreakKnown", got.BreakKnown, want.BreakKnown)
	same(d, "Snapshot.ConsecutiveOpens", got.ConsecutiveOpens, want.ConsecutiveOpens)
	same(d, "Snapshot.Last is nil", got.Last == nil, want.Last == nil)
	if got.Last != nil && want.Last != nil {
		d.transition("Snapshot.Last", *got.Last, *want.Last)
	}
	d.totals(got.Totals, want.Totals)
}

func (d *differences) totals(got, want breaker.Totals) {
	same(d, "Totals.Admitted", got.Admitted, want.Admitted)
	same(d, "Totals.Refused", got.Refused, want.Refused)
	same(d, "Totals.OK", got.OK, want.OK)
	same(d, "Totals.Transient", got.Transient, want.Transient)
	same(d, "Totals.Throttled", got.Throttled, want.Throttled)
	same(d, "Totals.Permanent", got.Permanent, want.Permanent)
	same(d, "Totals.Canceled", got.Canceled, want.Canceled)
	same(d, "Totals.Released", got.Released, want.Released)
	same(d, "Totals.Slow", got.Slow, want.Slow)
	same(d, "Totals.Stale", got.Stale, want.Stale)
	same(d, "Totals.WouldRefuseOK", got.WouldRefuseOK, want.WouldRefuseOK)
	same(d, "Totals.WouldRefuseTransient", got.WouldRefuseTransient, want.WouldRefuseTransient)
	same(d, "Totals.WouldRefuseOther", got.WouldRefuseOther, want.WouldRefuseOther)
	same(d, "Totals.Recoveries", got.Recoveries, want.Recoveries)
	same(d, "Totals.ProbesSucceeded", got.ProbesSucceeded, want.ProbesSucceeded)
	same(d, "Totals.ProbesFailed", got.ProbesFailed, want.ProbesFailed)
	same(d, "Totals.ProbesInconclusive", got.ProbesInconclusive, want.ProbesInconclusive)
	same(d, "len(Totals.Transitions)", len(got.Transitions), len(want.Transitions))
	for cause, n := range want.Transitions {
		same(d, "Totals.Transitions", got.Transitions[cause], n)
	}
	same(d, "len(Totals.Opens)", len(got.Opens), len(want.Opens))
	for cause, n := range want.Opens {
		same(d, "Totals.Opens", got.Opens[cause], n)
	}
	same(d, "len(Totals.TimeIn)", len(got.TimeIn), len(want.TimeIn))
	for state, t := range want.TimeIn {
		same(d, "Totals.TimeIn", got.TimeIn[state], t)
	}
}
