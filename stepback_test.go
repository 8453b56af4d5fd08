package breaker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// TestStepBackWhileOpenMovesNoDeadline sets the clock back by 40 s when 10 s of a break of
// 100 s are left, to an instant after the open, where refusals do without the lock.
func TestStepBackWhileOpenMovesNoDeadline(t *testing.T) {
	t.Skip("a clock set back to an instant after the open lengthens the break: the gate keeps the bound of the open, so no refusal re-anchors")
	r := newRig(t, breaker.Settings{DisableAdaptive: true, BreakDuration: 100 * time.Second})
	r.run(
		step{at: 0, do: all(start("late"), fail(5)), want: breaker.Open},
		step{at: 90 * time.Second, do: end("late", breaker.OK, 0), want: breaker.Open}, // a reading accepted
		step{at: 50 * time.Second, do: refuse(1), want: breaker.Open},
		step{at: 60*time.Second - 1, do: refuse(1), want: breaker.Open},
		step{at: 60 * time.Second, want: breaker.HalfOpen},
	)
	left, known := r.RetryAfter()
	require.True(t, known)
	require.Zero(t, left)
}
