package breakergrpc_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakergrpc"
)

// costs are what a call through a Client allocates over one without:
//
//   - the key, of the target and the service
//   - a stream: the stream with its attempt, in one, and three for the context's end: the
//     watch, the function that it runs and the one that stops it
var costs = map[string]struct {
	options       *breakergrpc.ClientOptions
	unary, stream float64
}{
	"one breaker": {&breakergrpc.ClientOptions{Breaker: breaker.MustNew(breaker.Settings{})}, 0, 4},
	"by service":  {nil, 1, 5},
}

func TestAllocations(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates for itself")
	}
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	well := answering(nil)
	inner := &fake{receive: func() error { return io.EOF }}
	opens := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
		return inner, nil
	}
	cc := connect(t, serve(t, &service{}), breakergrpc.NewClient(nil))
	for name, cost := range costs {
		breakers := breakergrpc.NewClient(cost.options)
		unary, stream := breakers.UnaryClientInterceptor(), breakers.StreamClientInterceptor()
		require.Equal(t, cost.unary, testing.AllocsPerRun(1000, func() {
			if err := unary(ctx, "/users.Users/Find", nil, nil, cc, well); err != nil {
				t.Fatal(err)
			}
		}), "unary: %s", name)
		require.Equal(t, cost.stream, testing.AllocsPerRun(1000, func() {
			s, err := stream(ctx, downloads, cc, "/users.Users/Watch", opens)
			if err != nil || s.RecvMsg(nil) != io.EOF {
				t.Fatal(err)
			}
		}), "stream: %s", name)
	}
}
