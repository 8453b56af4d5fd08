package breakerhttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

// cancels are the ways in which a caller goes away.
var cancels = map[string]func(context.Context) (context.Context, func()){
	"cancelled": func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, cancel
	},
	"cancelled with a cause": func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(ctx)
		return ctx, func() { cancel(errors.New("the user closed the page")) }
	},
}

func TestCallerWhoGoesBeforeTheHeaders(t *testing.T) {
	for protocol, start := range protocols {
		for how, with := range cancels {
			t.Run(protocol+" "+how, func(t *testing.T) {
				ctx, cancel := with(bg)
				server, base := start(t, func(w http.ResponseWriter, r *http.Request) {
					cancel()
					<-r.Context().Done()
				})
				b := newBreaker(t)
				_, err := through(b, base).Do(request(t, ctx, server.URL, nil))
				require.Error(t, err)
				require.Equal(t, outcomes{canceled: 1}, outcomesOf(b))
			})
		}
	}
}

func TestCallerWhoGoesDuringTheBody(t *testing.T) {
	for protocol, start := range protocols {
		for how, with := range cancels {
			t.Run(protocol+" "+how, func(t *testing.T) {
				ctx, cancel := with(bg)
				server, base := start(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.WriteString(w, "first")
					w.(http.Flusher).Flush()
					<-r.Context().Done()
				})
				b := newBreaker(t)
				resp, err := through(b, base).Do(request(t, ctx, server.URL, nil))
				require.NoError(t, err)
				defer resp.Body.Close()
				cancel()
				_, err = io.ReadAll(resp.Body)
				require.Error(t, err)
				require.Equal(t, outcomes{canceled: 1}, outcomesOf(b))
			})
		}
	}
}

// An error that comes to a caller who has gone is no evidence, whatever it says, and no
// classifier is asked.
func TestErrorsAfterACancelAreCanceled(t *testing.T) {
	b := newBreaker(t)
	ctx, cancel := context.WithCancel(bg)
	transport := breakerhttp.NewTransport(answering(func(*http.Request) (*http.Response, error) {
		cancel()
		return nil, errBroken
	}), &breakerhttp.TransportOptions{Breaker: b, Classify: func(*http.Response, error) breaker.Verdict {
		t.Error("asked")
		return breaker.Transient
	}})
	_, err := transport.RoundTrip(request(t, ctx, "http://a.example/", nil))
	require.ErrorIs(t, err, errBroken)
	require.Equal(t, outcomes{canceled: 1}, outcomesOf(b))
}

// A context that is done already touches nothing, and the body is closed.
func TestContextThatIsDone(t *testing.T) {
	b := newBreaker(t)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	sending := textBody("text")
	r := request(t, ctx, "http://a.example/", nil)
	r.Body = sending
	_, err := breakerhttp.NewTransport(answering(nil), &breakerhttp.TransportOptions{Breaker: b}).RoundTrip(r)
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 1, sending.closed.Load())
	require.Zero(t, b.Snapshot().Totals.Admitted)
}

// A deadline of the caller's own that passed sooner than the dependency normally answers
// tells of the caller; one that gave it a fair chance tells of the dependency. So it is with
// a context, and with the Timeout of http.Client, at the headers and in the body.
func TestDeadlines(t *testing.T) {
	const normal = 100 * time.Millisecond
	hang := func(r *http.Request) (*http.Response, error) {
		select {
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		//lint:ignore SA1019 http.Client still uses it
		case <-r.Cancel:
			return nil, errors.New("net/http: request canceled")
		}
	}
	hangInBody := func(r *http.Request) (*http.Response, error) {
		return response(r, 200, io.NopCloser(readFunc(func([]byte) (int, error) {
			_, err := hang(r)
			return 0, err
		}))), nil
	}
	for name, hang := range map[string]answering{"headers": hang, "body": hangInBody} {
		for by, call := range map[string]func(http.RoundTripper, time.Duration) error{
			"context": func(transport http.RoundTripper, d time.Duration) error {
				ctx, cancel := context.WithTimeout(bg, d)
				defer cancel()
				r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.example/", nil)
				resp, err := transport.RoundTrip(r)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
				}
				return err
			},
			"client": func(transport http.RoundTripper, d time.Duration) error {
				_, _, err := get(&http.Client{Transport: transport, Timeout: d}, "http://a.example/")
				return err
			},
		} {
			for whose, classify := range map[string]func(*http.Response, error) breaker.Verdict{
				"default": nil, "own": breakerhttp.Classify,
			} {
				for timeout, want := range map[time.Duration]breaker.Verdict{
					normal / 4: breaker.Canceled,
					normal * 4: breaker.Transient,
				} {
					t.Run(name+" "+by+" "+whose+" "+want.String(), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							b := breaker.MustNew(breaker.Settings{SlowCalls: breaker.SlowCalls{MinimumSamples: 1}})
							attempt, err := b.TryAdmit(bg)
							require.NoError(t, err)
							attempt.Record(breaker.OK, normal)
							transport := breakerhttp.NewTransport(hang, &breakerhttp.TransportOptions{Breaker: b, Classify: classify})
							require.Error(t, call(transport, timeout))
							wanted := oneOf(want)
							wanted.ok = 1
							require.Equal(t, wanted, outcomesOf(b))
						})
					})
				}
			}
		}
	}
}

// Over the wire, the Timeout of http.Client is a failure of a server that hangs, as long as
// nobody knows what is normal.
func TestTimeoutOfTheClient(t *testing.T) {
	for protocol, start := range protocols {
		for where, text := range map[string]string{"headers": "", "body": "first"} {
			t.Run(protocol+" "+where, func(t *testing.T) {
				server, base := start(t, func(w http.ResponseWriter, r *http.Request) {
					if text != "" {
						_, _ = io.WriteString(w, text)
						w.(http.Flusher).Flush()
					}
					<-r.Context().Done()
				})
				b := newBreaker(t)
				client := through(b, base)
				client.Timeout = 50 * time.Millisecond
				_, _, err := get(client, server.URL)
				require.Error(t, err)
				require.Equal(t, outcomes{transient: 1}, outcomesOf(b))
			})
		}
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// The old way to cancel a request, by which http.Client also ends one whose Timeout has
// passed, perhaps a moment before the context does.
func TestRequestCancel(t *testing.T) {
	normal := time.Hour
	for name, test := range map[string]struct {
		ctx  context.Context
		want breaker.Verdict
	}{
		"by the caller":                      {bg, breaker.Canceled},
		"by the caller, before a deadline":   {lateContext{bg, time.Now().Add(time.Hour)}, breaker.Canceled},
		"by a deadline that was too soon":    {lateContext{bg, time.Now().Add(-time.Second)}, breaker.Canceled},
		"by a deadline that was late enough": {lateContext{bg, time.Now().Add(-time.Second)}, breaker.Transient},
	} {
		clock := newHandClock()
		b := onClock(t, clock, breaker.Settings{SlowCalls: breaker.SlowCalls{MinimumSamples: 1}})
		attempt, err := b.TryAdmit(bg)
		require.NoError(t, err)
		attempt.Record(breaker.OK, normal)
		cancel := make(chan struct{})
		close(cancel)
		r := request(t, test.ctx, "http://a.example/", nil)
		//lint:ignore SA1019 http.Client still uses it
		r.Cancel = cancel
		_, err = breakerhttp.NewTransport(answering(func(*http.Request) (*http.Response, error) {
			if test.want == breaker.Transient {
				clock.move(2 * normal)
			}
			return nil, errBroken
		}), &breakerhttp.TransportOptions{Breaker: b}).RoundTrip(r)
		require.ErrorIs(t, err, errBroken)
		want := oneOf(test.want)
		want.ok = 1
		require.Equal(t, want, outcomesOf(b), name)
	}
}

// A connection that was given the deadline of the context may be ahead of it.
func TestDeadlineThatTheContextDoesNotKnowOfYet(t *testing.T) {
	for deadline, want := range map[time.Duration]breaker.Verdict{-time.Second: breaker.Canceled, time.Hour: breaker.Transient} {
		for _, classify := range []func(*http.Response, error) breaker.Verdict{nil, breakerhttp.Classify} {
			b := onClock(t, newHandClock(), breaker.Settings{SlowCalls: breaker.SlowCalls{MinimumSamples: 1}})
			attempt, err := b.TryAdmit(bg)
			require.NoError(t, err)
			attempt.Record(breaker.OK, time.Hour)
			_, err = breakerhttp.NewTransport(answering(func(*http.Request) (*http.Response, error) {
				return nil, os.ErrDeadlineExceeded
			}), &breakerhttp.TransportOptions{Breaker: b, Classify: classify}).RoundTrip(
				request(t, lateContext{bg, time.Now().Add(deadline)}, "http://a.example/", nil))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			wanted := oneOf(want)
			wanted.ok = 1
			require.Equal(t, wanted, outcomesOf(b), "deadline %v from now, own %v", deadline, classify != nil)
		}
	}
}

// lateContext has a deadline, and does not end at it.
type lateContext struct {
	context.Context
	deadline time.Time
}

func (c lateContext) Deadline() (time.Time, bool) { return c.deadline, true }
