package breakerhttp

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/normal-go/breaker"
)

// exchange is an admitted request with its response, and the body of that while the
// verdict waits for its end. It has an io.ReadCloser and nothing else of the base's body:
// a body with more to it, one that can be written to, is not wrapped.
type exchange struct {
	body     io.ReadCloser
	request  *http.Request
	response *http.Response
	breaker  *breaker.Breaker
	classify func(*http.Response, error) breaker.Verdict // nil for the default
	watch    watch
	latency  time.Duration // to the headers

	// An attempt belongs to one goroutine, but a body may be closed while it is read.
	// Whoever sets ended has the attempt.
	ended   atomic.Bool
	attempt breaker.Attempt
}

// answered takes what the base returned, and returns what the caller gets.
func (x *exchange) answered(resp *http.Response, err error) (*http.Response, error) {
	kept := false
	defer func() {
		if !kept && resp != nil && resp.Body != nil {
			_ = resp.Body.Close() // there is an error as well, or a panic goes up
		}
	}()
	if err != nil {
		x.fail(err)
		return nil, err
	}
	if resp == nil {
		x.attempt.Record(breaker.Permanent, 0)
		return nil, errNoResponse
	}
	x.latency = x.watch.elapsed()
	verdict := x.judge(resp)
	if verdict == breaker.OK && x.waitsForBody(resp) {
		x.body, x.response, resp.Body = resp.Body, resp, x
	} else {
		x.attempt.Record(verdict, x.latency)
	}
	kept = true
	return resp, nil
}

func (x *exchange) judge(resp *http.Response) breaker.Verdict {
	if x.classify != nil {
		return x.classify(resp, nil)
	}
	return Classify(resp, nil)
}

// waitsForBody reports that there is a body whose end may still turn an OK. That of a
// response to HEAD and of a 204 has none, whoever made it. And a connection is no body: one
// can write to it.
func (x *exchange) waitsForBody(resp *http.Response) bool {
	switch {
	case resp.StatusCode/100 != 2, resp.StatusCode == http.StatusNoContent,
		resp.Body == nil, resp.Body == http.NoBody, x.request.Method == http.MethodHead:
		return false
	}
	_, connection := resp.Body.(io.Writer)
	return !connection
}

// Read reads the base's body, and ends the attempt at its end.
func (x *exchange) Read(p []byte) (int, error) {
	n, err := x.body.Read(p)
	if err != nil && !x.ended.Swap(true) {
		if err == io.EOF {
			x.attempt.Record(breaker.OK, x.latency)
		} else {
			x.fail(err)
		}
	}
	return n, err
}

// Close closes the base's body. The attempt ends first, because a Read under way will
// fail for no fault of the dependency's.
func (x *exchange) Close() (err error) {
	defer func() { err = x.body.Close() }() // also if the breaker's listener panics
	if !x.ended.Swap(true) {
		x.attempt.Record(breaker.OK, x.latency)
	}
	return nil
}

// fail ends the attempt by an error. The time that counts is all that has passed: a
// deadline that ended a body gave the dependency more than the time to the headers.
func (x *exchange) fail(err error) {
	defer endQuietly(&x.attempt, breaker.Permanent, 0) // a no-op unless Classify panics
	took := x.watch.elapsed()
	end := callersEnd(x.request)
	switch {
	case end == context.Canceled:
		// An aborted request fails in many ways, of which few name the cause.
		x.attempt.Record(breaker.Canceled, took)
	case x.classify != nil:
		verdict := x.classify(x.response, err)
		if verdict == breaker.Transient && end == context.DeadlineExceeded && x.hurried(took) {
			verdict = breaker.Canceled
		}
		x.attempt.Record(verdict, took)
	case end == context.DeadlineExceeded && x.request.Context().Err() == nil && x.hurried(took):
		x.attempt.Record(breaker.Canceled, took) // as DoneAfter would say a moment later
	default:
		x.attempt.DoneAfter(err, took)
	}
}

// hurried reports that the time was less than the dependency normally takes.
func (x *exchange) hurried(took time.Duration) bool {
	normal, known := x.breaker.NormalLatency()
	return known && took < normal
}

// callersEnd returns how the caller ended the request, or nil: context.Canceled or
// context.DeadlineExceeded. The Timeout of http.Client ends it in two ways at once, by
// the context and by the old channel, of which either may be first; and a connection with
// the deadline of the context may be ahead of both.
func callersEnd(r *http.Request) error {
	ctx := r.Context()
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	select {
	//lint:ignore SA1019 http.Client still uses it
	case <-r.Cancel:
		return context.Canceled
	default:
		return nil
	}
}

// endQuietly ends an attempt while a panic or runtime.Goexit goes up, and does nothing to
// one that has ended. The panic goes on unchanged, also if the breaker's listener panics
// here.
func endQuietly(attempt *breaker.Attempt, v breaker.Verdict, d time.Duration) {
	defer func() { _ = recover() }()
	attempt.Record(v, d)
}

// watch measures on the clock of a breaker, which may be a test's.
type watch struct {
	clock breaker.Clock
	start time.Time
}

func startWatch(b *breaker.Breaker) watch {
	w := watch{clock: b.Settings().Clock}
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
