package breakerhttp

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/normal-go/breaker"
)

// WriteRefusal answers a request that could not be served because a breaker refused. If
// errors.As finds a [*breaker.RejectedError] in err, it writes a 503 and returns true.
// Otherwise it writes nothing and returns false.
//
//	user, err := users.Find(r.Context(), id)
//	if err != nil {
//		if !breakerhttp.WriteRefusal(w, err) {
//			http.Error(w, "internal error", http.StatusInternalServerError)
//		}
//		return
//	}
//
// Retry-After is what is left of the break, in whole seconds, rounded up: never less than
// 1, and never more than the length of the break, rounded up likewise. It is 1 where the
// break is over or has been overtaken, for then the next moment may be a better one. It
// is left out where no time will help: for an isolated breaker, which waits for an
// operator, and for a refusal that comes from no breaker.
//
// The answer does not name the breaker, for that is no client's business.
func WriteRefusal(w http.ResponseWriter, err error) bool {
	var refusal *breaker.RejectedError
	if !errors.As(err, &refusal) || refusal == nil {
		return false
	}
	if seconds := retryAfterSeconds(refusal); seconds > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
	return true
}

// retryAfterSeconds returns 0 for no Retry-After.
func retryAfterSeconds(refusal *breaker.RejectedError) int64 {
	switch refusal.State {
	case breaker.Open, breaker.HalfOpen, breaker.Recovering:
		left, _ := refusal.RetryAfter()
		seconds := int64(left / time.Second)
		if left%time.Second > 0 {
			seconds++
		}
		return max(1, seconds)
	}
	return 0
}

// HandlerFunc is an [http.Handler] that may return an error. ServeHTTP answers a refusal
// as [WriteRefusal] does, and any other error with a plain 500 that does not say what it
// was: a handler with more to say says it, and returns nil. An error that comes when the
// answer has begun breaks the connection off, by a panic with [http.ErrAbortHandler],
// because an answer cut short must not look whole.
type HandlerFunc func(http.ResponseWriter, *http.Request) error

// ServeHTTP calls f.
func (f HandlerFunc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	watched := &responseWriter{ResponseWriter: w}
	err := f(watched.asRich(), r)
	switch {
	case err == nil:
	case watched.status != 0:
		panic(http.ErrAbortHandler)
	case !WriteRefusal(w, err):
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
	}
}
