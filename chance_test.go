package breaker_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

var fullChance = flag.Bool("chance", false, "drive loads for their full lengths, fourteen days for most, and compare with the plain rules")

// effort returns how much to do of something: all of it with -chance, and else a part that
// keeps the tests short. The race detector takes twenty times as long, and finds nothing in
// one goroutine.
func effort(full, short, underTheDetector int) int {
	switch {
	case *fullChance:
		return full
	case underRace:
		return underTheDetector
	}
	return short
}

// table logs a line of what docs/defaults.md tells. Only with -chance are the numbers worth
// it, and only then is there a comparison with the plain rules.
func table(t *testing.T, format string, args ...any) {
	t.Helper()
	if *fullChance {
		t.Logf(format, args...)
	}
}

// handClock is a clock for one goroutine: a field that the traffic sets.
type handClock struct{ now time.Time }

func (c *handClock) Now() time.Time                       { return c.now }
func (c *handClock) After(time.Duration) <-chan time.Time { panic("nobody waits here") }

// temper is how a dependency behaves: how often a call fails, and how long one takes.
type temper struct {
	failing float64
	latency func(*rand.Rand) time.Duration // nil: 20 ms
}

func (m temper) answer(random *rand.Rand) (breaker.Verdict, time.Duration) {
	verdict := breaker.OK
	if m.failing > 0 && random.Float64() < m.failing {
		verdict = breaker.Transient
	}
	if m.latency == nil {
		return verdict, 20 * time.Millisecond
	}
	return verdict, m.latency(random)
}

// twoHumps is a cache in front of a database.
func twoHumps(hits float64) func(*rand.Rand) time.Duration {
	return func(random *rand.Rand) time.Duration {
		if random.Float64() < hits {
			return time.Millisecond
		}
		return 50 * time.Millisecond
	}
}

func lognormal(sigma float64) func(*rand.Rand) time.Duration {
	return func(random *rand.Rand) time.Duration {
		return time.Duration(float64(20*time.Millisecond) * math.Exp(sigma*random.NormFloat64()))
	}
}

func constant(d time.Duration) func(*rand.Rand) time.Duration {
	return func(*rand.Rand) time.Duration { return d }
}

// traffic offers a breaker calls at random instants, as many a second as rate says on
// average, and lets a dependency of some temper answer.
type traffic struct {
	*breaker.Breaker
	clock  handClock
	start  time.Time
	random *rand.Rand
	rate   float64
}

func newTraffic(s breaker.Settings, rate float64, seed uint64) *traffic {
	f := &traffic{random: rand.New(rand.NewPCG(seed, seed)), rate: rate}
	f.start = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	f.clock.now = f.start
	s.Clock, s.Random = &f.clock, f.random.Float64
	f.Breaker = breaker.MustNew(s)
	return f
}

// flow runs until an instant after the start, or until stop says so after a call.
func (f *traffic) flow(until time.Duration, m temper, stop func() bool) {
	end := f.start.Add(until)
	for {
		f.clock.now = f.clock.now.Add(time.Duration(f.random.ExpFloat64() / f.rate * float64(time.Second)))
		if f.clock.now.After(end) {
			f.clock.now = end
			return
		}
		attempt, err := f.TryAdmit(bg)
		if err != nil {
			continue
		}
		attempt.Record(m.answer(f.random))
		if stop != nil && stop() {
			return
		}
	}
}

func (f *traffic) elapsed() time.Duration { return f.clock.now.Sub(f.start) }

func opens(s breaker.Snapshot) (n uint64) {
	for _, k := range s.Totals.Opens {
		n += k
	}
	return n
}

const day = 24 * time.Hour

// A dependency that is merely itself is not refused.
func TestSteadyLoadDoesNotTrip(t *testing.T) {
	percent := func(p float64) temper { return temper{failing: p / 100} }
	loads := []struct {
		name string
		temper
		rate float64
		days float64
	}{
		{"failing 0.1 %", percent(0.1), 1, 14},
		{"failing 1 %", percent(1), 1, 14},
		{"failing 2 %", percent(2), 1, 14},
		{"failing 10 %", percent(10), 100, 2},
		{"failing 20 %", percent(20), 100, 2},
		{"failing 30 %", percent(30), 10, 14},
		{"failing 30 %", percent(30), 100, 2},
		{"failing 50 %", percent(50), 10, 14},
		{"failing 50 %", percent(50), 100, 10},
		{"failing 0 %", percent(0), 0.5, 14},
		{"failing 0 %", percent(0), 3, 14},
		{"failing 0 %", percent(0), 10, 14},
		{"failing 0 %", percent(0), 100, 2},
		{"failing 0.5 %", percent(0.5), 0.5, 14},
		{"failing 0.5 %", percent(0.5), 3, 14},
		{"failing 0.5 %", percent(0.5), 10, 14},
		{"failing 0.5 %", percent(0.5), 100, 2},
		{"failing 5 %", percent(5), 0.5, 14},
		{"failing 5 %", percent(5), 3, 14},
		{"failing 5 %", percent(5), 10, 14},
		{"failing 5 %", percent(5), 100, 2},
		{"two humps, 55 % hits", temper{latency: twoHumps(0.55)}, 1, 14},
		{"two humps, 60 % hits", temper{latency: twoHumps(0.6)}, 10, 14},
		{"lognormal, sigma 1", temper{latency: lognormal(1)}, 1, 14},
		{"lognormal, sigma 1.5", temper{latency: lognormal(1.5)}, 1, 14},
		{"lognormal, sigma 2", temper{latency: lognormal(2)}, 1, 14},
	}
	table(t, "%-22s %8s %5s  %18s  %18s  %s", "steady load", "a second", "days", "opens a day, plain", "beyond chance", "while settling")
	for i, load := range loads {
		// Half of all calls failing makes runs of five before there is a baseline that could
		// explain them. It must settle then, so what comes before is shown and not counted.
		// The others need no such time, and take it with -chance alone.
		settling := time.Hour
		if load.failing < 0.5 && !*fullChance {
			settling = 0
		}
		calls := effort(math.MaxInt, 60_000, 10_000)
		days := min(load.days, float64(calls)/load.rate/day.Seconds())
		length := time.Duration(days * float64(day))
		run := func(s breaker.Settings) (before, after, refused float64) {
			f := newTraffic(s, load.rate, uint64(i))
			f.flow(settling, load.temper, nil)
			young := f.Snapshot()
			f.flow(settling+length, load.temper, nil)
			old := f.Snapshot()
			refusals := old.Totals.Refused - young.Totals.Refused
			calls := refusals + old.Totals.Admitted - young.Totals.Admitted
			return float64(opens(young)), float64(opens(old) - opens(young)), 100 * float64(refusals) / float64(calls)
		}
		before, after, refused := run(breaker.Settings{})
		if *fullChance {
			_, plainly, plainlyRefused := run(withoutChance(breaker.Settings{}))
			table(t, "%-22s %8v %5.2f  %8.1f (%5.1f %%)  %8.2f (%5.2f %%)  %4.0f", load.name, load.rate, days,
				plainly/days, plainlyRefused, after/days, refused, before)
		}
		if load.failing < 0.5 {
			after += before
		}
		require.LessOrEqual(t, after, max(1, days), "%s, %v a second: opens in %.2f days", load.name, load.rate, days)
	}
}

// What is not chance is still seen, and how fast.
func TestIncidentsAreSeen(t *testing.T) {
	dead := temper{failing: 1}
	incidents := []struct {
		name          string
		before, after temper
		rate          float64
		within        float64 // seconds
	}{
		{"dead", temper{}, dead, 100, 0.1},
		{"dead", temper{}, dead, 10, 0.5},
		{"0.1 % rising to 20 %", temper{failing: 0.001}, temper{failing: 0.2}, 10, 7.6},
		{"0.1 % rising to 20 %", temper{failing: 0.001}, temper{failing: 0.2}, 1, 22},
		{"ten times slower", temper{}, temper{latency: constant(200 * time.Millisecond)}, 1, 15},
		{"ten times slower", temper{}, temper{latency: constant(200 * time.Millisecond)}, 10, 15},
		{"ten times slower", temper{}, temper{latency: constant(200 * time.Millisecond)}, 100, 15},
		{"30 % rising to 75 %", temper{failing: 0.3}, temper{failing: 0.75}, 100, 5},
		{"5 % rising to 50 %", temper{failing: 0.05}, temper{failing: 0.5}, 100, 1.7},
	}
	const quiet, seeds = 6 * time.Minute, 21
	table(t, "%-22s %8s  %14s  %14s", "incident", "a second", "seconds, plain", "beyond chance")
	for _, incident := range incidents {
		median := func(s breaker.Settings) float64 {
			var seconds []float64
			for seed := range uint64(seeds) {
				f := newTraffic(s, incident.rate, seed)
				f.flow(quiet, incident.before, nil)
				f.flow(quiet+5*time.Minute, incident.after, func() bool { return f.State() != breaker.Closed })
				seconds = append(seconds, (f.elapsed() - quiet).Seconds())
			}
			slices.Sort(seconds)
			return seconds[seeds/2]
		}
		got := median(breaker.Settings{})
		if *fullChance {
			plainly := median(withoutChance(breaker.Settings{}))
			table(t, "%-22s %8v  %14.2f  %14.2f", incident.name, incident.rate, plainly, got)
		}
		require.LessOrEqual(t, got, 1.5*incident.within, "%s, %v a second", incident.name, incident.rate)
	}
}

// A dependency that normally fails at times comes back over a ramp, and stays. Without
// the rule for the ramp, one failure in it re-opens the breaker.
func TestRampEndsForADependencyThatFailsAtTimes(t *testing.T) {
	const (
		quiet  = 11 * time.Minute // each ended by a Reset: some dependencies trip before there is a baseline
		outage = 30 * time.Second
	)
	seeds, stay := effort(21, 7, 1), time.Duration(effort(30, 30, 5))*time.Minute
	// back returns the seconds from the end of the outage to a closed breaker, sorted, and
	// infinity where an hour was not enough; and how often it opened after that.
	back := func(s breaker.Settings, rate, failing float64) (seconds []float64, again uint64) {
		s.Recovery = breaker.RecoveryOver(0.25)
		for seed := range seeds {
			f := newTraffic(s, rate, uint64(seed))
			for minute := time.Minute; minute <= quiet; minute += time.Minute {
				f.flow(minute, temper{failing: failing}, nil)
				f.Reset()
			}
			f.flow(quiet+outage, temper{failing: 1}, nil)
			f.flow(quiet+outage+time.Hour, temper{failing: failing}, func() bool { return f.State() == breaker.Closed })
			if f.State() != breaker.Closed {
				seconds = append(seconds, math.Inf(1))
				continue
			}
			seconds = append(seconds, (f.elapsed() - quiet - outage).Seconds())
			closed := opens(f.Snapshot())
			f.flow(f.elapsed()+stay, temper{failing: failing}, nil)
			again += opens(f.Snapshot()) - closed
		}
		slices.Sort(seconds)
		return seconds, again
	}
	table(t, "%-12s %8s  %31s  %31s", "failing", "a second", "plain: median and worst seconds", "beyond chance")
	for _, failing := range []float64{0, 0.001, 0.005, 0.01, 0.02, 0.1, 0.3} {
		for _, rate := range []float64{10, 100} {
			got, again := back(breaker.Settings{}, rate, failing)
			if *fullChance {
				plainly, _ := back(withoutChance(breaker.Settings{}), rate, failing)
				table(t, "%10.1f %% %8v  %15.0f %15.0f  %15.0f %15.0f", 100*failing, rate,
					plainly[seeds/2], plainly[seeds-1], got[seeds/2], got[seeds-1])
			}
			require.False(t, math.IsInf(got[seeds-1], 1), "%v failing, %v a second: not closed within the hour", failing, rate)
			require.Zero(t, again, "%v failing, %v a second: opened again", failing, rate)
		}
	}
}

// A breaker knows nothing at first. It must neither hold a cold start against a
// dependency nor miss one that is down.
func TestFirstTwoMinutes(t *testing.T) {
	const (
		start  = 2 * time.Minute
		change = 20 * time.Second
		within = 20 * time.Second
		unseen = time.Duration(math.MaxInt64)
	)
	seeds := effort(60, 60, 6)
	slower := func(d time.Duration) temper { return temper{latency: constant(d)} }
	// seen returns when the breaker opened, for each seed, sorted. The dependency changes
	// its temper after some time or, if calls is not 0, after so many calls.
	seen := func(rate float64, before, after temper, change time.Duration, calls int) (at []time.Duration) {
		for seed := range seeds {
			f := newTraffic(breaker.Settings{}, rate, uint64(seed))
			n := 0
			open := func() bool { return f.State() != breaker.Closed }
			f.flow(change, before, func() bool { n++; return n == calls || open() })
			if !open() {
				f.flow(start, after, open)
			}
			if open() {
				at = append(at, f.elapsed())
			} else {
				at = append(at, unseen)
			}
		}
		slices.Sort(at)
		return at
	}
	// Chance decides how many calls there are in the window: half of the seeds must be in
	// time, and every one in half as much again.
	requireInTime := func(incident string, rate float64, at []time.Duration) {
		t.Helper()
		table(t, "%-16s from %v on, %3v a second: seen after %5.1f to %5.1f s", incident, change, rate,
			(at[0] - change).Seconds(), (at[seeds-1] - change).Seconds())
		require.Greater(t, at[0], change, "%s, %v a second: before it began", incident, rate)
		require.LessOrEqual(t, at[seeds/2], change+within, "%s, %v a second: median", incident, rate)
		require.LessOrEqual(t, at[seeds-1], change+within*3/2, "%s, %v a second: slowest", incident, rate)
	}
	for _, rate := range []float64{2, 20, 200} {
		never := slices.Repeat([]time.Duration{unseen}, seeds)
		if rate > 2 {
			require.Equal(t, never, seen(rate, slower(time.Millisecond), slower(5*time.Millisecond), start, 20),
				"twenty calls of 1 ms, then 5 ms for good, %v a second", rate)
			failing := seen(rate, temper{}, temper{failing: 0.4}, change, 0)
			requireInTime("40 % failing", rate, failing)
		}
		require.Equal(t, never, seen(rate, slower(100*time.Millisecond), slower(20*time.Millisecond), start, 50),
			"five times slower for 50 calls, %v a second", rate)

		brownout := seen(rate, temper{}, slower(200*time.Millisecond), change, 0)
		requireInTime("ten times slower", rate, brownout)

		for seed := range seeds {
			f := newTraffic(breaker.Settings{}, rate, uint64(seed))
			f.flow(start, temper{failing: 1}, func() bool { return f.State() != breaker.Closed })
			require.Equal(t, breaker.Open, f.State(), "dead from the start, %v a second, seed %d", rate, seed)
			require.EqualValues(t, 5, f.Snapshot().Totals.Transient, "failures until seen, %v a second, seed %d", rate, seed)
		}
	}
}
