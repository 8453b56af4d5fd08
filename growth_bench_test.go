package breaker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/normal-go/breaker"
)

// What a call costs as there is more of everything: run it with -bench Growth. No row
// should allocate, and none should grow faster than what it counts.
func BenchmarkGrowth(b *testing.B) {
	settings := func(change func(*breaker.Settings)) breaker.Settings {
		s := breaker.Settings{FailureRatio: 1, ConsecutiveFailures: 1 << 30, Failures: breaker.Failures{Off: true}}
		change(&s)
		return s
	}
	call := func(br *breaker.Breaker, failed bool) {
		attempt, err := br.TryAdmit(bg)
		if err != nil {
			return
		}
		if failed {
			attempt.Record(breaker.Transient, 0)
		} else {
			attempt.Record(breaker.OK, time.Millisecond)
		}
	}
	for _, n := range []int{1, 100, 100_000} {
		b.Run(fmt.Sprintf("breakers=%d", n), func(b *testing.B) {
			all := make([]*breaker.Breaker, n)
			for i := range all {
				all[i] = breaker.MustNew(breaker.Settings{})
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				call(all[i%n], false)
			}
		})
	}
	for _, window := range []time.Duration{time.Second, time.Minute, time.Hour} {
		b.Run(fmt.Sprintf("window=%v", window), func(b *testing.B) {
			br := breaker.MustNew(settings(func(s *breaker.Settings) { s.TripWindow = window }))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				call(br, i%2 == 0)
			}
		})
	}
	for _, calls := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprintf("tripcalls=%d", calls), func(b *testing.B) {
			br := breaker.MustNew(settings(func(s *breaker.Settings) { s.TripCalls = calls }))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				call(br, i%2 == 0)
			}
		})
	}
	for _, goroutines := range []int{1, 64, 10_000} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			br := breaker.MustNew(breaker.Settings{})
			b.SetParallelism(goroutines)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					call(br, false)
				}
			})
		})
	}
	for _, expired := range []int{0, 1000, 100_000} {
		b.Run(fmt.Sprintf("snapshot/expired=%d", expired), func(b *testing.B) {
			clock := &handClock{now: time.Unix(0, 0)}
			br := breaker.MustNew(settings(func(s *breaker.Settings) { s.TripCalls, s.Clock = max(expired, 1), clock }))
			for range expired {
				call(br, false)
			}
			clock.now = clock.now.Add(time.Hour)
			for b.Loop() {
				br.Snapshot()
			}
		})
	}
}
