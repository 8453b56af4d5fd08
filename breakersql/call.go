package breakersql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/normal-go/breaker"
)

// guard is what a connector and its connections share.
type guard struct {
	breaker *breaker.Breaker
	clock   breaker.Clock // nil for the system clock; a breaker keeps the one it was built with
}

func (g *guard) now() time.Time {
	if g.clock != nil {
		return g.clock.Now()
	}
	return time.Now()
}

// call is one call of the driver, from the question whether it may run to its end. That
// of a query ends with its rows.
type call struct {
	*guard
	ctx     context.Context
	conn    *conn // nil for a Connect
	rested  bool  // its connection comes out of the pool, and has answered nothing since
	start   time.Time
	latency time.Duration // to the answer

	attempt breaker.Attempt // zero if the breaker is not to hear of it
}

func newCall(ctx context.Context, g *guard, c *conn) *call {
	return &call{guard: g, ctx: ctx, conn: c}
}

// admit asks the breaker. There is no pause, because the caller holds a connection of the
// pool, or the right to open one.
func (x *call) admit() (err error) {
	x.attempt, err = x.breaker.TryAdmit(x.ctx)
	x.start = x.now()
	return err
}

// follow begins a call that must not be refused, because it is part of a transaction. The
// breaker hears of it while it is closed.
func (x *call) follow() {
	if x.breaker.State() == breaker.Closed {
		// A refusal can only come from a trip in this very moment, and a context that is
		// done is the driver's to judge.
		x.attempt, _ = x.breaker.TryAdmit(x.ctx)
	}
	x.start = x.now()
}

// ask calls the driver. Of a call that was answered it notes the latency, and leaves the
// end to succeed.
func ask[T any](x *call, fn func() (T, error)) (T, error) {
	returned := false
	defer x.left(&returned)
	answer, err := fn()
	returned = true
	switch {
	case err == driver.ErrSkip && x.conn != nil:
		x.conn.declined = x
	case err != nil:
		x.fail(err)
	default:
		x.rested = false // it lives
		x.latency = x.now().Sub(x.start)
	}
	return answer, err
}

// succeed ends a call that was answered.
func (x *call) succeed() { x.attempt.DoneAfter(nil, x.latency) }

// fail ends a call by an error.
func (x *call) fail(err error) {
	defer x.abandon() // a no-op unless the classifier or the error panics
	took := x.now().Sub(x.start)
	switch ended := x.ctx.Err(); {
	case carriesVerdict(err): // which comes before everything that is known of the call
	case ended == context.Canceled: // of which drivers tell in many ways
		x.attempt.Record(breaker.Canceled, took)
		return
	case ended != nil:
		err = fmt.Errorf("%w: %w", err, ended)
	case x.rested && errors.Is(err, driver.ErrBadConn):
		x.attempt.Release()
		return
	case x.conn == nil || !x.conn.driverSaysValid():
		err = fmt.Errorf("%w: %w", err, driver.ErrBadConn)
	}
	if x.breaker.Settings().Classify == nil {
		if v := Classify(err); v != breaker.Transient {
			x.attempt.Record(v, took)
			return
		}
	}
	x.attempt.DoneAfter(err, took) // with the rules about deadlines
}

// left abandons a call that a panic or runtime.Goexit is leaving.
func (x *call) left(returned *bool) {
	if !*returned {
		x.abandon()
	}
}

// abandon ends a call that nobody will judge, and does nothing to one that has ended. The
// panic that goes up stays as it is, also if the breaker's listener panics here.
func (x *call) abandon() {
	defer func() { _ = recover() }()
	x.attempt.Record(breaker.Permanent, 0)
}
