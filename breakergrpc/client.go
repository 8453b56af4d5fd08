package breakergrpc

import (
	"context"
	"iter"
	"strings"

	"google.golang.org/grpc"

	"github.com/normal-go/breaker"
)

// ClientOptions are the options of [NewClient]. The zero value, and a nil pointer, mean one
// breaker for each service of each target, at its defaults. A struct and not a list of
// functions, so that all there is to set stands in one place.
type ClientOptions struct {
	// Breaker is one breaker for all calls. With it, Scope and Key must be left out.
	Breaker *breaker.Breaker

	// Scope has the breakers, by the key of the call. Nil is a scope of the Client's own,
	// of up to 1,024 breakers at their defaults, each named after its key. Build one to
	// choose settings, names or the bound.
	Scope *breaker.Scope[string]

	// Key returns the key of a call: what fails on its own. Nil is [ServiceKey]. The
	// method is the full one, such as "/users.Users/Find". Key must be safe for
	// concurrent use. If it panics, no breaker is touched, and the panic goes up to the
	// caller.
	Key func(ctx context.Context, cc *grpc.ClientConn, method string) string

	// Classify says what an error tells about the dependency. Nil is
	// [breaker.Settings.Classify] if the breaker has one, and [Classify] otherwise. It is
	// called once for a call or stream that ended with an error, and must be safe for
	// concurrent use. It is not asked where the error alone does not tell: see [Client].
	// If it panics, the attempt counts as Permanent, and the panic goes up to the caller.
	Classify func(error) breaker.Verdict

	// AtFirstMessage reports that a stream of this method is judged by its first message
	// instead of its end. It is for streams that have no end of their own, such as a
	// watch: judged at its end, one that lives until the caller's deadline is a failure,
	// and a probe that lives for long decides nothing. Nil is false for every method. It
	// must be safe for concurrent use.
	AtFirstMessage func(method string) bool
}

// Client is breakers for gRPC clients, with the interceptors that ask them. Build it with
// [NewClient]; the zero Client panics saying so. It may serve any number of connections,
// and is safe for concurrent use.
//
// A refused call is not sent. Its error has the code Unavailable and, as [RefusalStatus]
// says, a RetryInfo; errors.As finds the [*breaker.RejectedError] in it. It comes after the
// pause of [breaker.Breaker.Admit]. If the settings of the key's breaker cannot work, the
// code is Internal, and errors.As finds the [*breaker.SettingsError]. A context that was
// done already gives the status that gRPC has for it, and touches no breaker.
//
// # Verdicts
//
// A call that ends without an error is OK. An error is judged by the first of these that
// applies:
//
//  1. A verdict that the error carries, see [breaker.WithVerdict].
//  2. Canceled, if the caller's context has been cancelled.
//  3. Permanent, if the code is Internal because of what the caller wanted to send: a
//     message that cannot be marshalled, or metadata that cannot stand in a header.
//  4. What [ClientOptions.Classify] says. A Transient after the caller's own deadline,
//     sooner than the dependency normally answers, counts as Canceled.
//
// A panic on the way counts as Permanent and goes on up. The latency of a unary call is
// the time until it returns.
//
// # Streams
//
// A stream is judged at its end, with the time to its first message as its latency. What
// the caller took before it sent its own first message is left out of that time, and the
// rest of an upload is not. The end is what RecvMsg says: io.EOF, an error, or the one
// answer that there is to a stream of requests. An error of SendMsg or Header is one too,
// but not the io.EOF of SendMsg, which says that RecvMsg knows more. A failed stream is
// judged by all the time that it took, but for the caller's own before its first message.
//
// A caller that leaves a stream unread must cancel its context, as gRPC itself demands,
// and that ends the attempt as well. One that does neither, or closes the connection
// instead, leaves the attempt without an end: a probe loses its slot after
// [breaker.Settings.ProbeTimeout]. What Classify or OnTransition panic with when a context
// ends a stream is dropped, because there is no caller for it to go up to.
type Client struct {
	breaker  *breaker.Breaker       // nil if there is a scope
	scope    *breaker.Scope[string] // nil if there is one breaker
	key      func(context.Context, *grpc.ClientConn, string) string
	classify func(error) breaker.Verdict // nil for the default
	early    func(string) bool
}

var _ breaker.Source = (*Client)(nil)

// NewClient returns breakers for gRPC clients. It panics on options that contradict each
// other: a Breaker with a Scope or a Key.
func NewClient(options *ClientOptions) *Client {
	if options == nil {
		options = &ClientOptions{}
	}
	c := &Client{
		breaker:  options.Breaker,
		scope:    options.Scope,
		key:      options.Key,
		classify: options.Classify,
		early:    options.AtFirstMessage,
	}
	if c.breaker != nil {
		if c.scope != nil || c.key != nil {
			panic("breakergrpc: ClientOptions with a Breaker, and a Scope or a Key")
		}
		return c
	}
	if c.key == nil {
		c.key = ServiceKey
	}
	if c.scope == nil {
		c.scope, _ = breaker.NewScope(0, func(key string) breaker.Settings { return breaker.Settings{Name: key} })
	}
	return c
}

// ServiceKey is the default [ClientOptions.Key]: the target as it was given to
// grpc.NewClient, and the service, such as "dns:///users.example:443/users.Users". It is
// there for keys with more in them.
// It is safe for concurrent use.
func ServiceKey(_ context.Context, cc *grpc.ClientConn, method string) string {
	return targetOf(cc) + method[:max(0, strings.LastIndexByte(method, '/'))]
}

// MethodKey is a [ClientOptions.Key] for a breaker for each method of each target, such as
// "dns:///users.example:443/users.Users/Find".
// It is safe for concurrent use.
func MethodKey(_ context.Context, cc *grpc.ClientConn, method string) string {
	return targetOf(cc) + method
}

// targetOf knows what tests of interceptors are like: without a connection.
func targetOf(cc *grpc.ClientConn) string {
	if cc == nil {
		return ""
	}
	return cc.Target()
}

// DialOptions returns what grpc.NewClient needs for both interceptors. They are chained:
// inside those of earlier options and outside those of later ones. What retries belongs
// outside, so that each try is a call of its own. So does what makes another error of a
// status, so that Classify sees the status.
func (c *Client) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(c.UnaryClientInterceptor()),
		grpc.WithChainStreamInterceptor(c.StreamClientInterceptor()),
	}
}

// UnaryClientInterceptor returns the interceptor of calls with one request and one answer.
func (c *Client) UnaryClientInterceptor() grpc.UnaryClientInterceptor {
	c.mustExist()
	return c.unary
}

// StreamClientInterceptor returns the interceptor of streams.
func (c *Client) StreamClientInterceptor() grpc.StreamClientInterceptor {
	c.mustExist()
	return c.stream
}

// Breakers yields the breakers, which makes a Client a [breaker.Source].
func (c *Client) Breakers() iter.Seq[*breaker.Breaker] {
	c.mustExist()
	if c.breaker != nil {
		return c.breaker.Breakers()
	}
	return c.scope.Breakers()
}

func (c *Client) breakerOf(ctx context.Context, cc *grpc.ClientConn, method string) (*breaker.Breaker, error) {
	if c.breaker != nil {
		return c.breaker, nil
	}
	return c.scope.Get(c.key(ctx, cc, method))
}

func (c *Client) mustExist() {
	if c == nil || c.breaker == nil && c.scope == nil {
		panic("breakergrpc: nil or zero Client; build one with NewClient")
	}
}
