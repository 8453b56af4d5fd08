package breakerprom_test

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerprom"
)

// handClock moves when a test moves it, and counts who reads it.
type handClock struct {
	mu    sync.Mutex
	now   time.Time
	reads int
}

func newHandClock() *handClock {
	return &handClock{now: time.Date(2026, 3, 2, 3, 4, 5, 250_000_000, time.UTC)}
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	return c.now
}

func (c *handClock) After(time.Duration) <-chan time.Time { panic("a pause") }

func (c *handClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// settings are those of a breaker that opens for exactly 10 s, after five failures in a row.
func settings(name string, c breaker.Clock) breaker.Settings {
	return breaker.Settings{
		Name: name, Clock: c, ConsecutiveFailures: 5, BreakDuration: 10 * time.Second, BreakJitter: breaker.JitterNone,
	}
}

// call makes n calls that are admitted, and end at once.
func call(t *testing.T, b *breaker.Breaker, n int, v breaker.Verdict, d time.Duration) {
	t.Helper()
	for range n {
		attempt, err := b.TryAdmit(context.Background())
		require.NoError(t, err)
		attempt.Record(v, d)
	}
}

func refuse(t *testing.T, b *breaker.Breaker, n int) {
	t.Helper()
	for range n {
		_, err := b.TryAdmit(context.Background())
		require.ErrorIs(t, err, breaker.ErrRejected)
	}
}

// open opens a closed breaker.
func open(t *testing.T, b *breaker.Breaker) {
	t.Helper()
	call(t, b, 5, breaker.Transient, 0)
	require.Equal(t, breaker.Open, b.State())
}

// registry returns a pedantic registry with a collector in it: one that holds every scrape
// to what the collector describes.
func registry(t *testing.T, source breaker.Source, options *breakerprom.Options) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(breakerprom.NewCollector(source, options)))
	return r
}

// endpoint serves a registry, as a program does, and returns its URL.
func endpoint(t *testing.T, r *prometheus.Registry) string {
	t.Helper()
	server := httptest.NewServer(promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
	t.Cleanup(server.Close)
	return server.URL
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// scrape returns the series of one scrape and their values, as text.
func scrape(t *testing.T, url string) map[string]string {
	t.Helper()
	status, body := get(t, url)
	require.Equal(t, http.StatusOK, status, body)
	series := map[string]string{}
	for line := range strings.Lines(body) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok && !strings.HasPrefix(line, "#") {
			_, twice := series[name+"}"]
			require.False(t, twice, line)
			series[name+"}"] = value
		}
	}
	return series
}

var labelBreaker = regexp.MustCompile(`\bbreaker="((?:[^"\\]|\\.)*)"`)

// shown returns the names of the breakers that have series, and how many each has.
func shown(series map[string]string) map[string]int {
	names := map[string]int{}
	for one := range series {
		if match := labelBreaker.FindStringSubmatch(one); match != nil {
			names[match[1]]++
		}
	}
	return names
}

// sourceFunc is a source of what a function returns.
type sourceFunc func() []*breaker.Breaker

func (f sourceFunc) Breakers() iter.Seq[*breaker.Breaker] { return breaker.List(f()).Breakers() }
