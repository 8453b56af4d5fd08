package breakerhttp_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

// A client with a breaker for each host that it talks to.
func ExampleNewTransport() {
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer broken.Close()
	well := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer well.Close()

	client := &http.Client{Transport: breakerhttp.NewTransport(nil, nil)}
	get := func(url string) string {
		resp, err := client.Get(url)
		var refusal *breaker.RejectedError
		switch {
		case errors.As(err, &refusal):
			return "not sent: " + refusal.State.String()
		case err != nil:
			return "failed"
		}
		defer resp.Body.Close()
		return resp.Status
	}
	for range 5 {
		fmt.Println(get(broken.URL))
	}
	fmt.Println(get(broken.URL))
	fmt.Println(get(well.URL))
	// Output:
	// 502 Bad Gateway
	// 502 Bad Gateway
	// 502 Bad Gateway
	// 502 Bad Gateway
	// 502 Bad Gateway
	// not sent: open
	// 200 OK
}

// Breakers with settings and names of one's own, by host and tenant.
func ExampleTransportOptions() {
	scope, err := breaker.NewScope(10_000, func(key string) breaker.Settings {
		return breaker.Settings{Name: "http/" + key, Recovery: breaker.RecoveryOver(0.25)}
	})
	if err != nil {
		panic(err)
	}
	transport := breakerhttp.NewTransport(nil, &breakerhttp.TransportOptions{
		Scope: scope,
		Key: func(r *http.Request) string {
			return breakerhttp.HostKey(r) + "/" + r.Header.Get("X-Tenant")
		},
		Classify: func(resp *http.Response, err error) breaker.Verdict {
			if err == nil && resp.StatusCode == http.StatusNotImplemented {
				return breaker.OK // this one means it
			}
			return breakerhttp.Classify(resp, err)
		},
	})
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()

	r, _ := http.NewRequest(http.MethodGet, server.URL, nil)
	r.Header.Set("X-Tenant", "acme")
	resp, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	for b := range transport.Breakers() {
		fmt.Println(b.Name() == "http/"+r.URL.Host+"/acme", b.State())
	}
	// Output:
	// 404 Not Found
	// true closed
}

// A handler that answers a refusal with a 503 and a Retry-After.
func ExampleHandlerFunc() {
	db := breaker.Of(5, 15*time.Second, "db")
	handler := breakerhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		attempt, err := db.TryAdmit(r.Context())
		if err != nil {
			return err
		}
		defer attempt.Release()
		// ...
		return nil
	})
	for range 5 {
		attempt, _ := db.TryAdmit(httptest.NewRequest(http.MethodGet, "/", nil).Context())
		attempt.Done(errors.New("down"))
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/users/42", nil))
	fmt.Println(w.Code, w.Header().Get("Retry-After") != "")
	// Output:
	// 503 true
}

// A handler that rests after failures.
func ExampleGuard() {
	reports := breaker.Of(2, 15*time.Second, "reports")
	failing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "out of memory", http.StatusInternalServerError)
	})
	mux := http.NewServeMux()
	mux.Handle("/reports", breakerhttp.Guard(reports, failing))
	mux.Handle("/health", breakerhttp.HealthHandler(reports, nil))
	for _, path := range []string{"/reports", "/health", "/reports", "/reports"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Print(w.Code, " ", w.Body)
	}
	// Output:
	// 500 out of memory
	// 200 {"status":"ok","breakers":[{"name":"reports","state":"closed"}]}
	// 500 out of memory
	// 503 Service Unavailable
}
