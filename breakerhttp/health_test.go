package breakerhttp_test

import (
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

func record(t *testing.T, b *breaker.Breaker, times int, v breaker.Verdict, d time.Duration) {
	t.Helper()
	for range times {
		attempt, err := b.TryAdmit(bg)
		require.NoError(t, err)
		attempt.Record(v, d)
	}
}

// What is reported through the life of a breaker, by the clock.
func TestHealthThroughATrouble(t *testing.T) {
	clock := newHandClock()
	b := onClock(t, clock, breaker.Settings{Name: "db", ConsecutiveFailures: 5, Recovery: breaker.RecoveryOver(0.25)})
	handler := breakerhttp.HealthHandler(b, nil)
	start := clock.Now()
	for _, step := range []struct {
		at     time.Duration
		do     func()
		status string
		want   string
	}{
		{0, func() {}, "ok", `"state":"closed"`},
		{
			time.Second, func() { record(t, b, 99, breaker.OK, 10*time.Millisecond); record(t, b, 1, breaker.Transient, 0) },
			"ok", `"state":"closed","normal_latency_seconds":0.01024,"normal_failure_rate":0.01`,
		},
		{
			10 * time.Second, func() { record(t, b, 4, breaker.Transient, 0); b.Isolate() },
			"degraded", `"state":"isolated","since":"2026-03-02T03:04:15Z","cause":"isolated","opened_at":"2026-03-02T03:04:15Z",` + normal,
		},
		{
			11 * time.Second, b.Reset,
			"ok", `"state":"closed","since":"2026-03-02T03:04:16Z","cause":"reset",` + normal,
		},
		{
			20 * time.Second, func() { record(t, b, 5, breaker.Transient, 0) },
			"degraded", `"state":"open","since":"2026-03-02T03:04:25Z","cause":"consecutive-failures","opened_at":"2026-03-02T03:04:25Z","retry_after_seconds":15,` + normal2,
		},
		{
			27*time.Second + 250*time.Millisecond, func() {},
			"degraded", `"state":"open","since":"2026-03-02T03:04:25Z","cause":"consecutive-failures","opened_at":"2026-03-02T03:04:25Z","retry_after_seconds":7.75,` + normal2,
		},
		{ // over, and no call has come
			40 * time.Second, func() {},
			"degraded", `"state":"half-open","since":"2026-03-02T03:04:40Z","cause":"break-elapsed","opened_at":"2026-03-02T03:04:25Z",` + normal2,
		},
		{
			41 * time.Second, func() { record(t, b, 1, breaker.OK, 10*time.Millisecond) },
			"degraded", `"state":"half-open","since":"2026-03-02T03:04:46Z","cause":"break-elapsed","opened_at":"2026-03-02T03:04:25Z",` + normal3,
		},
		{
			42 * time.Second, func() { record(t, b, 1, breaker.OK, 10*time.Millisecond) },
			"degraded", `"state":"recovering","since":"2026-03-02T03:04:47Z","cause":"probes-succeeded","opened_at":"2026-03-02T03:04:25Z",` + normal4,
		},
		{ // the ramp has run out, and no call has come
			60 * time.Second, func() {},
			"ok", `"state":"closed","cause":"ramp-completed",` + normal4,
		},
	} {
		clock.move(start.Add(step.at).Sub(clock.Now()))
		step.do()
		before := b.History()
		w := ask(handler, http.MethodGet, "/health")
		require.Equal(t, 200, w.Code)
		require.Equal(t, `{"status":"`+step.status+`","breakers":[{"name":"db",`+step.want+"}]}\n", w.Body.String(), "at %v", step.at)
		require.Equal(t, before, b.History(), "to ask moves nothing")
	}

	b = onClock(t, clock, breaker.Settings{Name: "db"})
	record(t, b, 5, breaker.Transient, 0)
	b.ProbeNow()
	require.Contains(t, ask(breakerhttp.HealthHandler(b, nil), http.MethodGet, "/health").Body.String(),
		`"state":"half-open","cause":"probe-requested","opened_at"`)
}

const (
	normal  = `"normal_latency_seconds":0.01024,"normal_failure_rate":0.04807692307692308`
	normal2 = `"normal_latency_seconds":0.01024,"normal_failure_rate":0.09174311926605505`
	normal3 = `"normal_latency_seconds":0.01024,"normal_failure_rate":0.09090909090909091`
	normal4 = `"normal_latency_seconds":0.01024,"normal_failure_rate":0.09009009009009009`
)

// However often it is asked, the probe is there for a call.
func TestHealthTakesNoProbe(t *testing.T) {
	b := newBreaker(t)
	record(t, b, 5, breaker.Transient, 0)
	b.ProbeNow()
	for range 20 {
		require.Contains(t, ask(breakerhttp.HealthHandler(b, nil), http.MethodGet, "/health").Body.String(), "half-open")
	}
	_, err := b.TryAdmit(bg)
	require.NoError(t, err)
	_, err = b.TryAdmit(bg)
	require.ErrorIs(t, err, breaker.ErrRejected, "there was one")
}

func TestHealthStatuses(t *testing.T) {
	open := newBreaker(t)
	open.Isolate()
	shadow := onClock(t, newHandClock(), breaker.Settings{Name: "dry", Shadow: true})
	shadow.Isolate()
	closed := newBreaker(t)
	codes := &breakerhttp.HealthOptions{OK: 204, Degraded: 503}
	for name, test := range map[string]struct {
		source  breaker.Source
		options *breakerhttp.HealthOptions
		code    int
		status  string
	}{
		"ok":                 {closed, nil, 200, "ok"},
		"degraded":           {open, nil, 200, "degraded"},
		"one of two":         {breaker.List{closed, open}, &breakerhttp.HealthOptions{}, 200, "degraded"},
		"none":               {breaker.List{}, nil, 200, "ok"},
		"shadow":             {shadow, codes, 204, "ok"},
		"ok by code":         {closed, codes, 204, "ok"},
		"degraded by code":   {open, codes, 503, "degraded"},
		"last one is closed": {breaker.List{open, closed}, codes, 503, "degraded"},
	} {
		w := ask(breakerhttp.HealthHandler(test.source, test.options), http.MethodGet, "/health")
		require.Equal(t, test.code, w.Code, name)
		require.True(t, strings.HasPrefix(w.Body.String(), `{"status":"`+test.status+`","breakers":[`), name)
	}
	require.Equal(t, `{"status":"ok","breakers":[]}`+"\n", ask(breakerhttp.HealthHandler(breaker.List(nil), nil), http.MethodGet, "/health").Body.String())
	require.Contains(t, ask(breakerhttp.HealthHandler(shadow, nil), http.MethodGet, "/health").Body.String(), `{"name":"dry","shadow":true,"state":"isolated"`)
}

func TestHealthOverTheWire(t *testing.T) {
	server, base := serve(t, breakerhttp.HealthHandler(newBreaker(t), nil).ServeHTTP)
	for method, want := range map[string]struct {
		code        int
		contentType string
		text        string
	}{
		http.MethodGet:    {200, "application/json", `{"status":"ok","breakers":[{"name":"one","state":"closed"}]}` + "\n"},
		http.MethodHead:   {200, "application/json", ""},
		http.MethodPost:   {405, "text/plain; charset=utf-8", "Method Not Allowed\n"},
		http.MethodDelete: {405, "text/plain; charset=utf-8", "Method Not Allowed\n"},
	} {
		r := request(t, bg, server.URL, nil)
		r.Method = method
		resp, err := base.RoundTrip(r)
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want.code, resp.StatusCode, method)
		require.Equal(t, want.contentType, resp.Header.Get("Content-Type"), method)
		require.Equal(t, want.text, string(text), method)
		require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
		if want.code == 405 {
			require.Equal(t, "GET, HEAD", resp.Header.Get("Allow"))
		} else {
			require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
		}
	}
}

// The order depends on what is reported alone, and one breaker is reported once.
func TestHealthOrder(t *testing.T) {
	var list breaker.List
	for _, name := range []string{"db", "api", "<b>", "db", "é"} {
		list = append(list, onClock(t, newHandClock(), breaker.Settings{Name: name}))
	}
	list[3].Isolate()
	want := ask(breakerhttp.HealthHandler(list, nil), http.MethodGet, "/health").Body.String()
	var report struct {
		Breakers []struct{ Name, State string }
	}
	require.NoError(t, json.Unmarshal([]byte(want), &report))
	var order []string
	for _, b := range report.Breakers {
		order = append(order, b.Name+" "+b.State)
	}
	require.Equal(t, []string{"<b> closed", "api closed", "db closed", "db isolated", "é closed"}, order)
	require.NotContains(t, want, "<")

	twice := slices.Concat(list, list[1:3])
	slices.Reverse(twice)
	require.Equal(t, want, ask(breakerhttp.HealthHandler(twice, nil), http.MethodGet, "/health").Body.String())
}

// A Transport, a Scope and a Registry are sources, and the handler sees what comes later.
func TestHealthOfATransport(t *testing.T) {
	transport := breakerhttp.NewTransport(answering(answerOK), nil)
	var all breaker.Registry
	all.Add(transport, transport)
	handler := breakerhttp.HealthHandler(&all, nil)
	require.Equal(t, `{"status":"ok","breakers":[]}`+"\n", ask(handler, http.MethodGet, "/health").Body.String())
	_, err := transport.RoundTrip(request(t, bg, "https://a.example/", nil))
	require.NoError(t, err)
	require.Equal(t, `{"status":"ok","breakers":[{"name":"a.example:443","state":"closed"}]}`+"\n", ask(handler, http.MethodGet, "/health").Body.String())
}

func TestHealthOfMistakesPanics(t *testing.T) {
	require.PanicsWithValue(t, "breakerhttp: HealthHandler with a nil source", func() { breakerhttp.HealthHandler(nil, nil) })
	for _, code := range []int{-1, 1, 101, 199, 600} {
		require.Panics(t, func() { breakerhttp.HealthHandler(breaker.List{}, &breakerhttp.HealthOptions{OK: code}) })
		require.Panics(t, func() { breakerhttp.HealthHandler(breaker.List{}, &breakerhttp.HealthOptions{Degraded: code}) })
	}
}

// A source is asked only when the handler is, and to its end.
func TestHealthAsksTheSourceEachTime(t *testing.T) {
	source := &countingSource{Breaker: newBreaker(t)}
	handler := breakerhttp.HealthHandler(source, nil)
	require.Zero(t, source.asked)
	ask(handler, http.MethodPost, "/health")
	require.Zero(t, source.asked)
	ask(handler, http.MethodHead, "/health")
	require.Equal(t, 1, source.asked)
}

type countingSource struct {
	*breaker.Breaker
	asked int
}

func (s *countingSource) Breakers() iter.Seq[*breaker.Breaker] {
	s.asked++
	return s.Breaker.Breakers()
}
