package breaker_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// lastBreak is the length of the newest break.
func (r *rig) lastBreak() (length time.Duration) {
	for _, t := range r.History() {
		if t.To == breaker.Open {
			length = t.Break
		}
	}
	return length
}

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

func TestBreaksGrowToTheirCap(t *testing.T) {
	cases := map[string]struct {
		first, maximum time.Duration
		want           []time.Duration
	}{
		"default":           {0, 0, []time.Duration{15 * sec, 30 * sec, 60 * sec, 120 * sec, 120 * sec}},
		"no power of two":   {30 * sec, 100 * sec, []time.Duration{30 * sec, 60 * sec, 100 * sec, 100 * sec}},
		"no growth":         {5 * sec, 5 * sec, []time.Duration{5 * sec, 5 * sec, 5 * sec}},
		"a nanosecond more": {30 * sec, 60*sec + 1, []time.Duration{30 * sec, 60 * sec, 60*sec + 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := plain
			s.BreakDuration, s.MaximumBreakDuration = c.first, c.maximum
			r := newRig(t, s)
			fail(5)(r)
			for i, want := range c.want {
				require.Equal(t, want, r.lastBreak(), "break %d", i+1)
				require.Equal(t, i+1, r.Snapshot().ConsecutiveOpens)
				reopen(r)
			}
		})
	}
}

func TestBreakNeverOverflows(t *testing.T) {
	s := plain
	s.BreakDuration, s.MaximumBreakDuration = 1, math.MaxInt64
	r := newRig(t, s)
	fail(5)(r)
	for i := range 200 {
		r.ProbeNow()
		fail(1)(r)
		want := time.Duration(math.MaxInt64)
		if i+1 < 63 {
			want = 1 << (i + 1)
		}
		require.Equal(t, want, r.lastBreak(), "break %d", i+2)
		left, known := r.RetryAfter()
		require.True(t, known)
		require.Positive(t, left)
		require.Equal(t, breaker.Open, r.State())
	}
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

func TestGrowthComesFromTheNominalBreak(t *testing.T) {
	draws := []float64{0.5, 0, 0.25, 0.999}
	s := plain
	s.Random = func() float64 {
		d := draws[0]
		draws = append(draws[1:], d)
		return d
	}
	r := newRig(t, s)
	fail(5)(r)
	for i, want := range []time.Duration{
		7500*msec + 3750*msec,
		15 * sec,
		30*sec + 7500*msec,
		60*sec + 59940*msec,
	} {
		require.InDelta(t, want, r.lastBreak(), 1, "break %d", i+1)
		left, _ := r.RetryAfter()
		require.Equal(t, r.lastBreak(), left)
		require.Equal(t, r.lastBreak(), r.Snapshot().Break)
		reopen(r)
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
