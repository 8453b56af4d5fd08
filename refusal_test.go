package breaker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// Every way of asking that pauses before it refuses.
var pausing = map[string]func(context.Context, *breaker.Breaker) error{
	"Do": func(ctx context.Context, b *breaker.Breaker) error { return b.Do(ctx, never) },
	"Call": func(ctx context.Context, b *breaker.Breaker) error {
		_, err := breaker.Call(ctx, b, neverValue)
		return err
	},
	"Admit": func(ctx context.Context, b *breaker.Breaker) error {
		attempt, err := b.Admit(ctx)
		attempt.Done(nil) // of a zero Attempt
		return err
	},
}

// Every state in which a breaker refuses, on the system clock.
var refusing = map[breaker.State]func(*breaker.Breaker){
	breaker.Open:     tripNow,
	breaker.Isolated: func(b *breaker.Breaker) { b.Isolate() },
	breaker.HalfOpen: func(b *breaker.Breaker) {
		tripNow(b)
		b.ProbeNow()
		_, _ = b.TryAdmit(bg)
	},
	breaker.Recovering: func(b *breaker.Breaker) {
		tripNow(b)
		b.ProbeNow()
		for range 2 {
			attempt, _ := b.TryAdmit(bg)
			attempt.Record(breaker.OK, 0)
		}
	},
}

func tripNow(b *breaker.Breaker) {
	for range 5 {
		attempt, _ := b.TryAdmit(bg)
		attempt.Record(breaker.Transient, 0)
	}
}

func TestRefusalPauses(t *testing.T) {
	for name, ask := range pausing {
		for state, enter := range refusing {
			t.Run(name+" "+state.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := plain
					s.Recovery = breaker.RecoveryOver(0.25)
					b := breaker.MustNew(s)
					enter(b)
					begin := time.Now()
					err := ask(bg, b)
					require.Equal(t, 100*msec, time.Since(begin))
					require.ErrorIs(t, err, breaker.ErrRejected)
					refusal, ok := err.(*breaker.RejectedError)
					require.True(t, ok, "%T", err)
					require.Equal(t, "db", refusal.Name)
					require.Equal(t, state, refusal.State)
					require.Equal(t, breaker.DependencyUnavailable, refusal.Reason)
				})
			})
		}
	}
}

func TestContextEndsThePause(t *testing.T) {
	cases := map[string]struct {
		within func(context.Context) (context.Context, context.CancelFunc)
		want   error
		after  time.Duration
	}{
		"cancelled": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(30*msec, cancel)
			return ctx, cancel
		}, context.Canceled, 30 * msec},
		"deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 40*msec)
		}, context.DeadlineExceeded, 40 * msec},
		"with a cause": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(50*msec, func() { cancel(errDown) })
			return ctx, func() { cancel(nil) }
		}, context.Canceled, 50 * msec},
		"later deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 101*msec)
		}, nil, 100 * msec},
	}
	for name, ask := range pausing {
		for of, c := range cases {
			t.Run(name+" "+of, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := breaker.MustNew(plain)
					tripNow(b)
					ctx, cancel := c.within(bg)
					defer cancel()
					begin := time.Now()
					err := ask(ctx, b)
					require.Equal(t, c.after, time.Since(begin))
					require.ErrorIs(t, err, breaker.ErrRejected)
					var refusal *breaker.RejectedError
					require.ErrorAs(t, err, &refusal)
					require.Equal(t, breaker.Open, refusal.State)
					if c.want == nil {
						require.Equal(t, error(refusal), err)
						return
					}
					require.ErrorIs(t, err, c.want)
					_, plainly := b.TryAdmit(bg)
					require.NotErrorIs(t, plainly, c.want, "what one caller's context did is not told to others")
				})
			})
		}
	}
}

func TestPauseIsOfTheBreakersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock := clock.NewMock()
		s := plain
		s.Clock = mock
		b := breaker.MustNew(s)
		tripNow(b)
		done := make(chan error, 1)
		go func() { done <- b.Do(bg, never) }()
		synctest.Wait()
		time.Sleep(time.Hour) // real time, as far as the bubble goes, ends no pause
		mock.Add(100*msec - 1)
		require.Empty(t, done)
		mock.Add(1)
		require.ErrorIs(t, <-done, breaker.ErrRejected)

		// The deadline of a context is real time, also beside a clock that stands.
		ctx, cancel := context.WithTimeout(bg, 30*msec)
		defer cancel()
		begin := time.Now()
		err := b.Do(ctx, never)
		require.Equal(t, 30*msec, time.Since(begin))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, breaker.ErrRejected)
	})
}

func TestTryAdmitAndCallOrDoNotWait(t *testing.T) {
	for state, enter := range refusing {
		t.Run(state.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := plain
				s.Recovery = breaker.RecoveryOver(0.25)
				b := breaker.MustNew(s)
				enter(b)
				begin := time.Now()
				attempt, err := b.TryAdmit(bg)
				require.ErrorIs(t, err, breaker.ErrRejected)
				attempt.Release()
				got, err := breaker.CallOr(bg, b, neverValue,
					func(_ context.Context, refusal *breaker.RejectedError) (int, error) {
						require.Equal(t, state, refusal.State)
						return 7, errDown
					})
				require.Equal(t, 7, got)
				require.Equal(t, errDown, err)
				require.Zero(t, time.Since(begin))
				require.Equal(t, uint64(2), b.Snapshot().Totals.Refused)
			})
		})
	}
}

// A pause is not held against anybody else: no lock is held meanwhile.
func TestPauseHoldsNoLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.MustNew(plain)
		tripNow(b)
		done := make(chan error)
		go func() { done <- b.Do(bg, never) }()
		synctest.Wait()
		begin := time.Now()
		b.Snapshot()
		b.Reset()
		require.NoError(t, b.Do(bg, succeed))
		require.Zero(t, time.Since(begin))
		require.ErrorIs(t, <-done, breaker.ErrRejected)
	})
}

func TestRetryAfterOfARefusalIsLive(t *testing.T) {
	s := plain
	s.HalfOpenProbes = 2
	type look struct {
		left  time.Duration
		known bool
	}
	cases := map[string]struct {
		do   action // after 5 of 15 seconds
		want look
	}{
		"nothing":         {func(*rig) {}, look{10 * sec, true}},
		"a second passes": {func(r *rig) { r.at(6 * sec) }, look{9 * sec, true}},
		"the last moment": {func(r *rig) { r.at(15*sec - 1) }, look{1, true}},
		"the break ends":  {func(r *rig) { r.at(15 * sec) }, look{0, true}},
		"long over":       {func(r *rig) { r.at(time.Hour) }, look{0, true}},
		"ProbeNow":        {probeNow, look{0, true}},
		"a probe begins":  {all(probeNow, start("a")), look{0, true}},
		"Reset":           {reset, look{0, false}},
		"Isolate":         {isolate, look{0, false}},
		"Isolate, Reset":  {all(isolate, reset), look{0, false}},
		"a later open":    {all(probeNow, fail(1)), look{0, false}},
		"a later open, the break elapsed": {
			func(r *rig) { r.at(15 * sec); fail(1)(r) }, look{0, false}},
		"a later open by ten probes": {
			all(probeNow, calls(10, breaker.Throttled, 0)), look{0, false}},
		"Reset, then open": {all(reset, fail(5)), look{0, false}},
		"Reset of a probing breaker": {
			all(probeNow, start("a"), reset), look{0, false}},
		"clock steps back a little": {
			all(probeNow, func(r *rig) { r.at(4100 * msec) }), look{0, true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, s)
			fail(5)(r)
			r.at(5 * sec)
			told := refusal(r)
			c.do(r)
			left, known := told.RetryAfter()
			require.Equal(t, c.want, look{left, known})
		})
	}
}

// Of two breaks in one breaker, each refusal knows its own.
func TestRefusalsOfTwoBreaks(t *testing.T) {
	r := newRig(t, plain)
	fail(5)(r)
	first := refusal(r)
	r.at(15 * sec)
	fail(1)(r)
	second := refusal(r)
	_, known := first.RetryAfter()
	require.False(t, known)
	left, known := second.RetryAfter()
	require.True(t, known)
	require.Equal(t, 30*sec, left)
}
