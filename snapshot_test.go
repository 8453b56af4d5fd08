package breaker_test

import (
	"encoding/json"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// fields are the parts of a snapshot that depend on the state alone.
type fields struct {
	state      breaker.State
	opened     bool
	retryAfter time.Duration // -1: unknown
	brk        time.Duration // -1: unknown
	opens      int
	probes     int
	admitted   float64
	run        int
}

func fieldsOf(s breaker.Snapshot) fields {
	f := fields{
		state:      s.State,
		opened:     !s.OpenedAt.IsZero(),
		retryAfter: -1,
		brk:        -1,
		opens:      s.ConsecutiveOpens,
		probes:     s.ProbesInFlight,
		admitted:   s.AdmittedFraction,
		run:        s.Run,
	}
	if s.RetryAfterKnown {
		f.retryAfter = s.RetryAfter
	}
	if s.BreakKnown {
		f.brk = s.Break
	}
	return f
}

func TestSnapshotInEachState(t *testing.T) {
	s := ramped()
	s.HalfOpenProbes = 2
	r := newRig(t, s)
	want := func(f fields) action {
		return func(r *rig) {
			t.Helper()
			cut := r.Snapshot()
			require.Equal(t, f, fieldsOf(cut))
			require.Equal(t, "db", cut.Name)
			require.Equal(t, r.clock.Now(), cut.At)
			require.Equal(t, r.State(), cut.State)
			openedAt, known := r.OpenedAt()
			require.Equal(t, f.opened, known)
			require.Equal(t, openedAt, cut.OpenedAt)
		}
	}
	const (
		closed, open, halfOpen = breaker.Closed, breaker.Open, breaker.HalfOpen
		recovering, isolated   = breaker.Recovering, breaker.Isolated
	)
	r.run(
		step{at: 0, do: want(fields{closed, false, -1, -1, 0, 0, 0, 0}), want: closed},
		step{at: 0, do: all(fail(4), want(fields{closed, false, -1, -1, 0, 0, 0, 4})), want: closed},
		step{at: 0, do: all(fail(1), want(fields{open, true, 10 * sec, 10 * sec, 1, 0, 0, 0})), want: open},
		step{at: 4 * sec, do: want(fields{open, true, 6 * sec, 10 * sec, 1, 0, 0, 0}), want: open},
		step{at: 11 * sec, do: want(fields{halfOpen, true, 0, 10 * sec, 1, 0, 0, 0}), want: halfOpen},
		step{at: 11 * sec, do: all(hang(2), want(fields{halfOpen, true, -1, 10 * sec, 1, 2, 0, 0})), want: halfOpen},
		step{at: 11 * sec, do: all(land(1, breaker.Transient), want(fields{open, true, 20 * sec, 20 * sec, 2, 0, 0, 0})), want: open},
		step{at: 31 * sec, do: all(ok(2), want(fields{recovering, true, -1, 20 * sec, 2, 0, 0.25, 0})), want: recovering},
		step{at: 41 * sec, do: want(fields{recovering, true, -1, 20 * sec, 2, 0, 0.625, 0}), want: recovering},
		step{at: 51 * sec, do: want(fields{closed, false, -1, -1, 2, 0, 0, 0}), want: closed},
		step{at: 51 * sec, do: all(ok(1), want(fields{closed, false, -1, -1, 0, 0, 0, 0})), want: closed},
		step{at: 52 * sec, do: all(isolate, want(fields{isolated, true, -1, -1, 0, 0, 0, 0})), want: isolated},
		step{at: 53 * sec, do: all(reset, want(fields{closed, false, -1, -1, 0, 0, 0, 0})), want: closed},
		step{at: 54 * sec, do: all(fail(5), probeNow, want(fields{halfOpen, true, 0, 10 * sec, 1, 0, 0, 0})), want: halfOpen},
		step{at: 54 * sec, do: all(isolate, want(fields{isolated, true, -1, -1, 1, 0, 0, 0})), want: isolated},
	)
}

func TestSnapshotOfTheMeasurements(t *testing.T) {
	s := longMemory
	s.FailureRatio = 0.5
	r := newRig(t, s)
	cut := r.Snapshot()
	require.True(t, cut.WindowKnown)
	require.False(t, cut.NormalLatencyKnown)
	require.False(t, cut.NormalFailureRateKnown)
	require.Zero(t, cut.SlowThreshold)
	require.Equal(t, 0.5, cut.TripRatio, "the absolute one alone")

	all(ok(98), fail(2), slow(1))(r)
	cut = r.Snapshot()
	require.Equal(t, []int{101, 2, 1, 0}, []int{cut.Calls, cut.Failures, cut.Slow, cut.Run})
	require.True(t, cut.NormalLatencyKnown)
	require.Equal(t, 10240*time.Microsecond, cut.NormalLatency)
	require.Equal(t, 3*10240*time.Microsecond, cut.SlowThreshold)
	require.True(t, cut.NormalFailureRateKnown)
	require.Equal(t, 2.0/101, cut.NormalFailureRate)
	require.InDelta(t, 10.0/101, cut.TripRatio, 1e-12, "five times normal is less")

	latency, known := r.NormalLatency()
	require.True(t, known)
	require.Equal(t, latency, cut.NormalLatency)
	rate, known := r.NormalFailureRate()
	require.True(t, known)
	require.Equal(t, rate, cut.NormalFailureRate)

	r.at(10 * sec) // out of the window, which nobody has written to since
	cut = r.Snapshot()
	require.Equal(t, []int{0, 0, 0}, []int{cut.Calls, cut.Failures, cut.Slow})
	r.at(6 * time.Minute)
	cut = r.Snapshot()
	require.False(t, cut.NormalLatencyKnown)
	require.False(t, cut.NormalFailureRateKnown)
	require.Zero(t, cut.SlowThreshold)
	require.Equal(t, 0.5, cut.TripRatio)
}

func TestTotals(t *testing.T) {
	r := newRig(t, everyCauseSettings())
	start("hung")(r)
	everyCause(r) // its calls, and:
	all(end("hung", breaker.OK, 0), reset)(r)
	for v := range breaker.Canceled + 1 {
		calls(int(v)+1, v, 10*msec)(r)
	}
	all(start("a"), release("a"), isolate, refuse(3))(r)
	r.at(70 * sec)

	got := r.Snapshot().Totals
	require.Equal(t, got.OK+got.Transient+got.Throttled+got.Permanent+got.Canceled+got.Released, got.Admitted)
	require.Equal(t, uint64(1000+2+1+1+2+4+10+1+1), got.OK, "of learning, of the probes, and of the slow")
	require.Equal(t, uint64(7+8+1+1+6+2), got.Transient)
	require.Equal(t, uint64(10+3), got.Throttled)
	require.Equal(t, uint64(4), got.Permanent)
	require.Equal(t, uint64(5), got.Canceled)
	require.Equal(t, uint64(1), got.Released)
	require.Equal(t, uint64(11), got.Slow)
	require.Equal(t, uint64(6+3), got.Refused, "in the ramp, and while isolated")
	require.Equal(t, uint64(1), got.Stale)
	require.Equal(t, uint64(1), got.Recoveries, "one ramp ran to its end; a reset is no recovery")
	require.Equal(t, map[breaker.Cause]uint64{
		breaker.CauseConsecutiveFailures: 1,
		breaker.CauseFailureRatio:        1,
		breaker.CauseRelativeFailures:    1,
		breaker.CauseSlowCalls:           1,
		breaker.CauseProbeFailed:         1,
		breaker.CauseSlowProbe:           0,
		breaker.CauseProbesInconclusive:  1,
		breaker.CauseRampFailed:          1,
	}, got.Opens)
	moves := map[breaker.Cause]uint64{breaker.CauseSlowProbe: 0} // not to be had with a ramp
	for _, transition := range r.History() {
		moves[transition.Cause]++
	}
	require.Equal(t, moves, got.Transitions)
	require.Equal(t, []uint64{2 + 2, 1, 10}, []uint64{got.ProbesSucceeded, got.ProbesFailed, got.ProbesInconclusive})
	require.Equal(t, map[breaker.State]time.Duration{
		breaker.Closed:     20 * sec,
		breaker.Open:       10*sec + 10*sec + 10*sec + 1*sec + 1*sec + 1*sec,
		breaker.HalfOpen:   0,
		breaker.Recovering: 10*sec + 1*sec,
		breaker.Isolated:   1*sec + 5*sec,
	}, addUp(t, got.TimeIn, 70*sec))
}

// addUp asserts that the times in the states make up the breaker's age.
func addUp(t *testing.T, in map[breaker.State]time.Duration, age time.Duration) map[breaker.State]time.Duration {
	t.Helper()
	var sum time.Duration
	for d := range maps.Values(in) {
		sum += d
	}
	require.Equal(t, age, sum)
	return in
}

func TestTimeInStates(t *testing.T) {
	r := newRig(t, ramped())
	in := func(closed, open, halfOpen, recovering, isolated time.Duration) action {
		return func(r *rig) {
			t.Helper()
			got := addUp(t, r.Snapshot().Totals.TimeIn, r.clock.Now().Sub(r.born))
			require.Equal(t, map[breaker.State]time.Duration{
				breaker.Closed: closed, breaker.Open: open, breaker.HalfOpen: halfOpen,
				breaker.Recovering: recovering, breaker.Isolated: isolated,
			}, got)
		}
	}
	r.run(
		step{at: 0, do: in(0, 0, 0, 0, 0), want: breaker.Closed},
		step{at: 5 * sec, do: all(in(5*sec, 0, 0, 0, 0), fail(5)), want: breaker.Open},
		step{at: 20 * sec, do: in(5*sec, 15*sec, 0, 0, 0), want: breaker.HalfOpen}, // until a call probes
		step{at: 20 * sec, do: ok(1), want: breaker.HalfOpen},
		step{at: 22 * sec, do: in(5*sec, 15*sec, 2*sec, 0, 0), want: breaker.HalfOpen},
		step{at: 22 * sec, do: ok(1), want: breaker.Recovering},
		step{at: 40 * sec, do: in(5*sec, 15*sec, 2*sec, 18*sec, 0), want: breaker.Closed},
		step{at: 40 * sec, do: all(ok(1), isolate), want: breaker.Isolated},
		step{at: 47 * sec, do: in(5*sec, 15*sec, 2*sec, 18*sec, 7*sec), want: breaker.Isolated},
		step{at: 47 * sec, do: reset, want: breaker.Closed},
		step{at: 50 * sec, do: in(8*sec, 15*sec, 2*sec, 18*sec, 7*sec), want: breaker.Closed},
	)
}

func TestSnapshotJSON(t *testing.T) {
	noOpens := `"failure-ratio":0,"relative-failures":0,"slow-calls":0,
		"probe-failed":0,"slow-probe":0,"probes-inconclusive":0,"ramp-failed":0`
	noMoves := noOpens + `,"break-elapsed":0,"probe-requested":0,"probes-succeeded":0,"ramp-completed":0,"isolated":0,"reset":0`

	r := newRig(t, plain)
	r.at(1500 * msec)
	require.JSONEq(t, `{"name":"db","at":`+jsonOf(t, r.clock.Now())+`,"state":"closed","run":0,"run_needed":5,
		"probes_in_flight":0,"consecutive_opens":0,"totals":{"admitted":0,"refused":0,"ok":0,"slow":0,
		"transient":0,"throttled":0,"permanent":0,"canceled":0,"released":0,"stale":0,
		"would_refuse_ok":0,"would_refuse_transient":0,"would_refuse_other":0,
		"transitions":{"consecutive-failures":0,`+noMoves+`},"opens":{"consecutive-failures":0,`+noOpens+`},
		"probes_succeeded":0,"probes_failed":0,"probes_inconclusive":0,"recoveries":0,
		"seconds_in":{"closed":1.5,"open":0,"half-open":0,"recovering":0,"isolated":0}}}`,
		jsonOf(t, r.Snapshot()), "what is unknown is absent")

	s := everyCauseSettings()
	s.FailureRatio, s.BreakDuration, s.Recovery = 0.5, 2500*msec, breaker.Recovery{}
	r = newRig(t, s)
	all(ok(198), fail(2))(r)
	r.at(10 * sec)
	all(slow(2), fail(1))(r)
	// The latest baseline of latency is that of the first 160 samples.
	cut, reference, required := r.Snapshot(), 2.5/201, -math.Log(5e-5)
	requireEvidence(t, breaker.Evidence{
		Rate: 1.0 / 3, TripPoint: 5 * reference,
		Reference: reference, ReferenceKnown: true, Surprise: nats(3, 1.0/3, reference), Required: required,
	}, cut.FailureEvidence)
	requireEvidence(t, breaker.Evidence{
		Rate: 2.0 / 3, TripPoint: 0.5,
		Reference: 0.5 / 161, ReferenceKnown: true, Surprise: nats(3, 2.0/3, 0.5/161), Required: required,
	}, cut.SlowEvidence)
	require.JSONEq(t, `{"name":"db","at":`+jsonOf(t, r.clock.Now())+`,"state":"closed","calls":3,"failures":1,"slow":2,
		"failure_evidence":`+jsonOf(t, cut.FailureEvidence)+`,"slow_evidence":`+jsonOf(t, cut.SlowEvidence)+`,
		"run":1,"run_needed":7,"normal_latency_seconds":0.01024,"normal_failure_rate":`+jsonOf(t, 3.0/203)+`,
		"slow_threshold_seconds":0.03072,"trip_ratio":`+jsonOf(t, cut.FailureEvidence.TripPoint)+`,
		"probes_in_flight":0,"consecutive_opens":0,"totals":`+jsonOf(t, cut.Totals)+`}`, jsonOf(t, r.Snapshot()))

	fail(6)(r)
	r.clock.Add(500 * msec)
	refuse(1)(r)
	opened := jsonOf(t, r.born.Add(10*sec))
	cut = r.Snapshot()
	require.InDelta(t, 5*9.0/209, cut.TripRatio, 1e-9, "the window is empty again, and what was in it no longer left out")
	rate := jsonOf(t, 9.0/209)
	tail := `"calls":0,"failures":0,"slow":0,
		"failure_evidence":` + jsonOf(t, cut.FailureEvidence) + `,"slow_evidence":` + jsonOf(t, cut.SlowEvidence) + `,
		"run":0,"run_needed":7,"normal_latency_seconds":0.01024,"normal_failure_rate":` + rate + `,
		"slow_threshold_seconds":0.03072,"trip_ratio":` + jsonOf(t, cut.TripRatio) + `,"consecutive_opens":1,"break_seconds":2.5,
		"last":{"seq":1,"name":"db","from":"closed","to":"open","at":` + opened + `,"cause":"consecutive-failures",
			"break_seconds":2.5,"calls":9,"failures":7,"slow":2,"run":7,"run_needed":7,
			"failure_evidence":` + jsonOf(t, cut.Last.FailureEvidence) + `,"slow_evidence":` + jsonOf(t, cut.Last.SlowEvidence) + `,
			"normal_latency_seconds":0.01024,"normal_failure_rate":` + rate + `}`
	require.JSONEq(t, `{"name":"db","at":`+jsonOf(t, r.clock.Now())+`,"state":"open","opened_at":`+opened+`,
		"retry_after_seconds":2,"probes_in_flight":0,`+tail+`,
		"totals":{"admitted":209,"refused":1,"ok":200,"slow":2,"transient":9,"throttled":0,"permanent":0,
		"canceled":0,"released":0,"stale":0,"recoveries":0,
		"would_refuse_ok":0,"would_refuse_transient":0,"would_refuse_other":0,
		"transitions":{"consecutive-failures":1,`+noMoves+`},"opens":{"consecutive-failures":1,`+noOpens+`},
		"probes_succeeded":0,"probes_failed":0,"probes_inconclusive":0,
		"seconds_in":{"closed":10,"open":0.5,"half-open":0,"recovering":0,"isolated":0}}}`, jsonOf(t, r.Snapshot()))

	r.clock.Add(2 * sec)
	require.JSONEq(t, `{"name":"db","at":`+jsonOf(t, r.clock.Now())+`,"state":"half-open","opened_at":`+opened+`,
		"retry_after_seconds":0,"probes_in_flight":0,`+tail+`,"totals":`+jsonOf(t, r.Snapshot().Totals)+`}`,
		jsonOf(t, r.Snapshot()), "zero and known")
}

func TestSnapshotJSONInARamp(t *testing.T) {
	r := startRamp(t, ramped())
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(jsonOf(t, r.Snapshot())), &got))
	require.Equal(t, 0.25, got["admitted_fraction"])
	require.Equal(t, 10.0, got["break_seconds"])
	require.Equal(t, "recovering", got["state"])
	require.NotContains(t, got, "retry_after_seconds")
	require.Contains(t, got, "opened_at")
}

// Two breakers see the same calls; one is looked at all the time.
func TestReadsChangeNothing(t *testing.T) {
	settings := map[string]breaker.Settings{
		"every trip": everyCauseSettings(), "ramped": ramped(),
		"by number": {Name: "db", TripCalls: 30, FailureRatio: 0.5, TripWindow: 5 * sec, Recovery: breaker.RecoveryOver(1)},
	}
	for name, s := range settings {
		t.Run(name, func(t *testing.T) {
			mock := clock.NewMock()
			s.Clock = mock
			watched, alone := newRig(t, s), newRig(t, s)
			look := func() {
				watched.State()
				watched.OpenedAt()
				watched.RetryAfter()
				watched.NormalLatency()
				watched.NormalFailureRate()
				watched.History()
				_ = jsonOf(t, watched.Snapshot())
			}
			seed := uint32(1)
			next := func(n uint32) uint32 { // the same every time
				seed = seed*1664525 + 1013904223
				return (seed >> 8) % n
			}
			for range 300 {
				advance := time.Duration(next(4)) * 300 * msec
				verdict := breaker.Verdict(next(5) % 3)
				d := time.Duration(next(20)) * 100 * msec
				look()
				if advance > 0 {
					mock.Add(advance)
				}
				for _, r := range []*rig{watched, alone} {
					if attempt, err := r.TryAdmit(bg); err == nil {
						if r == watched {
							look()
						}
						attempt.Record(verdict, d)
					}
				}
				look()
			}
			require.Greater(t, len(alone.History()), 5)
			require.Equal(t, alone.History(), watched.History())
			require.Equal(t, alone.Snapshot(), watched.Snapshot())
		})
	}
}
