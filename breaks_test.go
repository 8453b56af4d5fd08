package breaker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// reopen serves the break out and fails its probe.
func reopen(r *rig) {
	r.t.Helper()
	left, known := r.RetryAfter()
	require.True(r.t, known)
	r.clock.Add(left - 1)
	refuse(1)(r)
	r.clock.Add(1)
	fail(1)(r)
	require.Equal(r.t, breaker.Open, r.State())
}

func TestCleanCloseStartsTheBreakOver(t *testing.T) {
	for name, recovery := range map[string]breaker.Recovery{"cliff": {}, "ramp": breaker.RecoveryOver(0.25)} {
		t.Run(name, func(t *testing.T) {
			s := plain
			s.Recovery = recovery
			r := newRig(t, s)
			fail(5)(r)
			reopen(r)
			reopen(r)
			require.Equal(t, 60*sec, r.lastBreak())
			r.clock.Add(60 * sec)
			ok(2)(r)
			if recovery != (breaker.Recovery{}) {
				require.Equal(t, 3, r.Snapshot().ConsecutiveOpens, "a ramp is no close")
				r.clock.Add(15 * sec)
				ok(1)(r)
			}
			require.Zero(t, r.Snapshot().ConsecutiveOpens)
			fail(5)(r)
			require.Equal(t, 15*sec, r.lastBreak())
		})
	}
}

func TestRetryAfterInEveryState(t *testing.T) {
	s := plain
	s.Recovery = breaker.RecoveryOver(0.25)
	r := newRig(t, s)
	check := func(want time.Duration, known bool) action {
		return func(r *rig) {
			t.Helper()
			got, ok := r.RetryAfter()
			require.Equal(t, known, ok)
			require.Equal(t, want, got)
		}
	}
	r.run(
		step{at: 0, do: check(0, false), want: breaker.Closed},
		step{at: 0, do: all(fail(5), check(15*sec, true)), want: breaker.Open},
		step{at: 6 * sec, do: check(9*sec, true), want: breaker.Open},
		step{at: 15*sec - 1, do: check(1, true), want: breaker.Open},
		step{at: 15 * sec, do: check(0, true), want: breaker.HalfOpen},
		step{at: 20 * sec, do: check(0, true), want: breaker.HalfOpen}, // no probe has begun
		step{at: 20 * sec, do: all(start("a"), check(0, false)), want: breaker.HalfOpen},
		step{at: 20 * sec, do: all(end("a", breaker.OK, 0), check(0, false)), want: breaker.HalfOpen},
		step{at: 20 * sec, do: all(ok(1), check(0, false)), want: breaker.Recovering},
		step{at: 21 * sec, do: all(isolate, check(0, false)), want: breaker.Isolated},
		step{at: 21 * sec, do: all(reset, check(0, false)), want: breaker.Closed},
		step{at: 22 * sec, do: all(fail(5), probeNow, check(0, true)), want: breaker.HalfOpen},
	)
}
