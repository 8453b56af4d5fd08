package breaker_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

func noAllocs(t *testing.T, what string, do func()) {
	t.Helper()
	require.Zero(t, testing.AllocsPerRun(1000, do), what)
}

// stopped is a clock that stands, so that no call here can be slow by accident.
type stopped struct{}

func (stopped) Now() time.Time                       { return time.Unix(0, 0) }
func (stopped) After(time.Duration) <-chan time.Time { panic("a pause") }

// A breaker is in the way of every call, so what the usual ones cost is pinned.
func TestAllocations(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates for itself")
	}
	everything := breaker.Settings{
		Name: "db", Clock: stopped{}, FailureRatio: 0.5, SlowCallThreshold: time.Minute, TripCalls: 100, Recovery: breaker.RecoveryOver(0.25),
		OnTransition: func(context.Context, breaker.Transition) {},
	}
	for name, s := range map[string]breaker.Settings{
		"system clock": plain, "default": {Clock: stopped{}}, "everything": everything,
	} {
		t.Run(name, func(t *testing.T) {
			b := breaker.MustNew(s)
			ctx, cancel := context.WithCancel(bg)
			defer cancel()
			value := func(context.Context) (int, error) { return 7, nil }
			fallback := func(context.Context, *breaker.RejectedError) (int, error) { return 0, nil }

			noAllocs(t, "Do", func() { _ = b.Do(ctx, succeed) })
			noAllocs(t, "Call", func() { _, _ = breaker.Call(ctx, b, value) })
			noAllocs(t, "CallOr", func() { _, _ = breaker.CallOr(ctx, b, value, fallback) })
			noAllocs(t, "TryAdmit and Done", func() {
				attempt, _ := b.TryAdmit(ctx)
				attempt.Done(nil)
			})
			noAllocs(t, "TryAdmit, Record and Release", func() {
				attempt, _ := b.TryAdmit(ctx)
				defer attempt.Release()
				attempt.Record(breaker.OK, time.Millisecond)
			})
			noAllocs(t, "State", func() { b.State() })

			tripNow(b)
			require.Equal(t, breaker.Open, b.State())
			noAllocs(t, "a refusal while open", func() { _, _ = b.TryAdmit(ctx) })
			noAllocs(t, "a fallback while open", func() { _, _ = breaker.CallOr(ctx, b, value, fallback) })
			b.ProbeNow()
			_, err := b.TryAdmit(ctx)
			require.NoError(t, err)
			noAllocs(t, "a refusal while half-open", func() { _, _ = b.TryAdmit(ctx) })
			b.Isolate()
			noAllocs(t, "a refusal while isolated", func() { _, _ = b.TryAdmit(ctx) })
		})
	}
}
