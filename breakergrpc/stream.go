package breakergrpc

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/normal-go/breaker"
)

// clientStream is an admitted stream.
type clientStream struct {
	grpc.ClientStream
	call
	lastAtFirst bool          // the first message ends it
	opened      time.Duration // when the caller got it
	unwatch     func() bool   // lets go of the context

	// Of the goroutine that sends, which may be another one than that which receives.
	sent bool
	idle atomic.Int64 // nanoseconds until the caller sent its first message

	// Of the goroutine that receives.
	received bool
	first    time.Duration // to the first message

	// An attempt belongs to one goroutine. Whoever sets ended has it.
	ended atomic.Bool
}

// stream is a [grpc.StreamClientInterceptor].
func (c *Client) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	s := &clientStream{lastAtFirst: !desc.ServerStreams || c.early != nil && c.early(method)}
	if err := c.begin(&s.call, ctx, cc, method); err != nil {
		return nil, err
	}
	opened := false
	defer func() {
		if !opened { // by a panic, or it has ended already
			s.abandon()
		}
	}()
	inner, err := open(ctx, desc, cc, method, options...)
	if err != nil {
		s.fail(err, status.Code(err) == codes.Internal && unsendable(ctx, nil), s.watch.elapsed())
		return nil, err
	}
	opened = true
	s.ClientStream, s.opened = inner, s.watch.elapsed()
	s.unwatch = context.AfterFunc(ctx, s.leave)
	return s, nil
}

// leave runs when the context ends before the stream does.
func (s *clientStream) leave() {
	if s.ended.Swap(true) {
		return
	}
	defer func() { _ = recover() }() // nobody is above to get a panic of the caller's functions
	s.fail(status.FromContextError(s.ctx.Err()).Err(), false, s.asked())
}

// end reports that the attempt is the caller's to end.
func (s *clientStream) end() bool {
	if s.ended.Swap(true) {
		return false
	}
	s.unwatch()
	return true
}

// left abandons the attempt if a panic or runtime.Goexit is leaving the stream.
func (s *clientStream) left(returned *bool) {
	if !*returned && s.end() {
		s.abandon()
	}
}

// RecvMsg receives a message, and ends the attempt with the stream.
func (s *clientStream) RecvMsg(m any) error {
	returned := false
	defer s.left(&returned)
	err := s.ClientStream.RecvMsg(m)
	returned = true
	switch {
	case err == nil:
		if !s.received {
			s.received, s.first = true, s.asked()
		}
		if s.lastAtFirst {
			s.succeed()
		}
	case err == io.EOF:
		s.succeed()
	case s.end():
		s.fail(err, false, s.asked())
	}
	return err
}

func (s *clientStream) succeed() {
	if !s.end() {
		return
	}
	latency := s.first
	if !s.received {
		latency = s.asked()
	}
	s.attempt.Record(breaker.OK, latency)
}

// asked returns for how long the dependency has been asked for something.
func (s *clientStream) asked() time.Duration {
	return s.watch.elapsed() - time.Duration(s.idle.Load())
}

// SendMsg sends a message. An error that is not io.EOF ends the attempt: gRPC returns it
// for what went wrong on this side, and io.EOF where RecvMsg knows what happened.
func (s *clientStream) SendMsg(m any) error {
	if !s.sent {
		s.sent = true
		s.idle.Store(int64(s.watch.elapsed() - s.opened))
	}
	returned := false
	defer s.left(&returned)
	err := s.ClientStream.SendMsg(m)
	returned = true
	if err != nil && err != io.EOF && s.end() {
		s.fail(err, status.Code(err) == codes.Internal, s.asked())
	}
	return err
}

// Header returns the header, or ends the attempt by the error. gRPC keeps an error for
// RecvMsg, but an interceptor inside may not.
func (s *clientStream) Header() (metadata.MD, error) {
	returned := false
	defer s.left(&returned)
	header, err := s.ClientStream.Header()
	returned = true
	if err != nil && s.end() {
		s.fail(err, false, s.asked())
	}
	return header, err
}
