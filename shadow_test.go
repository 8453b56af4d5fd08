package breaker_test

import (
	"context"
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// aside makes calls that a shadow breaker would have refused: they run, and end.
func aside(n int, v breaker.Verdict) action {
	return func(r *rig) {
		r.t.Helper()
		before := r.Snapshot()
		for range n {
			attempt, err := r.TryAdmit(bg)
			require.NoError(r.t, err)
			attempt.Record(v, 10*time.Millisecond)
		}
		after := r.Snapshot()
		wouldRefuse := func(t breaker.Totals) uint64 {
			return t.WouldRefuseOK + t.WouldRefuseTransient + t.WouldRefuseOther
		}
		require.EqualValues(r.t, n, wouldRefuse(after.Totals)-wouldRefuse(before.Totals), "calls aside")
		require.Equal(r.t, before.Totals.Admitted, after.Totals.Admitted, "they are not admitted")
		require.Zero(r.t, after.Totals.Refused, "and nothing is refused")
	}
}

// A shadow breaker goes through the same states as one that refuses, call for call, if what
// would have been refused runs aside.
func TestShadowDecidesAsUsual(t *testing.T) {
	settings := breaker.Settings{
		Name: "db", Shadow: true, ConsecutiveFailures: 5, Recovery: breaker.RecoveryOver(0.25),
	}
	r := newRig(t, settings)
	r.run(
		step{at: 0, do: ok(100), want: breaker.Closed},
		step{at: time.Second, do: fail(5), want: breaker.Open},
		step{at: time.Second, do: aside(3, breaker.Transient), want: breaker.Open},
		step{at: 10 * time.Second, do: aside(2, breaker.OK), want: breaker.Open}, // no evidence: it stays open
		step{at: 10 * time.Second, do: aside(1, breaker.Throttled), want: breaker.Open},
		step{at: 16 * time.Second, do: start("probe"), want: breaker.HalfOpen},
		step{at: 16 * time.Second, do: aside(4, breaker.Transient), want: breaker.HalfOpen}, // no probes: it stays half-open
		step{at: 17 * time.Second, do: end("probe", breaker.Transient, 0), want: breaker.Open},
		step{at: 47 * time.Second, do: ok(2), want: breaker.Recovering},
		step{at: 47 * time.Second, do: aside(19, breaker.Transient), want: breaker.Recovering}, // of twenty, the ramp lets one count
		step{at: 47 * time.Second, do: ok(1), want: breaker.Recovering},
		step{at: 60 * time.Second, do: ok(1), want: breaker.Closed},
		step{at: 61 * time.Second, do: isolate, want: breaker.Isolated},
		step{at: 62 * time.Second, do: aside(1, breaker.OK), want: breaker.Isolated},
		step{at: 63 * time.Second, do: reset, want: breaker.Closed},
		step{at: 63 * time.Second, do: ok(1), want: breaker.Closed},
	)
	totals := r.Snapshot().Totals
	require.EqualValues(t, 3, totals.WouldRefuseOK)
	require.EqualValues(t, 26, totals.WouldRefuseTransient)
	require.EqualValues(t, 1, totals.WouldRefuseOther)
	for _, tr := range r.History() {
		require.True(t, tr.Shadow)
	}
	require.Equal(t, `"db" (shadow) closed -> open: consecutive-failures, 5 in a row, 5 of 105 failed, break 15s`, r.told[0].String())
}

func TestShadowRefusesNothing(t *testing.T) {
	r := newRig(t, breaker.Settings{Shadow: true, ConsecutiveFailures: 1, DisableAdaptive: true})
	fail(1)(r)
	require.Equal(t, breaker.Open, r.State())

	runs := 0
	fn := func(context.Context) error { runs++; return errDown }
	require.Equal(t, errDown, r.Do(bg, fn), "Do, without a pause: the mock clock stands")
	_, err := breaker.Call(bg, r.Breaker, func(ctx context.Context) (int, error) { return 0, fn(ctx) })
	require.Equal(t, errDown, err)
	_, err = breaker.CallOr(bg, r.Breaker, func(ctx context.Context) (int, error) { return 0, fn(ctx) },
		func(context.Context, *breaker.RejectedError) (int, error) {
			require.Fail(t, "a fallback for what was not refused")
			return 0, nil
		})
	require.Equal(t, errDown, err)
	require.Equal(t, 3, runs)

	attempt, err := r.Admit(bg)
	require.NoError(t, err)
	attempt.Release()
	require.Panics(t, func() { _ = r.Do(bg, func(context.Context) error { panic("of the call") }) })
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = r.Do(bg, func(context.Context) error { runtime.Goexit(); return nil })
	}()
	<-exited
	totals := r.Snapshot().Totals
	require.EqualValues(t, 3, totals.WouldRefuseTransient)
	require.EqualValues(t, 3, totals.WouldRefuseOther, "released, panicked and exited")
	require.EqualValues(t, 1, totals.Admitted)
}

func TestShadowInJSON(t *testing.T) {
	r := newRig(t, breaker.Settings{Shadow: true, ConsecutiveFailures: 1})
	fail(1)(r)
	aside(2, breaker.Transient)(r)
	text, err := json.Marshal(r.Snapshot())
	require.NoError(t, err)
	var got struct {
		Shadow bool
		Last   struct{ Shadow bool }
		Totals struct {
			WouldRefuse int `json:"would_refuse_transient"`
		}
	}
	require.NoError(t, json.Unmarshal(text, &got))
	require.True(t, got.Shadow)
	require.True(t, got.Last.Shadow)
	require.Equal(t, 2, got.Totals.WouldRefuse)

	text, err = json.Marshal(newRig(t, breaker.Settings{}).Snapshot())
	require.NoError(t, err)
	require.NotContains(t, string(text), `"shadow"`)
}

func TestUpdateTurnsADryRunIntoABreaker(t *testing.T) {
	r := newRig(t, breaker.Settings{Shadow: true, ConsecutiveFailures: 1, DisableAdaptive: true})
	fail(1)(r)
	aside(1, breaker.OK)(r)
	s := r.Settings()
	s.Shadow = false
	require.NoError(t, r.Update(s))
	refuse(1)(r)
	require.Equal(t, breaker.Open, r.State())
}
