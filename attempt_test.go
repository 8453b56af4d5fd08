package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// ends are the ways to end an attempt, and what is counted.
var ends = map[string]struct {
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
	for first, f := range ends {
		for second, s := range ends {
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

func TestZeroAttemptDoesNothing(t *testing.T) {
	for _, e := range ends {
		var a breaker.Attempt
		e.end(&a)
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
		"negative, recorded":   {func(a *breaker.Attempt) { a.Record(breaker.OK, -sec) }, us},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, latencyOf(t, c.end)) })
	}
}

func TestRecordAsksNobody(t *testing.T) {
	s := plain
	s.Classify = func(error) breaker.Verdict { panic("asked") }
	r := newRig(t, s)
	ctx, cancel := context.WithCancel(bg)
	attempt, err := r.TryAdmit(ctx)
	require.NoError(t, err)
	cancel()
	attempt.Record(breaker.Transient, 0)
	require.Equal(t, breaker.Totals{Transient: 1}, outcomes(r.Snapshot().Totals))
}

func TestUnknownVerdictCountsAsPermanent(t *testing.T) {
	for _, v := range []breaker.Verdict{breaker.Canceled + 1, breaker.Canceled + 2, 255} {
		r := newRig(t, plain)
		calls(1, v, 0)(r)
		require.Equal(t, breaker.Totals{Permanent: 1}, outcomes(r.Snapshot().Totals), fmt.Sprint(uint8(v)))
	}
}

func TestPanicOfTheClassifierCountsAsPermanent(t *testing.T) {
	r := newRig(t, probing())
	r.run(
		step{at: 0, do: fail(5), want: breaker.Open},
		step{at: 15 * sec, do: start("probe"), want: breaker.HalfOpen},
	)
	require.PanicsWithValue(t, errClassifier, func() { r.attempts["probe"].Done(errClassifier) })
	totals := r.Snapshot().Totals
	require.Equal(t, uint64(1), totals.Permanent)
	require.Zero(t, r.Snapshot().ProbesInFlight)
	r.attempts["probe"].Done(nil)
	require.Equal(t, totals, r.Snapshot().Totals, "it has ended")
}

// runs are the functions that run a call to its end.
var runs = map[string]func(context.Context, *breaker.Breaker, func(context.Context) error) error{
	"Do": func(ctx context.Context, b *breaker.Breaker, fn func(context.Context) error) error {
		return b.Do(ctx, fn)
	},
	"Call": func(ctx context.Context, b *breaker.Breaker, fn func(context.Context) error) error {
		got, err := breaker.Call(ctx, b, func(ctx context.Context) (int, error) { err := fn(ctx); return 7, err })
		return seven(got, err)
	},
	"CallOr": func(ctx context.Context, b *breaker.Breaker, fn func(context.Context) error) error {
		got, err := breaker.CallOr(ctx, b,
			func(ctx context.Context) (int, error) { err := fn(ctx); return 7, err },
			func(context.Context, *breaker.RejectedError) (int, error) {
				panic("a fallback for an error of the call's")
			})
		return seven(got, err)
	},
}

func seven(got int, err error) error {
	if got != 7 {
		return errors.New("the result was lost")
	}
	return err
}

func TestCallIsRunAndReturnedAsItIs(t *testing.T) {
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, plain)
			ctx := context.WithValue(bg, contextKey{}, name)
			for _, want := range []error{nil, errDown, breaker.WithVerdict(errDown, breaker.Throttled)} {
				got := run(ctx, r.Breaker, func(inner context.Context) error {
					require.Equal(t, ctx, inner)
					return want
				})
				require.True(t, got == want, "%v", got) // not a copy, and not wrapped
			}
			require.Equal(t, breaker.Totals{OK: 1, Transient: 1, Throttled: 1}, outcomes(r.Snapshot().Totals))
		})
	}
}

func TestPanicAndGoexitCountAsPermanent(t *testing.T) {
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, plain)
			require.PanicsWithValue(t, errDown, func() {
				_ = run(bg, r.Breaker, func(context.Context) error { panic(errDown) })
			})
			require.Equal(t, breaker.Totals{Permanent: 1}, outcomes(r.Snapshot().Totals))
			done := make(chan bool)
			returned := false
			go func() {
				defer close(done)
				_ = run(bg, r.Breaker, func(context.Context) error { runtime.Goexit(); return nil })
				returned = true
			}()
			<-done
			require.False(t, returned)
			require.Equal(t, breaker.Totals{Permanent: 2}, outcomes(r.Snapshot().Totals))
		})
	}
}

func TestLatencyOfACallIsMeasured(t *testing.T) {
	for name, run := range runs {
		r := newRig(t, breaker.Settings{SlowCalls: breaker.SlowCalls{MinimumSamples: 1}})
		require.NoError(t, run(bg, r.Breaker, func(context.Context) error { r.clock.Add(30 * msec); return nil }))
		d, _ := r.NormalLatency()
		require.Equal(t, 30720*time.Microsecond, d, name)
	}
}
