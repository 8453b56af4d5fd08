package breaker_test

import (
	"context"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// warmingDependency is down, then up and cold: it has room for one call a step when
// it comes back, warms by being used, and is knocked back when it is overloaded. There
// is no chance in it, so a breaker in front of it serves a number of calls that can be
// counted to the last one.
type warmingDependency struct {
	capacity float64
	down     bool
}

const (
	warmStep     = 100 * time.Millisecond
	warmOffered  = 20 // calls a step
	warmFast     = 10 * time.Millisecond
	warmFullSize = 20
)

// answer is what the a-th admitted call of a step gets.
func (d *warmingDependency) answer(a int) (breaker.Verdict, time.Duration) {
	capacity := max(d.capacity, 1)
	cold := float64(warmFast) * warmFullSize / capacity
	switch load := float64(a); {
	case d.down:
		return breaker.Transient, warmFast
	case load <= capacity:
		return breaker.OK, time.Duration(cold)
	case load <= 3*capacity:
		return breaker.OK, time.Duration(cold * load / capacity)
	}
	return breaker.Transient, warmFast
}

// endStep lets the dependency warm or be knocked back by what it was given.
func (d *warmingDependency) endStep(admitted int) {
	switch {
	case d.down:
	case admitted > 2*max(int(d.capacity), 1):
		d.capacity = max(1, d.capacity-1)
	case admitted == 0:
		d.capacity = min(warmFullSize, d.capacity+0.05)
	default:
		d.capacity = min(warmFullSize, d.capacity+0.2)
	}
}

// serveThroughOutage returns how many calls are served in the 45 seconds from the end
// of a five-second outage on, and what the breaker counted.
func serveThroughOutage(t *testing.T, s breaker.Settings) (served int, totals breaker.Totals) {
	mock := clock.NewMock()
	s = withoutChance(s)
	s.Name, s.Clock = "warming", mock
	s.BreakDuration, s.BreakJitter = 5*time.Second, breaker.JitterNone
	b := breaker.MustNew(s)
	for range 30 {
		for range 2 {
			attempt, err := b.TryAdmit(context.Background())
			require.NoError(t, err)
			attempt.Record(breaker.OK, warmFast)
		}
		mock.Add(warmStep)
	}
	dependency := warmingDependency{capacity: warmFullSize}
	for step := range 600 {
		switch step {
		case 100:
			dependency = warmingDependency{down: true}
		case 150:
			dependency = warmingDependency{capacity: 1}
		}
		admitted := 0
		for range warmOffered {
			attempt, err := b.TryAdmit(context.Background())
			if err != nil {
				continue
			}
			admitted++
			verdict, d := dependency.answer(admitted)
			attempt.Record(verdict, d)
			if verdict == breaker.OK && step >= 150 {
				served++
			}
		}
		dependency.endStep(admitted)
		mock.Add(warmStep)
	}
	return served, b.Snapshot().Totals
}

func TestRecoveryRampServesMoreThanACliff(t *testing.T) {
	served, _ := serveThroughOutage(t, breaker.Settings{})
	require.Equal(t, 3002, served, "without a ramp")
	served, _ = serveThroughOutage(t, breaker.Settings{Recovery: breaker.RecoveryOver(0.25)})
	require.Equal(t, 8250, served, "with a ramp")
}
