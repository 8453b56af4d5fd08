package breakergrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakergrpc"
)

var errBroken = errors.New("broken")

// verdicts are those of all codes.
var verdicts = map[codes.Code]breaker.Verdict{
	codes.OK:                 breaker.OK,
	codes.Canceled:           breaker.Canceled,
	codes.Unknown:            breaker.Transient,
	codes.InvalidArgument:    breaker.Permanent,
	codes.DeadlineExceeded:   breaker.Transient,
	codes.NotFound:           breaker.OK,
	codes.AlreadyExists:      breaker.OK,
	codes.PermissionDenied:   breaker.Permanent,
	codes.ResourceExhausted:  breaker.Throttled,
	codes.FailedPrecondition: breaker.OK,
	codes.Aborted:            breaker.OK,
	codes.OutOfRange:         breaker.OK,
	codes.Unimplemented:      breaker.Permanent,
	codes.Internal:           breaker.Transient,
	codes.Unavailable:        breaker.Transient,
	codes.DataLoss:           breaker.Transient,
	codes.Unauthenticated:    breaker.Permanent,
	codes.Code(17):           breaker.Permanent,
	codes.Code(99):           breaker.Permanent,
}

func withDetails(code codes.Code, details ...any) error {
	s := status.New(code, "text")
	for _, detail := range details {
		var err error
		if s, err = s.WithDetails(detail.(protoadapt.MessageV1)); err != nil {
			panic(err)
		}
	}
	return s.Err()
}

func retryIn(d *durationpb.Duration) *errdetails.RetryInfo {
	return &errdetails.RetryInfo{RetryDelay: d}
}

func TestClassify(t *testing.T) {
	second := retryIn(durationpb.New(time.Second))
	for code, want := range verdicts {
		require.Equal(t, want, breakergrpc.Classify(status.Error(code, "text")), code)
		if code == codes.OK {
			continue
		}
		require.Equal(t, want, breakergrpc.Classify(fmt.Errorf("find: %w", status.Error(code, "text"))), code)
		if code != codes.Unavailable {
			require.Equal(t, want, breakergrpc.Classify(withDetails(code, second)), "%v with a RetryInfo", code)
		}
	}
	for name, test := range map[string]struct {
		err  error
		want breaker.Verdict
	}{
		"nil":                      {nil, breaker.OK},
		"unavailable for a second": {withDetails(codes.Unavailable, second), breaker.Throttled},
		"unavailable, from now on": {withDetails(codes.Unavailable, retryIn(&durationpb.Duration{})), breaker.Throttled},
		"unavailable for years":    {withDetails(codes.Unavailable, retryIn(&durationpb.Duration{Seconds: 315_576_000_000})), breaker.Throttled},
		"after another detail":     {withDetails(codes.Unavailable, &errdetails.ErrorInfo{Reason: "R"}, second), breaker.Throttled},
		"no delay":                 {withDetails(codes.Unavailable, retryIn(nil)), breaker.Transient},
		"a negative delay":         {withDetails(codes.Unavailable, retryIn(durationpb.New(-1))), breaker.Transient},
		"an invalid delay":         {withDetails(codes.Unavailable, retryIn(&durationpb.Duration{Seconds: 1, Nanos: -1})), breaker.Transient},
		"another detail":           {withDetails(codes.Unavailable, &errdetails.ErrorInfo{Reason: "R"}), breaker.Transient},
		"a verdict":                {breaker.WithVerdict(status.Error(codes.Internal, "text"), breaker.OK), breaker.OK},
		"a verdict inside":         {fmt.Errorf("find: %w", breaker.WithVerdict(errBroken, breaker.Throttled)), breaker.Throttled},
		"an unknown verdict":       {breaker.WithVerdict(errBroken, breaker.Verdict(77)), breaker.Permanent},
		"a refusal":                {fmt.Errorf("find: %w", &breaker.RejectedError{State: breaker.Isolated}), breaker.Throttled},
		"no status":                {errBroken, breaker.Transient},
		"a cancelled context":      {fmt.Errorf("find: %w", context.Canceled), breaker.Canceled},
		"a deadline":               {context.DeadlineExceeded, breaker.Transient},
	} {
		require.Equal(t, test.want, breakergrpc.Classify(test.err), name)
	}
}

// Whatever the code, the caller gets the error as it is, and the breaker the verdict.
func TestCodesOverTheWire(t *testing.T) {
	var answer error
	to := serve(t, &service{
		unary: func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
			return &pb.SimpleResponse{}, answer
		},
		download: func(grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error { return answer },
	})
	for code, want := range verdicts {
		answer = status.Error(code, "text")
		b := newBreaker(t)
		client := through(t, to, b)
		err := call(client, bg)
		require.Equal(t, code, status.Code(err))
		require.Equal(t, oneOf(want), outcomesOf(b), "unary: %v", code)
		if code != codes.OK {
			require.Equal(t, "text", status.Convert(err).Message())
			require.Equal(t, status.Convert(answer).Err(), err, "not wrapped")
		}

		b = newBreaker(t)
		stream, err := through(t, to, b).StreamingOutputCall(bg, &pb.StreamingOutputCallRequest{})
		require.NoError(t, err)
		_, err = stream.Recv()
		if code == codes.OK {
			require.Equal(t, io.EOF, err)
		} else {
			require.Equal(t, code, status.Code(err))
		}
		require.Equal(t, oneOf(want), outcomesOf(b), "stream: %v", code)
	}

	answer = withDetails(codes.Unavailable, retryIn(durationpb.New(time.Minute)))
	b := newBreaker(t)
	require.Equal(t, codes.Unavailable, status.Code(call(through(t, to, b), bg)))
	require.Equal(t, oneOf(breaker.Throttled), outcomesOf(b))
}

// answering ends every unary call with an error, without a network.
func answering(err error) grpc.UnaryInvoker {
	return func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return err }
}

func invoke(breakers *breakergrpc.Client, ctx context.Context, invoke grpc.UnaryInvoker) error {
	return breakers.UnaryClientInterceptor()(ctx, "/users.Users/Find", nil, nil, nil, invoke)
}

func TestWhoClassifies(t *testing.T) {
	says := func(v breaker.Verdict) func(error) breaker.Verdict {
		return func(error) breaker.Verdict { return v }
	}
	failed := status.Error(codes.Internal, "text")
	for name, test := range map[string]struct {
		settings, options func(error) breaker.Verdict
		err               error
		want              breaker.Verdict
	}{
		"nobody":              {nil, nil, failed, breaker.Transient},
		"the settings":        {says(breaker.Throttled), nil, failed, breaker.Throttled},
		"the options":         {says(breaker.Throttled), says(breaker.OK), failed, breaker.OK},
		"an unknown verdict":  {nil, says(77), failed, breaker.Permanent},
		"the error itself":    {says(breaker.Throttled), says(breaker.OK), breaker.WithVerdict(failed, breaker.Permanent), breaker.Permanent},
		"nobody, for success": {says(breaker.Transient), says(breaker.Transient), nil, breaker.OK},
	} {
		b := onClock(t, newHandClock(), breaker.Settings{Classify: test.settings})
		breakers := breakergrpc.NewClient(&breakergrpc.ClientOptions{Breaker: b, Classify: test.options})
		require.Equal(t, test.err, invoke(breakers, bg, answering(test.err)), name)
		require.Equal(t, oneOf(test.want), outcomesOf(b), name)
	}
}

// What a caller wanted to send and could not is its own mistake, though gRPC calls it
// Internal.
func TestWhatCannotBeSent(t *testing.T) {
	to := serve(t, &service{
		unary: func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) { return &pb.SimpleResponse{}, nil },
		download: func(stream grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
			return stream.Send(message())
		},
	})
	garbled := &pb.EchoStatus{Message: "\xff"}
	with := func(key, value string) context.Context {
		return metadata.NewOutgoingContext(bg, metadata.Pairs(key, value))
	}
	for name, test := range map[string]struct {
		ctx     context.Context
		message *pb.EchoStatus
		want    breaker.Verdict
	}{
		"a message":           {bg, garbled, breaker.Permanent},
		"a header's value":    {with("tenant", "café"), nil, breaker.Permanent},
		"a control character": {with("tenant", "a\nb"), nil, breaker.Permanent},
		"a header's name":     {with("the tenant", "a"), nil, breaker.Permanent},
		"no name":             {metadata.NewOutgoingContext(bg, metadata.MD{"": {"a"}}), nil, breaker.Permanent},
		"a reserved name":     {with(":tenant", "a"), nil, breaker.OK},
		"a reserved one's":    {with(":tenant", "café"), nil, breaker.Permanent},
		"a binary header":     {with("tenant-bin", "café\n"), nil, breaker.OK},
		"a printable header":  {with("tenant-0_1.2", " ~"), nil, breaker.OK},
	} {
		code := codes.OK
		if test.want == breaker.Permanent {
			code = codes.Internal
		}
		b := newBreaker(t)
		_, err := through(t, to, b).UnaryCall(test.ctx, &pb.SimpleRequest{ResponseStatus: test.message})
		require.Equal(t, code, status.Code(err), name)
		require.Equal(t, oneOf(test.want), outcomesOf(b), "unary: %s", name)

		b = newBreaker(t)
		stream, err := through(t, to, b).StreamingOutputCall(test.ctx, &pb.StreamingOutputCallRequest{ResponseStatus: test.message})
		require.Equal(t, code, status.Code(err), name)
		if err == nil {
			_, err = stream.Recv()
			require.NoError(t, err)
			_, err = stream.Recv()
			require.Equal(t, io.EOF, err)
		}
		require.Equal(t, oneOf(test.want), outcomesOf(b), "stream: %s", name)
	}
}

// Where it would not have got through anyway, that is the failure.
func TestWhatCannotBeSentToNobody(t *testing.T) {
	to := serve(t, &service{})
	to.Server.Stop()
	b := newBreaker(t)
	_, err := through(t, to, b).UnaryCall(bg, &pb.SimpleRequest{ResponseStatus: &pb.EchoStatus{Message: "\xff"}})
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Equal(t, oneOf(breaker.Transient), outcomesOf(b))
}

// An Internal that the dependency sends stays a failure, whatever was sent.
func TestInternalFromTheServer(t *testing.T) {
	to := serve(t, &service{unary: func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		return &pb.SimpleResponse{Username: "\xff"}, nil // which the server cannot marshal
	}})
	b := newBreaker(t)
	ctx := metadata.NewOutgoingContext(bg, metadata.Pairs("az-09_.", " ~", "tenant-bin", "\xff", ":tenant", "a"))
	require.Equal(t, codes.Internal, status.Code(call(through(t, to, b), ctx)))
	require.Equal(t, oneOf(breaker.Transient), outcomesOf(b))
}

func TestMessageTooLarge(t *testing.T) {
	to := serve(t, &service{unary: func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		return &pb.SimpleResponse{Username: strings.Repeat("u", 100)}, nil
	}})
	for name, option := range map[string]grpc.CallOption{
		"the request": grpc.MaxCallSendMsgSize(-1),
		"the answer":  grpc.MaxCallRecvMsgSize(10),
	} {
		b := newBreaker(t)
		_, err := through(t, to, b).UnaryCall(bg, &pb.SimpleRequest{}, option)
		require.Equal(t, codes.ResourceExhausted, status.Code(err), name)
		require.Equal(t, oneOf(breaker.Throttled), outcomesOf(b), name)
	}
}

// What looks like trouble of the dependency, and is not. The docs say so.
func TestWhatCannotBeToldApart(t *testing.T) {
	to := serve(t, &service{unary: func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	for name, test := range map[string]struct {
		dial grpc.DialOption
		want codes.Code
	}{
		"a compressor that is missing":  {grpc.WithDefaultCallOptions(grpc.UseCompressor("missing")), codes.Internal},
		"a timeout of a service config": {grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "timeout": "0.01s"}]}`), codes.DeadlineExceeded},
	} {
		b := newBreaker(t)
		learn(t, b, time.Hour)
		require.Equal(t, test.want, status.Code(call(through(t, to, b, test.dial), bg)), name)
		require.Equal(t, outcomes{ok: 20, transient: 1}, outcomesOf(b), name)
	}
}

// The metadata of a context is only to be had in small letters. The docs say so.
func TestCapitalsInMetadata(t *testing.T) {
	to := serve(t, &service{})
	b := newBreaker(t)
	ctx := metadata.NewOutgoingContext(bg, metadata.MD{"Tenant": {"a"}})
	require.Equal(t, codes.Internal, status.Code(call(through(t, to, b), ctx)))
	require.Equal(t, oneOf(breaker.Transient), outcomesOf(b))
}
