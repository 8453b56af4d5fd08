package breakergrpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakergrpc"
)

// start runs a server with a service that any client can ask, that of health checks.
func start(service healthpb.HealthServer, options ...grpc.ServerOption) (address string, stop func()) {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer(options...)
	healthpb.RegisterHealthServer(server, service)
	go func() { _ = server.Serve(listener) }() // until it is stopped
	return listener.Addr().String(), server.Stop
}

func dial(address string, options ...grpc.DialOption) *grpc.ClientConn {
	conn, err := grpc.NewClient(address, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		panic(err)
	}
	return conn
}

// Two connections with a breaker for each service that they lead to.
func ExampleNewClient() {
	gone, stop := start(health.NewServer())
	stop()
	well, stop := start(health.NewServer())
	defer stop()

	breakers := breakergrpc.NewClient(nil)
	toGone := dial(gone, breakers.DialOptions()...)
	defer toGone.Close()
	toWell := dial(well, breakers.DialOptions()...)
	defer toWell.Close()

	ask := func(conn *grpc.ClientConn) string {
		answer, err := healthpb.NewHealthClient(conn).Check(context.Background(), &healthpb.HealthCheckRequest{})
		var refusal *breaker.RejectedError
		switch {
		case errors.As(err, &refusal):
			return "not sent: " + refusal.State.String()
		case err != nil:
			return "failed: " + status.Code(err).String()
		}
		return answer.GetStatus().String()
	}
	for range 6 {
		fmt.Println(ask(toGone))
	}
	fmt.Println(ask(toWell))
	// Output:
	// failed: Unavailable
	// failed: Unavailable
	// failed: Unavailable
	// failed: Unavailable
	// failed: Unavailable
	// not sent: open
	// SERVING
}

// Breakers with settings and names of one's own, by method and tenant.
func ExampleClientOptions() {
	type tenant struct{}
	scope, err := breaker.NewScope(10_000, func(key string) breaker.Settings {
		return breaker.Settings{Name: "grpc/" + key, Recovery: breaker.RecoveryOver(0.25)}
	})
	if err != nil {
		panic(err)
	}
	breakers := breakergrpc.NewClient(&breakergrpc.ClientOptions{
		Scope: scope,
		Key: func(ctx context.Context, _ *grpc.ClientConn, method string) string {
			return fmt.Sprint(ctx.Value(tenant{})) + method
		},
		Classify: func(err error) breaker.Verdict {
			if status.Code(err) == codes.Unimplemented {
				return breaker.Transient // this one is halfway through an upgrade
			}
			return breakergrpc.Classify(err)
		},
		AtFirstMessage: func(method string) bool { return method == healthpb.Health_Watch_FullMethodName },
	})

	address, stop := start(health.NewServer())
	defer stop()
	conn := dial(address, breakers.DialOptions()...)
	defer conn.Close()
	client := healthpb.NewHealthClient(conn)

	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), tenant{}, "acme"))
	defer cancel()
	_, err = client.Check(ctx, &healthpb.HealthCheckRequest{Service: "users"})
	fmt.Println(status.Code(err))
	watch, err := client.Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		panic(err)
	}
	if _, err := watch.Recv(); err != nil { // it goes on, but has been judged
		panic(err)
	}
	for _, name := range []string{"acme/grpc.health.v1.Health/Check", "acme/grpc.health.v1.Health/Watch"} {
		b := scope.For(name)
		fmt.Println(b.Name(), b.State(), b.Snapshot().Totals.OK)
	}
	// Output:
	// NotFound
	// grpc/acme/grpc.health.v1.Health/Check closed 1
	// grpc/acme/grpc.health.v1.Health/Watch closed 1
}

// catalog is a service that depends on another.
type catalog struct {
	healthpb.UnimplementedHealthServer
	database *breaker.Breaker
}

func (c *catalog) Check(ctx context.Context, _ *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	err := c.database.Do(ctx, func(context.Context) error { return errors.New("no route to the database") })
	if err != nil {
		return nil, fmt.Errorf("look up: %w", err)
	}
	return &healthpb.HealthCheckResponse{}, nil
}

// A server whose handlers return the errors of their own calls.
func ExampleUnaryServerInterceptor() {
	database := breaker.MustNew(breaker.Settings{
		Name:                "database at 10.1.2.3",
		ConsecutiveFailures: 2,
		BreakDuration:       time.Minute,
		BreakJitter:         breaker.JitterNone,
	})
	address, stop := start(&catalog{database: database},
		grpc.ChainUnaryInterceptor(breakergrpc.UnaryServerInterceptor()),
		grpc.ChainStreamInterceptor(breakergrpc.StreamServerInterceptor()))
	defer stop()
	conn := dial(address)
	defer conn.Close()

	for range 3 {
		_, err := healthpb.NewHealthClient(conn).Check(context.Background(), &healthpb.HealthCheckRequest{})
		s := status.Convert(err)
		fmt.Println(s.Code(), "-", s.Message())
		for _, detail := range s.Details() {
			if info, ok := detail.(*errdetails.RetryInfo); ok {
				fmt.Println("again in", info.GetRetryDelay().AsDuration().Round(time.Second))
			}
		}
	}
	// Output:
	// Unknown - look up: no route to the database
	// Unknown - look up: no route to the database
	// Unavailable - a dependency is unavailable: call refused
	// again in 1m0s
}
