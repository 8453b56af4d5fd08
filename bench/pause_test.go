//go:build unix

package bench

import (
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// Pause: the processor time of a refusal that pauses, in user and kernel. The time on the
// clock is 100 ms, and its purpose. Beside it stands a bare timer of the same length.
func BenchmarkPause(b *testing.B) {
	b.Run("breaker", func(b *testing.B) {
		guarded := breaker.MustNew(breaker.Settings{BreakDuration: breakLength})
		g := do(guarded)
		open(b, g)
		pauses(b, func() { _ = g.call(&fail) })
		if guarded.State() != breaker.Open {
			b.Fatal("not open")
		}
	})
	b.Run("timer", func(b *testing.B) {
		pauses(b, func() {
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		})
	})
}

// pauses has a thousand callers wait at the same time.
func pauses(b *testing.B, wait func()) {
	var left atomic.Int64
	left.Store(int64(b.N))
	before := processorTime()
	var callers sync.WaitGroup
	for range min(b.N, 1000) {
		callers.Go(func() {
			for left.Add(-1) >= 0 {
				wait()
			}
		})
	}
	callers.Wait()
	b.ReportMetric(float64(processorTime()-before)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(0, "ns/op")
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func TestProcessorTimeGoesOn(t *testing.T) {
	before := processorTime()
	for processorTime() == before {
		_ = spin()
	}
	require.Greater(t, processorTime(), before)
}
