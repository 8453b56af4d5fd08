package breakergrpc

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// UnaryServerInterceptor returns an interceptor for handlers that return the errors of
// their own calls. If errors.As finds a [*breaker.RejectedError] in one, the client gets the
// status of [RefusalStatus]. Every other error passes as it is, and so does one to which the
// handler gave a status of its own, whatever is wrapped in it. Interceptors before this one
// still find the refusal by errors.As.
// It is safe for concurrent use.
func UnaryServerInterceptor() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		answer, err := handle(ctx, request)
		return answer, answerable(err)
	}
}

// StreamServerInterceptor does for streams what [UnaryServerInterceptor] does, also when
// some messages have been sent.
// It is safe for concurrent use.
func StreamServerInterceptor() grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		return answerable(handle(server, stream))
	}
}

// answerable gives a refusal its status. That of a Client's error is no other's, but around
// it there may be a text for this side alone, which gRPC would make the client's message.
func answerable(err error) error {
	if _, refused := rejected(err); !refused {
		return err
	}
	var given interface{ GRPCStatus() *status.Status }
	if errors.As(err, &given) {
		if _, clients := given.(*refusalError); !clients {
			return err
		}
	}
	return &refusalError{err}
}
