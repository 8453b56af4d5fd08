package bench

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/normal-go/breaker"
)

// Closed: everything is well, and the call itself costs nothing.
func BenchmarkClosed(b *testing.B) {
	each(b, "Closed", func(b *testing.B, l library) { successes(b, l, &succeed) })
}

// Work: the same around a call that takes a microsecond. Above the bare call is what the
// breaker costs where there is something else to do.
func BenchmarkWork(b *testing.B) {
	each(b, "Work", func(b *testing.B, l library) { successes(b, l, &microsecond) })
}

func successes(b *testing.B, l library, w *work) {
	g := l.new()
	for range 1000 { // so that there is a baseline
		_ = g.call(w)
	}
	odd := parallel(b, func(pb *testing.PB, _ int) (odd int) {
		for pb.Next() {
			if g.call(w) != nil {
				odd++
			}
		}
		return odd
	})
	none(b, odd)
}

// Failing: one call in a hundred fails, and the breaker stays closed.
func BenchmarkFailing(b *testing.B) {
	each(b, "Failing", func(b *testing.B, l library) {
		g := l.new()
		for i := range 1000 {
			w, _ := hundredth(i)
			_ = g.call(w)
		}
		odd := parallel(b, func(pb *testing.PB, first int) (odd int) {
			for i := first; pb.Next(); i++ {
				w, want := hundredth(i)
				if g.call(w) != want {
					odd++
				}
			}
			return odd
		})
		none(b, odd)
	})
}

// hundredth fails one call in a hundred.
func hundredth(i int) (*work, error) {
	if i%100 == 99 {
		return &fail, errDown
	}
	return &succeed, nil
}

// Refused: the breaker is open, and the caller does not want to wait.
func BenchmarkRefused(b *testing.B) {
	each(b, "Refused", func(b *testing.B, l library) {
		g := l.new()
		open(b, g)
		var passed atomic.Int64
		down := workOf(func() error {
			passed.Add(1)
			return errDown
		})
		parallel(b, func(pb *testing.PB, _ int) int {
			for pb.Next() {
				_ = g.try(down)
			}
			return 0
		})
		switch n := passed.Load(); {
		case !l.throttles:
			none(b, n)
		case float64(n) > 0.01*float64(b.N+10_000):
			b.Fatalf("%d of %d calls passed", n, b.N)
		}
	})

	// What no refusal that knows when its break is over can do without: a load of the state
	// and a look at the clock.
	b.Run("floor", func(b *testing.B) {
		type state struct{ until time.Duration }
		var current atomic.Pointer[state]
		current.Store(&state{until: breakLength})
		born := time.Now()
		refuse := func() bool { return time.Since(born) < current.Load().until }
		parallel(b, func(pb *testing.PB, _ int) (passed int) {
			for pb.Next() {
				if !refuse() {
					passed++
				}
			}
			return passed
		})
	})
}

// parallel measures a loop in as many goroutines as Go has processors, and adds up what it
// counts.
func parallel(b *testing.B, loop func(pb *testing.PB, first int) (count int)) int64 {
	var goroutines, sum atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		first := 37 * goroutines.Add(1) // not in step
		sum.Add(int64(loop(pb, int(first))))
	})
	return sum.Load()
}

// none keeps the time of an open breaker from being read as that of a closed one, and the
// other way round.
func none(b *testing.B, odd int64) {
	if odd > 0 {
		b.Fatalf("%d of %d calls ended in another way", odd, b.N)
	}
}

// More than any benchmark makes.
const manySuccesses = 1 << 28

// HalfOpen: a probe that succeeds, and is not the last one needed.
func BenchmarkHalfOpen(b *testing.B) {
	each(b, "HalfOpen", func(b *testing.B, l library) {
		g := l.halfOpen(manySuccesses)
		_ = g.try(&succeed)
		b.ReportAllocs()
		for b.Loop() {
			_ = g.try(&succeed)
		}
		if !g.isHalfOpen() {
			b.Fatal("no longer half-open")
		}
	})
}

// HalfOpenRefused: a call that finds the half-open breaker's only place taken.
func BenchmarkHalfOpenRefused(b *testing.B) {
	each(b, "HalfOpenRefused", func(b *testing.B, l library) {
		g := l.halfOpen(1)
		defer crowd(b, g)()
		b.ReportAllocs()
		for b.Loop() {
			if g.try(&succeed) == nil {
				b.Fatal("a call passed")
			}
		}
	})
}

// Ramp: a call offered to a breaker that admits about half of them.
func BenchmarkRamp(b *testing.B) {
	b.Run("breaker", func(b *testing.B) {
		guarded := breaker.MustNew(breaker.Settings{
			ProbeSuccesses: 1,
			Recovery:       breaker.Recovery{MinimumDuration: breakLength, MaximumDuration: breakLength, InitialFraction: 0.5},
		})
		g := do(guarded)
		for range 5 {
			_ = g.call(&fail)
		}
		guarded.ProbeNow()
		_ = g.call(&succeed)
		b.ReportAllocs()
		for b.Loop() {
			_ = g.try(&succeed)
		}
		if guarded.State() != breaker.Recovering {
			b.Fatalf("%v: not on the ramp", guarded.State())
		}
	})
}

// Value: a call with a result, through what the library offers for that, or else through a
// function that leaves the result in a variable.
func BenchmarkValue(b *testing.B) {
	each(b, "Value", func(b *testing.B, l library) {
		g := l.new()
		b.ReportAllocs()
		for b.Loop() {
			if v, err := g.value(&succeed); v != 7 || err != nil {
				b.Fatal(v, err)
			}
		}
	})
}

// Create: a new breaker.
func BenchmarkCreate(b *testing.B) {
	each(b, "Create", func(b *testing.B, l library) {
		b.ReportAllocs()
		for b.Loop() {
			created = l.create()
		}
	})
}

var created any // so that no breaker stays on the stack
