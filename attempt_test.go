package breaker_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// endings are the ways to end an attempt, and what is counted.
var endings = map[string]struct {
	end  func(*breaker.Attempt)
	want breaker.Totals
}{
	"Done":      {func(a *breaker.Attempt) { a.Done(nil) }, breaker.Totals{OK: 1}},
	"DoneAfter": {func(a *breaker.Attempt) { a.DoneAfter(errDown, sec) }, breaker.Totals{Transient: 1}},
	"Record":    {func(a *breaker.Attempt) { a.Record(breaker.Throttled, 0) }, breaker.Totals{Throttled: 1}},
	"Release":   {(*breaker.Attempt).Release, breaker.Totals{Released: 1}},
}

// outcomes are the totals by verdict.
func outcomes(t breaker.Totals) breaker.Totals {
	return breaker.Totals{
		OK: t.OK, Transient: t.Transient, Throttled: t.Throttled, Permanent: t.Permanent,
		Canceled: t.Canceled, Released: t.Released,
	}
}

func TestAttemptEndsOnce(t *testing.T) {
	for first, f := range endings {
		for second, s := range endings {
			t.Run(first+" then "+second, func(t *testing.T) {
				r := newRig(t, plain)
				start("a")(r)
				require.Zero(t, r.Snapshot().Totals.Admitted, "counted when it has ended")
				f.end(r.attempts["a"])
				s.end(r.attempts["a"])
				s.end(r.attempts["a"])
				totals := r.Snapshot().Totals
				require.Equal(t, f.want, outcomes(totals))
				require.Equal(t, uint64(1), totals.Admitted)
			})
		}
	}
}

// latencyOf returns the normal latency after one call that was ended somehow, 30 ms
// after it began.
func latencyOf(t *testing.T, end func(*breaker.Attempt)) time.Duration {
	t.Helper()
	r := newRig(t, breaker.Settings{SlowCalls: breaker.SlowCalls{MinimumSamples: 1}})
	r.at(5 * sec)
	start("a")(r)
	r.at(5*sec + 30*msec)
	end(r.attempts["a"])
	d, known := r.NormalLatency()
	require.True(t, known)
	return d
}

func TestLatencyOfAnAttempt(t *testing.T) {
	const us = time.Microsecond
	cases := map[string]struct {
		end  func(*breaker.Attempt)
		want time.Duration // the bound of its bucket
	}{
		"since admission":      {func(a *breaker.Attempt) { a.Done(nil) }, 30720 * us},
		"of an OK error":       {func(a *breaker.Attempt) { a.Done(breaker.WithVerdict(errDown, breaker.OK)) }, 30720 * us},
		"the caller's own":     {func(a *breaker.Attempt) { a.DoneAfter(nil, 10*msec) }, 10240 * us},
		"recorded":             {func(a *breaker.Attempt) { a.Record(breaker.OK, 10*msec) }, 10240 * us},
		"negative counts as 0": {func(a *breaker.Attempt) { a.DoneAfter(nil, -sec) }, us},
		"negative, recorded":   {func(a *breaker.Attempt) { a.Record(breaker.OK, math.MinInt64) }, us},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, latencyOf(t, c.end)) })
	}
}

// ways are how a call and its error reach the breaker. Each makes one attempt with ctx, runs
// fn in it, and returns what its caller gets.
var ways = map[string]func(r *rig, ctx context.Context, fn func(context.Context) error) error{
	"Do": func(r *rig, ctx context.Context, fn func(context.Context) error) error {
		return r.Do(ctx, fn)
	},
	"Call": func(r *rig, ctx context.Context, fn func(context.Context) error) error {
		got, err := breaker.Call(ctx, r.Breaker, func(ctx context.Context) (int, error) { return 7, fn(ctx) })
		require.Equal(r.t, 7, got)
		return err
	},
	"CallOr": func(r *rig, ctx context.Context, fn func(context.Context) error) error {
		got, err := breaker.CallOr(ctx, r.Breaker, func(ctx context.Context) (int, error) { return 7, fn(ctx) }, noFallback)
		require.Equal(r.t, 7, got)
		return err
	},
	"Done": func(r *rig, ctx context.Context, fn func(context.Context) error) error {
		attempt, err := r.Admit(ctx)
		require.NoError(r.t, err)
		err = fn(ctx)
		attempt.Done(err)
		return err
	},
	"DoneAfter": func(r *rig, ctx context.Context, fn func(context.Context) error) error {
		attempt, err := r.Admit(ctx)
		require.NoError(r.t, err)
		began := time.Now()
		err = fn(ctx)
		attempt.DoneAfter(err, time.Since(began))
		return err
	},
}

func TestCallIsRunAndReturnedAsItIs(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, plain)
			ctx := context.WithValue(bg, contextKey{}, name)
			for _, want := range []error{nil, errDown, breaker.WithVerdict(errDown, breaker.Throttled)} {
				got := way(r, ctx, func(inner context.Context) error {
					require.Equal(t, ctx, inner)
					return want
				})
				require.True(t, got == want, "%v", got) // not a copy, and not wrapped
			}
			require.Equal(t, breaker.Totals{OK: 1, Transient: 1, Throttled: 1}, outcomes(r.Snapshot().Totals))
		})
	}
}

func TestLatencyOfACallIsMeasured(t *testing.T) {
	for _, name := range []string{"Do", "Call", "CallOr", "Done"} {
		r := newRig(t, breaker.Settings{SlowCalls: breaker.SlowCalls{MinimumSamples: 1}})
		require.NoError(t, ways[name](r, bg, func(context.Context) error { r.clock.Add(30 * msec); return nil }))
		d, _ := r.NormalLatency()
		require.Equal(t, 30720*time.Microsecond, d, name)
	}
}

func TestProbeIsWhoWasAdmittedAsOne(t *testing.T) {
	s := plain
	s.HalfOpenProbes = 2
	s.Recovery = breaker.RecoveryOver(1)
	r := newRig(t, s)
	probe := func(name string, want bool) action {
		return func(r *rig) {
			r.t.Helper()
			require.Equal(r.t, want, r.attempts[name].Probe(), name)
		}
	}
	r.run(
		step{at: 0, do: all(start("closed"), probe("closed", false)), want: breaker.Closed},
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: 0, do: probe("closed", false), want: breaker.Open},
		step{at: 15 * sec, do: all(start("first"), probe("first", true)), want: breaker.HalfOpen},
		step{at: 15 * sec, do: all(start("second"), probe("second", true)), want: breaker.HalfOpen},
		step{at: 31 * sec, do: all(start("takes over"), probe("takes over", true)), want: breaker.HalfOpen},
		step{at: 31 * sec, do: probe("first", true), want: breaker.HalfOpen}, // and has lost its slot
		step{at: 31 * sec, do: all(end("second", breaker.OK, 0), end("takes over", breaker.OK, 0)), want: breaker.Recovering},
		step{at: 31 * sec, do: all(probe("second", false), probe("first", true)), want: breaker.Recovering},
		step{at: 40 * sec, do: all(refuse(1), start("in the ramp"), probe("in the ramp", false)), want: breaker.Recovering},
	)
	refused := breaker.Attempt{}
	require.False(t, refused.Probe())
}

func TestProbeOfADryRun(t *testing.T) {
	s := plain
	s.Shadow = true
	r := newRig(t, s)
	fail(5)(r)
	start("aside")(r)
	require.False(t, r.attempts["aside"].Probe())
	r.at(15 * sec)
	start("probe")(r)
	start("beside it")(r)
	require.True(t, r.attempts["probe"].Probe())
	require.False(t, r.attempts["beside it"].Probe())
}
