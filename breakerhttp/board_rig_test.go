package breakerhttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

// counted is a source that counts how often it was read.
type counted struct {
	breaker.Source
	reads atomic.Int64
}

func (c *counted) Breakers() iter.Seq[*breaker.Breaker] {
	c.reads.Add(1)
	return c.Source.Breakers()
}

// named builds a breaker that three failures open, for ten seconds.
func named(name string) *breaker.Breaker {
	return breaker.MustNew(breaker.Settings{
		Name:                name,
		ConsecutiveFailures: 3,
		BreakDuration:       10 * time.Second,
		BreakJitter:         breaker.JitterNone,
	})
}

// call makes n calls that end with a verdict; those that are refused are made all the same.
func call(b *breaker.Breaker, n int, v breaker.Verdict) {
	for range n {
		if attempt, err := b.TryAdmit(context.Background()); err == nil {
			attempt.Record(v, 10*time.Millisecond)
		}
	}
}

// ask sends a request to a handler, with headers in pairs.
func ask(h http.Handler, method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://board.test"+path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// said is what an event, or a snapshot, tells.
type said struct {
	Now      int64
	Controls bool
	Breakers []map[string]any
	Gone     []string
}

// snapshotOf returns the breakers of a board.
func snapshotOf(t *testing.T, h http.Handler) said {
	t.Helper()
	w := ask(h, http.MethodGet, "/snapshot")
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	return parse(t, w.Body.Bytes())
}

func parse(t *testing.T, text []byte) (s said) {
	t.Helper()
	require.NoError(t, json.Unmarshal(text, &s), "%s", text)
	return s
}

// stream is an open page: a writer that keeps what was flushed to it.
type stream struct {
	t      *testing.T
	header http.Header
	code   int
	leave  context.CancelFunc
	ended  chan struct{}
	stuck  chan struct{} // nil, or what a write waits for

	mu      sync.Mutex
	written bytes.Buffer
	flushed bytes.Buffer
}

func (s *stream) Header() http.Header  { return s.header }
func (s *stream) WriteHeader(code int) { s.code = code }

func (s *stream) Write(p []byte) (int, error) {
	if s.stuck != nil {
		<-s.stuck
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written.Write(p)
}

func (s *stream) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.written.WriteTo(&s.flushed)
}

// openPage opens the events of a board.
func openPage(t *testing.T, board *breakerhttp.BoardHandler, stuck chan struct{}) *stream {
	ctx, leave := context.WithCancel(t.Context())
	s := &stream{t: t, header: http.Header{}, leave: leave, ended: make(chan struct{}), stuck: stuck}
	go func() {
		defer close(s.ended)
		board.ServeHTTP(s, httptest.NewRequest(http.MethodGet, "/events", nil).WithContext(ctx))
	}()
	return s
}

// heard returns the events since the last call, with their names.
func (s *stream) heard() (names []string, events []said) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for block := range strings.SplitSeq(strings.TrimSuffix(s.flushed.String(), "\n\n"), "\n\n") {
		if block == "" {
			continue
		}
		name, data, ok := strings.Cut(block, "\ndata: ")
		require.True(s.t, ok, block)
		require.NotContains(s.t, data, "\n")
		names = append(names, strings.TrimPrefix(name, "event: "))
		events = append(events, parse(s.t, []byte(data)))
	}
	s.flushed.Reset()
	return names, events
}
