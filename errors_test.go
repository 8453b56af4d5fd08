package breaker_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

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
		{breaker.RejectedError{State: breaker.Isolated}, `breaker: "" refused the call: isolated`},
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
	} {
		require.ErrorIs(t, err, breaker.ErrRejected, name)
		requireNoRetryAfter(t, err)
	}
	requireNoRetryAfter(t, nil)
}

// refusal makes a call that is refused, and returns its error.
func refusal(r *rig) *breaker.RejectedError {
	r.t.Helper()
	_, err := r.TryAdmit(bg)
	var rejected *breaker.RejectedError
	require.ErrorAs(r.t, err, &rejected)
	return rejected
}

func requireRetryAfter(t *testing.T, want time.Duration, err *breaker.RejectedError) {
	t.Helper()
	left, ok := err.RetryAfter()
	require.True(t, ok)
	require.Equal(t, want, left)
}

func requireNoRetryAfter(t *testing.T, err *breaker.RejectedError) {
	t.Helper()
	left, ok := err.RetryAfter()
	require.False(t, ok)
	require.Zero(t, left)
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

// What a refusal says of its break is live, and about no other.
func TestRetryAfterOfARefusal(t *testing.T) {
	const never = -1
	for name, c := range map[string]struct {
		at   time.Duration
		do   action
		want time.Duration
	}{
		"at once":                       {0, nil, 15 * time.Second},
		"later":                         {10 * time.Second, nil, 5 * time.Second},
		"just before the end":           {15*time.Second - 1, nil, 1},
		"at the end":                    {15 * time.Second, nil, 0},
		"long after":                    {time.Hour, nil, 0},
		"while a probe is under way":    {15 * time.Second, start("probe"), 0},
		"after ProbeNow":                {5 * time.Second, probeNow, 0},
		"after a reset":                 {5 * time.Second, reset, never},
		"after an isolation":            {5 * time.Second, isolate, never},
		"after a second break began":    {15 * time.Second, fail(1), never},
		"after a reset and a new break": {5 * time.Second, all(reset, fail(1)), never},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, breaker.Settings{ConsecutiveFailures: 1})
			fail(1)(r)
			err := refusal(r)
			r.at(c.at)
			if c.do != nil {
				c.do(r)
			}
			if c.want == never {
				requireNoRetryAfter(t, err)
			} else {
				requireRetryAfter(t, c.want, err)
			}
		})
	}
}

func TestSettingsErrorText(t *testing.T) {
	err := &breaker.SettingsError{Problems: []string{"A must be 1, got 2", "B must be 3, got 4"}}
	require.EqualError(t, err, "breaker: invalid settings: A must be 1, got 2; B must be 3, got 4")

	_, refused := breaker.New(breaker.Settings{HalfOpenProbes: -1})
	var found *breaker.SettingsError
	require.True(t, errors.As(fmt.Errorf("start: %w", refused), &found))
	require.Equal(t, []string{"HalfOpenProbes must not be negative, got -1"}, found.Problems)
}
