package breakergrpc

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/normal-go/breaker"
)

// call is an admitted call, unary or a stream, until its attempt ends.
type call struct {
	ctx      context.Context
	breaker  *breaker.Breaker
	classify func(error) breaker.Verdict
	watch    watch
	attempt  breaker.Attempt
}

// begin asks the breaker. Its error is one that an interceptor may return.
func (c *Client) begin(x *call, ctx context.Context, cc *grpc.ClientConn, method string) (err error) {
	x.ctx = ctx
	if x.breaker, err = c.breakerOf(ctx, cc, method); err != nil {
		return &settingsError{err}
	}
	if x.attempt, err = x.breaker.Admit(ctx); err != nil {
		if errors.Is(err, breaker.ErrRejected) {
			return &refusalError{err}
		}
		return status.FromContextError(err).Err()
	}
	settings := x.breaker.Settings()
	switch {
	case c.classify != nil:
		x.classify = c.classify
	case settings.Classify != nil:
		x.classify = settings.Classify
	default:
		x.classify = Classify
	}
	x.watch = startWatch(settings.Clock)
	return nil
}

// unary is a [grpc.UnaryClientInterceptor].
func (c *Client) unary(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	var x call
	if err := c.begin(&x, ctx, cc, method); err != nil {
		return err
	}
	defer x.abandon() // a no-op unless invoke panics
	err := invoke(ctx, method, request, reply, cc, options...)
	if err == nil {
		x.attempt.Record(breaker.OK, x.watch.elapsed())
	} else {
		x.fail(err, status.Code(err) == codes.Internal && unsendable(ctx, request), x.watch.elapsed())
	}
	return err
}

// fail ends the attempt by an error. Own says that the caller brought it on itself.
func (x *call) fail(err error, own bool, took time.Duration) {
	defer x.abandon() // a no-op unless the classifier panics
	x.attempt.Record(x.judge(err, own, took), took)
}

// judge decides in the order that the doc of [Client] gives.
func (x *call) judge(err error, own bool, took time.Duration) breaker.Verdict {
	if v, ok := carriedVerdict(err); ok {
		return v
	}
	end := callersEnd(x.ctx)
	switch {
	case end == context.Canceled:
		return breaker.Canceled // whatever the error: what is cut off fails in many ways
	case own:
		return breaker.Permanent
	}
	v := x.classify(err)
	if v == breaker.Transient && end == context.DeadlineExceeded && x.hurried(took) {
		return breaker.Canceled
	}
	return v
}

// hurried reports that the time was less than the dependency normally takes.
func (x *call) hurried(took time.Duration) bool {
	normal, known := x.breaker.NormalLatency()
	return known && took < normal
}

// callersEnd returns how the caller ended the call, or nil. gRPC compares a deadline with
// the clock by itself, and so may be a moment ahead of the context.
func callersEnd(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// abandon ends an attempt while a panic or runtime.Goexit goes up, and does nothing to one
// that has ended. The panic goes on unchanged, also if the breaker's listener panics here.
func (x *call) abandon() {
	defer func() { _ = recover() }()
	x.attempt.Record(breaker.Permanent, 0)
}

// settingsError is a [*breaker.SettingsError] that gRPC understands.
type settingsError struct{ error }

func (e *settingsError) Unwrap() error              { return e.error }
func (e *settingsError) GRPCStatus() *status.Status { return status.New(codes.Internal, e.Error()) }

// watch measures on the clock of a breaker, which may be a test's.
type watch struct {
	clock breaker.Clock
	start time.Time
}

func startWatch(clock breaker.Clock) watch {
	w := watch{clock: clock}
	w.start = w.now()
	return w
}

func (w *watch) now() time.Time {
	if w.clock != nil {
		return w.clock.Now()
	}
	return time.Now()
}

func (w *watch) elapsed() time.Duration { return w.now().Sub(w.start) }
