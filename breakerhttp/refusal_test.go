package breakerhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

// refusalOf opens a breaker for a break, and returns what it refuses with.
func refusalOf(t *testing.T, clock *handClock, length time.Duration) (*breaker.Breaker, error) {
	t.Helper()
	b := onClock(t, clock, breaker.Settings{Name: "secret", ConsecutiveFailures: 1, BreakDuration: length, MaximumBreakDuration: length})
	attempt, err := b.TryAdmit(bg)
	require.NoError(t, err)
	attempt.Record(breaker.Transient, 0)
	_, err = b.TryAdmit(bg)
	require.ErrorIs(t, err, breaker.ErrRejected)
	return b, err
}

func TestRetryAfterOfARefusal(t *testing.T) {
	for _, test := range []struct {
		length, after time.Duration
		want          string
	}{
		{15 * time.Second, 0, "15"},
		{15 * time.Second, 1, "15"}, // rounded up
		{15 * time.Second, time.Second, "14"},
		{15 * time.Second, 14 * time.Second, "1"},
		{15 * time.Second, 14*time.Second + 1, "1"},
		{15 * time.Second, 15 * time.Second, "1"}, // over: never 0
		{15 * time.Second, time.Hour, "1"},
		{300 * time.Millisecond, 0, "1"},
		{1500 * time.Millisecond, 0, "2"},
		{10 * 365 * 24 * time.Hour, 0, "315360000"},
	} {
		clock := newHandClock()
		_, err := refusalOf(t, clock, test.length)
		clock.move(test.after)
		w := httptest.NewRecorder()
		require.True(t, breakerhttp.WriteRefusal(w, fmt.Errorf("find: %w", err)))
		require.Equal(t, 503, w.Code)
		require.Equal(t, test.want, w.Header().Get("Retry-After"), "%v into a break of %v", test.after, test.length)
		require.Equal(t, "Service Unavailable\n", w.Body.String(), "no name in it")
	}
}

func TestRetryAfterByState(t *testing.T) {
	clock := newHandClock()
	open, overtaken := refusalOf(t, clock, time.Minute)
	open.Reset()

	half, _ := refusalOf(t, clock, time.Minute)
	half.ProbeNow()
	_, err := half.TryAdmit(bg)
	require.NoError(t, err)
	_, halfOpen := half.TryAdmit(bg)

	isolated := newBreaker(t)
	isolated.Isolate()
	_, byOperator := isolated.TryAdmit(bg)

	for name, test := range map[string]struct {
		err  error
		want []string
	}{
		"overtaken by a reset": {overtaken, []string{"1"}},
		"half-open":            {halfOpen, []string{"1"}},
		"recovering":           {&breaker.RejectedError{State: breaker.Recovering}, []string{"1"}},
		"isolated":             {byOperator, nil},
		"from no breaker":      {&breaker.RejectedError{Reason: breaker.BudgetExhausted}, nil},
	} {
		w := httptest.NewRecorder()
		require.True(t, breakerhttp.WriteRefusal(w, test.err), name)
		require.Equal(t, 503, w.Code, name)
		require.Equal(t, test.want, w.Header().Values("Retry-After"), name)
	}
}

func TestWriteRefusalLeavesOtherErrorsAlone(t *testing.T) {
	for _, err := range []error{nil, errBroken, context.Canceled, breaker.ErrRejected, (*breaker.RejectedError)(nil)} {
		w := httptest.NewRecorder()
		require.False(t, breakerhttp.WriteRefusal(w, err))
		require.Empty(t, w.Body.String())
		require.Empty(t, w.Header())
	}
}

func TestHandlerFunc(t *testing.T) {
	_, refusal := refusalOf(t, newHandClock(), time.Minute)
	tests := map[string]struct {
		begin      string
		err        error
		status     int
		text       string
		retryAfter string
		broken     bool
	}{
		"well":                     {"well", nil, 200, "well", "", false},
		"silent":                   {"", nil, 200, "", "", false},
		"refused":                  {"", fmt.Errorf("find: %w", refusal), 503, "Service Unavailable\n", "60", false},
		"failed":                   {"", errBroken, 500, "Internal Server Error\n", "", false},
		"refused after it began":   {"half", refusal, 200, "half", "", true},
		"failed after it began":    {"half", errBroken, 200, "half", "", true},
		"the handler's own answer": {"no such user", nil, 200, "no such user", "", false},
	}
	server, base := serve(t, breakerhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		test := tests[r.URL.Query().Get("test")]
		if test.begin != "" {
			_, _ = io.WriteString(w, test.begin)
			w.(http.Flusher).Flush()
		}
		return test.err
	}).ServeHTTP)
	for name, test := range tests {
		resp, err := (&http.Client{Transport: base}).Get(server.URL + "?test=" + url.QueryEscape(name))
		require.NoError(t, err, name)
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		require.Equal(t, test.broken, err != nil, name)
		require.Equal(t, test.status, resp.StatusCode, name)
		require.Equal(t, test.text, string(text), name)
		require.Equal(t, test.retryAfter, resp.Header.Get("Retry-After"), name)
	}
}

// A refusal goes up through services as Throttled, and opens nothing on its way.
func TestRefusalsDoNotCascade(t *testing.T) {
	down := newBreaker(t)
	inner := through(down, answering(func(*http.Request) (*http.Response, error) { return nil, errBroken }))
	server, base := serve(t, breakerhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		resp, err := inner.Get("http://dependency.example/")
		if errors.Is(err, errBroken) {
			http.NotFound(w, r) // a caller that copes
			return nil
		}
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}).ServeHTTP)
	b := newBreaker(t)
	client := through(b, base)
	for range 50 {
		_, _, err := get(client, server.URL)
		require.NoError(t, err)
	}
	require.Equal(t, breaker.Open, down.State())
	require.Equal(t, breaker.Closed, b.State())
	require.Equal(t, outcomes{ok: 5, throttled: 45}, outcomesOf(b))
}
