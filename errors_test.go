package breaker_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

func TestRejectedErrorText(t *testing.T) {
	for _, c := range []struct {
		err  breaker.RejectedError
		want string
	}{
		{breaker.RejectedError{Name: "db", State: breaker.Open}, `breaker: "db" refused the call: open`},
		{breaker.RejectedError{Name: "db", State: breaker.HalfOpen}, `breaker: "db" refused the call: half-open`},
		{breaker.RejectedError{Name: "db", State: breaker.Recovering}, `breaker: "db" refused the call: recovering`},
		{breaker.RejectedError{State: breaker.Isolated}, `breaker: call refused: isolated`},
		{breaker.RejectedError{Reason: breaker.BudgetExhausted}, `breaker: call refused: budget exhausted`},
		{breaker.RejectedError{Name: "a \"b\"\n", State: breaker.Open}, `breaker: "a \"b\"\n" refused the call: open`},
		{breaker.RejectedError{Name: "db", Reason: breaker.BudgetExhausted}, `breaker: "db" refused the call: budget exhausted`},
	} {
		require.EqualError(t, &c.err, c.want)
	}
}

// A value that no breaker made, as a retry budget may: it is a refusal, and knows no time.
func TestRejectedErrorMadeByHand(t *testing.T) {
	for name, err := range map[string]*breaker.RejectedError{
		"zero":   {},
		"open":   {State: breaker.Open},
		"budget": {Reason: breaker.BudgetExhausted},
		"nil":    nil,
	} {
		require.ErrorIs(t, err, breaker.ErrRejected, name)
		_, known := err.RetryAfter()
		require.False(t, known, name)
	}
}

// refusal makes a call that is refused, and returns its error.
func refusal(r *rig) *breaker.RejectedError {
	r.t.Helper()
	_, err := r.TryAdmit(bg)
	var rejected *breaker.RejectedError
	require.ErrorAs(r.t, err, &rejected)
	return rejected
}

func TestEveryRefusalIsRejected(t *testing.T) {
	probing := all(fail(1), probeNow, start("probe"))
	for _, c := range []struct {
		state breaker.State
		reach action
	}{
		{breaker.Open, fail(1)},
		{breaker.HalfOpen, probing},
		{breaker.Recovering, all(probing, end("probe", breaker.OK, 0))},
		{breaker.Isolated, isolate},
	} {
		t.Run(c.state.String(), func(t *testing.T) {
			r := newRig(t, breaker.Settings{
				Name:                "db",
				DisableAdaptive:     true,
				ConsecutiveFailures: 1,
				ProbeSuccesses:      1,
				Recovery:            breaker.RecoveryOver(0.25),
			})
			r.run(step{do: c.reach, want: c.state})
			err := refusal(r)
			require.Equal(t, "db", err.Name)
			require.Equal(t, c.state, err.State)
			require.Equal(t, breaker.DependencyUnavailable, err.Reason)
			require.EqualError(t, err, fmt.Sprintf(`breaker: "db" refused the call: %v`, c.state))
			require.ErrorIs(t, err, breaker.ErrRejected)
			require.ErrorIs(t, fmt.Errorf("no user: %w", err), breaker.ErrRejected)
			_, ok := err.RetryAfter()
			require.Equal(t, c.state == breaker.Open, ok, "only a break has an end")
		})
	}
	require.NotErrorIs(t, errDown, breaker.ErrRejected)
}

func TestSettingsErrorText(t *testing.T) {
	err := &breaker.SettingsError{Problems: []string{"A must be 1, got 2", "B must be 3, got 4"}}
	require.EqualError(t, err, "breaker: invalid settings: A must be 1, got 2; B must be 3, got 4")

	_, refused := breaker.New(breaker.Settings{HalfOpenProbes: -1})
	var found *breaker.SettingsError
	require.True(t, errors.As(fmt.Errorf("start: %w", refused), &found))
	require.Equal(t, []string{"HalfOpenProbes must not be negative, got -1"}, found.Problems)
}
