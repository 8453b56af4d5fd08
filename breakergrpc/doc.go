// Package breakergrpc puts circuit breakers where Go services speak gRPC: in front of what
// they call, and, where a call inside a handler was refused, into what they answer.
//
// # What a service calls
//
// A [Client] has the interceptors of a connection, with a breaker for each service of each
// target:
//
//	breakers := breakergrpc.NewClient(nil)
//	conn, err := grpc.NewClient(target, append(breakers.DialOptions(), grpc.WithTransportCredentials(tls))...)
//
//	user, err := users.NewUsersClient(conn).Find(ctx, request)
//	var refusal *breaker.RejectedError
//	if errors.As(err, &refusal) {
//		// nothing was sent; status.Code(err) is codes.Unavailable
//	}
//
// The error of a call that was admitted is never changed. It only decides what the breaker
// learns; see [Classify].
//
// # What a service answers
//
// [UnaryServerInterceptor] and [StreamServerInterceptor] answer a call that could not be
// served because a call inside was refused: with the code Unavailable and a RetryInfo.
// That pair is what a Client takes for Throttled, so a service that refuses because of
// what it depends on opens no breaker in the services before it.
//
// # Retries, connections and deadlines
//
// Interceptors sit above what gRPC does by itself. The retries of a service config are
// inside one call: the breaker sees how the last of them ended, and the time that all of
// them took. While gRPC waits before it connects anew, it answers Unavailable without
// asking the server, to probes too, so a wait that is longer than the break delays the
// recovery: see grpc.WithConnectParams. A call with grpc.WaitForReady waits instead, and
// an outage then ends it by its deadline; without one it never ends, and no breaker learns.
//
// # Concurrency
//
// All of it is safe for concurrent use. The package starts no goroutine for a call or a
// stream, and holds no lock while one is under way. Only a context that ends before its
// stream does runs a short function in a goroutine of its own, and one of a type that
// package context does not know has a goroutine wait for it as long as the stream lives:
// see [context.AfterFunc].
package breakergrpc
