package breaker_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/normal-go/breaker"
)

// What it costs to find the breaker of a known key, beside two ways that a program might
// take on its own. Neither of these is bounded.
func BenchmarkScopeFor(b *testing.B) {
	for _, n := range []int{1, 1024, 100_000} {
		keys := make([]string, n)
		for i := range keys {
			keys[i] = fmt.Sprintf("tenant-%d", i)
		}
		settings := func(key string) breaker.Settings {
			return breaker.Settings{Name: key, DisableAdaptive: true}
		}

		scope := mustScope(b, n, settings)
		var free sync.Map
		locked := map[string]*breaker.Breaker{}
		var mu sync.Mutex
		for _, key := range keys {
			found := scope.For(key)
			free.Store(key, found)
			locked[key] = found
		}
		for _, way := range []struct {
			name string
			find func(key string) *breaker.Breaker
		}{
			{"Scope", scope.For},
			{"sync.Map", func(key string) *breaker.Breaker {
				found, _ := free.Load(key)
				return found.(*breaker.Breaker)
			}},
			{"mutex and map", func(key string) *breaker.Breaker {
				mu.Lock()
				defer mu.Unlock()
				return locked[key]
			}},
		} {
			b.Run(fmt.Sprintf("%s/%d keys", way.name, n), func(b *testing.B) {
				runtime.GC() // of what the keys took to build
				b.ReportAllocs()
				b.ResetTimer()
				var callers atomic.Uint64
				b.RunParallel(func(pb *testing.PB) {
					// Each caller goes round the keys from a place of its own, in strides that
					// meet them all.
					i := callers.Add(1) * 7919 % uint64(n)
					for pb.Next() {
						if i += 7919; i >= uint64(n) {
							i %= uint64(n)
						}
						if way.find(keys[i]) == nil {
							b.Error("not found")
						}
					}
				})
			})
		}
	}
}

// What a new key costs while the scope is full: a breaker, and the place of another.
func BenchmarkScopeForNewKeys(b *testing.B) {
	for _, n := range []int{1024, 100_000} {
		b.Run(fmt.Sprintf("of %d", n), func(b *testing.B) {
			scope := mustScope(b, n, forEvery[uint64](plain))
			var next atomic.Uint64
			for range n {
				scope.For(next.Add(1))
			}
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					scope.For(next.Add(1))
				}
			})
		})
	}
}
