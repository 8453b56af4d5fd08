package breakergrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakergrpc"
)

func intercepted(outer ...grpc.ServerOption) []grpc.ServerOption {
	return append(outer,
		grpc.ChainUnaryInterceptor(breakergrpc.UnaryServerInterceptor()),
		grpc.ChainStreamInterceptor(breakergrpc.StreamServerInterceptor()))
}

// ownStatus is an error of a handler's own type, with a status and a cause.
type ownStatus struct{ error }

func (e ownStatus) Unwrap() error              { return e.error }
func (e ownStatus) GRPCStatus() *status.Status { return status.New(codes.FailedPrecondition, "own") }

func TestAnswersOfHandlers(t *testing.T) {
	b, refusal := refusalOf(t, newHandClock(), time.Minute)
	atClient := invoke(one(b), bg, nil)
	refused := []time.Duration{time.Minute}
	const text = "a dependency is unavailable: call refused"
	tests := map[string]struct {
		err     error
		code    codes.Code
		message string
		retry   []time.Duration
	}{
		"well":                              {nil, codes.OK, "", nil},
		"a refusal":                         {refusal, codes.Unavailable, text, refused},
		"a wrapped one":                     {fmt.Errorf("find in secret: %w", refusal), codes.Unavailable, text, refused},
		"one of several":                    {errors.Join(errBroken, refusal), codes.Unavailable, text, refused},
		"one of a client":                   {atClient, codes.Unavailable, text, refused},
		"a wrapped one of a client":         {fmt.Errorf("find in secret: %w", atClient), codes.Unavailable, text, refused},
		"with a status of its own":          {ownStatus{refusal}, codes.FailedPrecondition, "own", nil},
		"a client's, with one of its own":   {ownStatus{atClient}, codes.FailedPrecondition, "own", nil},
		"a status":                          {status.Error(codes.Unavailable, "text"), codes.Unavailable, "text", nil},
		"a status in place of the refusal":  {status.Error(codes.Aborted, refusal.Error()), codes.Aborted, refusal.Error(), nil},
		"a status that came from elsewhere": {withDetails(codes.Unavailable), codes.Unavailable, "text", nil},
		"an error":                          {errBroken, codes.Unknown, "broken", nil},
		"a context":                         {context.DeadlineExceeded, codes.DeadlineExceeded, "context deadline exceeded", nil},
	}
	var answer, seen error
	to := serve(t, &service{
		unary: func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
			return &pb.SimpleResponse{}, answer
		},
		download: func(stream grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
			if err := stream.Send(message()); err != nil {
				return err
			}
			return answer
		},
	}, intercepted(
		grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			reply, err := handle(ctx, request)
			seen = err
			return reply, err
		}),
	)...)
	client := through(t, to, breaker.MustNew(breaker.Settings{Classify: func(error) breaker.Verdict { return breaker.OK }}))
	for name, test := range tests {
		answer = test.err
		check := func(err error) {
			s := status.Convert(err)
			require.Equal(t, test.code, s.Code(), name)
			require.Equal(t, test.message, s.Message(), name)
			require.Equal(t, test.retry, retryInfoOf(t, s), name)
		}
		check(call(client, bg))
		require.Equal(t, errors.Is(test.err, breaker.ErrRejected), errors.Is(seen, breaker.ErrRejected), "%s, for interceptors before", name)

		stream, err := client.StreamingOutputCall(bg, &pb.StreamingOutputCallRequest{})
		require.NoError(t, err)
		_, err = stream.Recv()
		require.NoError(t, err, name)
		if _, err = stream.Recv(); err == io.EOF {
			err = nil
		}
		check(err)
	}
}

// A refusal goes up through services as Throttled, and opens nothing on its way.
func TestRefusalsDoNotCascade(t *testing.T) {
	behind := serve(t, &service{unary: func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		return nil, status.Error(codes.Internal, "down")
	}})
	down := onClock(t, newHandClock(), breaker.Settings{Name: "behind"})
	inner := through(t, behind, down)
	middle := serve(t, &service{unary: func(ctx context.Context, r *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		answer, err := inner.UnaryCall(ctx, r)
		if status.Code(err) == codes.Internal {
			return &pb.SimpleResponse{}, nil // a caller that copes
		}
		return answer, err
	}}, intercepted()...)
	b := newBreaker(t)
	client := through(t, middle, b)
	for i := range 50 {
		err := call(client, bg)
		if i < 5 {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, codes.Unavailable, status.Code(err))
		require.False(t, errors.Is(err, breaker.ErrRejected), "it was sent")
		require.Len(t, retryInfoOf(t, status.Convert(err)), 1)
	}
	require.Equal(t, breaker.Open, down.State())
	require.Equal(t, breaker.Closed, b.State())
	require.Equal(t, outcomes{ok: 5, throttled: 45}, outcomesOf(b))
}

// Nor does a breaker before another in one process take its refusals for failures.
func TestOneBreakerBeforeAnother(t *testing.T) {
	closed := newBreaker(t)
	isolated := newBreaker(t)
	isolated.Isolate()
	to := serve(t, &service{})
	client := through(t, to, closed, one(isolated).DialOptions()...)
	for range 10 {
		require.ErrorIs(t, call(client, bg), breaker.ErrRejected)
	}
	require.Equal(t, outcomes{throttled: 10}, outcomesOf(closed))
}
