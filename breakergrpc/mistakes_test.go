package breakergrpc_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakergrpc"
)

func panics(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
	panic("inside")
}

func opensWithPanic(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	panic("inside")
}

// A panic below gives a probe slot back, and goes on up.
func TestPanicBelow(t *testing.T) {
	for kind, run := range map[string]func(*breakergrpc.Client){
		"unary": func(breakers *breakergrpc.Client) { _ = invoke(breakers, bg, panics) },
		"stream": func(breakers *breakergrpc.Client) {
			_, _ = breakers.StreamClientInterceptor()(bg, duplexes, nil, "/s/M", opensWithPanic)
		},
	} {
		b := newBreaker(t)
		openUp(t, b)
		b.ProbeNow()
		require.PanicsWithValue(t, "inside", func() { run(one(b)) }, kind)
		require.Equal(t, outcomes{transient: 5, permanent: 1}, outcomesOf(b), kind)
		require.Zero(t, b.Snapshot().ProbesInFlight, kind)
	}
}

func TestGoexitBelow(t *testing.T) {
	b := newBreaker(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = invoke(one(b), bg, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			runtime.Goexit()
			return nil
		})
	}()
	<-done
	require.Equal(t, oneOf(breaker.Permanent), outcomesOf(b))
}

func TestClassifyThatPanics(t *testing.T) {
	b := newBreaker(t)
	breakers := breakergrpc.NewClient(&breakergrpc.ClientOptions{Breaker: b, Classify: func(error) breaker.Verdict { panic("classify") }})
	require.PanicsWithValue(t, "classify", func() { _ = invoke(breakers, bg, answering(errBroken)) })
	require.Equal(t, outcomes{permanent: 1}, outcomesOf(b))

	stream := open(t, breakers, bg, duplexes, &fake{receive: func() error { return errBroken }})
	require.PanicsWithValue(t, "classify", func() { _ = stream.RecvMsg(nil) })
	require.Equal(t, outcomes{permanent: 2}, outcomesOf(b))
	require.Equal(t, errBroken, stream.RecvMsg(nil), "once")
}

// Where a context ends a stream there is no caller, and a panic must not end the program.
func TestClassifyThatPanicsWithNobodyAbove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.MustNew(breaker.Settings{})
		breakers := breakergrpc.NewClient(&breakergrpc.ClientOptions{Breaker: b, Classify: func(error) breaker.Verdict { panic("classify") }})
		ctx, cancel := context.WithTimeout(bg, 1)
		defer cancel()
		open(t, breakers, ctx, duplexes, &fake{})
		<-ctx.Done()
		synctest.Wait()
		require.Equal(t, outcomes{permanent: 1}, outcomesOf(b))
	})
}

func TestListenerThatPanics(t *testing.T) {
	quiet := true
	b := onClock(t, newHandClock(), breaker.Settings{ProbeSuccesses: 1, OnTransition: func(context.Context, breaker.Transition) {
		if !quiet {
			panic("listener")
		}
	}})
	openUp(t, b)
	b.ProbeNow()
	require.PanicsWithValue(t, "listener", func() {
		_ = invoke(one(b), bg, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			quiet = false // the probe was admitted
			return nil
		})
	})
	require.Equal(t, outcomes{ok: 1, transient: 5}, outcomesOf(b))
}

// The panic that was there first is the one that goes up.
func TestListenerThatPanicsAfterAPanicBelow(t *testing.T) {
	quiet := true
	b := onClock(t, newHandClock(), breaker.Settings{OnTransition: func(context.Context, breaker.Transition) {
		if !quiet {
			panic("listener")
		}
	}})
	openUp(t, b)
	b.ProbeNow()
	for range 9 {
		probe, err := b.TryAdmit(bg)
		require.NoError(t, err)
		probe.Release()
	}
	quiet = false // the tenth that decides nothing opens the breaker again
	require.PanicsWithValue(t, "inside", func() { _ = invoke(one(b), bg, panics) })
	require.Equal(t, breaker.Open, b.State())
}

func TestKeyThatPanics(t *testing.T) {
	breakers := breakergrpc.NewClient(&breakergrpc.ClientOptions{Key: func(context.Context, *grpc.ClientConn, string) string { panic("key") }})
	require.PanicsWithValue(t, "key", func() { _ = invoke(breakers, bg, answering(nil)) })
	require.Empty(t, names(breakers))
}

// An error below that has a nil status, or none, is an error all the same.
func TestStrangeErrors(t *testing.T) {
	for _, err := range []error{nilStatus{}, errBroken} {
		b := newBreaker(t)
		require.Equal(t, err, invoke(one(b), bg, answering(err)))
		require.Equal(t, oneOf(breaker.Transient), outcomesOf(b))
		require.Equal(t, codes.Unknown, status.Code(err))
	}
}

type nilStatus struct{}

func (nilStatus) Error() string              { return "nil status" }
func (nilStatus) GRPCStatus() *status.Status { return nil }
