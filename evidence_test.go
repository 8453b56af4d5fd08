package breaker_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// past gives the baseline n calls of which every k-th fails, but neither the first nor the
// last, and none if k is 0; and then a minute for the trip window to forget them.
func past(n, k int) action {
	return func(r *rig) {
		for i := range n {
			if k > 0 && i%k == k/2 && i < n-1 {
				fail(1)(r)
			} else {
				ok(1)(r)
			}
		}
		r.clock.Add(time.Minute)
	}
}

func TestDefaultRunGrowsWithWhatIsNormal(t *testing.T) {
	tests := []struct {
		name     string
		settings breaker.Settings
		past     action
		want     int
	}{
		{"no past", breaker.Settings{}, past(0, 0), 5},
		{"too short a past", breaker.Settings{}, past(99, 3), 5},
		{"never failed", breaker.Settings{}, past(1000, 0), 5},
		{"one in a hundred", breaker.Settings{}, past(1000, 100), 5},
		{"one in ten", breaker.Settings{}, past(1000, 10), 10},
		{"one in three", breaker.Settings{}, past(1000, 3), 19},
		{"one in two", breaker.Settings{}, past(1000, 2), 30},
		{"a written run", breaker.Settings{ConsecutiveFailures: 5}, past(1000, 2), 5},
		{"no chance asked", breaker.Settings{Failures: breaker.Failures{FalseAlarm: 1}}, past(1000, 3), 5},
		{"no baseline", breaker.Settings{Failures: breaker.Failures{Off: true}}, past(1000, 3), 5},
		{"nothing measured", breaker.Settings{DisableAdaptive: true}, past(1000, 3), 5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.settings.MinimumCalls = 2000 // no other trip
			r := newRig(t, test.settings)
			test.past(r)
			require.Equal(t, test.want, r.Snapshot().RunNeeded)
			fail(test.want - 1)(r)
			require.Equal(t, breaker.Closed, r.State(), "one failure short")
			fail(1)(r)
			require.Equal(t, breaker.Open, r.State())
			last := r.told[0]
			require.Equal(t, breaker.CauseConsecutiveFailures, last.Cause)
			require.Equal(t, test.want, last.Run)
			require.Equal(t, test.want, last.RunNeeded)
		})
	}
}

// mixed makes n calls of which the given number fail, evenly spread, until one opens the
// breaker.
func mixed(n, failures int) action {
	return func(r *rig) {
		r.t.Helper()
		done := 0
		for i := range n {
			if r.State() != breaker.Closed {
				return
			}
			if done*n < (i+1)*failures {
				done++
				fail(1)(r)
			} else {
				ok(1)(r)
			}
		}
	}
}

func TestRelativeFailuresMustBeMoreThanChance(t *testing.T) {
	tests := []struct {
		name     string
		settings breaker.Settings
		past     action
		calls    action
		want     breaker.State
	}{
		{"two of thirty, normally 1 %: chance", breaker.Settings{}, past(1000, 100), all(ok(28), fail(2)), breaker.Closed},
		{"the same, chance not asked", breaker.Settings{Failures: breaker.Failures{FalseAlarm: 1}}, past(1000, 100), all(ok(28), fail(2)), breaker.Open},
		{"the same, asked for less certainty", breaker.Settings{Failures: breaker.Failures{FalseAlarm: 0.5}}, past(1000, 100), all(ok(28), fail(2)), breaker.Open},
		{"seven of thirty, normally 1 %", breaker.Settings{}, past(1000, 100), mixed(30, 7), breaker.Open},
		{"half, normally 30 %: below the head-room", breaker.Settings{}, past(1000, 3), mixed(200, 100), breaker.Closed},
		{"three in four, normally a third", breaker.Settings{}, past(1000, 3), mixed(200, 150), breaker.Open},
		{"a window against itself", breaker.Settings{}, past(0, 0), mixed(200, 100), breaker.Closed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, test.settings)
			test.past(r)
			test.calls(r)
			require.Equal(t, test.want.String(), r.State().String(), "%+v", r.Snapshot())
			if test.want == breaker.Open {
				require.Equal(t, breaker.CauseRelativeFailures, r.told[0].Cause)
			}
		})
	}
}

// An incident in the trip window is in the baseline too. It must not raise its own bar.
func TestIncidentDoesNotRaiseItsOwnBar(t *testing.T) {
	r := newRig(t, breaker.Settings{})
	past(100, 0)(r)
	mixed(40, 4)(r)
	e := r.Snapshot().FailureEvidence
	require.Equal(t, 0.05, e.TripPoint, "five times a flawless past is the floor, not 5 * 4/140")
	require.Equal(t, breaker.Open, func() breaker.State { mixed(40, 8)(r); return r.State() }())
}

func TestFailureEvidence(t *testing.T) {
	r := newRig(t, breaker.Settings{})
	past(1000, 50)(r)
	ok(10)(r)
	fail(2)(r)
	const p0 = (20 + 0.5) / (1000 + 1)
	const q = 2.0 / 12
	s := r.Snapshot()
	requireEvidence(t, breaker.Evidence{
		Rate:           q,
		TripPoint:      5 * p0,
		Reference:      p0,
		ReferenceKnown: true,
		Surprise:       nats(12, q, p0),
		Required:       -math.Log(5e-5),
	}, s.FailureEvidence)
	require.Equal(t, s.FailureEvidence.TripPoint, s.TripRatio)

	// Where chance is not asked, the window is part of the baseline, and there is no more to
	// weigh.
	r = newRig(t, breaker.Settings{Failures: breaker.Failures{FalseAlarm: 1}})
	past(1000, 50)(r)
	all(ok(10), fail(2))(r)
	requireEvidence(t, breaker.Evidence{Rate: q, TripPoint: 5 * 22.0 / 1012}, r.Snapshot().FailureEvidence)

	// 65 % of the window is the head-room of a dependency that normally fails 30 %.
	r = newRig(t, breaker.Settings{FailureRatio: 0.5})
	past(1000, 3)(r)
	s = r.Snapshot()
	require.InDelta(t, (1+333.5/1001)/2, s.FailureEvidence.TripPoint, 1e-12)
	require.Equal(t, 0.5, s.TripRatio, "FailureRatio stays the ceiling")
}

// nats is how improbable a rate of q in n calls is, where p is normal.
func nats(n, q, p float64) float64 {
	return n * (q*math.Log(q/p) + (1-q)*math.Log((1-q)/(1-p)))
}

func requireEvidence(t *testing.T, want, got breaker.Evidence) {
	t.Helper()
	require.InDelta(t, want.Rate, got.Rate, 1e-9)
	require.InDelta(t, want.TripPoint, got.TripPoint, 1e-9)
	require.InDelta(t, want.Reference, got.Reference, 1e-9)
	require.Equal(t, want.ReferenceKnown, got.ReferenceKnown)
	require.InDelta(t, want.Surprise, got.Surprise, 1e-9)
	require.InDelta(t, want.Required, got.Required, 1e-9)
}

func TestSlowCallsMustBeMoreThanChance(t *testing.T) {
	// A cache in front of a database: of 20 calls, so many hit. The others are slow by
	// the measure of the median.
	humps := func(n, hits int) action {
		return func(r *rig) {
			for i := range n {
				if r.State() != breaker.Closed {
					return
				}
				d := 50 * time.Millisecond
				if i%20 < hits {
					d = time.Millisecond
				}
				calls(1, breaker.OK, d)(r)
			}
		}
	}
	constant := breaker.Settings{SlowCallThreshold: 40 * time.Millisecond, SlowCalls: breaker.SlowCalls{Off: true}}
	tests := []struct {
		name     string
		settings breaker.Settings
		then     action
		want     breaker.State
		point    float64
	}{
		{"itself", breaker.Settings{}, humps(200, 11), breaker.Closed, 0.725},
		{"more misses: chance", breaker.Settings{}, humps(60, 8), breaker.Closed, 0.725},
		{"more misses, chance not asked", breaker.Settings{SlowCalls: breaker.SlowCalls{FalseAlarm: 1}}, humps(60, 8), breaker.Open, 0.5},
		{"the cache is down", breaker.Settings{}, humps(60, 0), breaker.Open, 0.725},
		{"twenty misses are not enough", breaker.Settings{SlowCalls: breaker.SlowCalls{FalseAlarm: 1e-12}}, humps(20, 0), breaker.Closed, 0.725},
		{"a higher ratio stands", breaker.Settings{SlowCallRatio: 0.99}, humps(60, 1), breaker.Closed, 0.99},
		{"a constant alone", constant, humps(60, 8), breaker.Open, 0.5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, test.settings)
			for i := range 160 { // fifteen in a trip window: too few to be looked at
				d := 50 * time.Millisecond
				if i*7%20 < 11 {
					d = time.Millisecond
				}
				calls(1, breaker.OK, d)(r)
				r.clock.Add(2 * time.Second)
			}
			r.clock.Add(time.Minute)
			calls(1, breaker.OK, time.Millisecond)(r)
			require.InDelta(t, test.point, r.Snapshot().SlowEvidence.TripPoint, 0.02)
			test.then(r)
			require.Equal(t, test.want.String(), r.State().String(), "%+v", r.Snapshot().SlowEvidence)
			if test.want == breaker.Open {
				require.Equal(t, breaker.CauseSlowCalls, r.told[0].Cause)
			}
		})
	}
}

// A ramp forgives failures of the normal kind, stalls at more, and re-opens at what is
// beyond chance.
func TestRampForgivesNormalFailures(t *testing.T) {
	tests := []struct {
		name     string
		settings breaker.Settings
		past     action
		calls    string // of the ramp: F fails, o is OK
		want     breaker.State
		fraction float64
	}{
		{"unknown past", breaker.Settings{}, past(50, 3), "oooF", breaker.Open, 0},
		{"never failed", breaker.Settings{}, past(1000, 0), "oooF", breaker.Open, 0},
		{"chance not asked", breaker.Settings{Failures: breaker.Failures{FalseAlarm: 1}}, past(1000, 3), "oooF", breaker.Open, 0},
		{"a third fails: fewer than normal", breaker.Settings{}, past(1000, 3), "oooF", breaker.Recovering, 0.55},
		{"a third fails: more than normal", breaker.Settings{}, past(1000, 3), "oFF", breaker.Recovering, 0.2},
		{"a third fails: the first", breaker.Settings{}, past(1000, 3), "F", breaker.Recovering, 0.2},
		{"a third fails: more than chance", breaker.Settings{}, past(1000, 3), "FFF", breaker.Open, 0},
		{"one in a hundred fails: the first", breaker.Settings{}, past(1000, 100), "F", breaker.Open, 0},
		{"one in a hundred fails: among many", breaker.Settings{}, past(1000, 100), "ooooooooooooF", breaker.Recovering, 0.2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := test.settings
			s.ConsecutiveFailures = 5
			s.Recovery = breaker.RecoveryOver(0.25)
			r := newRig(t, s)
			test.past(r)
			fail(5)(r)
			r.clock.Add(15 * time.Second)
			ok(2)(r)
			require.Equal(t, breaker.Recovering, r.State())
			r.clock.Add(r.Snapshot().Break / 8) // half of the ramp: nearly half of the calls
			for _, call := range test.calls {
				attempt, err := r.TryAdmit(bg)
				for err != nil && r.State() == breaker.Recovering {
					attempt, err = r.TryAdmit(bg)
				}
				if call == 'F' {
					attempt.Record(breaker.Transient, 0)
				} else {
					attempt.Record(breaker.OK, 10*time.Millisecond)
				}
			}
			require.Equal(t, test.want.String(), r.State().String())
			if test.want == breaker.Open {
				require.Equal(t, breaker.CauseRampFailed, r.told[len(r.told)-1].Cause)
				return
			}
			r.clock.Add(time.Hour) // the clock allows all; what is left is the evidence
			if test.fraction > 0.5 {
				require.Equal(t, breaker.Closed, r.State(), "not held back")
			} else {
				require.Equal(t, breaker.Recovering, r.State(), "stalled")
				require.Less(t, r.Snapshot().AdmittedFraction, 0.5)
			}
		})
	}
}

// A long trouble outlives the baseline. What was normal before it is still normal after.
func TestRampRemembersWhatWasNormalBeforeTheTrouble(t *testing.T) {
	r := newRig(t, breaker.Settings{ConsecutiveFailures: 5, Recovery: breaker.RecoveryOver(0.25)})
	past(1000, 3)(r)
	fail(5)(r)
	for range 8 { // half an hour of failing probes
		r.clock.Add(4 * time.Minute)
		fail(1)(r)
	}
	_, known := r.NormalFailureRate()
	require.False(t, known)
	r.clock.Add(4 * time.Minute)
	ok(2)(r)
	require.Equal(t, breaker.Recovering, r.State())
	r.clock.Add(15 * time.Second)
	attempt, err := r.TryAdmit(bg)
	for err != nil {
		attempt, err = r.TryAdmit(bg)
	}
	attempt.Record(breaker.Transient, 0)
	require.Equal(t, breaker.Recovering, r.State(), "one failure is normal for it")

	// A clean close ends the trouble, and the memory of it.
	r.Reset()
	r.clock.Add(time.Hour)
	fail(5)(r)
	r.clock.Add(time.Minute)
	ok(2)(r)
	r.clock.Add(2 * time.Second)
	for attempt, err = r.TryAdmit(bg); err != nil; attempt, err = r.TryAdmit(bg) {
	}
	attempt.Record(breaker.Transient, 0)
	require.Equal(t, breaker.Open, r.State(), "nobody knows what is normal")
}

func TestEvidenceJSON(t *testing.T) {
	text, err := json.Marshal(breaker.Evidence{Rate: 0.25, TripPoint: 0.5, Reference: 0.125, ReferenceKnown: true, Surprise: 3, Required: 9})
	require.NoError(t, err)
	require.JSONEq(t, `{"rate":0.25,"trip_point":0.5,"reference":0.125,"surprise_nats":3,"required_nats":9}`, string(text))
	text, err = json.Marshal(breaker.Evidence{Rate: 0.25})
	require.NoError(t, err)
	require.JSONEq(t, `{"rate":0.25}`, string(text))
}
