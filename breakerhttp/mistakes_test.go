package breakerhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

func answerOK(r *http.Request) (*http.Response, error) { return response(r, 200, http.NoBody), nil }

// posting is a request with a body that knows whether it was closed.
func posting(t *testing.T) (*http.Request, *body) {
	t.Helper()
	sending := textBody("text")
	r := request(t, bg, "http://a.example/", sending)
	return r, sending
}

// On every path on which the base is not asked, the body of the request is closed, once.
func TestBodyIsClosedOnEveryPath(t *testing.T) {
	isolated := breaker.MustNew(breaker.Settings{Clock: newHandClock()})
	isolated.Isolate()
	bad, err := breaker.NewScope(0, func(string) breaker.Settings { return breaker.Settings{BreakDuration: -1} })
	require.NoError(t, err)
	panics, err := breaker.NewScope(0, func(string) breaker.Settings { panic("settings") })
	require.NoError(t, err)
	listener := breaker.MustNew(breaker.Settings{OnTransition: func(context.Context, breaker.Transition) { panic("listener") }})
	openUp(t, listener)

	var settingsError *breaker.SettingsError
	for name, test := range map[string]struct {
		options breakerhttp.TransportOptions
		spoil   func(*http.Request)
		panics  any
		check   func(error)
	}{
		"a nil URL": {
			options: breakerhttp.TransportOptions{Key: func(*http.Request) string { panic("asked") }},
			spoil:   func(r *http.Request) { r.URL = nil },
			check:   func(err error) { require.EqualError(t, err, "breakerhttp: nil Request.URL") },
		},
		"a refusal": {
			options: breakerhttp.TransportOptions{Breaker: isolated},
			check:   func(err error) { require.ErrorIs(t, err, breaker.ErrRejected) },
		},
		"settings that cannot work": {
			options: breakerhttp.TransportOptions{Scope: bad},
			check:   func(err error) { require.ErrorAs(t, err, &settingsError) },
		},
		"a key that panics": {
			options: breakerhttp.TransportOptions{Key: func(*http.Request) string { panic("key") }},
			panics:  "key",
		},
		"settings that panic": {
			options: breakerhttp.TransportOptions{Scope: panics},
			panics:  "settings",
		},
		"a listener that panics": {
			options: breakerhttp.TransportOptions{Breaker: listener},
			panics:  "listener",
		},
	} {
		t.Run(name, func(t *testing.T) {
			transport := breakerhttp.NewTransport(answering(func(*http.Request) (*http.Response, error) {
				t.Error("sent")
				return nil, errBroken
			}), &test.options)
			r, sending := posting(t)
			if test.spoil != nil {
				test.spoil(r)
			}
			if test.panics != nil {
				require.PanicsWithValue(t, test.panics, func() { _, _ = transport.RoundTrip(r) })
			} else {
				resp, err := transport.RoundTrip(r)
				require.Nil(t, resp)
				test.check(err)
			}
			require.EqualValues(t, 1, sending.closed.Load())
		})
	}
}

// openUp opens a breaker whose listener may panic, and lets its break be over.
func openUp(t *testing.T, b *breaker.Breaker) {
	t.Helper()
	for range 5 {
		func() {
			defer func() { _ = recover() }()
			attempt, err := b.TryAdmit(bg)
			require.NoError(t, err)
			attempt.Record(breaker.Transient, 0)
		}()
	}
	b.ProbeNow()
	require.Equal(t, breaker.HalfOpen, b.State())
}

// A nil URL touches no breaker, also where there is one for all.
func TestNilURLIsNoEvidence(t *testing.T) {
	b := newBreaker(t)
	_, err := through(b, answering(answerOK)).Transport.RoundTrip(&http.Request{Method: http.MethodGet})
	require.EqualError(t, err, "breakerhttp: nil Request.URL")
	require.Zero(t, b.Snapshot().Totals.Admitted)

	_, err = (&http.Client{Transport: breakerhttp.NewTransport(nil, nil)}).Do(&http.Request{})
	require.Error(t, err)
}

func TestBaseThatBreaksItsContract(t *testing.T) {
	t.Run("neither a response nor an error", func(t *testing.T) {
		b := newBreaker(t)
		resp, err := through(b, answering(func(*http.Request) (*http.Response, error) { return nil, nil })).Get("http://a.example/")
		require.Nil(t, resp)
		require.ErrorContains(t, err, "neither a response nor an error")
		require.Equal(t, outcomes{permanent: 1}, outcomesOf(b))
	})
	t.Run("both", func(t *testing.T) {
		b := newBreaker(t)
		sent := textBody("text")
		resp, err := through(b, answering(func(r *http.Request) (*http.Response, error) {
			return response(r, 200, sent), errBroken
		})).Transport.RoundTrip(request(t, bg, "http://a.example/", nil))
		require.Nil(t, resp)
		require.ErrorIs(t, err, errBroken)
		require.EqualValues(t, 1, sent.closed.Load())
		require.Equal(t, outcomes{transient: 1}, outcomesOf(b))
	})
	t.Run("a nil body", func(t *testing.T) {
		b := newBreaker(t)
		client := through(b, answering(func(r *http.Request) (*http.Response, error) { return response(r, 200, nil), nil }))
		resp, err := client.Transport.RoundTrip(request(t, bg, "http://a.example/", nil))
		require.NoError(t, err)
		require.Nil(t, resp.Body)
		require.Equal(t, outcomes{ok: 1}, outcomesOf(b))
		_, text, err := get(client, "http://a.example/")
		require.NoError(t, err)
		require.Empty(t, text)
		require.Equal(t, outcomes{ok: 2}, outcomesOf(b))
	})
	t.Run("a panic", func(t *testing.T) {
		b := newBreaker(t)
		client := through(b, answering(func(*http.Request) (*http.Response, error) { panic("base") }))
		require.PanicsWithValue(t, "base", func() { _, _ = client.Get("http://a.example/") })
		require.Equal(t, outcomes{permanent: 1}, outcomesOf(b))
	})
	t.Run("Goexit", func(t *testing.T) {
		b := newBreaker(t)
		client := through(b, answering(func(*http.Request) (*http.Response, error) {
			runtime.Goexit()
			return nil, nil
		}))
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = client.Get("http://a.example/")
		}()
		<-done
		require.Equal(t, outcomes{permanent: 1}, outcomesOf(b))
	})
}

// A classifier that panics leaks neither the response nor the attempt.
func TestClassifyThatPanics(t *testing.T) {
	for at, test := range map[string]struct {
		base   func(*http.Request, *body) (*http.Response, error)
		closed int32
	}{
		"headers": {func(r *http.Request, sent *body) (*http.Response, error) { return response(r, 200, sent), nil }, 1},
		"error":   {func(*http.Request, *body) (*http.Response, error) { return nil, errBroken }, 0},
	} {
		b, sent := newBreaker(t), textBody("text")
		transport := breakerhttp.NewTransport(answering(func(r *http.Request) (*http.Response, error) { return test.base(r, sent) }),
			&breakerhttp.TransportOptions{Breaker: b, Classify: func(*http.Response, error) breaker.Verdict { panic("classify") }})
		require.PanicsWithValue(t, "classify", func() { _, _ = transport.RoundTrip(request(t, bg, "http://a.example/", nil)) }, at)
		require.Equal(t, test.closed, sent.closed.Load(), at)
		require.Equal(t, outcomes{permanent: 1}, outcomesOf(b), at)
	}

	b := newBreaker(t)
	transport := breakerhttp.NewTransport(answering(func(r *http.Request) (*http.Response, error) {
		return response(r, 200, &body{Reader: failing{errBroken}}), nil
	}), &breakerhttp.TransportOptions{Breaker: b, Classify: func(_ *http.Response, err error) breaker.Verdict {
		if err != nil {
			panic("classify")
		}
		return breaker.OK
	}})
	resp, err := transport.RoundTrip(request(t, bg, "http://a.example/", nil))
	require.NoError(t, err)
	require.PanicsWithValue(t, "classify", func() { _ = readAll(resp) })
	require.NoError(t, resp.Body.Close())
	require.Equal(t, outcomes{permanent: 1}, outcomesOf(b))
}

// A listener that panics when the attempt ends leaks no response.
func TestListenerThatPanicsAtTheEnd(t *testing.T) {
	for name, base := range map[string]func(*http.Request, *body) *http.Response{
		"headers": func(r *http.Request, sent *body) *http.Response { return response(r, 500, sent) },
		"close":   func(r *http.Request, sent *body) *http.Response { return response(r, 200, sent) },
	} {
		quiet := true
		b := onClock(t, newHandClock(), breaker.Settings{ProbeSuccesses: 1, OnTransition: func(context.Context, breaker.Transition) {
			if !quiet {
				panic("listener")
			}
		}})
		openUp(t, b)
		sent := textBody("text")
		client := through(b, answering(func(r *http.Request) (*http.Response, error) {
			quiet = false // the probe was admitted
			return base(r, sent), nil
		}))
		require.PanicsWithValue(t, "listener", func() {
			resp, err := client.Transport.RoundTrip(request(t, bg, "http://a.example/", nil))
			require.NoError(t, err)
			_ = resp.Body.Close()
		}, name)
		require.EqualValues(t, 1, sent.closed.Load(), name)
	}
}

func TestOptionsThatContradict(t *testing.T) {
	scope, err := breaker.NewScope(0, func(string) breaker.Settings { return breaker.Settings{} })
	require.NoError(t, err)
	b := newBreaker(t)
	for _, options := range []breakerhttp.TransportOptions{
		{Breaker: b, Scope: scope},
		{Breaker: b, Key: breakerhttp.HostKey},
	} {
		require.PanicsWithValue(t, "breakerhttp: TransportOptions with a Breaker, and a Scope or a Key",
			func() { breakerhttp.NewTransport(nil, &options) })
	}
}

func TestZeroTransportPanics(t *testing.T) {
	for _, transport := range []*breakerhttp.Transport{nil, {}} {
		for _, do := range []func(){
			func() { _, _ = transport.RoundTrip(request(t, bg, "http://a.example/", nil)) },
			func() { transport.CloseIdleConnections() },
			func() { transport.Unwrap() },
			func() { transport.Breakers() },
		} {
			require.PanicsWithValue(t, "breakerhttp: nil or zero Transport; build one with NewTransport", do)
		}
	}
}

// A million hosts come to no more breakers than the scope may hold, and do not push out the
// one that is open.
func TestAMillionHosts(t *testing.T) {
	hosts := 1_000_000
	if underRace { // which is ten times slower, and learns nothing from the rest
		hosts = 50_000
	}
	clock := newHandClock()
	scope, err := breaker.NewScope(100, func(key string) breaker.Settings {
		return breaker.Settings{Name: key, DisableAdaptive: true, Clock: clock, BreakJitter: breaker.JitterNone}
	})
	require.NoError(t, err)
	transport := breakerhttp.NewTransport(answering(func(r *http.Request) (*http.Response, error) {
		if strings.HasPrefix(r.URL.Host, "down") {
			return nil, errBroken
		}
		return answerOK(r)
	}), &breakerhttp.TransportOptions{Scope: scope})
	send := func(host string) error {
		_, err := transport.RoundTrip(&http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "https", Host: host}})
		return err
	}
	for range 5 {
		require.ErrorIs(t, send("down.example"), errBroken)
	}
	for i := range hosts {
		if err := send(fmt.Sprintf("h%d.example", i)); err != nil {
			t.Fatal(err)
		}
	}
	require.Equal(t, 100, scope.Len())
	require.ErrorIs(t, send("down.example"), breaker.ErrRejected)

	standard := breakerhttp.NewTransport(answering(answerOK), nil)
	for i := range 2000 {
		_, err := standard.RoundTrip(&http.Request{URL: &url.URL{Scheme: "https", Host: fmt.Sprintf("h%d.example", i)}})
		require.NoError(t, err)
	}
	require.Len(t, names(standard), 1024)
}
