package bench

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/normal-go/breaker"
)

// Parts: what this library's calls are made of, on one goroutine. A success with a trip off
// less one with it on is what the trip costs.
func BenchmarkParts(b *testing.B) {
	part := func(name string, do func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
	}

	born := time.Now()
	part("clock", func() { elapsed = time.Since(born) })
	part("time-of-day", func() { now = time.Now() })
	var mu sync.Mutex
	count := 0
	part("mutex", func() {
		mu.Lock()
		count++
		mu.Unlock()
	})

	attempts := func(s breaker.Settings, end func(*breaker.Attempt)) func() {
		guarded := breaker.MustNew(s)
		return func() {
			attempt, err := guarded.TryAdmit(ctx)
			if err != nil {
				panic(err)
			}
			end(&attempt)
		}
	}
	record := func(a *breaker.Attempt) { a.Record(breaker.OK, time.Millisecond) }
	noLatency := breaker.SlowCalls{Off: true}
	noFailures := breaker.Failures{Off: true}
	part("admit-release", attempts(breaker.Settings{}, (*breaker.Attempt).Release))
	part("admit-record", attempts(breaker.Settings{}, record))
	part("admit-done", attempts(breaker.Settings{}, func(a *breaker.Attempt) { a.Done(nil) }))
	part("admit-record-without-slowcalls", attempts(breaker.Settings{SlowCalls: noLatency}, record))
	part("admit-record-without-failures", attempts(breaker.Settings{Failures: noFailures}, record))
	part("admit-record-without-both", attempts(breaker.Settings{DisableAdaptive: true}, record))

	guarded := breaker.MustNew(breaker.Settings{})
	for i := range 1000 {
		w, _ := hundredth(i)
		_ = guarded.Do(ctx, w.context)
	}
	part("state", func() { state = guarded.State() })
	part("normal-latency", func() { elapsed, _ = guarded.NormalLatency() })
	part("snapshot", func() { snapshot = guarded.Snapshot() })

	scope, err := breaker.NewScope(1024, func(string) breaker.Settings { return breaker.Settings{} })
	if err != nil {
		b.Fatal(err)
	}
	keys := make([]string, 1024)
	for i := range keys {
		keys[i] = fmt.Sprintf("tenant-%d", i)
		scope.For(keys[i])
	}
	key := 0
	part("scope-look-up", func() {
		key = (key + 1) % len(keys)
		found = scope.For(keys[key])
	})
}

// So that nothing is optimized away.
var (
	elapsed  time.Duration
	now      time.Time
	state    breaker.State
	snapshot breaker.Snapshot
	found    *breaker.Breaker
)
