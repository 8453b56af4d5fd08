// Prometheus shows breakers on /metrics: one for a database, and one for each tenant, of
// which the program sees as many as it may. It asks itself for what Prometheus would read,
// prints some of it, and ends.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerprom"
)

var db = breaker.MustNew(breaker.Settings{Name: "db"})

// metrics serves the breakers. The one for the database comes first: past 100 breakers
// there are no series, and that one is not to be missed. The tenants are counted all the
// same. One that nobody has called for long makes room for others, and its series go.
func metrics(tenants *breaker.Scope[string]) http.Handler {
	var breakers breaker.Registry
	breakers.Add(db, tenants)
	registry := prometheus.NewRegistry()
	registry.MustRegister(breakerprom.NewCollector(&breakers, &breakerprom.Options{MaximumBreakers: 100}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

func main() {
	tenants, err := breaker.NewScope(1000, func(tenant string) breaker.Settings {
		return breaker.Settings{Name: "tenant/" + tenant}
	})
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(metrics(tenants)) // in a service: http.Handle("GET /metrics", ...)
	defer server.Close()

	fmt.Println("before the first call:")
	show(server.URL, func(line string) bool { return strings.HasPrefix(line, "breaker_calls_total") })

	call := func(b *breaker.Breaker, times int, err error) {
		for range times {
			_ = b.Do(context.Background(), func(context.Context) error { return err })
		}
	}
	call(db, 40, nil)
	call(tenants.For("acme"), 7, nil)
	call(tenants.For("initech"), 5, errors.New("their shard is down"))
	fmt.Println("after some, those that are not 0:")
	show(server.URL, func(line string) bool {
		for _, name := range []string{"breaker_calls_total", "breaker_state{", "breaker_transitions_total", "breaker_collector_breakers"} {
			if strings.HasPrefix(line, name) && !strings.HasSuffix(line, " 0") {
				return true
			}
		}
		return false
	})
}

// show prints some lines of what Prometheus would read.
func show(url string, wanted func(line string) bool) {
	response, err := http.Get(url)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if wanted(lines.Text()) {
			fmt.Println(lines.Text())
		}
	}
}
