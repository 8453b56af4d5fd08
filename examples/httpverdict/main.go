// Httpverdict makes an HTTP call through a breaker, with verdicts from the status
// code: a 500 is a failure, a 429 is a server that defends itself, a 404 is an answer,
// and a 400 is the caller's own mistake. Only the first speaks against the server.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"

	"github.com/normal-go/breaker"
)

// get fetches a URL through a breaker.
func get(ctx context.Context, b *breaker.Breaker, url string) ([]byte, error) {
	return breaker.Call(ctx, b, func(ctx context.Context) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, breaker.WithVerdict(err, breaker.Permanent) // nothing was sent
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err // no answer: Transient, or Canceled if it was the caller who left
		}
		defer response.Body.Close()
		if response.StatusCode >= 400 {
			return nil, breaker.WithVerdict(statusError(response.StatusCode), verdict(response))
		}
		return io.ReadAll(response.Body) // within the call: a body that breaks off is a failure
	})
}

// verdict says what a status tells about the server.
func verdict(r *http.Response) breaker.Verdict {
	switch {
	case r.StatusCode == http.StatusTooManyRequests,
		r.StatusCode == http.StatusServiceUnavailable && r.Header.Get("Retry-After") != "":
		return breaker.Throttled
	case r.StatusCode >= 500:
		return breaker.Transient
	case r.StatusCode == http.StatusNotFound, r.StatusCode == http.StatusGone:
		return breaker.OK // an answer like any other, and how long it took is evidence
	case r.StatusCode >= 400:
		return breaker.Permanent
	}
	return breaker.OK
}

type statusError int

func (e statusError) Error() string { return strconv.Itoa(int(e)) + " " + http.StatusText(int(e)) }

func main() {
	// A server that answers with the status that its path asks for.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.URL.Path[1:])
		w.WriteHeader(status)
	}))
	defer server.Close()

	b := breaker.MustNew(breaker.Settings{Name: "api"})
	for _, status := range []string{"200", "404", "429", "400", "500"} {
		for range 5 { // in a row: enough to open the breaker if it were a failure
			_, err := get(context.Background(), b, server.URL+"/"+status)
			if errors.Is(err, breaker.ErrRejected) {
				break
			}
		}
		fmt.Printf("five times %s: %v\n", status, b.State())
	}
	t := b.Snapshot().Totals
	fmt.Printf("ok %d, throttled %d, permanent %d, transient %d\n", t.OK, t.Throttled, t.Permanent, t.Transient)
}
