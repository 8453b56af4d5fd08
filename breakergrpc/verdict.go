package breakergrpc

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/normal-go/breaker"
)

// Classify is the default of [ClientOptions.Classify]. A verdict that the error carries
// comes first, then its code:
//
//   - Unavailable, DeadlineExceeded, Unknown, Internal and DataLoss are Transient.
//   - ResourceExhausted is Throttled, and so is Unavailable with a readable RetryInfo,
//     however long it says: a delay that is there, is valid and is not below zero. That is
//     what a service answers whose own dependency is refused.
//   - Canceled is Canceled. gRPC says so too where this side closed the connection.
//   - NotFound, AlreadyExists, FailedPrecondition, Aborted and OutOfRange are OK. A service
//     that says so has looked, and how long that took is evidence. gRPC itself never makes
//     these.
//   - InvalidArgument, PermissionDenied, Unauthenticated and Unimplemented are Permanent,
//     and so is a code that gRPC does not define. They are the caller's fault, and often
//     found out by a gateway, or by this process, before the service did any work. As OK
//     they would pass for very fast answers.
//
// A refusal by a breaker of this process that comes up through other interceptors is
// Throttled. An error without a status is what [breaker.Classify] says.
//
// A dependency that announces every outage with a RetryInfo never trips a breaker by this.
// For such a one, and for other exceptions, wrap it:
//
//	Classify: func(err error) breaker.Verdict {
//		if status.Code(err) == codes.Unavailable {
//			return breaker.Transient
//		}
//		return breakergrpc.Classify(err)
//	}
//
// It is safe for concurrent use.
func Classify(err error) breaker.Verdict {
	if v, ok := carriedVerdict(err); ok {
		return v
	}
	if _, ok := rejected(err); ok {
		return breaker.Throttled
	}
	s, ok := status.FromError(err)
	if !ok {
		return breaker.Classify(err)
	}
	switch s.Code() {
	case codes.OK, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.Aborted, codes.OutOfRange:
		return breaker.OK
	case codes.DeadlineExceeded, codes.Unknown, codes.Internal, codes.DataLoss:
		return breaker.Transient
	case codes.Unavailable:
		if saysWhen(s) {
			return breaker.Throttled
		}
		return breaker.Transient
	case codes.ResourceExhausted:
		return breaker.Throttled
	case codes.Canceled:
		return breaker.Canceled
	}
	return breaker.Permanent
}

// saysWhen reports a readable RetryInfo.
func saysWhen(s *status.Status) bool {
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			delay := info.GetRetryDelay()
			return delay.CheckValid() == nil && delay.AsDuration() >= 0
		}
	}
	return false
}

// carriedVerdict returns the verdict that an error carries.
func carriedVerdict(err error) (breaker.Verdict, bool) {
	var carrier interface{ Verdict() breaker.Verdict }
	if errors.As(err, &carrier) {
		return breaker.Classify(err), true
	}
	return 0, false
}

// unsendable reports that a request cannot be marshalled, or that the metadata of its
// context cannot stand in a header. gRPC says Internal to both, as a server in trouble
// does, so this looks at what it was given. What a codec other than that of protocol
// buffers would say is not known.
func unsendable(ctx context.Context, request any) bool {
	if message, ok := request.(proto.Message); ok {
		if _, err := proto.Marshal(message); err != nil {
			return true
		}
	}
	sent, _ := metadata.FromOutgoingContext(ctx)
	for key, values := range sent {
		reserved := strings.HasPrefix(key, ":") // is left out of what is sent, once its values are looked at
		if key == "" || !reserved && strings.ContainsFunc(key, foreignToKeys) {
			return true
		}
		if strings.HasSuffix(key, "-bin") {
			continue // is encoded
		}
		for _, value := range values {
			if strings.ContainsFunc(value, foreignToValues) {
				return true
			}
		}
	}
	return false
}

// What the HTTP/2 mapping of gRPC allows in metadata.

func foreignToKeys(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
}

func foreignToValues(r rune) bool { return r < ' ' || r > '~' }
