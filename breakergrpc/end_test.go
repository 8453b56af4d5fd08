package breakergrpc_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakergrpc"
)

// cancels are the ways in which a caller goes away.
var cancels = map[string]func(context.Context) (context.Context, func()){
	"cancelled": func(ctx context.Context) (context.Context, func()) {
		return context.WithCancel(ctx)
	},
	"cancelled with a cause": func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(ctx)
		return ctx, func() { cancel(errors.New("the user closed the page")) }
	},
}

func TestCallerWhoGoes(t *testing.T) {
	for how, with := range cancels {
		ctx, cancel := with(bg)
		to := serve(t, &service{unary: func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
			cancel()
			<-ctx.Done()
			return nil, status.FromContextError(ctx.Err()).Err()
		}})
		b := newBreaker(t)
		require.Equal(t, codes.Canceled, status.Code(call(through(t, to, b), ctx)), how)
		require.Equal(t, oneOf(breaker.Canceled), outcomesOf(b), how)
	}
}

// Whatever error a cancelled call ends with.
func TestErrorAfterACancellation(t *testing.T) {
	for _, test := range []struct {
		err  error
		want breaker.Verdict
	}{
		{status.Error(codes.Canceled, "text"), breaker.Canceled},
		{status.Error(codes.Internal, "text"), breaker.Canceled},
		{errBroken, breaker.Canceled},
		{breaker.WithVerdict(errBroken, breaker.Transient), breaker.Transient},
		{nil, breaker.OK},
	} {
		ctx, cancel := context.WithCancel(bg)
		b := newBreaker(t)
		require.Equal(t, test.err, invoke(one(b), ctx, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			cancel()
			return test.err
		}))
		require.Equal(t, oneOf(test.want), outcomesOf(b), "%v", test.err)
	}
}

// A call that was under way when its own side closed the connection tells nothing.
func TestConnectionClosedByTheCaller(t *testing.T) {
	for kind, run := range map[string]func(*testing.T, pb.TestServiceClient) error{
		"unary": func(_ *testing.T, client pb.TestServiceClient) error { return call(client, bg) },
		"stream": func(t *testing.T, client pb.TestServiceClient) error {
			stream, err := client.StreamingOutputCall(bg, &pb.StreamingOutputCallRequest{})
			require.NoError(t, err)
			_, err = stream.Recv()
			return err
		},
	} {
		var conn *grpc.ClientConn
		to := serve(t, &service{
			unary: func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
				_ = conn.Close()
				<-ctx.Done()
				return nil, ctx.Err()
			},
			download: func(stream grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
				_ = conn.Close()
				<-stream.Context().Done()
				return stream.Context().Err()
			},
		})
		b := newBreaker(t)
		conn = connect(t, to, one(b))
		require.Error(t, run(t, pb.NewTestServiceClient(conn)), kind)
		require.Equal(t, oneOf(breaker.Canceled), outcomesOf(b), kind)

		require.Equal(t, codes.Canceled, status.Code(call(pb.NewTestServiceClient(conn), bg)), "closed already")
		require.Equal(t, outcomes{canceled: 2}, outcomesOf(b), kind)
	}
}

// A deadline of the caller's own is a failure of the dependency only if that had the time
// which it usually takes.
func TestFairDeadline(t *testing.T) {
	const normal = 40 * time.Millisecond
	deadline := status.Error(codes.DeadlineExceeded, "text")
	always := func(error) breaker.Verdict { return breaker.Transient }
	for name, test := range map[string]struct {
		after    time.Duration // on the breaker's clock
		err      error
		classify func(error) breaker.Verdict
		want     breaker.Verdict
	}{
		"too soon":                     {normal / 2, deadline, nil, breaker.Canceled},
		"long enough":                  {2 * normal, deadline, nil, breaker.Transient},
		"too soon, and unavailable":    {normal / 2, status.Error(codes.Unavailable, "text"), nil, breaker.Canceled},
		"too soon, and an answer":      {normal / 2, status.Error(codes.NotFound, "text"), nil, breaker.OK},
		"too soon, by a classifier":    {normal / 2, deadline, always, breaker.Canceled},
		"long enough, by a classifier": {2 * normal, deadline, always, breaker.Transient},
		"too soon, and a verdict":      {normal / 2, breaker.WithVerdict(deadline, breaker.Transient), nil, breaker.Transient},
	} {
		for _, callers := range []bool{true, false} {
			clock := newHandClock()
			b := onClock(t, clock, breaker.Settings{})
			learn(t, b, normal)
			ctx := newExpiring()
			breakers := breakergrpc.NewClient(&breakergrpc.ClientOptions{Breaker: b, Classify: test.classify})
			require.Equal(t, test.err, invoke(breakers, ctx, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
				clock.move(test.after)
				if callers {
					ctx.expire()
				}
				return test.err
			}), name)
			want := oneOf(test.want)
			if !callers && test.want == breaker.Canceled {
				want = oneOf(breaker.Transient) // it was the service's own
			}
			want.ok += 20
			require.Equal(t, want, outcomesOf(b), "%s, the caller's: %v", name, callers)
		}
	}
}

// A deadline that is over by the clock, and of which the context does not know yet.
type lateContext struct{ context.Context }

func (lateContext) Deadline() (time.Time, bool) { return time.Now().Add(-time.Nanosecond), true }

func TestDeadlineBeforeTheContextKnows(t *testing.T) {
	b := newBreaker(t)
	learn(t, b, time.Second)
	err := status.Error(codes.DeadlineExceeded, "stream terminated")
	require.Equal(t, err, invoke(one(b), lateContext{bg}, answering(err)))
	require.Equal(t, outcomes{ok: 20, canceled: 1}, outcomesOf(b))
}

func TestFairDeadlineOverTheWire(t *testing.T) {
	for _, test := range []struct {
		after time.Duration
		want  breaker.Verdict
	}{{time.Millisecond, breaker.Canceled}, {time.Minute, breaker.Transient}} {
		clock := newHandClock()
		b := onClock(t, clock, breaker.Settings{})
		learn(t, b, time.Second)
		late := newExpiring()
		to := serve(t, &service{
			unary: func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
				late.expire()
				<-ctx.Done()
				return nil, ctx.Err()
			},
		})
		client := through(t, to, b, grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			err := invoke(ctx, method, request, reply, cc, options...)
			clock.move(test.after)
			return err
		}))
		require.Equal(t, codes.DeadlineExceeded, status.Code(call(client, late)))
		want := oneOf(test.want)
		want.ok = 20
		require.Equal(t, want, outcomesOf(b))
	}
}

// A service that is gone, or goes while it works.
func TestServerKilled(t *testing.T) {
	for how, kill := range map[string]func(*server){
		"stopped": func(s *server) { go s.Server.Stop() }, // which waits for the handler
		"reset":   func(s *server) { s.reset() },
	} {
		var to *server
		to = serve(t, &service{unary: func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
			kill(to)
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		b := newBreaker(t)
		require.Equal(t, codes.Unavailable, status.Code(call(through(t, to, b), bg)), how)
		require.Equal(t, oneOf(breaker.Transient), outcomesOf(b), how)
	}

	to := serve(t, &service{})
	to.Server.Stop()
	b := newBreaker(t)
	client := through(t, to, b)
	for range 5 {
		require.Equal(t, codes.Unavailable, status.Code(call(client, bg)))
	}
	require.Equal(t, breaker.Open, b.State())
	require.ErrorIs(t, call(client, bg), breaker.ErrRejected)
}

// With wait-for-ready an outage shows as the caller's deadline.
func TestWaitForReady(t *testing.T) {
	to := serve(t, &service{})
	to.Server.Stop()
	b := newBreaker(t)
	late := newExpiring()
	client := through(t, to, b, grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			go late.expire()
			return invoke(ctx, method, request, reply, cc, options...)
		}))
	require.Equal(t, codes.DeadlineExceeded, status.Code(call(client, late)))
	require.Equal(t, oneOf(breaker.Transient), outcomesOf(b))
}

// While gRPC waits before it connects anew, a service that is back is not asked.
func TestServiceThatIsBackUnnoticed(t *testing.T) {
	to := serve(t, &service{})
	b := newBreaker(t)
	client := through(t, to, b, grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: time.Hour, Multiplier: 1, MaxDelay: time.Hour},
		MinConnectTimeout: time.Minute,
	}))
	to.Server.Stop()
	require.Equal(t, codes.Unavailable, status.Code(call(client, bg)))
	listener, err := net.Listen("tcp", to.Addr().String())
	require.NoError(t, err)
	again := grpc.NewServer()
	pb.RegisterTestServiceServer(again, &service{})
	served := make(chan error, 1)
	go func() { served <- again.Serve(listener) }()
	require.Equal(t, codes.Unavailable, status.Code(call(client, bg)))
	require.Equal(t, outcomes{transient: 2}, outcomesOf(b))

	fresh := newBreaker(t)
	require.Equal(t, codes.Unimplemented, status.Code(call(through(t, to, fresh), bg)), "it is back")
	again.Stop()
	<-served
}

// The retries of a service config are one call.
func TestRetriesAreOneCall(t *testing.T) {
	tries := 0
	to := serve(t, &service{unary: func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		if tries++; tries < 3 {
			return nil, status.Error(codes.Unavailable, "text")
		}
		return &pb.SimpleResponse{}, nil
	}})
	b := newBreaker(t)
	require.NoError(t, call(through(t, to, b, grpc.WithDefaultServiceConfig(`{"methodConfig": [{
		"name": [{}],
		"retryPolicy": {
			"maxAttempts": 3, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1,
			"retryableStatusCodes": ["UNAVAILABLE"]
		}
	}]}`)), bg))
	require.Equal(t, 3, tries)
	require.Equal(t, oneOf(breaker.OK), outcomesOf(b))
}

func TestUnaryLatency(t *testing.T) {
	clock := newHandClock()
	b := onClock(t, clock, breaker.Settings{SlowCalls: breaker.SlowCalls{MinimumSamples: 1}})
	to := serve(t, &service{unary: func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		clock.move(8 * time.Millisecond)
		return &pb.SimpleResponse{}, nil
	}})
	require.NoError(t, call(through(t, to, b), bg))
	normal, known := b.NormalLatency()
	require.True(t, known)
	require.InDelta(t, 8*time.Millisecond, normal, float64(time.Millisecond))
}
