package breaker_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// soakLength is what -soak says: nothing for some hours, the flag alone for a week, and a
// number of days, "30" or "30d", for as long as that.
type soakLength time.Duration

var soak soakLength

func init() {
	flag.Var(&soak, "soak", "soak for a week of virtual time, or for so many days (-soak=30d)")
}

func (l *soakLength) IsBoolFlag() bool { return true }
func (l *soakLength) String() string   { return time.Duration(*l).String() }

func (l *soakLength) Set(text string) error {
	if text == "true" {
		text = "7d"
	}
	days, err := strconv.Atoi(strings.TrimSuffix(text, "d"))
	if err != nil || days < 1 || days > 10_000 {
		return fmt.Errorf("want a number of days, got %q", text)
	}
	*l = soakLength(time.Duration(days) * day)
	return nil
}

// Time goes in ticks, with one call offered at each: 200 a second.
const (
	soakTick = 5 * time.Millisecond
	soakSlow = 100 * time.Millisecond
	soakHang = 400 // ticks until a call to a dependency that hangs times out
)

// soakCall is an attempt under way.
type soakCall struct {
	attempt    breaker.Attempt
	how        breaker.Verdict // soakReleased: none
	latency    time.Duration
	generation uint64
	next       *soakCall // that ends at the same tick
}

const soakReleased = breaker.Canceled + 1

// soakRun drives a breaker with calls that take time, so that hundreds are under way when
// it opens, and counts by itself all that the breaker counts.
type soakRun struct {
	*traffic
	t     *testing.T
	mood  func(*rand.Rand) (how breaker.Verdict, ticks int)
	ends  [soakHang + 1]*soakCall // by tick, round and round
	tick  int
	spare *soakCall

	verdicts             [soakReleased + 1]uint64
	refused, slow, stale uint64
	moves                map[breaker.Cause]uint64 // that the listener was told of
	generation           uint64                   // counts the opens
	closed, ramps        uint64                   // by probes; ramps begun, without those that failed
	told                 uint64
}

func newSoakRun(t *testing.T, recovery breaker.Recovery) *soakRun {
	run := &soakRun{t: t, mood: soakWell, moves: map[breaker.Cause]uint64{}}
	run.traffic = newTraffic(breaker.Settings{
		Name:              "soak",
		SlowCallThreshold: soakSlow, // no call takes between this and three times normal
		Recovery:          recovery,
		OnTransition:      run.listen,
	}, 200, 1)
	return run
}

func (run *soakRun) listen(_ context.Context, tr breaker.Transition) {
	run.told++
	run.moves[tr.Cause]++
	switch {
	case tr.To == breaker.Open:
		run.generation++
		if tr.From == breaker.Recovering {
			run.ramps--
		}
	case tr.To == breaker.Recovering:
		run.ramps++
	case tr.To == breaker.Closed:
		run.closed++
	}
}

// soakWell is a dependency on an ordinary day: a call takes 10 to 40 ms.
func soakWell(random *rand.Rand) (breaker.Verdict, int) {
	n := random.Uint32()
	how, ticks := breaker.OK, 2+int(n>>16)%7
	if rare := n % 1024; rare <= uint32(soakReleased) {
		how = breaker.Verdict(rare)
	}
	return how, ticks
}

// soakIncidents are what goes wrong. Some of it opens the breaker, for good reason.
var soakIncidents = []struct {
	name  string
	opens bool
	mood  func(*rand.Rand) (breaker.Verdict, int)
}{
	{"outage", true, func(*rand.Rand) (breaker.Verdict, int) { return breaker.Transient, 1 }},
	{"brownout", true, func(random *rand.Rand) (breaker.Verdict, int) {
		how, ticks := soakWell(random)
		return how, 10 * ticks
	}},
	{"throttled", false, func(*rand.Rand) (breaker.Verdict, int) { return breaker.Throttled, 1 }},
	{"hanging", true, func(*rand.Rand) (breaker.Verdict, int) { return breaker.Transient, soakHang }},
	{"callers gone", false, func(random *rand.Rand) (breaker.Verdict, int) {
		return breaker.Canceled + breaker.Verdict(random.IntN(2)), 1 + random.IntN(soakHang)
	}},
	{"40 % failing", true, func(random *rand.Rand) (breaker.Verdict, int) {
		how, ticks := soakWell(random)
		if random.IntN(10) < 4 {
			how = breaker.Transient
		}
		return how, ticks
	}},
}

var soakErrors = map[breaker.Verdict]error{
	breaker.OK:        nil,
	breaker.Transient: errDown,
	breaker.Throttled: breaker.WithVerdict(errDown, breaker.Throttled),
	breaker.Permanent: breaker.WithVerdict(errDown, breaker.Permanent),
	breaker.Canceled:  context.Canceled,
}

// goOn lets time pass.
func (run *soakRun) goOn(until time.Duration) {
	for end := run.start.Add(until); run.clock.now.Before(end); {
		run.clock.now = run.clock.now.Add(soakTick)
		run.tick = (run.tick + 1) % len(run.ends)
		for call := run.ends[run.tick]; call != nil; call = run.ends[run.tick] {
			run.ends[run.tick] = call.next
			run.end(call)
			call.next, run.spare = run.spare, call
		}
		run.offer()
	}
}

func (run *soakRun) offer() {
	if run.spare == nil {
		run.spare = new(soakCall)
	}
	call := run.spare
	var err error
	if call.attempt, err = run.TryAdmit(bg); err != nil {
		run.refused++
		return
	}
	run.spare = call.next
	how, ticks := run.mood(run.random)
	call.how, call.latency, call.generation = how, time.Duration(ticks)*soakTick, run.generation
	at := (run.tick + ticks) % len(run.ends)
	call.next, run.ends[at] = run.ends[at], call
}

func (run *soakRun) end(call *soakCall) {
	late := call.generation != run.generation
	run.verdicts[call.how]++
	switch {
	case call.how == soakReleased:
		call.attempt.Release()
		return
	case call.how == breaker.OK:
		call.attempt.Done(nil)
	default:
		call.attempt.Done(soakErrors[call.how])
	}
	if late {
		run.stale++
	} else if call.how == breaker.OK && call.latency >= soakSlow {
		run.slow++
	}
}

// check compares what the breaker says of itself with what the run knows.
func (run *soakRun) check() {
	t, s := run.t, run.Snapshot()
	got := s.Totals
	want := breaker.Totals{
		Refused:   run.refused,
		OK:        run.verdicts[breaker.OK],
		Transient: run.verdicts[breaker.Transient],
		Throttled: run.verdicts[breaker.Throttled],
		Permanent: run.verdicts[breaker.Permanent],
		Canceled:  run.verdicts[breaker.Canceled],
		Released:  run.verdicts[soakReleased],
		Slow:      run.slow,
		Stale:     run.stale,

		Transitions:  got.Transitions,
		Opens:        got.Opens,
		ProbesFailed: run.moves[breaker.CauseProbeFailed] + run.moves[breaker.CauseSlowProbe],
		TimeIn:       got.TimeIn,

		ProbesSucceeded:    got.ProbesSucceeded, // below
		ProbesInconclusive: got.ProbesInconclusive,
	}
	for _, n := range run.verdicts {
		want.Admitted += n
	}
	silent := run.ramps // nobody is told of the end of one
	if s.Last != nil && s.Last.To == breaker.Recovering {
		silent--
	}
	want.Recoveries = run.closed + silent
	require.Equal(t, want, got, "after %v", run.elapsed())
	run.moves[breaker.CauseRampCompleted] = silent
	for cause, n := range got.Transitions {
		require.Equal(t, run.moves[cause], n, "%v after %v", cause, run.elapsed())
	}
	for cause, n := range got.Opens {
		require.Equal(t, run.moves[cause], n, "%v after %v", cause, run.elapsed())
	}
	// It takes two to succeed. One more may have, in each spell that went wrong later.
	spells := 2 * run.moves[breaker.CauseProbesSucceeded]
	require.GreaterOrEqual(t, got.ProbesSucceeded, spells, "after %v", run.elapsed())
	require.LessOrEqual(t, got.ProbesSucceeded, spells+run.moves[breaker.CauseBreakElapsed], "after %v", run.elapsed())
	require.GreaterOrEqual(t, got.ProbesInconclusive, 10*run.moves[breaker.CauseProbesInconclusive], "after %v", run.elapsed())
	var elapsed time.Duration
	for state, d := range got.TimeIn {
		require.GreaterOrEqual(t, d, time.Duration(0), "%v after %v", state, run.elapsed())
		elapsed += d
	}
	require.Equal(t, run.elapsed(), elapsed, "the time in all states")
	history := run.History()
	require.Len(t, history, int(min(run.told+silent, 64)))
	require.True(t, linked(history), "no chain after %v: %v", run.elapsed(), history)
	for i, tr := range history {
		require.Equal(t, tr.To == breaker.Open, tr.Break > 0, "%v", tr)
		require.False(t, i > 0 && tr.At.Before(history[i-1].At), "%v is older than the one before it", tr)
	}
	if len(history) > 0 {
		require.Equal(t, run.told+silent, history[len(history)-1].Seq, "transitions after %v", run.elapsed())
	}
}

// heap returns what the program holds.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // the first one empties what pools keep
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A breaker in service for a long time: a trouble every few hours, which each time opens it
// or leaves it alone, as it should, and is over some minutes after its end; and nothing
// that adds up, drifts or stays.
func TestSoak(t *testing.T) {
	length, every, longest := time.Duration(soak), 3*time.Hour, 20*time.Minute
	if length == 0 {
		every, longest = 12*time.Minute, 2*time.Minute
		length = time.Duration(2*len(soakIncidents)) * every
		if underRace {
			length /= 2
		}
	}
	const (
		seen = 30 * time.Second // until an incident is noticed
		back = 4 * time.Minute  // a break at its longest, a ramp, and some probes
		more = 32 << 10         // bytes, of noise
	)
	for name, recovery := range map[string]breaker.Recovery{"cliff": {}, "ramp": breaker.RecoveryOver(0.25)} {
		t.Run(name, func(t *testing.T) {
			run := newSoakRun(t, recovery)
			began := time.Now()
			var held uint64
			var goroutines, incidents int
			for i := 0; time.Duration(i+1)*every <= length; i++ {
				incident, begin := soakIncidents[i%len(soakIncidents)], time.Duration(i+1)*every-longest-back
				end := begin + seen + time.Duration(run.random.Int64N(int64(longest-seen)))
				told := run.told
				run.goOn(begin)
				run.check()
				require.Equal(t, told, run.told, "nothing happens on an ordinary day, before incident %d", i)

				opened, recovered := run.generation, run.closed+run.ramps
				run.mood = incident.mood
				run.goOn(begin + seen)
				run.check()
				require.Equal(t, incident.opens, run.generation > opened, "incident %d, %s: open after %v", i, incident.name, seen)
				run.goOn(end)
				run.check()
				run.mood = soakWell
				run.goOn(end + back)
				run.check()
				require.Equal(t, breaker.Closed, run.State(), "incident %d, %s: %v after its end", i, incident.name, back)
				require.Equal(t, incident.opens, run.closed+run.ramps > recovered, "incident %d, %s: recovered", i, incident.name)
				require.Equal(t, incident.opens, run.generation > opened, "incident %d, %s: opened", i, incident.name)
				incidents++

				switch now := len(soakIncidents); {
				case i == now-1: // all of it was there once
					held, goroutines = heap(), runtime.NumGoroutine()
				case i >= now && i%now == now-1:
					require.LessOrEqual(t, heap(), held+more, "heap after %v", run.elapsed())
					require.LessOrEqual(t, runtime.NumGoroutine(), goroutines, "goroutines after %v", run.elapsed())
				}
			}
			run.goOn(length)
			run.check()
			require.GreaterOrEqual(t, incidents, len(soakIncidents), "every incident was there")
			totals := run.Snapshot().Totals
			require.Positive(t, totals.Stale, "calls were under way when it opened")
			t.Logf("%v of virtual time in %.1f s: %d incidents, %d calls, %d refused, %d stale, %d opens, %d recoveries; heap %d and then %d bytes",
				run.elapsed(), time.Since(began).Seconds(), incidents, totals.Admitted+totals.Refused, totals.Refused,
				totals.Stale, run.generation, totals.Recoveries, held, heap())
		})
	}
}
