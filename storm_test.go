package breaker_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

const (
	stormCallers = 64
	stormCalls   = 1000 // of each
	stormProbes  = 3
)

// storm runs many callers at once, each with a source of chance of its own.
func storm(call func(*rand.Rand)) {
	var callers sync.WaitGroup
	for i := range stormCallers {
		callers.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for range stormCalls {
				call(random)
			}
		})
	}
	callers.Wait()
}

// count is what the callers know of the totals.
type count struct {
	refused, released atomic.Uint64
	verdicts          [breaker.Canceled + 1]atomic.Uint64
}

func (c *count) matches(t *testing.T, totals breaker.Totals) {
	t.Helper()
	want := breaker.Totals{
		OK:        c.verdicts[breaker.OK].Load(),
		Transient: c.verdicts[breaker.Transient].Load(),
		Throttled: c.verdicts[breaker.Throttled].Load(),
		Permanent: c.verdicts[breaker.Permanent].Load(),
		Canceled:  c.verdicts[breaker.Canceled].Load(),
		Released:  c.released.Load(),
	}
	require.Equal(t, want, outcomes(totals))
	require.Equal(t, c.refused.Load(), totals.Refused)
	require.True(t, addsUp(totals))
}

// addsUp is for the callers of a storm, who must not end the test, as linked is.

func addsUp(t breaker.Totals) bool {
	return t.Admitted == t.OK+t.Transient+t.Throttled+t.Permanent+t.Canceled+t.Released
}

// grew reports that no total fell from one cut to a later one. Of the time in the states
// it looks at the sum: a transition whose reading was taken before that of an earlier look
// takes back what the look counted in the state of then.
func grew(a, b breaker.Totals) bool {
	grown := a.Admitted <= b.Admitted && a.Refused <= b.Refused && a.Stale <= b.Stale && a.Slow <= b.Slow && a.Recoveries <= b.Recoveries
	grown = grown && a.ProbesSucceeded <= b.ProbesSucceeded && a.ProbesFailed <= b.ProbesFailed && a.ProbesInconclusive <= b.ProbesInconclusive
	for cause, n := range a.Transitions {
		grown = grown && n <= b.Transitions[cause] && a.Opens[cause] <= b.Opens[cause]
	}
	var before, after time.Duration
	for state := range a.TimeIn {
		before, after = before+a.TimeIn[state], after+b.TimeIn[state]
	}
	return grown && before <= after
}

// witness is a listener that asserts order, and that it is alone.
type witness struct {
	t     *testing.T
	busy  atomic.Bool
	told  []breaker.Transition
	chain bool // no silent transition can be in between
}

func (w *witness) listen(_ context.Context, tr breaker.Transition) {
	if !w.busy.CompareAndSwap(false, true) {
		w.t.Error("two listeners at once")
		return
	}
	if n := len(w.told); n > 0 {
		last := w.told[n-1]
		if tr.Seq <= last.Seq || w.chain && tr.Seq != last.Seq+1 {
			w.t.Errorf("%d after %d", tr.Seq, last.Seq)
		}
		if tr.Seq == last.Seq+1 && tr.From != last.To {
			w.t.Errorf("%v after %v", tr, last)
		}
	}
	w.told = append(w.told, tr)
	w.busy.Store(false)
}

// opens counts by cause what the listener was told of.
func (w *witness) opens() map[breaker.Cause]uint64 {
	opens := map[breaker.Cause]uint64{}
	for _, tr := range w.told {
		if tr.To == breaker.Open {
			opens[tr.Cause]++
		}
	}
	return opens
}

// Callers, operators and observers at once, on the system clock and with breaks of a
// millisecond; the listener calls back in.
func TestStorm(t *testing.T) {
	for name, recovery := range map[string]breaker.Recovery{
		"cliff": {},
		"ramp":  {Fraction: 0.5, MinimumDuration: msec, InitialFraction: 0.3},
	} {
		t.Run(name, func(t *testing.T) {
			var b *breaker.Breaker
			var counted count
			w := witness{t: t}

			// one makes a call and ends it, or is refused.
			one := func(random *rand.Rand, pausing bool) {
				verdict := breaker.OK
				if random.IntN(2) == 0 {
					verdict = breaker.Verdict(random.IntN(5))
				}
				if pausing { // with a context that ends the pause at once, if one begins
					ctx, cancel := context.WithCancel(bg)
					time.AfterFunc(0, cancel)
					err := b.Do(ctx, func(context.Context) error {
						counted.verdicts[verdict].Add(1)
						return breaker.WithVerdict(errDown, verdict)
					})
					switch {
					case err == context.Canceled: // before admission
					case err != nil && !isVerdict(err):
						counted.refused.Add(1)
					}
					return
				}
				attempt, err := b.TryAdmit(bg)
				if err != nil {
					counted.refused.Add(1)
					return
				}
				runtime.Gosched()
				if random.IntN(10) == 0 {
					counted.released.Add(1)
					attempt.Release()
					return
				}
				counted.verdicts[verdict].Add(1)
				attempt.Record(verdict, time.Duration(random.IntN(5))*msec)
			}

			reentrant := rand.New(rand.NewPCG(2, 3)) // one listener at a time
			b = breaker.MustNew(breaker.Settings{
				Name:                 "storm",
				ConsecutiveFailures:  3,
				FailureRatio:         0.6,
				SlowCallThreshold:    3 * msec,
				BreakDuration:        msec,
				MaximumBreakDuration: 2 * msec,
				HalfOpenProbes:       stormProbes,
				ProbeTimeout:         msec,
				Recovery:             recovery,
				OnTransition: func(ctx context.Context, tr breaker.Transition) {
					w.listen(ctx, tr)
					switch n := reentrant.IntN(100); {
					case n < 2:
						b.Reset()
					case n < 4:
						b.Isolate()
						b.Reset()
					case n < 20:
						b.ProbeNow()
					case n < 40:
						b.Snapshot()
					default:
						one(reentrant, false)
					}
				},
			})
			storm(func(random *rand.Rand) {
				switch n := random.IntN(1000); {
				case n < 1:
					b.Reset()
				case n < 2:
					b.Isolate()
					b.Reset()
				case n < 60:
					b.ProbeNow()
				case n < 80:
					first, second := b.Snapshot(), b.Snapshot()
					if !addsUp(second.Totals) || second.ProbesInFlight > stormProbes || second.RetryAfter < 0 {
						t.Errorf("no consistent cut: %+v", second)
					}
					if !grew(first.Totals, second.Totals) {
						t.Errorf("totals fell: %+v, then %+v", first.Totals, second.Totals)
					}
				case n < 100:
					if history := b.History(); !linked(history) {
						t.Errorf("no chain: %v", history)
					}
				case n < 120:
					b.State()
					b.RetryAfter()
					b.OpenedAt()
				case n < 130:
					one(random, true)
				default:
					one(random, false)
				}
			})

			totals := b.Snapshot().Totals
			counted.matches(t, totals)
			require.True(t, linked(b.History()))
			require.NotEmpty(t, w.told)
			for cause, n := range w.opens() {
				require.Equal(t, totals.Opens[cause], n, "the listener is told of every open: %v", cause)
			}
			for cause, n := range totals.Opens {
				require.Equal(t, n, w.opens()[cause], "and of no other: %v", cause)
			}
			silent := []breaker.Cause{breaker.CauseRampCompleted, breaker.CauseIsolated, breaker.CauseReset}
			heard := map[uint64]breaker.Transition{}
			for _, tr := range w.told {
				heard[tr.Seq] = tr
			}
			for _, tr := range b.History() {
				if slices.Contains(silent, tr.Cause) {
					require.NotContains(t, heard, tr.Seq, tr.String())
				} else {
					require.Equal(t, tr, heard[tr.Seq])
				}
			}
			b.Reset()
			_, err := b.TryAdmit(bg)
			require.NoError(t, err, "it works on")
		})
	}
}

// isVerdict reports that an error comes from the call.
func isVerdict(err error) bool {
	_, carried := err.(interface{ Verdict() breaker.Verdict })
	return carried
}

// Without operators, no more probes run at once than there are slots. The breaker
// opens once and never closes, so that all that is admitted are probes.
func TestStormOfProbes(t *testing.T) {
	cases := map[string]struct {
		slots    int
		verdicts []breaker.Verdict
	}{
		// One slot: only its own probe can end a spell, and so none runs over.
		"one, through many spells": {1, []breaker.Verdict{breaker.OK, breaker.OK, breaker.Transient, breaker.Throttled, breaker.Canceled}},
		// Several: a failed probe would leave the others running into the next spell.
		"three, in one spell": {3, []breaker.Verdict{breaker.OK}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var counted count
			var running, most atomic.Int64
			w := witness{t: t, chain: true}
			b := breaker.MustNew(breaker.Settings{
				DisableAdaptive:      true,
				ConsecutiveFailures:  1,
				BreakDuration:        msec,
				MaximumBreakDuration: msec,
				HalfOpenProbes:       c.slots,
				ProbeSuccesses:       1 << 30,
				ProbeTimeout:         time.Hour,
				OnTransition:         w.listen,
			})
			calls(1, breaker.Transient, 0)(&rig{t: t, Breaker: b})
			counted.verdicts[breaker.Transient].Add(1)
			storm(func(random *rand.Rand) {
				if random.IntN(50) == 0 {
					b.ProbeNow()
				}
				attempt, err := b.TryAdmit(bg)
				if err != nil {
					counted.refused.Add(1)
					return
				}
				now := running.Add(1)
				for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
				}
				for range random.IntN(4) {
					runtime.Gosched()
				}
				verdict := c.verdicts[random.IntN(len(c.verdicts))]
				counted.verdicts[verdict].Add(1)
				running.Add(-1) // before the slot is free
				attempt.Record(verdict, 0)
			})
			require.LessOrEqual(t, most.Load(), int64(c.slots))
			require.Positive(t, most.Load(), "there were probes")
			require.Zero(t, b.Snapshot().ProbesInFlight)
			counted.matches(t, b.Snapshot().Totals)
			require.Equal(t, b.Snapshot().Last.Seq, w.told[len(w.told)-1].Seq)
			require.Equal(t, uint64(1), w.told[0].Seq, "told of all, from the first to the last")
		})
	}
}
