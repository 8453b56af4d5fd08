package breakerhttp_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

func TestGuardJudgesByStatus(t *testing.T) {
	type test struct {
		answer func(http.ResponseWriter)
		want   breaker.Verdict
	}
	tests := map[string]test{
		"silence":   {func(http.ResponseWriter) {}, breaker.OK},
		"only text": {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "text") }, breaker.OK},
		"a 503 that asks for time": {func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(503)
		}, breaker.Throttled},
		"hints before a 500": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(500)
		}, breaker.Transient},
		"a second status": {func(w http.ResponseWriter) {
			w.WriteHeader(200)
			_, _ = io.WriteString(w, "text")
		}, breaker.OK},
		"a copy": {func(w http.ResponseWriter) { _, _ = io.Copy(w, strings.NewReader("text")) }, breaker.OK},
	}
	for status, want := range map[int]breaker.Verdict{
		200: breaker.OK, 302: breaker.OK, 404: breaker.OK, 400: breaker.OK, 408: breaker.Permanent,
		429: breaker.Throttled, 500: breaker.Transient, 502: breaker.Transient, 503: breaker.Transient,
	} {
		tests[http.StatusText(status)] = test{func(w http.ResponseWriter) { w.WriteHeader(status) }, want}
	}
	for name, test := range tests {
		b := newBreaker(t)
		w := httptest.NewRecorder()
		breakerhttp.Guard(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { test.answer(w) })).
			ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		require.Equal(t, oneOf(test.want), outcomesOf(b), name)
	}
}

// Over the wire: five failures, and the next request is answered at once and without the
// handler.
func TestGuardRefusesAtOnce(t *testing.T) {
	clock := newHandClock()
	b := onClock(t, clock, breaker.Settings{})
	var ran atomic.Int32
	server, base := serve(t, breakerhttp.Guard(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ran.Add(1)
		http.Error(w, "broken", 500)
	})).ServeHTTP)
	client := &http.Client{Transport: base}
	for range 5 {
		status, text, err := get(client, server.URL)
		require.NoError(t, err)
		require.Equal(t, 500, status)
		require.Equal(t, "broken\n", text)
	}
	resp, err := client.Get(server.URL)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 503, resp.StatusCode)
	require.Equal(t, "15", resp.Header.Get("Retry-After"))
	require.EqualValues(t, 5, ran.Load())
	require.Zero(t, clock.paused(), "a server does not pause")
}

func TestGuardCountsPanics(t *testing.T) {
	for name, value := range map[string]any{"a panic": "broken", "an abort": http.ErrAbortHandler} {
		for when, text := range map[string]string{"before": "", "after": "half"} {
			b := newBreaker(t)
			handler := breakerhttp.Guard(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, text)
				panic(value)
			}))
			require.PanicsWithValue(t, value, func() {
				handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
			})
			require.Equal(t, outcomes{transient: 1}, outcomesOf(b), "%s, %s it answered", name, when)
		}
	}

	b := newBreaker(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		breakerhttp.Guard(b, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runtime.Goexit() })).
			ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}()
	<-done
	require.Equal(t, outcomes{transient: 1}, outcomesOf(b), "Goexit")
}

// A panic of the handler's is not replaced by one of the breaker's listener.
func TestGuardLetsThePanicThrough(t *testing.T) {
	b := onClock(t, newHandClock(), breaker.Settings{
		ConsecutiveFailures: 1,
		OnTransition:        func(context.Context, breaker.Transition) { panic("listener") },
	})
	handler := breakerhttp.Guard(b, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("handler") }))
	require.PanicsWithValue(t, "handler", func() {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	})
	require.Equal(t, breaker.Open, b.State())
}

// A client who has gone makes no evidence, whatever the handler did then.
func TestGuardAndAClientWhoGoes(t *testing.T) {
	for protocol, start := range protocols {
		for name, end := range map[string]func(http.ResponseWriter){
			"says nothing": func(http.ResponseWriter) {},
			"says 500":     func(w http.ResponseWriter) { w.WriteHeader(500) },
			"aborts":       func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		} {
			t.Run(protocol+" "+name, func(t *testing.T) {
				b := newBreaker(t)
				ctx, cancel := context.WithCancel(bg)
				done := make(chan struct{})
				handler := breakerhttp.Guard(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					cancel()
					<-r.Context().Done()
					end(w)
				}))
				server, base := start(t, func(w http.ResponseWriter, r *http.Request) {
					defer close(done)
					handler.ServeHTTP(w, r)
				})
				_, err := base.RoundTrip(request(t, ctx, server.URL, nil))
				require.Error(t, err)
				<-done
				require.Equal(t, outcomes{canceled: 1}, outcomesOf(b))
			})
		}
	}

	b := newBreaker(t)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	w := httptest.NewRecorder()
	breakerhttp.Guard(b, http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
	require.Equal(t, 503, w.Code)
	require.Empty(t, w.Header().Get("Retry-After"))
	require.Zero(t, b.Snapshot().Totals.Admitted)
}

// A handler that http.TimeoutHandler cuts off has failed.
func TestGuardOverATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t)
		hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		w := httptest.NewRecorder()
		breakerhttp.Guard(b, http.TimeoutHandler(hang, time.Minute, "late")).
			ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		require.Equal(t, 503, w.Code)
		require.Equal(t, outcomes{transient: 1}, outcomesOf(b))
	})
}

// The latency is the time until the answer begins, however it begins.
func TestGuardMeasuresToTheBeginning(t *testing.T) {
	for name, begin := range map[string]func(http.ResponseWriter){
		"a status": func(w http.ResponseWriter) { w.WriteHeader(201) },
		"text":     func(w http.ResponseWriter) { _, _ = io.WriteString(w, "text") },
		"a copy":   func(w http.ResponseWriter) { _, _ = io.Copy(w, strings.NewReader("text")) },
		"a flush":  func(w http.ResponseWriter) { w.(http.Flusher).Flush() },
		"a controlled flush": func(w http.ResponseWriter) {
			_ = http.NewResponseController(w).Flush()
		},
	} {
		for length, slow := range map[time.Duration]uint64{20 * time.Millisecond: 0, time.Second: 1} {
			clock := newHandClock()
			b := onClock(t, clock, breaker.Settings{SlowCallThreshold: time.Second})
			breakerhttp.Guard(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				clock.move(length)
				begin(w)
				clock.move(45 * time.Second)
				_, _ = io.WriteString(w, "more")
			})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
			require.Equal(t, slow, b.Snapshot().Totals.Slow, "%s after %v", name, length)
			require.Equal(t, outcomes{ok: 1}, outcomesOf(b))
		}
	}

	clock := newHandClock()
	b := onClock(t, clock, breaker.Settings{SlowCallThreshold: time.Second})
	breakerhttp.Guard(b, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { clock.move(time.Second) })).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	require.EqualValues(t, 1, b.Snapshot().Totals.Slow, "silence is until the return")
}

// What the server's writer can do, the guarded handler's can, and no more.
func TestGuardKeepsWhatTheWriterCanDo(t *testing.T) {
	for protocol, hijacks := range map[string]bool{"HTTP/1.1": true, "HTTP/2.0": false} {
		t.Run(protocol, func(t *testing.T) {
			b := newBreaker(t)
			server, base := protocols[protocol](t, breakerhttp.Guard(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, flusher := w.(http.Flusher)
				_, hijacker := w.(http.Hijacker)
				if !flusher || hijacker != hijacks {
					t.Errorf("flusher %v, hijacker %v", flusher, hijacker)
				}
				control := http.NewResponseController(w)
				if err := control.SetWriteDeadline(time.Now().Add(time.Hour)); err != nil {
					t.Error(err)
				}
				if err := control.Flush(); err != nil {
					t.Error(err)
				}
				_, _ = io.WriteString(w, "text")
			})).ServeHTTP)
			_, text, err := get(&http.Client{Transport: base}, server.URL)
			require.NoError(t, err)
			require.Equal(t, "text", text)
			server.Close() // waits for the handler
			require.Equal(t, outcomes{ok: 1}, outcomesOf(b))
		})
	}

	type bare struct{ http.ResponseWriter }
	type hijacker struct {
		http.ResponseWriter
		http.Hijacker
	}
	for _, test := range []struct {
		w                http.ResponseWriter
		flushes, hijacks bool
	}{
		{bare{httptest.NewRecorder()}, false, false},
		{httptest.NewRecorder(), true, false},
		{hijacker{bare{httptest.NewRecorder()}, nil}, false, true},
	} {
		breakerhttp.Guard(newBreaker(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, flushes := w.(http.Flusher)
			_, hijacks := w.(http.Hijacker)
			require.Equal(t, test.flushes, flushes)
			require.Equal(t, test.hijacks, hijacks)
		})).ServeHTTP(test.w, httptest.NewRequest(http.MethodGet, "/", nil))
	}
}

// A hijacked connection is an answer, at the time of the hijack.
func TestGuardAndAHijack(t *testing.T) {
	clock := newHandClock()
	b := onClock(t, clock, breaker.Settings{SlowCallThreshold: time.Second})
	done := make(chan struct{})
	handler := breakerhttp.Guard(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		clock.move(time.Hour)
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello\n")
		_ = rw.Flush()
	}))
	server, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		handler.ServeHTTP(w, r)
	})
	r := request(t, bg, server.URL, nil)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "echo")
	resp, err := base.RoundTrip(r)
	require.NoError(t, err)
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "hello\n", line)
	require.NoError(t, resp.Body.Close())
	<-done
	require.Equal(t, outcomes{ok: 1}, outcomesOf(b))
	require.Zero(t, b.Snapshot().Totals.Slow)
}

func TestGuardOfNothingPanics(t *testing.T) {
	const text = "breakerhttp: Guard with a nil breaker or a nil handler"
	require.PanicsWithValue(t, text, func() { breakerhttp.Guard(nil, http.NotFoundHandler()) })
	require.PanicsWithValue(t, text, func() { breakerhttp.Guard(newBreaker(t), nil) })
}
