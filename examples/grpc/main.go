// Grpc shows a service between a client and a backend that goes away and comes back. The
// service asks the backend through a breaker, and answers its client with the refusal, so
// that the client knows when to try again.
//
// All three speak to gRPC's own health service, to need no generated code.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakergrpc"
)

// The length of the first break. A real service leaves it at its default of 15 s.
const rest = time.Second

// front is the service in the middle.
type front struct {
	healthpb.UnimplementedHealthServer
	backend healthpb.HealthClient
}

// Check returns the backend's errors as they come. What becomes of a refusal is up to the
// interceptor.
func (f *front) Check(ctx context.Context, request *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	answer, err := f.backend.Check(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("ask the backend: %w", err)
	}
	return answer, nil
}

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	backend, address, err := serve("localhost:0", health.NewServer())
	if err != nil {
		return err
	}

	// The service calls the backend through a breaker for each service of each target.
	scope, err := breaker.NewScope(0, func(key string) breaker.Settings {
		return breaker.Settings{
			Name:          key,
			BreakDuration: rest,
			OnTransition: func(_ context.Context, t breaker.Transition) {
				fmt.Fprintf(out, "    breaker: %v -> %v, %v\n", t.From, t.To, t.Cause)
			},
		}
	})
	if err != nil {
		return err
	}
	breakers := breakergrpc.NewClient(&breakergrpc.ClientOptions{Scope: scope})
	toBackend, err := dial(address, append(breakers.DialOptions(),
		// Or a probe may find that gRPC is still waiting before it connects anew.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: rest / 20, Multiplier: 1, MaxDelay: rest / 10},
			MinConnectTimeout: time.Second,
		}))...)
	if err != nil {
		return err
	}
	defer toBackend.Close()

	// It answers a refusal by a status with a RetryInfo.
	middle, front, err := serve("localhost:0", &front{backend: healthpb.NewHealthClient(toBackend)},
		grpc.ChainUnaryInterceptor(breakergrpc.UnaryServerInterceptor()),
		grpc.ChainStreamInterceptor(breakergrpc.StreamServerInterceptor()))
	if err != nil {
		return err
	}
	defer middle.Stop()
	toFront, err := dial(front)
	if err != nil {
		return err
	}
	defer toFront.Close()
	client := healthpb.NewHealthClient(toFront)

	fmt.Fprintln(out, "the backend is well")
	ask(out, client)
	backend.Stop()
	fmt.Fprintln(out, "the backend is gone")
	for range 5 {
		ask(out, client)
	}
	again := ask(out, client)
	if backend, _, err = serve(address, health.NewServer()); err != nil {
		return err
	}
	defer backend.Stop()
	fmt.Fprintln(out, "the backend is back, and the client waits as long as it was told")
	time.Sleep(again)
	for range 3 {
		ask(out, client)
	}
	return nil
}

// ask makes a call and tells of it. It returns when the answer says to try again.
func ask(out io.Writer, client healthpb.HealthClient) (again time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	answer, err := client.Check(ctx, &healthpb.HealthCheckRequest{})
	if err == nil {
		fmt.Fprintf(out, "client: %v\n", answer.GetStatus())
		return 0
	}
	s := status.Convert(err)
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			fmt.Fprintf(out, "client: %v, %s, with a time to try again\n", s.Code(), s.Message())
			return info.GetRetryDelay().AsDuration()
		}
	}
	fmt.Fprintf(out, "client: %v\n", s.Code())
	return 0
}

func serve(address string, service healthpb.HealthServer, options ...grpc.ServerOption) (*grpc.Server, string, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, "", err
	}
	server := grpc.NewServer(options...)
	healthpb.RegisterHealthServer(server, service)
	go func() {
		if err := server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	return server, listener.Addr().String(), nil
}

func dial(address string, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
}
