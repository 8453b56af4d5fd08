package breakerhttp_test

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

func readAll(resp *http.Response) error {
	_, err := io.ReadAll(resp.Body)
	return err
}

// What becomes of a body decides about a 2xx, and about no other status.
func TestEndOfTheBody(t *testing.T) {
	tests := map[string]struct {
		status int
		body   io.Reader
		do     func(*http.Response) error
		before breaker.Verdict // at the headers; unknown for none
		want   breaker.Verdict
		err    error
	}{
		"read to its end": {200, bytes.NewReader([]byte("text")), readAll, none, breaker.OK, nil},
		"closed unread":   {200, failing{errBroken}, func(*http.Response) error { return nil }, none, breaker.OK, nil},
		"closed half way": {206, brokenAfter("text", errBroken), func(r *http.Response) error {
			_, err := r.Body.Read(make([]byte, 4))
			return err
		}, none, breaker.OK, nil},
		"breaks off":             {200, brokenAfter("text", errBroken), readAll, none, breaker.Transient, errBroken},
		"breaks off without EOF": {200, brokenAfter("text", io.ErrUnexpectedEOF), readAll, none, breaker.Transient, io.ErrUnexpectedEOF},
		"with a verdict":         {200, brokenAfter("text", breaker.WithVerdict(errBroken, breaker.OK)), readAll, none, breaker.OK, errBroken},
		"of a 404":               {404, brokenAfter("text", errBroken), readAll, breaker.OK, breaker.OK, errBroken},
		"of a 500":               {500, brokenAfter("text", errBroken), readAll, breaker.Transient, breaker.Transient, errBroken},
		"of a 429":               {429, brokenAfter("text", errBroken), readAll, breaker.Throttled, breaker.Throttled, errBroken},
		"none":                   {200, nil, readAll, breaker.OK, breaker.OK, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBreaker(t)
			var base io.ReadCloser = http.NoBody
			sent := &body{Reader: test.body}
			if test.body != nil {
				base = sent
			}
			resp, err := through(b, answering(func(r *http.Request) (*http.Response, error) {
				return response(r, test.status, base), nil
			})).Get("http://a.example/")
			require.NoError(t, err)
			require.Equal(t, oneOf(test.before), outcomesOf(b))
			require.ErrorIs(t, test.do(resp), test.err)
			require.NoError(t, resp.Body.Close())
			require.NoError(t, resp.Body.Close())
			_, _ = resp.Body.Read(make([]byte, 1))
			require.Equal(t, oneOf(test.want), outcomesOf(b), "settled once")
			if test.body != nil {
				require.EqualValues(t, 2, sent.closed.Load(), "each Close passes")
			}
		})
	}
}

// none is no verdict yet.
const none = breaker.Verdict(99)

// An error of Close is the caller's to see, and no evidence.
func TestErrorOfClosePasses(t *testing.T) {
	b := newBreaker(t)
	resp, err := through(b, answering(func(r *http.Request) (*http.Response, error) {
		return response(r, 200, failingClose{bytes.NewReader(nil)}), nil
	})).Get("http://a.example/")
	require.NoError(t, err)
	require.ErrorIs(t, resp.Body.Close(), errBroken)
	require.Equal(t, outcomes{ok: 1}, outcomesOf(b))
}

type failingClose struct{ io.Reader }

func (failingClose) Close() error { return errBroken }

// However many read and close at once, there is one outcome; and a Read that fails because
// of the Close is not the dependency's failure.
func TestBodyIsSettledOnceConcurrentSafe(t *testing.T) {
	for range 200 {
		b := newBreaker(t)
		reader, writer := io.Pipe()
		resp, err := through(b, answering(func(r *http.Request) (*http.Response, error) {
			return response(r, 200, reader), nil
		})).Get("http://a.example/")
		require.NoError(t, err)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { _, _ = resp.Body.Read(make([]byte, 1)) })
			all.Go(func() { _ = resp.Body.Close() })
		}
		all.Wait()
		_ = writer.Close()
		require.Equal(t, outcomes{ok: 1}, outcomesOf(b))
	}
}

// A body that nobody closes holds no goroutine, which the bubble would wait for, and its
// probe loses its slot in time.
func TestBodyThatIsNeverClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.MustNew(breaker.Settings{BreakJitter: breaker.JitterNone, ProbeTimeout: 10 * time.Second})
		client := through(b, answering(func(r *http.Request) (*http.Response, error) {
			if b.State() == breaker.Closed {
				return nil, errBroken
			}
			return response(r, 200, textBody("text")), nil
		}))
		for range 5 {
			_, err := client.Get("http://a.example/")
			require.ErrorIs(t, err, errBroken)
		}
		time.Sleep(15 * time.Second)
		unclosed, err := client.Get("http://a.example/")
		require.NoError(t, err)
		_, err = client.Get("http://a.example/")
		require.ErrorIs(t, err, breaker.ErrRejected, "the slot is taken")

		time.Sleep(10 * time.Second)
		for range 2 {
			_, _, err = get(client, "http://a.example/")
			require.NoError(t, err)
		}
		require.Equal(t, breaker.Closed, b.State())
		require.NoError(t, unclosed.Body.Close())
		require.EqualValues(t, 1, b.Snapshot().Totals.Stale)
	})
}

// Over the wire, in both protocols: a server that says how much will come and stops half way.
func TestHalfSentBodyIsTransient(t *testing.T) {
	half := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	server, base := serve(t, half)
	server2, base2 := serveHTTP2(t, half)
	for url, base := range map[string]*http.Transport{server.URL: base, server2.URL: base2} {
		b := newBreaker(t)
		status, text, err := get(through(b, base), url)
		require.Error(t, err)
		if status == 200 { // the headers may not have come either
			require.Equal(t, "half", text)
		}
		require.Equal(t, outcomes{transient: 1}, outcomesOf(b))
	}
}

func TestKilledConnectionIsTransient(t *testing.T) {
	server, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		_ = conn.Close()
	})
	b := newBreaker(t)
	for range 5 {
		_, _, err := get(through(b, base), server.URL)
		require.Error(t, err)
	}
	require.Equal(t, breaker.Open, b.State())
	require.Equal(t, outcomes{transient: 5}, outcomesOf(b))
}
