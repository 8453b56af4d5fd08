package breakergrpc

import (
	"errors"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/normal-go/breaker"
)

// RefusalStatus returns the status of a call that could not be served because a breaker
// refused, and true, if errors.As finds a [*breaker.RejectedError] in err. Otherwise it
// returns nil and false.
//
// The code is Unavailable. A RetryInfo has what is left of the break. It is a second where
// the break is over or has been overtaken, and in any other state that passes by itself:
// the next moment may be a better one. It is left out where no time will help: for an
// isolated breaker, which waits for an operator, and for a refusal that comes from no
// breaker.
//
// The message does not name the breaker, for that is no client's business. The text of the
// error does, on the side where the breaker is.
//
// A RetryInfo is for the client's code to read. The retries of a service config do not:
// they take Unavailable for a reason to try again, if they are told to.
//
// It is safe for concurrent use.
func RefusalStatus(err error) (*status.Status, bool) {
	refusal, ok := rejected(err)
	if !ok {
		return nil, false
	}
	s := status.New(codes.Unavailable, "a dependency is unavailable: call refused")
	if after := retryAfter(refusal); after > 0 {
		s, _ = s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)}) // fails for OK alone
	}
	return s, true
}

// retryAfter returns 0 for no RetryInfo.
func retryAfter(refusal *breaker.RejectedError) time.Duration {
	switch refusal.State {
	case breaker.Open, breaker.HalfOpen, breaker.Recovering:
		if left, _ := refusal.RetryAfter(); left > 0 {
			return left
		}
		return time.Second
	}
	return 0
}

func rejected(err error) (*breaker.RejectedError, bool) {
	var refusal *breaker.RejectedError
	found := errors.As(err, &refusal) // first: the order of operands is not defined
	return refusal, found && refusal != nil
}

// refusalError is an error with a refusal in it. The status is made when it is asked for,
// so that it has what is left of the break by then.
type refusalError struct{ error }

func (e *refusalError) Unwrap() error { return e.error }

// GRPCStatus is what package status looks for.
func (e *refusalError) GRPCStatus() *status.Status {
	s, _ := RefusalStatus(e.error)
	return s
}
