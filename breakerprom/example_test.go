package breakerprom_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerprom"
)

func Example() {
	db := breaker.MustNew(breaker.Settings{Name: "db"})

	registry := prometheus.NewRegistry()
	registry.MustRegister(breakerprom.NewCollector(db, nil))
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{}) // for /metrics

	db.Isolate()
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "breaker_state{") {
			fmt.Print(line)
		}
	}
	// Output:
	// breaker_state{breaker="db",state="closed"} 0
	// breaker_state{breaker="db",state="half-open"} 0
	// breaker_state{breaker="db",state="isolated"} 1
	// breaker_state{breaker="db",state="open"} 0
	// breaker_state{breaker="db",state="recovering"} 0
}

// Several sources are one to the collector. Those that must not be missed come first.
func ExampleNewCollector() {
	db := breaker.MustNew(breaker.Settings{Name: "db"})
	tenants, err := breaker.NewScope(0, func(tenant string) breaker.Settings {
		return breaker.Settings{Name: "tenant/" + tenant}
	})
	if err != nil {
		panic(err)
	}
	var all breaker.Registry
	all.Add(db, tenants)
	prometheus.NewRegistry().MustRegister(breakerprom.NewCollector(&all, &breakerprom.Options{MaximumBreakers: 50}))
}
