// Package breakerhttp puts circuit breakers where Go services speak HTTP: in front of
// what they call, in front of their own handlers, and on a health endpoint.
//
// # What a service calls
//
// A [Transport] is an [http.RoundTripper] with a breaker for each host:
//
//	client := &http.Client{Transport: breakerhttp.NewTransport(nil, nil)}
//	resp, err := client.Get("https://api.example.com/v1/users")
//	var refusal *breaker.RejectedError
//	if errors.As(err, &refusal) {
//		// the request was not sent
//	}
//
// A response is never turned into an error, whatever its status. The status, and
// whether the body arrives whole, only decide what the breaker learns; see [Classify].
//
// # What a service serves
//
// [Guard] puts a breaker in front of a handler, and [WriteRefusal] answers a request
// that could not be served because a call inside was refused: with a 503 and a
// Retry-After. That pair is what a Transport takes for Throttled, so a service that
// refuses because of what it depends on opens no breaker in the services before it.
//
// # What a service tells
//
// [HealthHandler] reports on all breakers of a [breaker.Source] as JSON. An open
// breaker is no reason to restart the process, so it answers 200 all the same.
//
// # Concurrency
//
// All of it is safe for concurrent use. The package starts no goroutine for a request,
// and holds no lock while one is under way. It needs the standard library alone.
package breakerhttp
