package breaker_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// The listener panics at times, in whichever call tells it, while nearly every call opens
// the breaker anew. Nothing is lost to it: no outcome, no slot, no order.
func TestStormOfPanics(t *testing.T) {
	var counted count
	var atAdmission atomic.Uint64 // panics there: a slot given back, or a refusal
	w := witness{t: t, chain: true}
	b := breaker.MustNew(breaker.Settings{
		DisableAdaptive:      true,
		ConsecutiveFailures:  1,
		BreakDuration:        1,
		MaximumBreakDuration: 1,
		HalfOpenProbes:       4,
		ProbeSuccesses:       1,
		Random:               rand.Float64,
		OnTransition: func(ctx context.Context, tr breaker.Transition) {
			w.listen(ctx, tr)
			if tr.Seq%7 == 0 {
				panic(errDown)
			}
		},
	})
	// quietly reports whether a call came through without a panic.
	quietly := func(call func()) (through bool) {
		defer func() { _ = recover() }()
		call()
		return true
	}
	storm(func(random *rand.Rand) {
		if random.IntN(20) != 0 { // fewer will do
			return
		}
		var attempt breaker.Attempt
		var err error
		switch through := quietly(func() { attempt, err = b.TryAdmit(bg) }); {
		case !through:
			atAdmission.Add(1)
		case err != nil:
			counted.refused.Add(1)
		default:
			verdict := breaker.Transient
			if random.IntN(4) == 0 {
				verdict = breaker.OK
			}
			counted.verdicts[verdict].Add(1)
			quietly(func() { attempt.Record(verdict, 0) })
		}
	})
	s := b.Snapshot()
	require.True(t, addsUp(s.Totals))
	require.Zero(t, s.ProbesInFlight)
	require.Equal(t, counted.verdicts[breaker.OK].Load(), s.Totals.OK)
	require.Equal(t, counted.verdicts[breaker.Transient].Load(), s.Totals.Transient)
	require.Equal(t, atAdmission.Load(), s.Totals.Released+s.Totals.Refused-counted.refused.Load())
	require.Positive(t, atAdmission.Load())
	require.Greater(t, opens(s), s.Totals.Admitted/4, "it opens all the time")
	b.Reset()
	require.True(t, linked(b.History()))
}
