package breaker_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// wanderer is a breaker on a clock that moves by anything from a nanosecond to forty years,
// either way, within 130 years of the breaker's birth.
type wanderer struct {
	*rig
	clock  handClock
	random *rand.Rand
}

func newWanderer(t *testing.T, s breaker.Settings, seed uint64) *wanderer {
	w := &wanderer{random: rand.New(rand.NewPCG(1, seed))}
	w.clock.now = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	s.Clock = &w.clock
	w.rig = newRig(t, s)
	w.born = w.clock.now
	return w
}

func (w *wanderer) goOn(by time.Duration) { w.clock.now = w.clock.now.Add(by) }

func (w *wanderer) wander() {
	by := time.Duration(math.Exp(w.random.Float64() * math.Log(float64(40*year))))
	if w.random.IntN(2) == 0 {
		by = -by
	}
	if at := w.clock.now.Sub(w.born) + by; at > 130*year || at < -130*year {
		by = -by
	}
	w.goOn(by)
}

// one makes a call if it is admitted. The clock may wander while it runs, and some never
// return.
func (w *wanderer) one(v breaker.Verdict) {
	if attempt, err := w.TryAdmit(bg); err == nil && w.random.IntN(10) > 0 {
		if w.random.IntN(3) == 0 {
			w.wander()
		}
		attempt.Record(v, time.Duration(w.random.Int64N(int64(time.Second))))
	}
}

// settle lets time and traffic go on from trouble to its end, and reports whether there was
// any.
func (w *wanderer) settle(ramp time.Duration) bool {
	w.t.Helper()
	before := w.State()
	if before == breaker.Closed {
		return false
	}
	one := func() {
		if attempt, err := w.TryAdmit(bg); err == nil {
			attempt.Record(breaker.OK, time.Millisecond)
		}
	}
	one() // the call that may find the clock set back
	if state := w.State(); state == breaker.Open || state == breaker.HalfOpen {
		w.goOn(w.Snapshot().Break + time.Second)
		for range 2 {
			if sound(w.t, w.Breaker); w.State() == breaker.HalfOpen {
				attempt, err := w.TryAdmit(bg)
				if last := w.Snapshot().Last; last.Cause == breaker.CauseProbesInconclusive && last.At.Equal(w.clock.now) {
					return w.settle(ramp) // the tenth of them never returned
				}
				require.NoError(w.t, err, "from %v", before)
				attempt.Record(breaker.OK, time.Millisecond)
			}
		}
	}
	if w.State() == breaker.Recovering {
		w.goOn(ramp + time.Second)
		for range 2 * 20 * 20 { // fast calls earn back what slow ones took
			one()
		}
	}
	sound(w.t, w.Breaker)
	require.Equal(w.t, breaker.Closed.String(), w.State().String(), "from %v", before)
	return true
}

// However the clock was set, the breaker heals once time goes on as it should: within the
// break, and the second by which a reading may be late, a probe is admitted; two close it.
func TestClockSetBackAndForth(t *testing.T) {
	const length = 5 * time.Second
	steps := 3000
	if underRace {
		steps = 500
	}
	for _, recovery := range []breaker.Recovery{{}, {MinimumDuration: length, MaximumDuration: length}} {
		for _, tripCalls := range []int{0, 50} {
			w := newWanderer(t, breaker.Settings{
				ConsecutiveFailures: 3,
				TripCalls:           tripCalls,
				BreakDuration:       10 * time.Second,
				Recovery:            recovery,
			}, uint64(tripCalls))
			healed := 0
			for range steps {
				w.wander()
				sound(t, w.Breaker)
				switch n := w.random.IntN(20); {
				case n < 2:
					for range 3 {
						w.one(breaker.Transient)
					}
				case n < 3:
					w.ProbeNow()
				case n < 4:
					w.Isolate()
					w.wander()
					w.Reset()
				case n < 5:
					if w.settle(length) {
						healed++
					}
				default:
					w.one(breaker.Verdict(w.random.IntN(5)))
				}
				sound(t, w.Breaker)
			}
			require.Greater(t, healed, steps/100, "enough troubles")
		}
	}
}
