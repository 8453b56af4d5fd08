package breakergrpc_test

import (
	"context"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakergrpc"
)

// receive reads a stream until it ends, and returns the number of messages and the error.
func receive[T any](stream interface{ Recv() (*T, error) }) (n int, err error) {
	for ; err == nil; n++ {
		_, err = stream.Recv()
	}
	return n - 1, err
}

// kinds run a stream of each kind from its first message to its end. The service sends or
// takes two messages, does something, and ends with an error or without.
var kinds = map[string]func(context.Context, pb.TestServiceClient) error{
	"download": func(ctx context.Context, client pb.TestServiceClient) error {
		stream, err := client.StreamingOutputCall(ctx, &pb.StreamingOutputCallRequest{})
		if err != nil {
			return err
		}
		_, err = receive(stream)
		return err
	},
	"upload": func(ctx context.Context, client pb.TestServiceClient) error {
		stream, err := client.StreamingInputCall(ctx)
		if err != nil {
			return err
		}
		for range 2 {
			if err = stream.Send(&pb.StreamingInputCallRequest{}); err != nil {
				break // and the answer says why
			}
		}
		_, err = stream.CloseAndRecv()
		return err
	},
	"duplex": func(ctx context.Context, client pb.TestServiceClient) error {
		stream, err := client.FullDuplexCall(ctx)
		if err != nil {
			return err
		}
		for range 2 {
			if err = stream.Send(&pb.StreamingOutputCallRequest{}); err != nil {
				break
			}
			if _, err = stream.Recv(); err != nil {
				return err
			}
		}
		_ = stream.CloseSend()
		_, err = receive(stream)
		return err
	},
}

// streaming is a service whose streams end with what end returns.
func streaming(end func(context.Context) error) *service {
	return &service{
		download: func(stream grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
			for range 2 {
				if err := stream.Send(message()); err != nil {
					return err
				}
			}
			return end(stream.Context())
		},
		upload: func(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
			for range 2 {
				if _, err := stream.Recv(); err != nil {
					return err
				}
			}
			if err := end(stream.Context()); err != nil {
				return err
			}
			return stream.SendAndClose(&pb.StreamingInputCallResponse{})
		},
		duplex: func(stream grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
			for range 2 {
				if _, err := stream.Recv(); err != nil {
					return err
				}
				if err := stream.Send(message()); err != nil {
					return err
				}
			}
			return end(stream.Context())
		},
	}
}

func TestStreamsThatEnd(t *testing.T) {
	for kind, run := range kinds {
		for code, want := range verdicts {
			b := newBreaker(t)
			to := serve(t, streaming(func(context.Context) error { return status.Error(code, "text") }))
			err := run(bg, through(t, to, b))
			switch {
			case code != codes.OK:
				require.Equal(t, code, status.Code(err), kind)
			case kind == "upload":
				require.NoError(t, err)
			default:
				require.Equal(t, io.EOF, err)
			}
			require.Equal(t, oneOf(want), outcomesOf(b), "%s: %v", kind, code)
		}
	}
}

func TestStreamsKilledInTheMiddle(t *testing.T) {
	for kind, run := range kinds {
		for how, kill := range map[string]func(*server){
			"stopped": func(s *server) { go s.Server.Stop() },
			"reset":   func(s *server) { s.reset() },
		} {
			t.Run(kind+" "+how, func(t *testing.T) {
				var to *server
				to = serve(t, streaming(func(ctx context.Context) error {
					kill(to)
					<-ctx.Done()
					return ctx.Err()
				}))
				b := newBreaker(t)
				require.Equal(t, codes.Unavailable, status.Code(run(bg, through(t, to, b))))
				require.Equal(t, oneOf(breaker.Transient), outcomesOf(b))
			})
		}
	}
}

func TestStreamsCutByTheCaller(t *testing.T) {
	for kind, run := range kinds {
		for how, with := range cancels {
			t.Run(kind+" "+how, func(t *testing.T) {
				ctx, cancel := with(bg)
				to := serve(t, streaming(func(ctx context.Context) error {
					cancel()
					<-ctx.Done()
					return ctx.Err()
				}))
				b := newBreaker(t)
				require.Equal(t, codes.Canceled, status.Code(run(ctx, through(t, to, b))))
				comesTo(t, oneOf(breaker.Canceled), b)
			})
		}
		t.Run(kind+" by a deadline", func(t *testing.T) {
			late := newExpiring()
			to := serve(t, streaming(func(ctx context.Context) error {
				late.expire()
				<-ctx.Done()
				return ctx.Err()
			}))
			b := newBreaker(t)
			require.Equal(t, codes.DeadlineExceeded, status.Code(run(late, through(t, to, b))))
			comesTo(t, oneOf(breaker.Transient), b)
		})
	}
}

func TestStreamsToNobody(t *testing.T) {
	for kind, run := range kinds {
		to := serve(t, streaming(nil))
		to.Server.Stop()
		b := newBreaker(t)
		client := through(t, to, b)
		for range 5 {
			require.Equal(t, codes.Unavailable, status.Code(run(bg, client)), kind)
		}
		require.Equal(t, outcomes{transient: 5}, outcomesOf(b), kind)
		require.ErrorIs(t, run(bg, client), breaker.ErrRejected, kind)
	}
}

// fake is a stream without a network.
type fake struct {
	grpc.ClientStream
	receive func() error
	send    func() error
	header  func() (metadata.MD, error)
}

func (f *fake) RecvMsg(any) error            { return f.receive() }
func (f *fake) SendMsg(any) error            { return f.send() }
func (f *fake) CloseSend() error             { return nil }
func (f *fake) Header() (metadata.MD, error) { return f.header() }

var (
	downloads = &grpc.StreamDesc{ServerStreams: true}
	uploads   = &grpc.StreamDesc{ClientStreams: true}
	duplexes  = &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
)

func open(t testing.TB, breakers *breakergrpc.Client, ctx context.Context, desc *grpc.StreamDesc, inner grpc.ClientStream) grpc.ClientStream {
	t.Helper()
	stream, err := breakers.StreamClientInterceptor()(ctx, desc, nil, "/users.Users/Watch",
		func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
			return inner, nil
		})
	require.NoError(t, err)
	return stream
}

// A stream on a clock: each step takes its time, and the latency that is learnt is that of
// the first message.
func TestStreamLatency(t *testing.T) {
	clock := newHandClock()
	var answers error
	const opening = 5 * time.Millisecond
	inner := &fake{
		receive: func() error { clock.move(10 * time.Millisecond); return answers },
		send:    func() error { clock.move(time.Millisecond); return nil },
	}
	wait := func(grpc.ClientStream) { clock.move(time.Hour) }
	send := func(s grpc.ClientStream) { _ = s.SendMsg(nil) }
	receive := func(s grpc.ClientStream) { answers = nil; _ = s.RecvMsg(nil) }
	end := func(s grpc.ClientStream) { answers = io.EOF; _ = s.RecvMsg(nil) }
	type steps = []func(grpc.ClientStream)
	for name, test := range map[string]struct {
		desc  *grpc.StreamDesc
		steps steps
		want  time.Duration
	}{
		"a download":                        {downloads, steps{send, receive, wait, receive, wait, end}, 11 * time.Millisecond},
		"without a message":                 {downloads, steps{send, end}, 11 * time.Millisecond},
		"a caller who begins late":          {duplexes, steps{wait, send, receive, wait, end}, 11 * time.Millisecond},
		"and to no message":                 {duplexes, steps{wait, send, end}, 11 * time.Millisecond},
		"an upload":                         {uploads, steps{wait, send, send, send, receive}, 13 * time.Millisecond},
		"a server that begins":              {duplexes, steps{receive, wait, send, receive, end}, 10 * time.Millisecond},
		"an answer to the second message":   {duplexes, steps{send, send, receive, end}, 12 * time.Millisecond},
		"a caller who thinks in the middle": {duplexes, steps{send, receive, wait, send, receive, end}, 11 * time.Millisecond},
	} {
		b := onClock(t, clock, breaker.Settings{SlowCalls: breaker.SlowCalls{MinimumSamples: 1, Window: 24 * time.Hour}})
		stream, err := one(b).StreamClientInterceptor()(bg, test.desc, nil, "/users.Users/Watch",
			func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
				clock.move(opening)
				return inner, nil
			})
		require.NoError(t, err)
		for _, step := range test.steps {
			step(stream)
		}
		require.Equal(t, oneOf(breaker.OK), outcomesOf(b), name)
		normal, known := b.NormalLatency()
		require.True(t, known, name)
		want := opening + test.want
		require.GreaterOrEqual(t, normal, want, name)
		require.LessOrEqual(t, normal, want+want/8, name)
	}
}

// The attempt of a stream is open as long as the stream is, and ends once.
func TestEndsOfAStream(t *testing.T) {
	failed := status.Error(codes.Unavailable, "text")
	made := status.Error(codes.Internal, "made here")
	verdict := breaker.WithVerdict(made, breaker.OK)
	var receives, sends, heads error
	inner := &fake{
		receive: func() error { return receives },
		send:    func() error { return sends },
		header:  func() (metadata.MD, error) { return nil, heads },
	}
	receive := func(err error) func(grpc.ClientStream) error {
		return func(s grpc.ClientStream) error { receives = err; return s.RecvMsg(nil) }
	}
	send := func(err error) func(grpc.ClientStream) error {
		return func(s grpc.ClientStream) error { sends = err; return s.SendMsg(nil) }
	}
	header := func(err error) func(grpc.ClientStream) error {
		return func(s grpc.ClientStream) error { heads = err; _, err = s.Header(); return err }
	}
	type steps = []func(grpc.ClientStream) error
	for name, test := range map[string]struct {
		desc  *grpc.StreamDesc
		steps steps
		last  error
		want  outcomes
	}{
		"under way":                        {duplexes, steps{header(nil), send(nil), receive(nil)}, nil, outcomes{}},
		"the end":                          {duplexes, steps{receive(nil), receive(io.EOF)}, io.EOF, outcomes{ok: 1}},
		"twice":                            {duplexes, steps{receive(io.EOF), receive(failed)}, failed, outcomes{ok: 1}},
		"a failure, and an end after it":   {duplexes, steps{receive(failed), receive(io.EOF)}, io.EOF, outcomes{transient: 1}},
		"the one answer":                   {uploads, steps{send(nil), receive(nil)}, nil, outcomes{ok: 1}},
		"a failure":                        {duplexes, steps{receive(nil), receive(failed)}, failed, outcomes{transient: 1}},
		"a failure, twice":                 {duplexes, steps{receive(failed), receive(failed), send(made)}, made, outcomes{transient: 1}},
		"an Internal of the server":        {duplexes, steps{receive(made)}, made, outcomes{transient: 1}},
		"sent into a dead stream":          {duplexes, steps{send(io.EOF)}, io.EOF, outcomes{}},
		"sent into a dead stream, and why": {duplexes, steps{send(io.EOF), receive(failed)}, failed, outcomes{transient: 1}},
		"could not be sent":                {duplexes, steps{send(made)}, made, outcomes{permanent: 1}},
		"could not be sent, says another":  {duplexes, steps{send(failed)}, failed, outcomes{transient: 1}},
		"could not be sent, with verdict":  {duplexes, steps{send(verdict)}, verdict, outcomes{ok: 1}},
		"no header":                        {duplexes, steps{header(failed)}, failed, outcomes{transient: 1}},
		"no header, and no message":        {duplexes, steps{header(failed), receive(failed)}, failed, outcomes{transient: 1}},
	} {
		b := newBreaker(t)
		stream := open(t, one(b), bg, test.desc, inner)
		var last error
		for _, step := range test.steps {
			last = step(stream)
		}
		require.Equal(t, test.last, last, name)
		require.Equal(t, test.want, outcomesOf(b), name)
	}
}

func TestAtFirstMessage(t *testing.T) {
	b := newBreaker(t)
	asked := ""
	breakers := breakergrpc.NewClient(&breakergrpc.ClientOptions{Breaker: b, AtFirstMessage: func(method string) bool {
		asked = method
		return true
	}})
	var receives error
	inner := &fake{receive: func() error { return receives }}
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	stream := open(t, breakers, ctx, duplexes, inner)
	require.Equal(t, "/users.Users/Watch", asked)
	require.Equal(t, outcomes{}, outcomesOf(b))
	require.NoError(t, stream.RecvMsg(nil))
	require.Equal(t, oneOf(breaker.OK), outcomesOf(b))
	receives = status.Error(codes.Unavailable, "text")
	require.Error(t, stream.RecvMsg(nil))
	require.Equal(t, oneOf(breaker.OK), outcomesOf(b))

	require.Error(t, open(t, breakers, ctx, duplexes, inner).RecvMsg(nil))
	require.Equal(t, outcomes{ok: 1, transient: 1}, outcomesOf(b), "before the first")
}

// No goroutine waits for a stream.
func TestStreamsCostNoGoroutine(t *testing.T) {
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	breakers := one(newBreaker(t))
	before := runtime.NumGoroutine()
	for range 1000 {
		open(t, breakers, ctx, duplexes, &fake{})
	}
	require.Less(t, runtime.NumGoroutine(), before+100)
}
