package breaker

import (
	"encoding/json"
	"fmt"
	"math"
)

// Evidence is what a relative trip weighs: a share of the calls in the trip window,
// failed or slow, against what is normal for this dependency. The trip fires when Rate
// reaches TripPoint and Surprise reaches Required. It is a plain value; its zero value
// weighs nothing. See [Failures] for the arithmetic.
type Evidence struct {
	// Rate is the share of the calls in the trip window, in [0, 1].
	Rate float64

	// TripPoint is the rate that trips; 0 while there is none.
	TripPoint float64

	// Reference is the share that is normal, measured without the trip window where
	// that is possible; 0 unless ReferenceKnown.
	Reference      float64
	ReferenceKnown bool

	// Surprise is how improbable Rate is under Reference, in nats: chance shows such a
	// rate with a probability of at most exp(-Surprise). 0 up to the reference.
	Surprise float64

	// Required is the Surprise that trips, -ln(FalseAlarm); 0 where chance is not
	// asked.
	Required float64
}

// against weighs the rate of n calls against what is normal.
func (e *Evidence) against(reference float64, n uint64, falseAlarm float64) {
	e.Reference, e.ReferenceKnown = reference, true
	e.Surprise = surprise(n, e.Rate, reference)
	e.Required = -math.Log(falseAlarm)
}

func (e Evidence) trips() bool {
	return e.TripPoint > 0 && e.Rate >= e.TripPoint && e.Surprise >= e.Required
}

// referenceRate estimates a probability from k of n. Half a success keeps it above
// zero and below one, so that a flawless past does not make certain what is only new.
func referenceRate(k, n uint64) float64 { return (float64(k) + 0.5) / (float64(n) + 1) }

// headroom is half way from what is normal to everything: a dependency that normally
// fails 30 % of its calls is broken at 65 %, and not only at a multiple beyond 100 %.
func headroom(normal float64) float64 { return (1 + normal) / 2 }

// surprise returns n*KL(q, p) in nats: chance shows a rate of q or more in n calls, each
// with probability p, with a probability of at most exp(-surprise). It is Chernoff's
// bound on the tail of a binomial, and 0 for q <= p.
func surprise(n uint64, q, p float64) float64 {
	if q <= p {
		return 0
	}
	kl := q * math.Log(q/p)
	if q < 1 {
		kl += (1 - q) * math.Log((1-q)/(1-p))
	}
	return float64(n) * kl
}

// words tells what is normal and how far from chance this is, as the end of a sentence:
// ", normally 1.1 %, chance below 1 in 10^9". It is empty where neither is known.
func (e Evidence) words() string {
	if !e.ReferenceKnown {
		return ""
	}
	text := fmt.Sprintf(", normally %.2g %%", 100*e.Reference)
	switch exponent := math.Floor(e.Surprise / math.Ln10); {
	case exponent == 1:
		text += ", chance below 1 in 10"
	case exponent > 1:
		text += fmt.Sprintf(", chance below 1 in 10^%.0f", exponent)
	}
	return text
}

// MarshalJSON writes the evidence with snake_case names, and without what is unknown.
func (e Evidence) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Rate      float64  `json:"rate"`
		TripPoint float64  `json:"trip_point,omitzero"`
		Reference *float64 `json:"reference,omitempty"`
		Surprise  *float64 `json:"surprise_nats,omitempty"`
		Required  float64  `json:"required_nats,omitzero"`
	}{
		Rate:      e.Rate,
		TripPoint: e.TripPoint,
		Reference: known(e.Reference, e.ReferenceKnown),
		Surprise:  known(e.Surprise, e.ReferenceKnown),
		Required:  e.Required,
	})
}
