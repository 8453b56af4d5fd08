package breakerhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

var bg = context.Background()

func TestClassify(t *testing.T) {
	future := time.Date(2036, 1, 2, 3, 4, 5, 0, time.UTC)
	type test struct {
		status     int
		retryAfter string
		want       breaker.Verdict
	}
	tests := []test{
		{200, "", breaker.OK}, {204, "", breaker.OK}, {301, "", breaker.OK}, {304, "", breaker.OK},
		{400, "", breaker.OK}, {401, "", breaker.OK}, {404, "", breaker.OK}, {410, "", breaker.OK},
		{407, "", breaker.OK}, {409, "", breaker.OK}, {499, "", breaker.OK}, {600, "", breaker.OK},
		{408, "", breaker.Transient}, {500, "", breaker.Transient}, {501, "", breaker.Transient},
		{502, "", breaker.Transient}, {503, "", breaker.Transient}, {504, "", breaker.Transient}, {599, "", breaker.Transient},
		{429, "", breaker.Throttled}, {429, "rubbish", breaker.Throttled},
		{500, "5", breaker.Transient}, {200, "5", breaker.OK}, {404, "5", breaker.OK},

		{503, "0", breaker.Throttled}, {503, "120", breaker.Throttled},
		{503, "315360000", breaker.Throttled},                     // ten years
		{503, "99999999999999999999999999", breaker.Throttled},    // longer than the world
		{503, "Fri, 31 Dec 1999 23:59:59 GMT", breaker.Throttled}, // past
		{503, future.Format(http.TimeFormat), breaker.Throttled},
		{503, future.Format("Monday, 02-Jan-06 15:04:05 MST"), breaker.Throttled}, // RFC 850
		{503, future.Format(time.ANSIC), breaker.Throttled},

		{503, "rubbish", breaker.Transient}, {503, "-5", breaker.Transient}, {503, "+5", breaker.Transient},
		{503, "1.5", breaker.Transient}, {503, "5s", breaker.Transient}, {503, "5 5", breaker.Transient},
		{503, "٣", breaker.Transient}, {503, "2036-01-02T03:04:05Z", breaker.Transient},
	}
	for _, test := range tests {
		resp := response(nil, test.status, nil)
		if test.retryAfter != "" {
			resp.Header.Set("Retry-After", test.retryAfter)
		}
		require.Equal(t, test.want, breakerhttp.Classify(resp, nil), "%d with Retry-After %q", test.status, test.retryAfter)
	}

	require.Equal(t, breaker.Transient, breakerhttp.Classify(nil, errBroken))
	require.Equal(t, breaker.Transient, breakerhttp.Classify(nil, context.DeadlineExceeded))
	require.Equal(t, breaker.Canceled, breakerhttp.Classify(nil, fmt.Errorf("get: %w", context.Canceled)))
	require.Equal(t, breaker.Throttled, breakerhttp.Classify(nil, breaker.WithVerdict(errBroken, breaker.Throttled)))
	require.Equal(t, breaker.Transient, breakerhttp.Classify(response(nil, 200, nil), errBroken), "the body broke off")
	require.Equal(t, breaker.Permanent, breakerhttp.Classify(nil, nil))
}

// Whatever the status, the client gets the response, and the breaker the verdict.
func TestStatusesOverTheWire(t *testing.T) {
	server, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", r.URL.Query().Get("after"))
		status, _ := strconv.Atoi(r.URL.Path[1:])
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, "text")
	})
	for path, want := range map[string]breaker.Verdict{
		"/200": breaker.OK, "/206": breaker.OK, "/404": breaker.OK, "/400": breaker.OK,
		"/408": breaker.Transient, "/500": breaker.Transient, "/503": breaker.Transient,
		"/503?after=-5": breaker.Transient, "/503?after=soon": breaker.Transient,
		"/429": breaker.Throttled, "/503?after=5": breaker.Throttled, "/503?after=315360000": breaker.Throttled,
	} {
		b := newBreaker(t)
		status, text, err := get(through(b, base), server.URL+path)
		require.NoError(t, err)
		require.Equal(t, path[1:4], strconv.Itoa(status))
		require.Equal(t, "text", text)
		require.Equal(t, oneOf(want), outcomesOf(b), path)
	}
}

func TestClassifyOfTheCallersOwn(t *testing.T) {
	type asked struct {
		status int
		err    error
	}
	tests := map[string]struct {
		base  answering
		says  breaker.Verdict
		want  breaker.Verdict
		asked []asked
	}{
		"headers": {
			base:  func(r *http.Request) (*http.Response, error) { return response(r, 404, textBody("")), nil },
			says:  breaker.Transient,
			want:  breaker.Transient,
			asked: []asked{{404, nil}},
		},
		"an error": {
			base:  func(*http.Request) (*http.Response, error) { return nil, errBroken },
			says:  breaker.Throttled,
			want:  breaker.Throttled,
			asked: []asked{{0, errBroken}},
		},
		"a bad 2xx does not wait for its body": {
			base: func(r *http.Request) (*http.Response, error) {
				return response(r, 200, &body{Reader: failing{errBroken}}), nil
			},
			says:  breaker.Throttled,
			want:  breaker.Throttled,
			asked: []asked{{200, nil}},
		},
		"a body that breaks off": {
			base: func(r *http.Request) (*http.Response, error) {
				return response(r, 200, &body{Reader: failing{errBroken}}), nil
			},
			says:  breaker.OK,
			want:  breaker.OK,
			asked: []asked{{200, nil}, {200, errBroken}},
		},
		"an unknown verdict": {
			base:  func(r *http.Request) (*http.Response, error) { return response(r, 200, textBody("")), nil },
			says:  breaker.Verdict(77),
			want:  breaker.Permanent,
			asked: []asked{{200, nil}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBreaker(t)
			var got []asked
			client := &http.Client{Transport: breakerhttp.NewTransport(test.base, &breakerhttp.TransportOptions{
				Breaker: b,
				Classify: func(resp *http.Response, err error) breaker.Verdict {
					a := asked{err: err}
					if resp != nil {
						a.status = resp.StatusCode
					}
					got = append(got, a)
					return test.says
				},
			})}
			_, _, _ = get(client, "http://a.example/")
			require.Equal(t, oneOf(test.want), outcomesOf(b))
			require.Equal(t, test.asked, got)
		})
	}
}

// The classifier of the breaker's settings is asked about errors, as by Do.
func TestClassifyOfTheSettings(t *testing.T) {
	b := onClock(t, newHandClock(), breaker.Settings{Classify: func(err error) breaker.Verdict {
		if errors.Is(err, errBroken) {
			return breaker.Permanent
		}
		return breaker.Classify(err)
	}})
	_, _, err := get(through(b, answering(func(*http.Request) (*http.Response, error) { return nil, errBroken })), "http://a.example/")
	require.ErrorIs(t, err, errBroken)
	require.Equal(t, oneOf(breaker.Permanent), outcomesOf(b))
}

// A body of a request that fails is the caller's own, and a verdict on its error says so.
func TestRequestBodyThatFails(t *testing.T) {
	server, base := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	for want, err := range map[breaker.Verdict]error{
		breaker.Transient: errBroken,
		breaker.Permanent: breaker.WithVerdict(errBroken, breaker.Permanent),
	} {
		b := newBreaker(t)
		_, got := through(b, base).Do(request(t, bg, server.URL, brokenAfter("some", err)))
		require.ErrorIs(t, got, errBroken)
		require.Equal(t, oneOf(want), outcomesOf(b))
	}
}
