package breakerhttp_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

func TestHostKey(t *testing.T) {
	for raw, want := range map[string]string{
		"http://api.example.com/path":        "api.example.com:80",
		"https://api.example.com":            "api.example.com:443",
		"https://API.Example.COM:443/":       "api.example.com:443",
		"https://api.example.com:8443":       "api.example.com:8443",
		"http://api.example.com:":            "api.example.com:80",
		"http://user:secret@api.example.com": "api.example.com:80",
		"http://[::1]":                       "[::1]:80",
		"https://[FE80::1]:8080":             "[fe80::1]:8080",
		"unix://socket":                      "socket",
		"http:///nowhere":                    ":80",
		"http://BÜCHER.example":              "bücher.example:80",
	} {
		u, err := url.Parse(raw)
		require.NoError(t, err)
		require.Equal(t, want, breakerhttp.HostKey(&http.Request{URL: u}), raw)
	}
}

// names returns the names of the breakers of a source, sorted.
func names(source breaker.Source) (names []string) {
	for b := range source.Breakers() {
		names = append(names, b.Name())
	}
	slices.Sort(names)
	return names
}

func TestOneBreakerPerHost(t *testing.T) {
	base := answering(func(r *http.Request) (*http.Response, error) {
		if r.URL.Hostname() == "down.example" {
			return nil, errBroken
		}
		return response(r, 200, http.NoBody), nil
	})
	transport := breakerhttp.NewTransport(base, nil)
	client := &http.Client{Transport: transport}
	for range 5 {
		_, _, err := get(client, "https://down.example/a")
		require.ErrorIs(t, err, errBroken)
		_, _, err = get(client, "https://up.example/a")
		require.NoError(t, err)
	}
	_, _, err := get(client, "https://DOWN.example:443/b")
	require.ErrorIs(t, err, breaker.ErrRejected)
	_, _, err = get(client, "http://down.example/a")
	require.ErrorIs(t, err, errBroken, "another port is another server")
	_, _, err = get(client, "https://up.example/b")
	require.NoError(t, err)
	require.Equal(t, []string{"down.example:443", "down.example:80", "up.example:443"}, names(transport))
}

func TestBreakersByKeyAndScope(t *testing.T) {
	base := answering(func(r *http.Request) (*http.Response, error) { return response(r, 200, http.NoBody), nil })
	tenant := func(r *http.Request) string { return r.Header.Get("X-Tenant") }
	scope, err := breaker.NewScope(2, func(key string) breaker.Settings { return breaker.Settings{Name: "api/" + key} })
	require.NoError(t, err)
	b := breaker.MustNew(breaker.Settings{Name: "one"})
	for name, test := range map[string]struct {
		options *breakerhttp.TransportOptions
		want    []string
	}{
		"neither":         {nil, []string{"a.example:80", "b.example:80"}},
		"a key":           {&breakerhttp.TransportOptions{Key: tenant}, []string{"acme"}},
		"a scope":         {&breakerhttp.TransportOptions{Scope: scope}, []string{"api/a.example:80", "api/b.example:80"}},
		"a key and scope": {&breakerhttp.TransportOptions{Scope: scope, Key: tenant}, []string{"api/acme"}},
		"one breaker":     {&breakerhttp.TransportOptions{Breaker: b}, []string{"one"}},
	} {
		transport := breakerhttp.NewTransport(base, test.options)
		for _, u := range []string{"http://a.example/", "http://b.example/"} {
			r := request(t, bg, u, nil)
			r.Header.Set("X-Tenant", "acme")
			_, err := transport.RoundTrip(r)
			require.NoError(t, err)
		}
		require.Equal(t, test.want, names(transport), name)
		for key := range scope.All() {
			scope.Delete(key)
		}
	}
}

// A refusal is an error in which errors.As finds it, after one pause, and nothing is sent.
func TestRefusal(t *testing.T) {
	clock := newHandClock()
	b := onClock(t, clock, breaker.Settings{Name: "api"})
	sent := 0
	client := through(b, answering(func(*http.Request) (*http.Response, error) {
		sent++
		return nil, errBroken
	}))
	for range 5 {
		_, err := client.Get("http://a.example/")
		require.ErrorIs(t, err, errBroken)
	}
	require.Zero(t, clock.paused())

	clock.move(5 * time.Second)
	sending := textBody("text")
	resp, err := client.Post("http://a.example/", "text/plain", sending)
	require.Nil(t, resp)
	var refusal *breaker.RejectedError
	require.True(t, errors.As(err, &refusal))
	require.Equal(t, "api", refusal.Name)
	left, known := refusal.RetryAfter()
	require.True(t, known)
	require.Equal(t, 10*time.Second, left)
	require.Equal(t, 5, sent)
	require.Equal(t, 1, clock.paused())
	require.Positive(t, sending.closed.Load())
}

// Each hop of a chain of redirects is judged by itself, by the breaker of its own host.
func TestRedirectsOverTwoHosts(t *testing.T) {
	target, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) })
	first, base := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target.URL, http.StatusFound) })
	scope, err := breaker.NewScope(0, func(key string) breaker.Settings {
		return breaker.Settings{Name: key, Clock: newHandClock()}
	})
	require.NoError(t, err)
	client := &http.Client{Transport: breakerhttp.NewTransport(base, &breakerhttp.TransportOptions{Scope: scope})}
	for range 5 {
		status, _, err := get(client, first.URL)
		require.NoError(t, err)
		require.Equal(t, 500, status)
	}
	_, _, err = get(client, first.URL)
	require.ErrorIs(t, err, breaker.ErrRejected)
	require.Equal(t, outcomes{ok: 6}, outcomesOf(scope.For(first.Listener.Addr().String())))
	require.Equal(t, outcomes{transient: 5}, outcomesOf(scope.For(target.Listener.Addr().String())))
	require.Equal(t, breaker.Open, scope.For(target.Listener.Addr().String()).State())
}

func TestServerThatDiesAndComesBack(t *testing.T) {
	clock := newHandClock()
	b := onClock(t, clock, breaker.Settings{Name: "api"})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "well") })
	server, base := serve(t, handler)
	client := through(b, base)
	well := func(url string) {
		t.Helper()
		_, text, err := get(client, url)
		require.NoError(t, err)
		require.Equal(t, "well", text)
	}
	well(server.URL)

	addr, url := server.Listener.Addr().String(), server.URL
	server.Close()
	for range 5 {
		_, _, err := get(client, url)
		require.Error(t, err)
		require.NotErrorIs(t, err, breaker.ErrRejected)
	}
	_, _, err := get(client, url)
	require.ErrorIs(t, err, breaker.ErrRejected)
	clock.move(15 * time.Second)
	_, _, err = get(client, url) // a probe
	require.NotErrorIs(t, err, breaker.ErrRejected)
	require.Equal(t, breaker.Open, b.State())

	listener, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	again := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	again.Start()
	defer again.Close()
	_, _, err = get(client, url)
	require.ErrorIs(t, err, breaker.ErrRejected)
	clock.move(30 * time.Second)
	well(url)
	require.Equal(t, breaker.HalfOpen, b.State())
	well(url)
	require.Equal(t, breaker.Closed, b.State())
}

// Latency is the time to the headers.
func TestSlowHeadersAreSlow(t *testing.T) {
	clock := newHandClock()
	b := onClock(t, clock, breaker.Settings{SlowCallThreshold: time.Second})
	server, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			clock.move(time.Second)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	client := through(b, base)
	for path, want := range map[string]uint64{"/": 0, "/slow": 1} {
		before := b.Snapshot().Totals.Slow
		_, _, err := get(client, server.URL+path)
		require.NoError(t, err)
		require.Equal(t, want, b.Snapshot().Totals.Slow-before, path)
	}
}

func TestLongDownloadThatBeganSoonIsFast(t *testing.T) {
	clock := newHandClock()
	b := onClock(t, clock, breaker.Settings{SlowCallThreshold: time.Second, SlowCalls: breaker.SlowCalls{MinimumSamples: 1}})
	goOn := make(chan struct{})
	server, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		clock.move(20 * time.Millisecond)
		_, _ = io.WriteString(w, "first")
		w.(http.Flusher).Flush()
		<-goOn
		_, _ = io.WriteString(w, " last")
	})
	resp, err := through(b, base).Get(server.URL)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Zero(t, outcomesOf(b), "the verdict waits for the body")
	clock.move(45 * time.Second)
	close(goOn)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "first last", string(text))
	s := b.Snapshot()
	require.Equal(t, outcomes{ok: 1}, outcomesOf(b))
	require.Zero(t, s.Totals.Slow)
	require.InDelta(t, 20*time.Millisecond, s.NormalLatency, float64(3*time.Millisecond))
}

func TestCloseIdleConnectionsAndUnwrap(t *testing.T) {
	base := &idler{}
	client := through(newBreaker(t), base)
	client.CloseIdleConnections()
	require.Equal(t, 1, base.closed)
	require.Same(t, base, client.Transport.(*breakerhttp.Transport).Unwrap())

	breakerhttp.NewTransport(answering(nil), nil).CloseIdleConnections() // which cannot
	require.Same(t, http.DefaultTransport, breakerhttp.NewTransport(nil, nil).Unwrap())
}

type idler struct {
	answering
	closed int
}

func (i *idler) CloseIdleConnections() { i.closed++ }

// Many callers at once: every request has one outcome.
func TestTransportConcurrentSafe(t *testing.T) {
	server, base := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "text") })
	transport := breakerhttp.NewTransport(base, nil)
	client := &http.Client{Transport: transport}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 25 {
				if _, _, err := get(client, server.URL); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for b := range transport.Breakers() {
		require.Equal(t, outcomes{ok: 200}, outcomesOf(b))
	}
	require.Len(t, names(transport), 1)
}
