package breakerhttp_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

var protocols = map[string]func(*testing.T, http.HandlerFunc) (*httptest.Server, *http.Transport){
	"HTTP/1.1": serve,
	"HTTP/2.0": serveHTTP2,
}

// everyProtocol runs a test over each.
func everyProtocol(t *testing.T, handler http.HandlerFunc, test func(t *testing.T, b *breaker.Breaker, client *http.Client, url string)) {
	for protocol, start := range protocols {
		t.Run(protocol, func(t *testing.T) {
			server, base := start(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Proto != protocol {
					t.Errorf("spoke %s", r.Proto)
				}
				handler(w, r)
			})
			b := newBreaker(t)
			test(t, b, through(b, base), server.URL)
		})
	}
}

func TestTrailers(t *testing.T) {
	everyProtocol(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "text")
		w.Header().Set("X-Sum", "42")
	}, func(t *testing.T, b *breaker.Breaker, client *http.Client, url string) {
		resp, err := client.Get(url)
		require.NoError(t, err)
		defer resp.Body.Close()
		require.NoError(t, readAll(resp))
		require.Equal(t, "42", resp.Trailer.Get("X-Sum"))
		require.Equal(t, outcomes{ok: 1}, outcomesOf(b))
	})
}

func TestHEADIsSettledAtTheHeaders(t *testing.T) {
	everyProtocol(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
	}, func(t *testing.T, b *breaker.Breaker, client *http.Client, url string) {
		resp, err := client.Head(url)
		require.NoError(t, err)
		require.EqualValues(t, 1000, resp.ContentLength)
		require.Equal(t, outcomes{ok: 1}, outcomesOf(b), "nothing to wait for")
		require.NoError(t, readAll(resp))
		require.NoError(t, resp.Body.Close())
		require.Equal(t, outcomes{ok: 1}, outcomesOf(b))
	})
}

func TestInformationalResponses(t *testing.T) {
	everyProtocol(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		text, _ := io.ReadAll(r.Body) // sends the 100, in HTTP/1
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(text)
	}, func(t *testing.T, b *breaker.Breaker, client *http.Client, url string) {
		early := 0
		ctx := httptrace.WithClientTrace(bg, &httptrace.ClientTrace{
			Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
				if code == http.StatusEarlyHints {
					early++
				}
				return nil
			},
		})
		r := request(t, ctx, url, strings.NewReader("sent"))
		r.Header.Set("Expect", "100-continue")
		resp, err := client.Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "sent", string(text))
		require.Equal(t, http.StatusAccepted, resp.StatusCode)
		require.Equal(t, 1, early)
		require.Equal(t, outcomes{ok: 1}, outcomesOf(b))
	})
}

// A server that does not want the body says so, and the body is closed unsent.
func TestExpectContinueThatIsDenied(t *testing.T) {
	server, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusExpectationFailed)
	})
	base.ExpectContinueTimeout = time.Minute // until the server has answered
	b := newBreaker(t)
	sending := &closing{body: textBody("text"), done: make(chan struct{})}
	r := request(t, bg, server.URL, sending)
	r.Header.Set("Expect", "100-continue")
	resp, err := through(b, base).Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusExpectationFailed, resp.StatusCode)
	require.Equal(t, outcomes{ok: 1}, outcomesOf(b))
	<-sending.done
}

// Connections are used again when a body was read to its end, and when a status ends the
// attempt before that.
func TestConnectionsAreReused(t *testing.T) {
	everyProtocol(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/500" {
			w.WriteHeader(500)
		}
		_, _ = io.WriteString(w, "text")
	}, func(t *testing.T, b *breaker.Breaker, client *http.Client, url string) {
		reused := 0
		ctx := httptrace.WithClientTrace(bg, &httptrace.ClientTrace{
			GotConn: func(info httptrace.GotConnInfo) {
				if info.Reused {
					reused++
				}
			},
		})
		for _, path := range []string{"/", "/500", "/", "/"} {
			resp, err := client.Do(request(t, ctx, url+path, nil))
			require.NoError(t, err)
			require.NoError(t, readAll(resp))
			require.NoError(t, resp.Body.Close())
		}
		require.Equal(t, 3, reused)
		require.Equal(t, outcomes{ok: 3, transient: 1}, outcomesOf(b))
	})
}

// After a protocol upgrade the body is the connection, and the attempt has ended.
func TestUpgrade(t *testing.T) {
	server, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		line, _ := rw.ReadString('\n')
		_, _ = io.WriteString(conn, "echo "+line)
	})
	b := newBreaker(t)
	r := request(t, bg, server.URL, nil)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "echo")
	resp, err := through(b, base).Do(r)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
	require.Equal(t, outcomes{ok: 1}, outcomesOf(b))
	conn, ok := resp.Body.(io.ReadWriteCloser)
	require.True(t, ok)
	_, err = io.WriteString(conn, "hello\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "echo hello\n", line)
	require.NoError(t, conn.Close())
	require.Equal(t, outcomes{ok: 1}, outcomesOf(b))
}

// Only a body that can be written to is one: nothing else may pass for a connection.
func TestOrdinaryBodiesAreNotWritable(t *testing.T) {
	everyProtocol(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "text")
	}, func(t *testing.T, b *breaker.Breaker, client *http.Client, url string) {
		resp, err := client.Get(url)
		require.NoError(t, err)
		defer resp.Body.Close()
		_, writable := resp.Body.(io.Writer)
		require.False(t, writable)
	})
}

// The request that the base sees is the caller's, and as it was.
func TestRequestIsNotChanged(t *testing.T) {
	r := request(t, context.WithValue(bg, ctxKey{}, 1), "http://A.example/path?q=1", strings.NewReader("text"))
	r.Header.Set("X-Some", "thing")
	before, header, u, sending := *r, r.Header.Clone(), *r.URL, r.Body
	_, err := through(newBreaker(t), answering(func(got *http.Request) (*http.Response, error) {
		require.Same(t, r, got)
		return response(got, 200, http.NoBody), nil
	})).Transport.RoundTrip(r)
	require.NoError(t, err)
	require.Equal(t, header, r.Header)
	require.Equal(t, u, *r.URL)
	require.Equal(t, sending, r.Body)
	require.Equal(t, before.Method, r.Method)
	require.Equal(t, before.Host, r.Host)
	require.Equal(t, before.ContentLength, r.ContentLength)
	require.Equal(t, before.Context(), r.Context())
}

type ctxKey struct{}

// closing is a body that one can wait for to be closed.
type closing struct {
	*body
	once sync.Once
	done chan struct{}
}

func (c *closing) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}
