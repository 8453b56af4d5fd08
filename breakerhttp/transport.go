package breakerhttp

import (
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/normal-go/breaker"
)

// TransportOptions are the options of [NewTransport]. The zero value, and a nil pointer,
// mean one breaker for each host, at its defaults. A struct and not a list of functions,
// so that all there is to set stands in one place.
type TransportOptions struct {
	// Breaker is one breaker for all requests: for a client of one service. With it,
	// Scope and Key must be left out.
	Breaker *breaker.Breaker

	// Scope has the breakers, by the key of the request. Nil is a scope of the
	// Transport's own, of up to 1,024 breakers at their defaults, each named after its
	// key. Build one to choose settings, names or the bound.
	Scope *breaker.Scope[string]

	// Key returns the key of a request: what fails on its own. Nil is [HostKey]. It
	// must not change the request, and must be safe for concurrent use. The URL that
	// it sees is not nil. If it panics, the body of the request is closed, no breaker
	// is touched, and the panic goes up to the caller.
	Key func(*http.Request) string

	// Classify says what an exchange tells about the dependency. Nil is [Classify],
	// together with [breaker.Settings.Classify] for errors. It is called once with the
	// response to its headers, and once more with the response and an error if the body
	// breaks off; with a nil response and an error if there was no response. It must
	// not touch the body, and must be safe for concurrent use. It is not asked about
	// an error that came to a caller whose context had been cancelled: that is Canceled.
	// And a Transient for an error after the caller's own deadline, sooner than the
	// dependency normally answers, counts as Canceled. If it panics, the response is
	// closed, the attempt counts as Permanent, and the panic goes up to the caller.
	Classify func(*http.Response, error) breaker.Verdict
}

// Transport is an [http.RoundTripper] that asks a breaker before each request. Build it
// with [NewTransport]; the zero Transport panics saying so. It is safe for concurrent
// use if its base is, and must not be copied after first use.
//
// A refused request is not sent. RoundTrip then returns a [*breaker.RejectedError], after
// the pause of [breaker.Breaker.Admit]; what http.Client returns wraps it, so that
// errors.As finds it. Every request of a chain of redirects is one of its own, with the
// breaker of its own host.
//
// The latency of a request is the time to the headers of its response. So a download of
// 45 seconds that began after 20 ms is a fast call. An OK of a 2xx waits for the end of
// the body. One that breaks off is an error like any other. One that is read to its end
// is OK, and so is one that the caller closes before that. A body that is never closed
// leaves the attempt without an end: that holds no goroutine, and a probe loses its
// slot after [breaker.Settings.ProbeTimeout]. All other verdicts fall at the headers, also for
// a body that can be written to, as after a protocol upgrade, which the caller gets as
// it is.
//
// The contract of http.RoundTripper is kept: the request is not changed, and its body is
// closed on every path, by the base once it has the request. A base that breaks it is
// held to it. If it returns a response with an error, the response is closed and dropped.
// If it returns neither, that is an error, and Permanent, for it says nothing about the
// dependency. A response with a nil body passes as it is, and its status decides: http.Client
// fills in an empty one. A panic of the base counts as Permanent and goes on up.
type Transport struct {
	base     http.RoundTripper
	breaker  *breaker.Breaker       // nil if there is a scope
	scope    *breaker.Scope[string] // nil if there is one breaker
	key      func(*http.Request) string
	classify func(*http.Response, error) breaker.Verdict // nil for the default
}

var (
	_ http.RoundTripper = (*Transport)(nil)
	_ breaker.Source    = (*Transport)(nil)
)

// NewTransport puts breakers in front of base; a nil base is [http.DefaultTransport]. It
// panics on options that contradict each other: a Breaker with a Scope or a Key.
func NewTransport(base http.RoundTripper, options *TransportOptions) *Transport {
	if options == nil {
		options = &TransportOptions{}
	}
	t := &Transport{
		base:     base,
		breaker:  options.Breaker,
		scope:    options.Scope,
		key:      options.Key,
		classify: options.Classify,
	}
	if t.base == nil {
		t.base = http.DefaultTransport
	}
	if t.breaker != nil {
		if t.scope != nil || t.key != nil {
			panic("breakerhttp: TransportOptions with a Breaker, and a Scope or a Key")
		}
		return t
	}
	if t.key == nil {
		t.key = HostKey
	}
	if t.scope == nil {
		t.scope, _ = breaker.NewScope(0, func(key string) breaker.Settings { return breaker.Settings{Name: key} })
	}
	return t
}

// HostKey is the default [TransportOptions.Key]: the host and the port that the request
// connects to, in lower case, such as "api.example.com:443". The default port of http
// and https is written out, so that a URL with it and one without have one breaker. It
// is there for keys with more in them:
//
//	Key: func(r *http.Request) string {
//		return breakerhttp.HostKey(r) + " " + r.Header.Get("X-Tenant")
//	}
func HostKey(r *http.Request) string {
	host := strings.ToLower(r.URL.Host)
	if r.URL.Port() != "" {
		return host
	}
	host = strings.TrimSuffix(host, ":")
	switch r.URL.Scheme {
	case "http":
		return host + ":80"
	case "https":
		return host + ":443"
	}
	return host
}

var (
	errNilURL     = errors.New("breakerhttp: nil Request.URL")
	errNoResponse = errors.New("breakerhttp: the base transport returned neither a response nor an error")
)

// RoundTrip sends the request through the base, if its breaker admits it. Its error is
// the base's as it is, a refusal, the error of a context that was done already, or a
// [*breaker.SettingsError] if the settings of the key's breaker cannot work. A request
// without a URL is refused before any breaker is asked, because the mistake is the
// caller's.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	handedOn := false
	defer func() {
		if !handedOn && r.Body != nil {
			_ = r.Body.Close() // on a panic too
		}
	}()
	t.mustExist()
	if r.URL == nil {
		return nil, errNilURL
	}
	b, err := t.breakerOf(r)
	if err != nil {
		return nil, err
	}
	x := &exchange{request: r, breaker: b, classify: t.classify}
	if x.attempt, err = b.Admit(r.Context()); err != nil {
		return nil, err
	}
	returned := false
	defer func() {
		if !returned {
			endQuietly(&x.attempt, breaker.Permanent, 0)
		}
	}()
	handedOn = true
	x.watch = startWatch(b)
	resp, err := t.base.RoundTrip(r)
	resp, err = x.answered(resp, err)
	returned = true
	return resp, err
}

func (t *Transport) breakerOf(r *http.Request) (*breaker.Breaker, error) {
	if t.breaker != nil {
		return t.breaker, nil
	}
	return t.scope.Get(t.key(r))
}

// Breakers yields the breakers, which makes a Transport a [breaker.Source].
func (t *Transport) Breakers() iter.Seq[*breaker.Breaker] {
	t.mustExist()
	if t.breaker != nil {
		return t.breaker.Breakers()
	}
	return t.scope.Breakers()
}

// CloseIdleConnections passes the wish on to the base, if that can fulfil it. It is what
// [http.Client.CloseIdleConnections] calls.
func (t *Transport) CloseIdleConnections() {
	t.mustExist()
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// Unwrap returns the base.
func (t *Transport) Unwrap() http.RoundTripper {
	t.mustExist()
	return t.base
}

func (t *Transport) mustExist() {
	if t == nil || t.base == nil {
		panic("breakerhttp: nil or zero Transport; build one with NewTransport")
	}
}
