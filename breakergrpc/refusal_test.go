package breakergrpc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakergrpc"
)

// refusalOf opens a breaker for a break, and returns what it refuses with.
func refusalOf(t *testing.T, clock *handClock, length time.Duration) (*breaker.Breaker, error) {
	t.Helper()
	b := onClock(t, clock, breaker.Settings{Name: "secret", ConsecutiveFailures: 1, BreakDuration: length, MaximumBreakDuration: length})
	attempt, err := b.TryAdmit(bg)
	require.NoError(t, err)
	attempt.Record(breaker.Transient, 0)
	_, err = b.TryAdmit(bg)
	require.ErrorIs(t, err, breaker.ErrRejected)
	return b, err
}

// retryInfoOf returns the delays that a status has.
func retryInfoOf(t *testing.T, s *status.Status) (delays []time.Duration) {
	t.Helper()
	for _, detail := range s.Details() {
		info, ok := detail.(*errdetails.RetryInfo)
		require.True(t, ok, "%T", detail)
		delays = append(delays, info.GetRetryDelay().AsDuration())
	}
	return delays
}

func TestRetryInfoOfARefusal(t *testing.T) {
	for _, test := range []struct{ length, after, want time.Duration }{
		{15 * time.Second, 0, 15 * time.Second},
		{15 * time.Second, 1, 15*time.Second - 1},
		{15 * time.Second, 15*time.Second - 1, 1},
		{15 * time.Second, 15 * time.Second, time.Second}, // over: never 0
		{15 * time.Second, time.Hour, time.Second},
		{300 * time.Millisecond, 0, 300 * time.Millisecond},
		{10 * 365 * 24 * time.Hour, 0, 10 * 365 * 24 * time.Hour},
	} {
		clock := newHandClock()
		_, err := refusalOf(t, clock, test.length)
		clock.move(test.after)
		s, ok := breakergrpc.RefusalStatus(fmt.Errorf("find: %w", err))
		require.True(t, ok)
		require.Equal(t, codes.Unavailable, s.Code())
		require.Equal(t, "a dependency is unavailable: call refused", s.Message(), "no name in it")
		require.Equal(t, []time.Duration{test.want}, retryInfoOf(t, s), "%v into a break of %v", test.after, test.length)
		require.Equal(t, breaker.Throttled, breakergrpc.Classify(s.Err()))
	}
}

func TestRetryInfoByState(t *testing.T) {
	clock := newHandClock()
	open, overtaken := refusalOf(t, clock, time.Minute)
	open.Reset()

	half, _ := refusalOf(t, clock, time.Minute)
	half.ProbeNow()
	_, err := half.TryAdmit(bg)
	require.NoError(t, err)
	_, halfOpen := half.TryAdmit(bg)

	isolated := newBreaker(t)
	isolated.Isolate()
	_, byOperator := isolated.TryAdmit(bg)

	for name, test := range map[string]struct {
		err  error
		want []time.Duration
	}{
		"overtaken by a reset": {overtaken, []time.Duration{time.Second}},
		"half-open":            {halfOpen, []time.Duration{time.Second}},
		"recovering":           {&breaker.RejectedError{State: breaker.Recovering}, []time.Duration{time.Second}},
		"isolated":             {byOperator, nil},
		"from no breaker":      {&breaker.RejectedError{Reason: breaker.BudgetExhausted}, nil},
	} {
		s, ok := breakergrpc.RefusalStatus(test.err)
		require.True(t, ok, name)
		require.Equal(t, codes.Unavailable, s.Code(), name)
		require.Equal(t, test.want, retryInfoOf(t, s), name)
	}
}

func TestRefusalStatusOfOtherErrors(t *testing.T) {
	for _, err := range []error{nil, errBroken, context.Canceled, breaker.ErrRejected, (*breaker.RejectedError)(nil), status.Error(codes.Unavailable, "text")} {
		s, ok := breakergrpc.RefusalStatus(err)
		require.False(t, ok)
		require.Nil(t, s)
	}
}

// What a refused caller gets, from a call as from a stream.
func TestRefusedCall(t *testing.T) {
	for kind, run := range map[string]func(*breakergrpc.Client, context.Context) error{
		"unary": func(breakers *breakergrpc.Client, ctx context.Context) error {
			return invoke(breakers, ctx, nil) // which would panic
		},
		"stream": func(breakers *breakergrpc.Client, ctx context.Context) error {
			stream, err := breakers.StreamClientInterceptor()(ctx, duplexes, nil, "/users.Users/Watch", nil)
			require.Nil(t, stream)
			return err
		},
	} {
		clock := newHandClock()
		b, _ := refusalOf(t, clock, time.Minute)
		refused := b.Snapshot().Totals.Refused
		err := run(one(b), bg)
		require.Equal(t, 1, clock.paused(), kind)
		require.Equal(t, refused+1, b.Snapshot().Totals.Refused, kind)

		var refusal *breaker.RejectedError
		require.ErrorAs(t, err, &refusal, kind)
		require.ErrorIs(t, err, breaker.ErrRejected, kind)
		require.Equal(t, breaker.Open, refusal.State, kind)
		require.EqualError(t, err, `breaker: "secret" refused the call: open`, kind)
		for _, wrapped := range []error{err, fmt.Errorf("find: %w", err)} {
			s, ok := status.FromError(wrapped)
			require.True(t, ok, kind)
			require.Equal(t, codes.Unavailable, s.Code(), kind)
			require.Equal(t, []time.Duration{time.Minute}, retryInfoOf(t, s), kind)
		}
		require.NotContains(t, status.Convert(err).Message(), "secret", kind)
		clock.move(20 * time.Second)
		require.Equal(t, []time.Duration{40 * time.Second}, retryInfoOf(t, status.Convert(err)), "as of the asking")
	}
}

// impatient is a clock on which a pause has no end, and a context ends instead.
type impatient struct {
	*handClock
	leave func()
}

func (i impatient) After(time.Duration) <-chan time.Time {
	i.leave()
	return nil
}

func TestContextThatEndsThePause(t *testing.T) {
	ctx := newExpiring()
	b, err := breaker.New(breaker.Settings{Clock: impatient{newHandClock(), ctx.expire}})
	require.NoError(t, err)
	b.Isolate()
	err = invoke(one(b), ctx, nil)
	require.ErrorIs(t, err, breaker.ErrRejected)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, codes.Unavailable, status.Code(err))
}

func TestContextThatIsDoneAlready(t *testing.T) {
	cancelled, cancel := context.WithCancel(bg)
	cancel()
	late, cancel := context.WithDeadline(bg, time.Now().Add(-time.Second))
	defer cancel()
	for ctx, want := range map[context.Context]codes.Code{cancelled: codes.Canceled, late: codes.DeadlineExceeded} {
		b := newBreaker(t)
		require.Equal(t, want, status.Code(invoke(one(b), ctx, nil)))
		require.Zero(t, b.Snapshot().Totals.Admitted)
		require.Zero(t, b.Snapshot().Totals.Refused)
	}
}

func TestSettingsThatCannotWork(t *testing.T) {
	scope, err := breaker.NewScope(0, func(string) breaker.Settings { return breaker.Settings{TripCalls: -1} })
	require.NoError(t, err)
	err = invoke(breakergrpc.NewClient(&breakergrpc.ClientOptions{Scope: scope}), bg, nil)
	var invalid *breaker.SettingsError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, codes.Internal, status.Code(err))
	require.Equal(t, err.Error(), status.Convert(err).Message())
	require.False(t, errors.Is(err, breaker.ErrRejected))
}
