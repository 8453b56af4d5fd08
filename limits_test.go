package breaker_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// docs/design.md names the limits of the rules about chance and says what to write
// against them. These put the advice to the test.

// Until a hundred outcomes are known, five failures in a row are held against a dependency
// for which they are ordinary, and with a ramp one failure in it is too.
func TestAdviceForOneThatFailsOftenFromTheFirstCall(t *testing.T) {
	seeds, watched := 11, time.Minute
	if *fullChance {
		seeds, watched = 60, time.Hour
	}
	ramp := breaker.RecoveryOver(0.25)
	t.Logf("%-8s %8s  %-32s %7s  %7s  %10s  %s", "failing", "a second", "settings", "tripped", "settled", "not closed", "refused: median and worst")
	for _, load := range []struct {
		failing float64
		run     int // of docs/defaults.md, for this rate
	}{{0.3, 18}, {0.5, 30}} {
		for _, rate := range []float64{10, 100} {
			for _, c := range []struct {
				name     string
				settings breaker.Settings
				advised  bool
			}{
				{"the defaults", breaker.Settings{}, false},
				{"a ramp", breaker.Settings{Recovery: ramp}, false},
				{"ConsecutiveFailures", breaker.Settings{ConsecutiveFailures: load.run}, true},
				{"ConsecutiveFailures and a ramp", breaker.Settings{ConsecutiveFailures: load.run, Recovery: ramp}, true},
			} {
				tripped, open := 0, 0
				var last, refused []float64
				for seed := range uint64(seeds) {
					f := newTraffic(c.settings, rate, seed)
					f.flow(watched, temper{failing: load.failing}, nil)
					s := f.Snapshot()
					if s.Last != nil {
						tripped++
						last = append(last, s.Last.At.Sub(f.start).Seconds())
					} else {
						last = append(last, 0)
					}
					if s.State != breaker.Closed {
						open++
					}
					refused = append(refused, 100*float64(s.Totals.Refused)/float64(s.Totals.Refused+s.Totals.Admitted))
				}
				slices.Sort(last)
				slices.Sort(refused)
				t.Logf("%6.0f %% %8v  %-32s %7d  %5.0f s  %10d  %6.1f %% %6.1f %%", 100*load.failing, rate, c.name, tripped,
					last[seeds/2], open, refused[seeds/2], refused[seeds-1])
				if c.advised {
					require.Zero(t, tripped, "%v failing, %v a second, %s", load.failing, rate, c.name)
				}
			}
		}
	}
}

// An operator who resets it each time that it opens lets it learn what is normal.
func TestAdviceToResetOneThatFailsOften(t *testing.T) {
	seeds, watched := 11, 2*time.Minute
	if *fullChance {
		seeds, watched = 60, time.Hour
	}
	t.Logf("%-8s %8s  %s", "failing", "a second", "resets: median and most")
	for _, failing := range []float64{0.3, 0.5} {
		for _, rate := range []float64{10, 100} {
			var resets []int
			for seed := range uint64(seeds) {
				f := newTraffic(breaker.Settings{Recovery: breaker.RecoveryOver(0.25)}, rate, seed)
				n := 0
				for f.elapsed() < watched {
					f.flow(watched, temper{failing: failing}, func() bool { return f.State() != breaker.Closed })
					if f.State() != breaker.Closed {
						f.Reset()
						n++
					}
				}
				resets = append(resets, n)
			}
			slices.Sort(resets)
			t.Logf("%6.0f %% %8v  %7d %7d", 100*failing, rate, resets[seeds/2], resets[seeds-1])
			require.LessOrEqual(t, resets[seeds-1], 10, "%v failing, %v a second", failing, rate)
		}
	}
}

// Chance is reckoned for calls that fail independently of each other. Failures in clumps
// are taken for more than they are.
func TestAdviceForFailuresInClumps(t *testing.T) {
	const failing = 0.01
	opensADay := func(s breaker.Settings, rate, clump float64, length time.Duration) float64 {
		f := newTraffic(s, rate, 1)
		failed := false
		for end := f.start.Add(length); f.clock.now.Before(end); {
			f.clock.now = f.clock.now.Add(time.Duration(f.random.ExpFloat64() / rate * float64(time.Second)))
			next := failing / clump / (1 - failing)
			if failed {
				next = 1 - 1/clump
			}
			failed = f.random.Float64() < next // also those that the breaker refuses
			attempt, err := f.TryAdmit(bg)
			switch {
			case err != nil:
			case failed:
				attempt.Record(breaker.Transient, 20*time.Millisecond)
			default:
				attempt.Record(breaker.OK, 20*time.Millisecond)
			}
		}
		return float64(opens(f.Snapshot())) / length.Hours() * 24
	}
	t.Logf("%-24s %8s  %18s %20s %20s", "1 % failing, in a clump", "a second", "opens a day, as is", "20 in a row written", "and a floor of 25 %")
	for _, clump := range []float64{2, 3} {
		for _, rate := range []float64{1, 10, 100} {
			length := time.Duration(80_000/rate) * time.Second
			if *fullChance {
				length = 4 * day
			}
			asIs := opensADay(breaker.Settings{}, rate, clump, length)
			run := opensADay(breaker.Settings{ConsecutiveFailures: 20}, rate, clump, length)
			both := opensADay(breaker.Settings{ConsecutiveFailures: 20, Failures: breaker.Failures{Floor: 0.25}}, rate, clump, length)
			t.Logf("%-24v %8v  %18.1f %20.1f %20.1f", clump, rate, asIs, run, both)
			require.Less(t, 2*both, asIs, "%v in a clump, %v a second", clump, rate)
		}
	}
}
