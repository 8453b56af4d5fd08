package breaker_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

func answer(context.Context) (int, error) { return 42, nil }

func otherAnswer(context.Context, *breaker.RejectedError) (int, error) { return 43, nil }

func TestNilOrZeroBreaker(t *testing.T) {
	var b *breaker.Breaker
	methods := map[string]func(){
		"Admit":             func() { _, _ = b.Admit(bg) },
		"Breakers":          func() { b.Breakers() },
		"Do":                func() { _ = b.Do(bg, succeed) },
		"Effective":         func() { b.Effective() },
		"History":           func() { b.History() },
		"Isolate":           func() { b.Isolate() },
		"Name":              func() { b.Name() },
		"NormalFailureRate": func() { b.NormalFailureRate() },
		"NormalLatency":     func() { b.NormalLatency() },
		"OpenedAt":          func() { b.OpenedAt() },
		"ProbeNow":          func() { b.ProbeNow() },
		"Reset":             func() { b.Reset() },
		"RetryAfter":        func() { b.RetryAfter() },
		"Settings":          func() { b.Settings() },
		"Snapshot":          func() { b.Snapshot() },
		"State":             func() { b.State() },
		"TryAdmit":          func() { _, _ = b.TryAdmit(bg) },
		"Update":            func() { _ = b.Update(breaker.Settings{}) },
	}
	for i := range reflect.TypeFor[*breaker.Breaker]().NumMethod() {
		require.Contains(t, methods, reflect.TypeFor[*breaker.Breaker]().Method(i).Name)
	}
	methods["the function Call"] = func() { _, _ = breaker.Call(bg, b, answer) }
	methods["the function CallOr"] = func() { _, _ = breaker.CallOr(bg, b, answer, otherAnswer) }
	for name, call := range methods {
		require.Equal(t, "breaker: nil *Breaker; build one with New, MustNew or Of", panicOf(call), name)
	}
	b = new(breaker.Breaker)
	for name, call := range methods {
		require.Equal(t, "breaker: zero Breaker; build one with New, MustNew or Of", panicOf(call), name)
	}
}

// A mistake is one in every state, and leaves nothing behind.
func TestNilArguments(t *testing.T) {
	var none context.Context
	for _, reach := range []action{ok(1), fail(5), all(fail(5), probeNow), isolate} {
		r := newRig(t, breaker.Settings{})
		reach(r)
		before, history := r.Snapshot(), r.History()
		for name, c := range map[string]struct {
			call func()
			want string
		}{
			"Do, context":       {func() { _ = r.Do(none, succeed) }, "breaker: nil context"},
			"Call, context":     {func() { _, _ = breaker.Call(none, r.Breaker, answer) }, "breaker: nil context"},
			"CallOr, context":   {func() { _, _ = breaker.CallOr(none, r.Breaker, answer, otherAnswer) }, "breaker: nil context"},
			"Admit, context":    {func() { _, _ = r.Admit(none) }, "breaker: nil context"},
			"TryAdmit, context": {func() { _, _ = r.TryAdmit(none) }, "breaker: nil context"},
			"Do, function":      {func() { _ = r.Do(bg, nil) }, "breaker: Do with a nil function"},
			"Call, function":    {func() { _, _ = breaker.Call[int](bg, r.Breaker, nil) }, "breaker: Call with a nil function"},
			"CallOr, function":  {func() { _, _ = breaker.CallOr(bg, r.Breaker, nil, otherAnswer) }, "breaker: CallOr with a nil function"},
			"CallOr, fallback":  {func() { _, _ = breaker.CallOr(bg, r.Breaker, answer, nil) }, "breaker: CallOr with a nil function"},
		} {
			require.Equal(t, c.want, panicOf(c.call), name)
		}
		require.Equal(t, before, r.Snapshot())
		require.Equal(t, history, r.History())
	}
}

func TestZeroAttempt(t *testing.T) {
	var attempt breaker.Attempt
	for range 2 {
		attempt.Done(nil)
		attempt.Done(errDown)
		attempt.DoneAfter(nil, time.Second)
		attempt.DoneAfter(errDown, -1)
		attempt.Record(breaker.Transient, time.Second)
		attempt.Record(99, 0)
		attempt.Release()
	}
}

// A caller who is gone already gets the error of the context, and the breaker does not
// notice: no call, no refusal, no pause, no probe, no transition, no fallback.
func TestContextDoneBeforeAdmission(t *testing.T) {
	cancelled, cancel := context.WithCancel(bg)
	cancel()
	withCause, cancelCause := context.WithCancelCause(bg)
	cancelCause(errors.New("client gone"))
	expired, cancelExpired := context.WithDeadline(bg, time.Unix(1, 0))
	defer cancelExpired()

	opened := fail(1)
	probing := all(opened, probeNow, start("probe"))
	recovering := all(probing, end("probe", breaker.OK, 0))
	for name, c := range map[string]struct {
		reach action
		at    time.Duration
		want  breaker.State
	}{
		"closed":                    {nil, 0, breaker.Closed},
		"open":                      {opened, 15*time.Second - 1, breaker.Open},
		"open, the break elapsed":   {opened, 15 * time.Second, breaker.HalfOpen},
		"half-open, no slot free":   {probing, 1, breaker.HalfOpen},
		"half-open, probe expired":  {probing, time.Hour, breaker.HalfOpen},
		"half-open, a slot is free": {all(probing, release("probe")), 1, breaker.HalfOpen},
		"recovering":                {recovering, time.Second, breaker.Recovering},
		"recovering, ramp run out":  {recovering, time.Hour, breaker.Closed},
		"isolated":                  {isolate, 1, breaker.Isolated},
	} {
		r := newRig(t, breaker.Settings{
			DisableAdaptive:     true,
			ConsecutiveFailures: 1,
			ProbeSuccesses:      1,
			Recovery:            breaker.RecoveryOver(0.25),
		})
		if c.reach != nil {
			c.reach(r)
		}
		r.run(step{at: c.at, want: c.want})
		before, history, told := r.Snapshot(), r.History(), len(r.told)
		for _, ctx := range []context.Context{cancelled, withCause, expired} {
			err := r.Do(ctx, never)
			require.Equal(t, ctx.Err(), err, "%s: Do", name)
			n, err := breaker.Call(ctx, r.Breaker, neverValue)
			require.Equal(t, ctx.Err(), err, "%s: Call", name)
			require.Zero(t, n)
			n, err = breaker.CallOr(ctx, r.Breaker, neverValue, noFallback)
			require.Equal(t, ctx.Err(), err, "%s: CallOr", name)
			require.Zero(t, n)
			attempt, err := r.Admit(ctx)
			require.Equal(t, ctx.Err(), err, "%s: Admit", name)
			attempt.Done(errDown)
			tried, err := r.TryAdmit(ctx)
			require.Equal(t, ctx.Err(), err, "%s: TryAdmit", name)
			tried.Done(errDown)
		}
		require.Equal(t, before, r.Snapshot(), name)
		require.Equal(t, history, r.History(), name)
		require.Len(t, r.told, told, name)
	}
}
