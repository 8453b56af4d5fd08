package breaker

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSurprise(t *testing.T) {
	tests := []struct {
		n    uint64
		q, p float64
		want float64
	}{
		{0, 0.5, 0.1, 0},
		{100, 0.1, 0.1, 0},  // what is normal is no surprise
		{100, 0.05, 0.1, 0}, // nor is less
		{1, 1, 0.5, math.Ln2},
		{10, 1, 0.1, 10 * math.Log(10)},
		{40, 0.3, 0.011, 40 * (0.3*math.Log(0.3/0.011) + 0.7*math.Log(0.7/0.989))},
	}
	for _, test := range tests {
		require.InDelta(t, test.want, surprise(test.n, test.q, test.p), 1e-9, "n=%d q=%v p=%v", test.n, test.q, test.p)
	}
}

// The bound must hold: for every n, k and p, the exact tail of the binomial is at most
// exp(-surprise).
func TestSurpriseBoundsTheBinomialTail(t *testing.T) {
	logChoose := func(n, k int) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		return a - b - c
	}
	for _, n := range []int{1, 2, 5, 20, 100} {
		for _, p := range []float64{0.001, 0.01, 0.1, 0.3, 0.5, 0.9} {
			for k := 1; k <= n; k++ {
				tail := 0.0
				for i := k; i <= n; i++ {
					tail += math.Exp(logChoose(n, i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
				}
				bound := math.Exp(-surprise(uint64(n), float64(k)/float64(n), p))
				require.LessOrEqual(t, tail, bound*(1+1e-9), "n=%d k=%d p=%v", n, k, p)
			}
		}
	}
}

func TestReferenceLeavesTheTripWindowOut(t *testing.T) {
	tests := []struct {
		name             string
		baseline, window counts
		minimum          uint64
		want             float64
		ok               bool
	}{
		{"a flawless past", counts{calls: 100}, counts{}, 100, 0.5 / 101, true},
		{"one sample short", counts{calls: 119}, counts{calls: 20}, 100, 0, false},
		{"just enough", counts{calls: 120, failures: 13}, counts{calls: 20, failures: 10}, 100, 3.5 / 101, true},
		{"everything in the window", counts{calls: 500}, counts{calls: 500}, 100, 0, false},
		{"more in the window than in the baseline", counts{calls: 200, failures: 3}, counts{calls: 50, failures: 9}, 100, 0.5 / 151, true},
		{"more calls in the window", counts{calls: 20}, counts{calls: 500}, 1, 0, false},
		{"never more failures than calls", counts{calls: 110, failures: 110}, counts{calls: 10}, 100, 100.5 / 101, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := newErrorBaseline(0, Failures{MinimumSamples: int(test.minimum)}.filled())
			*e.slot = test.baseline
			got, ok := e.reference(0, test.window)
			require.Equal(t, test.ok, ok)
			require.InDelta(t, test.want, got, 1e-12)
		})
	}
	_, ok := (*errorBaseline)(nil).reference(0, counts{})
	require.False(t, ok, "without a baseline")
}

func TestEvidenceWeighsWithoutAllocation(t *testing.T) {
	b := MustNew(Settings{})
	for range 1000 {
		b.errors.add(b.now, false, false)
		b.latency.record(b.now, 1000)
	}
	c := counts{calls: 40, failures: 12, slow: 30}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		trips := b.failureEvidenceLocked(b.now, c).trips() || b.slowEvidenceLocked(b.now, c).trips()
		require.True(t, trips && b.runNeededLocked(b.now) >= 5)
	}))
}
