package bench

import (
	"runtime"
	"testing"

	"github.com/normal-go/breaker"
)

// Held: what a breaker keeps in memory, on the heap and on the stacks of goroutines of its
// own.
func BenchmarkHeld(b *testing.B) {
	each(b, "Held", func(b *testing.B, l library) { held(b, l.create) })

	ours := func(s breaker.Settings, then func(*breaker.Breaker)) func() any {
		return func() any {
			created := breaker.MustNew(s)
			then(created)
			return created
		}
	}
	transitions := func(n int) func(*breaker.Breaker) {
		return func(created *breaker.Breaker) {
			for i := range n {
				if i%2 == 0 {
					created.Isolate()
				} else {
					created.Reset()
				}
			}
		}
	}
	for _, also := range []struct {
		name   string
		create func() any
	}{
		{"breaker-after-1-transition", ours(breaker.Settings{}, transitions(1))},
		{"breaker-after-2-transitions", ours(breaker.Settings{}, transitions(2))},
		{"breaker-after-64-transitions", ours(breaker.Settings{}, transitions(64))},
		{"breaker-all-off", ours(breaker.Settings{DisableAdaptive: true}, transitions(0))},
	} {
		b.Run(also.name, func(b *testing.B) { held(b, also.create) })
	}
}

func held(b *testing.B, create func() any) {
	const breakers = 2000
	for range b.N {
		kept := make([]any, breakers)
		before := inUse()
		for i := range kept {
			kept[i] = create()
		}
		b.ReportMetric(float64(inUse()-before)/breakers, "B/breaker")
		runtime.KeepAlive(kept)
	}
	b.ReportMetric(0, "ns/op") // the time is of no interest
}

func inUse() int64 {
	runtime.GC()
	runtime.GC() // what the first only marked
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
