package breakerhttp_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

// reusing is a base that allocates nothing: it gives the same response each time.
type reusing struct {
	response http.Response
	reader   strings.Reader
	status   int
}

func (b *reusing) RoundTrip(r *http.Request) (*http.Response, error) {
	b.reader.Reset("text")
	b.response = http.Response{StatusCode: b.status, ContentLength: 4, Body: readCloser{&b.reader}, Request: r}
	return &b.response, nil
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// costs are what a request through a Transport allocates over its base:
//
//   - the exchange: the attempt, what it is judged by, and the wrapper of the body, in one
//   - the key, where the port has to be written out in it
var costs = map[string]struct {
	url     string
	status  int
	options func() *breakerhttp.TransportOptions
	allocs  float64
}{
	"one breaker": {"https://api.example.com/", 200, func() *breakerhttp.TransportOptions {
		return &breakerhttp.TransportOptions{Breaker: breaker.MustNew(breaker.Settings{})}
	}, 1},
	"host and port":           {"https://api.example.com:8443/", 200, func() *breakerhttp.TransportOptions { return nil }, 1},
	"host":                    {"https://api.example.com/", 200, func() *breakerhttp.TransportOptions { return nil }, 2},
	"host, and no body to it": {"https://api.example.com/", 404, func() *breakerhttp.TransportOptions { return nil }, 2},
}

func exchangeOnce(transport http.RoundTripper, r *http.Request, buffer []byte) error {
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return err
	}
	for err == nil {
		_, err = resp.Body.Read(buffer)
	}
	if err != io.EOF {
		return err
	}
	return resp.Body.Close()
}

func TestAllocations(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates for itself")
	}
	for name, cost := range costs {
		base := &reusing{status: cost.status}
		r, buffer := request(t, bg, cost.url, nil), make([]byte, 64)
		measure := func(transport http.RoundTripper) float64 {
			return testing.AllocsPerRun(1000, func() {
				if err := exchangeOnce(transport, r, buffer); err != nil {
					t.Fatal(err)
				}
			})
		}
		bare := measure(base)
		require.Equal(t, cost.allocs, measure(breakerhttp.NewTransport(base, cost.options()))-bare, name)
		require.LessOrEqual(t, cost.allocs, 3.0)
	}
}

func BenchmarkTransport(b *testing.B) {
	run := func(b *testing.B, transport func(http.RoundTripper) http.RoundTripper, url string, status int) {
		b.ReportAllocs()
		r, err := http.NewRequestWithContext(bg, http.MethodGet, url, nil)
		require.NoError(b, err)
		over, buffer := transport(&reusing{status: status}), make([]byte, 64)
		for b.Loop() {
			if err := exchangeOnce(over, r, buffer); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("base alone", func(b *testing.B) {
		run(b, func(base http.RoundTripper) http.RoundTripper { return base }, "https://api.example.com/", 200)
	})
	for name, cost := range costs {
		b.Run(name, func(b *testing.B) {
			run(b, func(base http.RoundTripper) http.RoundTripper {
				return breakerhttp.NewTransport(base, cost.options())
			}, cost.url, cost.status)
		})
	}
}
