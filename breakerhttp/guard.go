package breakerhttp

import (
	"context"
	"net/http"
	"time"

	"github.com/normal-go/breaker"
)

// Guard puts a breaker in front of a handler of one's own: for one that fails under load
// or with what it depends on, and does better after a rest. A refusal is answered at once,
// as [WriteRefusal] does, and next does not run. Guard panics if b or next is nil.
//
// What next answers with is its verdict, as in [Classify], so that a 503 with a Retry-After
// is Throttled: next refuses by itself. The one exception is 408, which here is the
// client's slowness, and Permanent. A panic of next is Transient, because to the client it
// is a failure; so is [http.ErrAbortHandler], which breaks an answer off. It goes on up
// unchanged. Whatever next did, it is Canceled if the client has gone: if the context of the
// request has been cancelled. A deadline of that context is the server's own, and the status
// decides.
//
// The latency is the time until the answer begins, so that a client who reads slowly does
// not make a handler slow; or until next returns, if it wrote nothing.
//
// The http.ResponseWriter that next gets is an http.Flusher and an http.Hijacker if the
// server's is, and http.ResponseController finds all that it looks for. An http.Pusher it
// is not.
func Guard(b *breaker.Breaker, next http.Handler) http.Handler {
	if b == nil || next == nil {
		panic("breakerhttp: Guard with a nil breaker or a nil handler")
	}
	return &guard{b, next}
}

type guard struct {
	breaker *breaker.Breaker
	next    http.Handler
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	attempt, err := g.breaker.TryAdmit(r.Context())
	if err != nil {
		if !WriteRefusal(w, err) { // the client has gone, or there is no time left
			http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
		}
		return
	}
	watch := startWatch(g.breaker)
	var latency time.Duration
	watched := &responseWriter{ResponseWriter: w, began: func() { latency = watch.elapsed() }}
	ended := false
	defer func() {
		if !ended { // by a panic, or runtime.Goexit
			watched.begin(http.StatusInternalServerError)
			endQuietly(&attempt, unlessGone(r, breaker.Transient), latency)
		}
	}()
	g.next.ServeHTTP(watched.asRich(), r)
	watched.begin(http.StatusOK) // what the server makes of silence
	ended = true
	attempt.Record(unlessGone(r, answerVerdict(watched)), latency)
}

// unlessGone returns the verdict, or Canceled if the client has gone.
func unlessGone(r *http.Request, v breaker.Verdict) breaker.Verdict {
	if r.Context().Err() == context.Canceled {
		return breaker.Canceled
	}
	return v
}

func answerVerdict(w *responseWriter) breaker.Verdict {
	if w.status == http.StatusRequestTimeout {
		return breaker.Permanent
	}
	return statusVerdict(w.status, w.Header())
}
