package breaker_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// openAgain opens a breaker that trips at one failure, or opens it again.
func openAgain(r *rig) {
	r.t.Helper()
	r.ProbeNow()
	fail(1)(r)
}

// breaks returns the break of every open so far.
func (r *rig) breaks() (breaks []time.Duration) {
	for _, t := range r.told {
		if t.To == breaker.Open {
			breaks = append(breaks, t.Break)
		}
	}
	return breaks
}

// lastBreak is the length of the newest break.
func (r *rig) lastBreak() time.Duration {
	breaks := r.breaks()
	return breaks[len(breaks)-1]
}

// The n-th consecutive break is the first doubled n-1 times, and never above the maximum,
// however often the breaker opens.
func TestGrowthOfBreaks(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		first, maximum time.Duration
		want           []time.Duration // from here on the last one
	}{
		"the defaults":             {0, 0, []time.Duration{15 * s, 30 * s, 60 * s, 120 * s}},
		"capped between doublings": {3 * s, 20 * s, []time.Duration{3 * s, 6 * s, 12 * s, 20 * s}},
		"no growth":                {3 * s, 3 * s, []time.Duration{3 * s}},
		"a long break":             {300 * s, 0, []time.Duration{300 * s}},
		"a short maximum":          {0, s, []time.Duration{s}},
		"just below twice":         {3 * s, 6*s - 1, []time.Duration{3 * s, 6*s - 1}},
		"exactly twice":            {3 * s, 6 * s, []time.Duration{3 * s, 6 * s}},
		"just above twice":         {3 * s, 6*s + 1, []time.Duration{3 * s, 6 * s, 6*s + 1}},
		"the longest":              {longest, longest, []time.Duration{longest}},
		"half the longest":         {longest / 2, longest, []time.Duration{longest / 2, longest - 1, longest}},
		"just over half":           {longest/2 + 1, longest, []time.Duration{longest/2 + 1, longest}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, breaker.Settings{ConsecutiveFailures: 1, BreakDuration: c.first, MaximumBreakDuration: c.maximum})
			want := c.want
			for range 100 {
				openAgain(r)
			}
			for len(want) < 100 {
				want = append(want, c.want[len(c.want)-1])
			}
			require.Equal(t, want, r.breaks())
		})
	}
}

// One nanosecond takes 62 doublings to the largest power of two that there is.
func TestGrowthReachesTheLongestBreak(t *testing.T) {
	r := newRig(t, breaker.Settings{ConsecutiveFailures: 1, BreakDuration: 1, MaximumBreakDuration: longest})
	for range 300 {
		openAgain(r)
	}
	for i, got := range r.breaks() {
		want := longest
		if i < 63 {
			want = 1 << i
		}
		require.Equal(t, want, got, "open %d", i+1)
	}
	require.Equal(t, 300, r.Snapshot().ConsecutiveOpens)
}

// A clean close starts over. The growth comes from the nominal break, not from the shorter
// one that was served.
func TestGrowthIsNominalAndStartsOver(t *testing.T) {
	r := newRig(t, breaker.Settings{
		ConsecutiveFailures:  1,
		BreakDuration:        10 * time.Second,
		MaximumBreakDuration: 60 * time.Second,
		BreakJitter:          breaker.JitterFull,
		Random:               func() float64 { return 0.25 },
	})
	outage := all(openAgain, openAgain, openAgain, openAgain, openAgain)
	r.run(
		step{do: outage, want: breaker.Open},
		step{do: all(probeNow, ok(2)), want: breaker.Closed},
		step{do: outage, want: breaker.Open},
		step{do: all(reset, outage), want: breaker.Open},
	)
	const s = time.Second
	want := []time.Duration{2500 * time.Millisecond, 5 * s, 10 * s, 15 * s, 15 * s}
	require.Equal(t, append(append(want, want...), want...), r.breaks())
}

func TestJitterArithmetic(t *testing.T) {
	for _, c := range []struct {
		jitter  breaker.Jitter
		nominal time.Duration
		draw    float64
		want    time.Duration
	}{
		{breaker.JitterNone, 15 * time.Second, 0.5, 15 * time.Second},
		{breaker.JitterNone, longest, 0.5, longest},

		{breaker.JitterEqual, 15 * time.Second, 0, 7500 * time.Millisecond},
		{breaker.JitterEqual, 15 * time.Second, 0.25, 9375 * time.Millisecond},
		{breaker.JitterEqual, 15 * time.Second, 0.5, 11250 * time.Millisecond},
		{breaker.JitterEqual, 15 * time.Second, below1, 15*time.Second - 1},
		{breaker.JitterEqual, 3, 0, 1},
		{breaker.JitterEqual, 3, 0.5, 2},
		{breaker.JitterEqual, 3, below1, 2},
		{breaker.JitterEqual, 1, 0, 0},
		{breaker.JitterEqual, longest, 0, longest / 2},
		{breaker.JitterEqual, longest, 0.5, longest/2 + 1<<61},
		{breaker.JitterEqual, longest, below1, longest - 1<<9},

		{breaker.JitterFull, 15 * time.Second, 0, 0},
		{breaker.JitterFull, 15 * time.Second, 0.25, 3750 * time.Millisecond},
		{breaker.JitterFull, 15 * time.Second, 0.5, 7500 * time.Millisecond},
		{breaker.JitterFull, 15 * time.Second, below1, 15*time.Second - 1},
		{breaker.JitterFull, 3, 0.5, 1},
		{breaker.JitterFull, longest, below1, longest - 1<<10 + 1},

		// No source of numbers in [0, 1) gives these: they count as 0.
		{breaker.JitterEqual, 10 * time.Second, 1, 5 * time.Second},
		{breaker.JitterEqual, 10 * time.Second, above1, 5 * time.Second},
		{breaker.JitterEqual, 10 * time.Second, -tiny, 5 * time.Second},
		{breaker.JitterEqual, 10 * time.Second, -1, 5 * time.Second},
		{breaker.JitterEqual, 10 * time.Second, nan, 5 * time.Second},
		{breaker.JitterEqual, 10 * time.Second, inf, 5 * time.Second},
		{breaker.JitterEqual, 10 * time.Second, -inf, 5 * time.Second},
		{breaker.JitterFull, 10 * time.Second, 1, 0},
		{breaker.JitterFull, 10 * time.Second, 7, 0},
		{breaker.JitterFull, 10 * time.Second, -0.5, 0},
		{breaker.JitterFull, 10 * time.Second, nan, 0},
		{breaker.JitterFull, 10 * time.Second, -math.MaxFloat64, 0},
	} {
		r := newRig(t, breaker.Settings{
			ConsecutiveFailures: 1,
			BreakDuration:       c.nominal,
			BreakJitter:         c.jitter,
			Random:              func() float64 { return c.draw },
		})
		fail(1)(r)
		require.Equal(t, []time.Duration{c.want}, r.breaks(), "%v of %v at %v", c.jitter, c.nominal, c.draw)
		left, ok := r.RetryAfter()
		require.True(t, ok)
		require.Equal(t, min(c.want, 1<<62-1), left, "what is served is what is said")
	}
}

// draws gives its numbers in order, and counts.
type draws struct {
	numbers []float64
	taken   int
}

func (d *draws) next() float64 {
	n := d.numbers[d.taken%len(d.numbers)]
	d.taken++
	return n
}

// New takes a number, an open uses it, and the call that opened has taken the next by the
// time it returns. Nothing else draws.
func TestDraws(t *testing.T) {
	const s = time.Second
	d := &draws{numbers: []float64{0.1, 0.2, 0.3, 0.4, 0.5}}
	r := newRig(t, breaker.Settings{
		ConsecutiveFailures: 1,
		BreakDuration:       10 * s,
		BreakJitter:         breaker.JitterFull,
		Random:              d.next,
	})
	inconclusive := all(probeNow, calls(10, breaker.Throttled, 0)) // opens again, without growth
	for i, c := range []struct {
		do    action
		taken int
		opens []time.Duration
	}{
		{ok(10), 1, nil},
		{fail(1), 2, []time.Duration{1 * s}},
		{all(refuse(3), probeNow, start("probe"), refuse(1)), 2, nil},
		{end("probe", breaker.Transient, 0), 3, []time.Duration{4 * s}},
		{inconclusive, 4, []time.Duration{6 * s}},
		{inconclusive, 5, []time.Duration{8 * s}},
		{all(isolate, reset, ok(5)), 5, nil},
		{fail(1), 6, []time.Duration{5 * s}},
		{all(probeNow, ok(2)), 6, nil},
		{fail(1), 7, []time.Duration{1 * s}},
	} {
		r.told = nil
		c.do(r)
		require.Equal(t, c.taken, d.taken, "numbers taken after step %d", i)
		require.Equal(t, c.opens, r.breaks(), "opens of step %d", i)
	}
}

func TestJitterNoneNeverDraws(t *testing.T) {
	r := newRig(t, breaker.Settings{
		ConsecutiveFailures: 1,
		BreakJitter:         breaker.JitterNone,
		Random:              func() float64 { t.Error("Random called"); return 0 },
	})
	all(openAgain, openAgain, probeNow, ok(2), openAgain, reset)(r)
	require.Len(t, r.breaks(), 3)
}

// Without a Random of its own, a breaker draws from math/rand/v2: never twice the same.
func TestDefaultRandomSpreadsBreaks(t *testing.T) {
	r := newRig(t, breaker.Settings{
		ConsecutiveFailures:  1,
		BreakDuration:        time.Hour,
		MaximumBreakDuration: time.Hour,
		BreakJitter:          breaker.JitterFull,
	})
	for range 20 {
		openAgain(r)
	}
	seen := map[time.Duration]bool{}
	for _, d := range r.breaks() {
		require.True(t, d >= 0 && d < time.Hour, d)
		seen[d] = true
	}
	require.Len(t, seen, 20)
}
