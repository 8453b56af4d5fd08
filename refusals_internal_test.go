package breaker

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRefusalsAreAllCounted(t *testing.T) {
	const callers, calls = 8, 5000
	var alone refusals
	for range calls {
		alone.add()
	}
	require.EqualValues(t, calls, alone.total())
	require.Nil(t, alone.spread.Load(), "one caller needs one counter")

	met := refusals{}
	met.add() // before the calls meet
	require.Same(t, met.apart(), met.apart())
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			last := uint64(0)
			for range calls {
				met.add()
				n := met.total()
				if n <= last {
					t.Error("the count did not grow", last, n)
				}
				last = n
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1+callers*calls, met.total())
	require.EqualValues(t, 1, met.shared.Load(), "once spread, it stays so")
}

// What spreading buys, and what waiting for the need: compare them with -cpu 1 and -cpu 2.
func BenchmarkRefusalsCounted(b *testing.B) {
	counted := func(name string, add func()) {
		b.Run(name, func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					add()
				}
			})
		})
	}
	var one, two, three refusals
	three.apart()
	counted("one", func() { one.shared.Add(1) })
	counted("spread when calls meet", two.add)
	counted("spread from the start", three.add)
}
