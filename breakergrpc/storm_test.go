package breakergrpc_test

import (
	"context"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/normal-go/breaker"
)

// One goroutine sends and another receives, on streams that end in every way.
func TestSendAndReceiveAtOnce(t *testing.T) {
	to := serve(t, &service{duplex: func(stream grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
		for n := 0; ; n++ {
			r, err := stream.Recv()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			switch code := codes.Code(r.GetResponseStatus().GetCode()); {
			case n < 20:
			case code == codes.Canceled: // by the client
				<-stream.Context().Done()
				return stream.Context().Err()
			default:
				return status.Error(code, "text")
			}
			if err := stream.Send(message()); err != nil {
				return err
			}
		}
	}})
	b := breaker.MustNew(breaker.Settings{ConsecutiveFailures: 1_000_000, DisableAdaptive: true})
	client := through(t, to, b)
	const streams = 10
	var all sync.WaitGroup
	for _, code := range []codes.Code{codes.OK, codes.Internal, codes.ResourceExhausted, codes.Canceled} {
		for range streams {
			ctx, cancel := context.WithCancel(bg)
			stream, err := client.FullDuplexCall(ctx)
			require.NoError(t, err)
			all.Go(func() {
				for range 30 {
					if stream.Send(&pb.StreamingOutputCallRequest{ResponseStatus: &pb.EchoStatus{Code: int32(code)}}) != nil {
						return
					}
				}
			})
			all.Go(func() {
				defer cancel()
				for n := 0; ; n++ {
					if n == 10 && code == codes.Canceled {
						cancel()
					}
					if _, err := stream.Recv(); err != nil {
						return
					}
				}
			})
		}
	}
	all.Wait()
	want := outcomes{ok: streams, transient: streams, throttled: streams, canceled: streams}
	comesTo(t, want, b)
}

// Calls and streams from many sides while the server is reset, over and over, and stopped
// in the end. Whatever happens to them, each attempt ends once, and no probe is left over.
func TestStormOverABreakingConnection(t *testing.T) {
	to := serve(t, streamingAndUnary())
	b := breaker.MustNew(breaker.Settings{Name: "storm", BreakDuration: time.Millisecond, MaximumBreakDuration: time.Millisecond, HalfOpenProbes: 3, ProbeTimeout: time.Hour})
	client := through(t, to, b)
	runs := []func(context.Context) error{func(ctx context.Context) error { return call(client, ctx) }}
	for _, run := range kinds {
		runs = append(runs, func(ctx context.Context) error { return run(ctx, client) })
	}
	const callers, each = 8, 40
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := range each {
				ctx, cancel := context.WithTimeout(bg, time.Minute)
				if i%7 == 3 {
					cancel()
				}
				if i%10 == 9 {
					to.reset()
				}
				_ = runs[rand.IntN(len(runs))](ctx)
				cancel()
			}
		})
	}
	all.Wait()
	to.Server.Stop()
	for range 20 {
		_ = call(client, bg)
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		s := b.Snapshot()
		assert.Zero(c, s.ProbesInFlight)
		assert.Zero(c, s.Totals.Released)
		assert.Positive(c, s.Totals.OK)
		assert.Positive(c, s.Totals.Transient)
		assert.Equal(c, s.Totals.Admitted, s.Totals.OK+s.Totals.Transient+s.Totals.Throttled+s.Totals.Permanent+s.Totals.Canceled)
	}, time.Minute, time.Millisecond)
}

func streamingAndUnary() *service {
	s := streaming(func(context.Context) error { return nil })
	s.unary = func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) { return &pb.SimpleResponse{}, nil }
	return s
}
