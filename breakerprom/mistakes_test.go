package breakerprom_test

import (
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerprom"
)

func TestMistakes(t *testing.T) {
	require.PanicsWithValue(t, "breakerprom: NewCollector with a nil Source", func() {
		breakerprom.NewCollector(nil, nil)
	})
	require.PanicsWithValue(t, "breakerprom: NewCollector with a negative MaximumBreakers: -1", func() {
		breakerprom.NewCollector(breaker.List{}, &breakerprom.Options{MaximumBreakers: -1})
	})
}

// Collectors run on goroutines of the registry's, where a panic ends the program.
func TestPanicWhileReading(t *testing.T) {
	list := named("a")
	url := endpoint(t, registry(t, sourceFunc(func() []*breaker.Breaker { return list }), nil))
	require.Len(t, shown(scrape(t, url)), 1)

	list = append(list, nil)
	status, body := get(t, url)
	require.Equal(t, http.StatusInternalServerError, status)
	require.Contains(t, body, "breakerprom: reading the breakers: breaker: nil *Breaker")

	list = list[:1]
	require.Len(t, shown(scrape(t, url)), 1, "it goes on when the mistake is gone")
}

func TestZeroCollector(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(new(breakerprom.Collector)))
	_, err := r.Gather()
	require.ErrorContains(t, err, "breakerprom: zero Collector; build one with NewCollector")
}
