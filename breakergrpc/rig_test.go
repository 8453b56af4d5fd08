package breakergrpc_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakergrpc"
)

var bg = context.Background()

// handClock moves when a test moves it. A pause on it is over at once, and counted.
type handClock struct {
	mu     sync.Mutex
	now    time.Time
	pauses int
}

func newHandClock() *handClock {
	return &handClock{now: time.Date(2026, 3, 2, 3, 4, 5, 0, time.UTC)}
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) After(time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses++
	over := make(chan time.Time)
	close(over)
	return over
}

func (c *handClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *handClock) paused() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pauses
}

// onClock builds a breaker on a clock, without jitter.
func onClock(t testing.TB, clock *handClock, s breaker.Settings) *breaker.Breaker {
	t.Helper()
	s.Clock, s.BreakJitter = clock, breaker.JitterNone
	b, err := breaker.New(s)
	require.NoError(t, err)
	return b
}

func newBreaker(t testing.TB) *breaker.Breaker {
	t.Helper()
	return onClock(t, newHandClock(), breaker.Settings{Name: "one"})
}

func one(b *breaker.Breaker) *breakergrpc.Client {
	return breakergrpc.NewClient(&breakergrpc.ClientOptions{Breaker: b})
}

// expiring is a context whose deadline passes when a test says so.
type expiring struct {
	context.Context
	done chan struct{}
	once sync.Once
}

func newExpiring() *expiring { return &expiring{Context: bg, done: make(chan struct{})} }

func (e *expiring) expire()               { e.once.Do(func() { close(e.done) }) }
func (e *expiring) Done() <-chan struct{} { return e.done }
func (e *expiring) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// service is the test service of gRPC's own interoperability tests. A method without a
// function is not implemented.
type service struct {
	pb.UnimplementedTestServiceServer
	unary    func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error)
	download func(grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error
	upload   func(grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error
	duplex   func(grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error
}

func (s *service) UnaryCall(ctx context.Context, r *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	if s.unary == nil {
		return s.UnimplementedTestServiceServer.UnaryCall(ctx, r)
	}
	return s.unary(ctx, r)
}

func (s *service) StreamingOutputCall(_ *pb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	return s.download(stream)
}

func (s *service) StreamingInputCall(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	return s.upload(stream)
}

func (s *service) FullDuplexCall(stream grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
	return s.duplex(stream)
}

// server is a gRPC server on the loopback, whose connections a test can reset.
type server struct {
	*grpc.Server
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (s *server) Accept() (net.Conn, error) {
	conn, err := s.Listener.Accept()
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.conns = append(s.conns, conn)
	}
	return conn, err
}

// reset breaks every connection off, without a goodbye.
func (s *server) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
}

// serve starts a server.
func serve(t testing.TB, s *service, options ...grpc.ServerOption) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	up := &server{Server: grpc.NewServer(options...), Listener: listener}
	pb.RegisterTestServiceServer(up.Server, s)
	served := make(chan error, 1)
	go func() { served <- up.Serve(up) }()
	t.Cleanup(func() {
		up.Server.Stop()
		<-served
	})
	return up
}

// connect returns a connection through breakers.
func connect(t testing.TB, to *server, breakers *breakergrpc.Client, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	options = append(append(breakers.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials())), options...)
	conn, err := grpc.NewClient(to.Addr().String(), options...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// through returns a client of the service through one breaker.
func through(t testing.TB, to *server, b *breaker.Breaker, options ...grpc.DialOption) pb.TestServiceClient {
	t.Helper()
	return pb.NewTestServiceClient(connect(t, to, one(b), options...))
}

func call(client pb.TestServiceClient, ctx context.Context) error {
	_, err := client.UnaryCall(ctx, &pb.SimpleRequest{})
	return err
}

func message() *pb.StreamingOutputCallResponse { return &pb.StreamingOutputCallResponse{} }

// outcomes are the totals that tests ask about.
type outcomes struct{ ok, transient, throttled, permanent, canceled uint64 }

func outcomesOf(b *breaker.Breaker) outcomes {
	t := b.Snapshot().Totals
	return outcomes{t.OK, t.Transient, t.Throttled, t.Permanent, t.Canceled}
}

func oneOf(v breaker.Verdict) (o outcomes) {
	switch v {
	case breaker.OK:
		o.ok = 1
	case breaker.Transient:
		o.transient = 1
	case breaker.Throttled:
		o.throttled = 1
	case breaker.Permanent:
		o.permanent = 1
	case breaker.Canceled:
		o.canceled = 1
	}
	return o
}

// comesTo waits for an outcome that a context may be bringing about.
func comesTo(t *testing.T, want outcomes, b *breaker.Breaker, about ...any) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, want, outcomesOf(b), about...) }, time.Minute, time.Millisecond)
}

// learn lets a breaker know that a call normally takes so long.
func learn(t *testing.T, b *breaker.Breaker, normal time.Duration) {
	t.Helper()
	for range 20 {
		attempt, err := b.TryAdmit(bg)
		require.NoError(t, err)
		attempt.Record(breaker.OK, normal)
	}
	_, known := b.NormalLatency()
	require.True(t, known)
}

// openUp opens a breaker.
func openUp(t *testing.T, b *breaker.Breaker) {
	t.Helper()
	for range 5 {
		attempt, err := b.TryAdmit(bg)
		require.NoError(t, err)
		attempt.Record(breaker.Transient, 0)
	}
	require.Equal(t, breaker.Open, b.State())
}
