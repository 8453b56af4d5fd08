// Health reports a breaker on a health endpoint. An open breaker is "degraded", with
// status 200: the dependency is down, and this process does what it is there for. To
// report it as failed would have the process restarted, which cannot help the
// dependency and makes the breaker forget all that it knows.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/normal-go/breaker"
)

// health is the handler. To look changes nothing and takes no probe slot, so it may be
// asked as often as anyone likes.
func health(b *breaker.Breaker) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		report := struct {
			Status  string        `json:"status"`
			Name    string        `json:"name"`
			Breaker breaker.State `json:"breaker"`
			Normal  string        `json:"normal_latency,omitempty"`
		}{Status: "ok", Name: b.Name(), Breaker: b.State()}
		if report.Breaker != breaker.Closed {
			report.Status = "degraded"
		}
		if normal, known := b.NormalLatency(); known {
			report.Normal = normal.String()
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(report)
	})
}

func main() {
	clock := &steppedClock{now: time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)}
	b := breaker.MustNew(breaker.Settings{Name: "db", Clock: clock})
	handler := health(b)
	ask := func(when string) {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/health", nil))
		fmt.Printf("%s: %d %s", when, answer.Code, answer.Body)
	}

	ask("no call yet")

	for range 20 { // as many as it takes to know what is normal
		_ = b.Do(context.Background(), func(context.Context) error {
			clock.step(10 * time.Millisecond)
			return nil
		})
	}
	ask("after 20 calls of 10 ms")

	for range 5 {
		_ = b.Do(context.Background(), func(context.Context) error { return errors.New("down") })
	}
	ask("after 5 failures")

	clock.step(15 * time.Second) // the break is at most that long
	ask("when the break is over")
}

// steppedClock is a [breaker.Clock] that moves when it is told to, so that this program
// says the same on every run. A service leaves Settings.Clock alone.
type steppedClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *steppedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *steppedClock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// After is for the pause before a refusal, of which there is none here.
func (c *steppedClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
