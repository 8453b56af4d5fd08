package breaker_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// exits reports that do ended its goroutine, neither returning nor panicking.
func exits(do func()) bool {
	returned, done := false, make(chan any)
	go func() {
		defer func() { done <- recover() }()
		do()
		returned = true
	}()
	return <-done == nil && !returned
}

// leavings are how user code leaves a call without returning from it: each returns what to
// do in user code, and a check that a call was left in just that way.
var leavings = map[string]func(t *testing.T) (leave func(), left func(call func())){
	"a panic": func(t *testing.T) (func(), func(func())) {
		value := errors.New("mine")
		return func() { panic(value) }, func(call func()) { require.Same(t, value, panicOf(call)) }
	},
	"Goexit": func(t *testing.T) (func(), func(func())) {
		return runtime.Goexit, func(call func()) { require.True(t, exits(call)) }
	},
}

// Whoever leaves, it goes up unchanged, counts as Permanent, and gives the probe slot back.
func TestLeavingACall(t *testing.T) {
	type place struct {
		name     string
		ways     []string
		classify func(leave func()) func(error) breaker.Verdict
		fn       func(leave func()) func(context.Context) error
	}
	places := []place{
		{
			name: "the function",
			ways: []string{"Do", "Call", "CallOr"},
			fn: func(leave func()) func(context.Context) error {
				return func(context.Context) error { leave(); return nil }
			},
		},
		{
			name: "the classifier",
			ways: []string{"Do", "Call", "CallOr", "Done", "DoneAfter"},
			classify: func(leave func()) func(error) breaker.Verdict {
				return func(error) breaker.Verdict { leave(); return breaker.Transient }
			},
			fn: func(func()) func(context.Context) error { return fails(errDown) },
		},
		{
			name: "the Verdict of an error",
			ways: []string{"Do", "Call", "CallOr", "Done", "DoneAfter"},
			fn:   func(leave func()) func(context.Context) error { return fails(trap{leave}) },
		},
	}
	for how, leaving := range leavings {
		for _, p := range places {
			for _, way := range p.ways {
				t.Run(how+" in "+p.name+" of "+way, func(t *testing.T) {
					leave, left := leaving(t)
					told := 0
					s := breaker.Settings{ConsecutiveFailures: 1, DisableAdaptive: true}
					s.OnTransition = func(_ context.Context, tr breaker.Transition) {
						told++
						if tr.Cause == breaker.CauseProbesInconclusive {
							panic("the listener's, which must not replace it")
						}
					}
					if p.classify != nil {
						s.Classify = p.classify(leave)
					}
					r := newRig(t, s)
					call := func() { left(func() { _ = ways[way](r, bg, p.fn(leave)) }) }

					require.Equal(t, "permanent", r.ends(call))
					r.run(
						step{want: breaker.Closed},
						step{do: all(fail(1), probeNow, calls(8, breaker.Throttled, 0)), want: breaker.HalfOpen},
					)

					require.Equal(t, "permanent", r.ends(call))
					require.Zero(t, r.Snapshot().ProbesInFlight)
					require.Equal(t, breaker.HalfOpen, r.State())
					require.Equal(t, 2, told)

					require.Equal(t, "permanent", r.ends(call), "the tenth that decides nothing")
					require.Equal(t, breaker.Open, r.State())
					require.Equal(t, 3, told)

					r.run(step{do: all(probeNow, ok(2)), want: breaker.Closed})
					require.Equal(t, 5, told)
				})
			}
		}
	}
}

// trap is an error that leaves as soon as it is asked.
type trap struct{ leave func() }

func (trap) Error() string { return "trap" }
func (t trap) Verdict() breaker.Verdict {
	t.leave()
	return breaker.Transient
}

// An attempt whose classifier panicked has ended.
func TestAttemptEndsWithItsClassifiersPanic(t *testing.T) {
	r := newRig(t, breaker.Settings{Classify: func(error) breaker.Verdict { panic("mine") }})
	attempt, err := r.Admit(bg)
	require.NoError(t, err)
	require.Equal(t, "permanent", r.ends(func() {
		require.Equal(t, "mine", panicOf(func() { attempt.Done(errDown) }))
		attempt.Done(errDown)
		attempt.Release()
	}))
}
