package breakergrpc_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakergrpc"
)

func names(source breaker.Source) (all []string) {
	for b := range source.Breakers() {
		all = append(all, b.Name())
	}
	slices.Sort(all)
	return all
}

func TestKeys(t *testing.T) {
	to := serve(t, &service{
		unary: func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
			return nil, status.Error(codes.Unavailable, "text")
		},
		upload: func(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
			return stream.SendAndClose(&pb.StreamingInputCallResponse{})
		},
	})
	target := to.Addr().String()
	type tenant struct{}
	for name, test := range map[string]struct {
		key  func(context.Context, *grpc.ClientConn, string) string
		want []string
	}{
		"by default":    {nil, []string{target + "/grpc.testing.TestService"}},
		"by service":    {breakergrpc.ServiceKey, []string{target + "/grpc.testing.TestService"}},
		"by method":     {breakergrpc.MethodKey, []string{target + "/grpc.testing.TestService/StreamingInputCall", target + "/grpc.testing.TestService/UnaryCall"}},
		"by the caller": {func(ctx context.Context, _ *grpc.ClientConn, _ string) string { return ctx.Value(tenant{}).(string) }, []string{"acme"}},
	} {
		breakers := breakergrpc.NewClient(&breakergrpc.ClientOptions{Key: test.key})
		client := pb.NewTestServiceClient(connect(t, to, breakers))
		ctx := context.WithValue(bg, tenant{}, "acme")
		require.Error(t, call(client, ctx))
		stream, err := client.StreamingInputCall(ctx)
		require.NoError(t, err)
		_, err = stream.CloseAndRecv()
		require.NoError(t, err)
		require.Equal(t, test.want, names(breakers), name)
	}
}

// One target that is down does not shut the door on another, with one Client for both.
func TestTargetsFailOnTheirOwn(t *testing.T) {
	up := serve(t, &service{unary: func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) { return &pb.SimpleResponse{}, nil }})
	down := serve(t, &service{})
	down.Server.Stop()
	breakers := breakergrpc.NewClient(nil)
	toDown := pb.NewTestServiceClient(connect(t, down, breakers))
	for range 5 {
		require.Equal(t, codes.Unavailable, status.Code(call(toDown, bg)))
	}
	require.ErrorIs(t, call(toDown, bg), breaker.ErrRejected)
	require.NoError(t, call(pb.NewTestServiceClient(connect(t, up, breakers)), bg))
	require.Len(t, names(breakers), 2)
}

func TestKeyOfAnyMethod(t *testing.T) {
	for method, want := range map[string]string{
		"/users.Users/Find": "/users.Users", "users.Users/Find": "users.Users", "/Find": "", "Find": "", "": "",
	} {
		require.Equal(t, want, breakergrpc.ServiceKey(bg, nil, method))
		require.Equal(t, method, breakergrpc.MethodKey(bg, nil, method))
	}
}

func TestScopeOfTheCallersOwn(t *testing.T) {
	scope, err := breaker.NewScope(2, func(key string) breaker.Settings { return breaker.Settings{Name: "grpc:" + key} })
	require.NoError(t, err)
	breakers := breakergrpc.NewClient(&breakergrpc.ClientOptions{Scope: scope})
	for i := range 10 {
		_ = breakers.UnaryClientInterceptor()(bg, fmt.Sprintf("/s%d/M", i), nil, nil, nil, answering(nil))
	}
	require.Equal(t, 2, scope.Len())
	require.Contains(t, names(breakers), "grpc:/s9")
	require.Equal(t, []string{"one"}, names(one(newBreaker(t))))

	standard := breakergrpc.NewClient(nil)
	for i := range 2000 {
		_ = standard.UnaryClientInterceptor()(bg, fmt.Sprintf("/s%d/M", i), nil, nil, nil, answering(nil))
	}
	require.Len(t, names(standard), 1024)
}

func TestOptionsThatContradict(t *testing.T) {
	scope, err := breaker.NewScope(0, func(string) breaker.Settings { return breaker.Settings{} })
	require.NoError(t, err)
	b := newBreaker(t)
	for _, options := range []breakergrpc.ClientOptions{
		{Breaker: b, Scope: scope},
		{Breaker: b, Key: breakergrpc.ServiceKey},
	} {
		require.PanicsWithValue(t, "breakergrpc: ClientOptions with a Breaker, and a Scope or a Key",
			func() { breakergrpc.NewClient(&options) })
	}
}

func TestZeroClientPanics(t *testing.T) {
	for _, client := range []*breakergrpc.Client{nil, {}} {
		for _, do := range []func(){
			func() { client.UnaryClientInterceptor() },
			func() { client.StreamClientInterceptor() },
			func() { client.DialOptions() },
			func() { client.Breakers() },
		} {
			require.PanicsWithValue(t, "breakergrpc: nil or zero Client; build one with NewClient", do)
		}
	}
}
