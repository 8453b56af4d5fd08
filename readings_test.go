package breaker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// countingClock counts its readings.
type countingClock struct {
	handClock
	readings int
}

func (c *countingClock) Now() time.Time {
	c.readings++
	return c.now
}

// Each admission and each end reads the clock once, and whoever decides goes by that.
func TestOneReadingADecision(t *testing.T) {
	clock := &countingClock{handClock: handClock{time.Unix(0, 0)}}
	b := breaker.MustNew(breaker.Settings{Clock: clock, BreakJitter: breaker.JitterNone, ConsecutiveFailures: 1, Recovery: breaker.RecoveryOver(0.25)})
	for _, step := range []struct {
		after    time.Duration
		verdict  breaker.Verdict // of the attempt, if it is admitted
		admitted bool
		want     breaker.State
	}{
		{0, breaker.OK, true, breaker.Closed},
		{0, breaker.Transient, true, breaker.Open},
		{time.Second, 0, false, breaker.Open},
		{14 * time.Second, breaker.OK, true, breaker.HalfOpen},
		{0, breaker.OK, true, breaker.Recovering},
		{3 * time.Second, 0, false, breaker.Recovering},
		{0, breaker.OK, true, breaker.Recovering},
		{time.Second, breaker.OK, true, breaker.Closed},
	} {
		clock.now, clock.readings = clock.now.Add(step.after), 0
		attempt, err := b.TryAdmit(bg)
		require.Equal(t, step.admitted, err == nil)
		require.Equal(t, 1, clock.readings, "admission, %v", step)
		attempt.Record(step.verdict, 0)
		if step.admitted {
			require.Equal(t, 2, clock.readings, "end, %v", step)
		}
		require.Equal(t, step.want, b.State(), "%v", step)
	}
}
