package breaker_test

import (
	"testing"
	"time"

	"github.com/normal-go/breaker"
)

// The common paths, for whoever changes them. bench/ compares with other libraries, on
// several processors.

func benchmark(b *testing.B, do func()) {
	b.ReportAllocs()
	for b.Loop() {
		do()
	}
}

func BenchmarkClosed(b *testing.B) {
	br := breaker.MustNew(breaker.Settings{})
	benchmark(b, func() { _ = br.Do(bg, succeed) })
}

func BenchmarkOneFailureInAHundred(b *testing.B) {
	br := breaker.MustNew(breaker.Settings{})
	n := 0
	benchmark(b, func() {
		n++
		attempt, _ := br.TryAdmit(bg)
		if n%100 == 0 {
			attempt.Record(breaker.Transient, time.Millisecond)
		} else {
			attempt.Record(breaker.OK, time.Millisecond)
		}
	})
}

func BenchmarkRefused(b *testing.B) {
	br := breaker.MustNew(breaker.Settings{})
	br.Isolate()
	benchmark(b, func() { _, _ = br.TryAdmit(bg) })
}

func BenchmarkProbe(b *testing.B) {
	br := breaker.MustNew(breaker.Settings{DisableAdaptive: true, ProbeSuccesses: 1 << 30})
	tripNow(br)
	br.ProbeNow()
	benchmark(b, func() { _ = br.Do(bg, succeed) })
}

func BenchmarkSnapshot(b *testing.B) {
	br := breaker.MustNew(breaker.Settings{})
	for range 1000 {
		_ = br.Do(bg, succeed)
	}
	benchmark(b, func() { br.Snapshot() })
}
