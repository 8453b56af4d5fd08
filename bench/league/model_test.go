package league

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

func TestLatencyHasItsMedianAndItsP99(t *testing.T) {
	const n = 100_000
	below := map[time.Duration]int{}
	for i := range uint64(n) {
		d := usual.latency(&call{number: i, luck: 1})
		for _, limit := range []time.Duration{20 * ms, 100 * ms, Deadline} {
			if d < limit {
				below[limit]++
			}
		}
	}
	require.InDelta(t, 0.5, float64(below[20*ms])/n, 0.005)
	require.InDelta(t, 0.99, float64(below[100*ms])/n, 0.001)
	require.Equal(t, n, below[Deadline], "nobody waits in vain while all is well")
}

// Whether a call fails says nothing of whether its caller goes away.
func TestDrawsOfACallAreTheirOwn(t *testing.T) {
	const n = 10_000
	for a := range uint64(draws) {
		for b := range a {
			both := 0
			for i := range uint64(n) {
				if l := luck(5); l.of(i, a) < 0.5 && l.of(i, b) < 0.5 {
					both++
				}
			}
			require.InDelta(t, 0.25, float64(both)/n, 0.02, "%d and %d", a, b)
		}
	}
}

func TestContextEndsWithItsCall(t *testing.T) {
	for _, end := range []error{nil, errFailed, errThrottled, context.Canceled, context.DeadlineExceeded} {
		var ctx callContext
		require.NoError(t, ctx.Err())
		ctx.end(end)
		if end == context.Canceled || end == context.DeadlineExceeded {
			require.Equal(t, end, context.Cause(&ctx))
		} else {
			require.NoError(t, ctx.Err(), end)
		}
	}
}

func TestCallsComeAtTheirRate(t *testing.T) {
	in := rowNamed(t, full.incidents(1, 0), "load times ten")
	d := &driver{incident: in, luck: in.luck}
	var inTrouble, before int
	for c, ok := d.next(nil); ok; c, ok = d.next(c) {
		switch {
		case in.troubled(c.at):
			inTrouble++
		case c.at < in.trouble[0].from:
			before++
		}
	}
	trouble := in.trouble[0]
	require.InEpsilon(t, 1000*(trouble.until-trouble.from).Seconds(), inTrouble, 0.01)
	require.InEpsilon(t, 100*trouble.from.Seconds(), before, 0.02)
}

func TestFates(t *testing.T) {
	const n = 10_000
	for _, tt := range []struct {
		name     string
		weather  weather
		canceled float64
		want     error
		share    float64
		after    time.Duration // of those; 0: it differs
	}{
		{"well", weather{}, 0, nil, 1, 0},
		{"failing", weather{failing: 0.3}, 0, errFailed, 0.3, 0},
		{"down", weather{down: true}, 0, errFailed, 1, ms},
		{"hangs", weather{hangs: true}, 0, context.DeadlineExceeded, 1, time.Second},
		{"shards", weather{shards: 0.1}, 0, errFailed, 0.1, ms},
		{"throttled", weather{throttled: 0.5}, 0, errThrottled, 0.5, ms},
		{"slower", weather{slower: 10}, 0, context.DeadlineExceeded, 0.01, time.Second},
		{"canceled", weather{}, 0.25, context.Canceled, 0.25, 0},
	} {
		dependency := &fated{func(time.Duration) weather { return tt.weather }, usually, tt.canceled}
		found := 0
		for i := range uint64(n) {
			c := &call{number: i, luck: 7}
			r := dependency.answer(c, true)
			require.Equal(t, r, dependency.answer(c, false), tt.name)
			require.Equal(t, r.err == nil, dependency.wise(c), tt.name)
			if r.err == tt.want {
				found++
				require.True(t, tt.after == 0 || tt.after == r.after, "%s: %v", tt.name, r.after)
			}
		}
		require.InDelta(t, tt.share, float64(found)/n, 0.015, tt.name)
	}
}

func TestWarming(t *testing.T) {
	w := newWarming(span{time.Second, 2 * time.Second})
	at := func(at time.Duration) *call { return &call{at: at} }
	require.Equal(t, reply{10 * ms, nil}, w.answer(at(0), true), "warm")
	require.Equal(t, reply{ms, errFailed}, w.answer(at(time.Second), true), "down")
	require.False(t, w.wise(at(time.Second)))

	step := 2 * time.Second // with room for one call
	require.Equal(t, reply{200 * ms, nil}, w.answer(at(step), true))
	require.Equal(t, reply{400 * ms, nil}, w.answer(at(step), false))
	require.True(t, w.wise(at(step)))
	require.Equal(t, reply{400 * ms, nil}, w.answer(at(step), true), "what was not sent changes nothing")
	require.False(t, w.wise(at(step)), "a third would be served, and knock it back")
	require.Equal(t, reply{600 * ms, nil}, w.answer(at(step), false))

	w.answer(at(step+warmStep), false)
	require.InDelta(t, 1.2, w.capacity, 1e-9, "it was used")
	w.answer(at(step+2*warmStep), false)
	require.InDelta(t, 1.25, w.capacity, 1e-9, "it was not")
	for range 5 {
		w.answer(at(step+2*warmStep), true)
	}
	require.Equal(t, reply{warmFast, errFailed}, w.answer(at(step+2*warmStep), true))
	w.answer(at(step+3*warmStep), false)
	require.InDelta(t, 1.0, w.capacity, 1e-9, "it was knocked back, and not below one")
}

func TestQueue(t *testing.T) {
	q := &queue{latency: spread{20 * ms, 20*ms + 1}}
	at := func(at time.Duration) *call { return &call{at: at, luck: 3} }
	latency := q.answer(at(0), false).after
	for i := range 101 {
		require.True(t, q.wise(at(0)))
		require.Equal(t, reply{time.Duration(i)*queueWork + latency, nil}, q.answer(at(0), true))
	}
	require.False(t, q.wise(at(0)))
	require.Equal(t, reply{refusedAt, errFailed}, q.answer(at(0), true))
	require.Equal(t, 101*queueWork+queueShed, q.free, "to turn a call away is work")
	require.True(t, q.answer(at(10*ms), false).served())
	require.Equal(t, latency, q.answer(at(time.Second), false).after, "all is done by then")
}

func TestTrips(t *testing.T) {
	trouble := []span{{10 * time.Second, 20 * time.Second}}
	type look struct {
		at    time.Duration
		guard int
		open  bool
	}
	for _, tt := range []struct {
		name    string
		fleet   int
		looks   []look
		tripped time.Duration
		early   bool
		false   int
	}{
		{"never", 1, []look{{1 * time.Second, 0, false}, {12 * time.Second, 0, false}}, -1, false, 0},
		{"in the trouble", 1, []look{{12 * time.Second, 0, true}, {13 * time.Second, 0, true}}, 2 * time.Second, false, 0},
		{"before it", 1, []look{{9 * time.Second, 0, true}, {11 * time.Second, 0, true}}, time.Second, true, 1},
		{"and closed in between", 1, []look{{8 * time.Second, 0, true}, {9 * time.Second, 0, false}, {11 * time.Second, 0, true}}, time.Second, false, 1},
		{"after it", 1, []look{{20 * time.Second, 0, true}, {21 * time.Second, 0, false}, {22 * time.Second, 0, true}}, -1, false, 2},
		{"one of a fleet of three", 3, []look{{11 * time.Second, 0, true}, {12 * time.Second, 0, true}}, -1, false, 0},
		{"half of a fleet", 3, []look{{11 * time.Second, 0, true}, {13 * time.Second, 2, true}}, 3 * time.Second, false, 0},
	} {
		in := &incident{fleet: tt.fleet, trouble: trouble}
		tally := newTally(in)
		for _, l := range tt.looks {
			tally.observe(l.guard, &guard{closed: func() bool { return !l.open }}, l.at, false)
		}
		require.Equal(t, tt.tripped, tally.Tripped, tt.name)
		require.Equal(t, tt.early, tally.Early, tt.name)
		require.Equal(t, tt.false, tally.FalseTrips, tt.name)
	}
}

func TestTripsAfterATroubleThatLingersAreNotWrong(t *testing.T) {
	in := &incident{fleet: 1, trouble: []span{{10 * time.Second, 20 * time.Second}}, lingers: true}
	tally := newTally(in)
	for _, at := range []time.Duration{5 * time.Second, 25 * time.Second} {
		tally.observe(0, &guard{closed: func() bool { return false }}, at, false)
		tally.observe(0, &guard{closed: func() bool { return true }}, at, false)
	}
	require.Equal(t, 1, tally.FalseTrips)
}

// A refusal is a trip if there was none for ten seconds.
func TestTripsOfThoseWithoutStates(t *testing.T) {
	tally := newTally(&incident{fleet: 1})
	for _, tt := range []struct {
		at      time.Duration
		refused bool
		trips   int
	}{
		{0, false, 0}, {1 * time.Second, true, 1}, {2 * time.Second, false, 1}, {10 * time.Second, true, 1},
		{19 * time.Second, false, 1}, {19 * time.Second, true, 1}, {29 * time.Second, false, 1}, {29 * time.Second, true, 2},
	} {
		tally.observe(0, &guard{}, tt.at, tt.refused)
		require.Equal(t, tt.trips, tally.FalseTrips, "%v", tt.at)
	}
}

func TestSumOfTimes(t *testing.T) {
	never := Result{Tripped: -1}
	second, minute := Result{Tripped: time.Second, Early: true}, Result{Tripped: time.Minute}
	require.Equal(t, minute, sum([]Result{never, second, minute}))
	require.Equal(t, second, sum([]Result{minute, never, second, second}))
	require.Equal(t, never, sum([]Result{never, never, second}))
	require.Equal(t, Result{2, 4, 6, 8, 10, 0, false, 12}, sum([]Result{{1, 2, 3, 4, 5, 0, false, 6}, {1, 2, 3, 4, 5, 0, false, 6}}))
}

// What makes a column repeatable is what the library makes by itself, but for its source.
func TestOwnBackOff(t *testing.T) {
	b := newOwnBackOff(rand.New(rand.NewPCG(1, 2)))
	interval := 500 * ms
	for range 20 {
		d := b.NextBackOff()
		require.InDelta(t, interval.Seconds(), d.Seconds(), interval.Seconds()/2+1e-6)
		interval = min(interval*3/2, time.Minute)
	}
	require.Equal(t, time.Minute, interval)
	b.Reset()
	require.Less(t, b.NextBackOff(), 750*ms+1)
}
