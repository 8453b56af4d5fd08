package breaker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A breaker may open a second time before the call that opened it has drawn the next
// number. Here Random itself sees to that, which it can because no lock is held; the open
// that finds no number then serves neither the old one nor none at all.
func TestOpenThatFindsNoDraw(t *testing.T) {
	ctx := context.Background()
	const nominal = time.Hour
	var b *Breaker
	taken := 0
	openAgain := func() {
		b.ProbeNow()
		attempt, err := b.TryAdmit(ctx)
		require.NoError(t, err)
		attempt.Record(Transient, 0)
	}
	random := func() float64 {
		taken++
		if b == nil {
			return 0.25 // New's
		}
		if !b.mu.TryLock() {
			t.Fatal("Random runs under the lock")
		}
		b.mu.Unlock()
		if taken < 12 {
			openAgain()
		}
		return 0.75
	}
	b = MustNew(Settings{
		ConsecutiveFailures:  1,
		BreakDuration:        nominal,
		MaximumBreakDuration: nominal,
		BreakJitter:          JitterFull,
		Random:               random,
	})
	attempt, err := b.TryAdmit(ctx)
	require.NoError(t, err)
	attempt.Record(Transient, 0)

	require.Equal(t, 12, taken, "one for New, and one for every open")
	seen := map[time.Duration]bool{nominal * 3 / 4: true}
	opens := 0
	for _, tr := range b.History() {
		if tr.To == Open {
			opens++
			require.True(t, tr.Break >= 0 && tr.Break < nominal, tr.Break)
			seen[tr.Break] = true
		}
	}
	require.Equal(t, 11, opens)
	require.Equal(t, nominal/4, b.History()[0].Break)
	require.Len(t, seen, 1+opens, "all different, and none of them the next open's")

	openAgain()
	require.Equal(t, nominal*3/4, b.History()[len(b.History())-1].Break)
}
