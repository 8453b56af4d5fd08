package breakerhttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

var errBroken = errors.New("broken")

// handClock moves when a test moves it. A pause on it is over at once, and counted.
type handClock struct {
	mu     sync.Mutex
	now    time.Time
	pauses int
}

func newHandClock() *handClock {
	return &handClock{now: time.Date(2026, 3, 2, 3, 4, 5, 0, time.UTC)}
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) After(time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses++
	over := make(chan time.Time)
	close(over)
	return over
}

func (c *handClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *handClock) paused() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pauses
}

// onClock builds a breaker on a clock, without jitter.
func onClock(t *testing.T, clock *handClock, s breaker.Settings) *breaker.Breaker {
	t.Helper()
	s.Clock, s.BreakJitter = clock, breaker.JitterNone
	b, err := breaker.New(s)
	require.NoError(t, err)
	return b
}

func newBreaker(t *testing.T) *breaker.Breaker {
	t.Helper()
	return onClock(t, newHandClock(), breaker.Settings{Name: "one"})
}

// through returns a client whose requests go through one breaker, over base.
func through(b *breaker.Breaker, base http.RoundTripper) *http.Client {
	return &http.Client{Transport: breakerhttp.NewTransport(base, &breakerhttp.TransportOptions{Breaker: b})}
}

// serve starts a server, and returns it with a transport to it of its own.
func serve(t *testing.T, handler http.HandlerFunc) (*httptest.Server, *http.Transport) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	return server, base
}

// serveHTTP2 does the same for a server that speaks HTTP/2.
func serveHTTP2(t *testing.T, handler http.HandlerFunc) (*httptest.Server, *http.Transport) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, server.Client().Transport.(*http.Transport)
}

// answering is a base that answers without a network.
type answering func(*http.Request) (*http.Response, error)

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func response(r *http.Request, status int, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: body, ContentLength: -1, Request: r,
	}
}

// body is one that knows whether it was closed.
type body struct {
	io.Reader
	closed atomic.Int32
}

func textBody(text string) *body { return &body{Reader: strings.NewReader(text)} }

func (b *body) Close() error {
	b.closed.Add(1)
	return nil
}

// brokenAfter reads a text and then fails.
func brokenAfter(text string, err error) io.Reader {
	return io.MultiReader(strings.NewReader(text), failing{err})
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func request(t *testing.T, ctx context.Context, url string, body io.Reader) *http.Request {
	t.Helper()
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	require.NoError(t, err)
	return r
}

// outcomes are the totals that tests ask about.
type outcomes struct{ ok, transient, throttled, permanent, canceled uint64 }

func outcomesOf(b *breaker.Breaker) outcomes {
	t := b.Snapshot().Totals
	return outcomes{t.OK, t.Transient, t.Throttled, t.Permanent, t.Canceled}
}

func oneOf(v breaker.Verdict) (o outcomes) {
	switch v {
	case breaker.OK:
		o.ok = 1
	case breaker.Transient:
		o.transient = 1
	case breaker.Throttled:
		o.throttled = 1
	case breaker.Permanent:
		o.permanent = 1
	case breaker.Canceled:
		o.canceled = 1
	}
	return o
}

// get fetches a URL to the end of its body.
func get(client *http.Client, url string) (status int, text string, err error) {
	resp, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(read), err
}
