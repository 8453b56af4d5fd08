package simulation

import (
	"math/rand/v2"
	"time"
)

// What is drawn comes from streams that do not touch each other, so that a breaker which
// draws once more, or once less, moves no call.
const (
	streamArrivals = iota + 1
	streamLuck
	streamJitter // and up, one an instance
)

func stream(seed uint64, n int) *rand.PCG { return rand.NewPCG(seed, uint64(n)) }

// luck is all that is random about a call. It is drawn when the call is offered, and
// everything that happens to it follows, whether it is asked once, twice or not at all.
type luck uint64

// What is rolled for. Those of a call are rolled once for all of its attempts.
const (
	rollInstance = iota + 1 // of a call
	rollCancel              // of a call
	rollShard               // of a call
	rollHang
	rollOutage
	rollThrottle
	rollFail
	rollHump
	rollLatency
	rollSlow // and up, one a brownout
)

// roll returns 64 random bits, the same each time for one purpose.
func (l luck) roll(purpose int) uint64 {
	x := uint64(l) + uint64(purpose)*0x9e3779b97f4a7c15 // the steps and the mix of SplitMix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// of returns the luck of the n-th try of a call, 0 for the first.
func (l luck) of(try int) luck {
	if try == 0 {
		return l
	}
	return luck(l.roll(-try))
}

// share is a probability that rolls are held against.
type share uint64

func shareOf(p float64) share { return share(p * (1 << 53)) }

func (s share) meets(roll uint64) bool { return roll>>11 < uint64(s) }

// quantiles is a distribution of latencies: the value at each 4096th, and of the last of
// them again at each 4096th. In between it is a straight line.
type quantiles struct {
	body, tail [strata + 1]time.Duration
}

const strata = 4096

// longestLatency bounds what is drawn, so that no sum of latencies overflows.
const longestLatency = 24 * time.Hour

// newQuantiles returns the lognormal distribution with this median and 99th percentile.
func newQuantiles(median, p99 time.Duration) *quantiles {
	const z99 = 2.3263478740408408 // of the standard normal
	sigma := ln(float64(p99)/float64(median)) / z99
	at := func(p float64) time.Duration {
		const cut = 1.0 / (2 * strata * strata)
		p = min(max(p, cut), 1-cut)
		return time.Duration(min(float64(median)*exp(float64(sigma*normalQuantile(p))), float64(longestLatency)))
	}
	var q quantiles
	for i := range strata + 1 {
		q.body[i] = at(float64(i) / strata)
		q.tail[i] = at((strata - 1 + float64(i)/strata) / strata)
	}
	return &q
}

func (q *quantiles) draw(roll uint64) time.Duration {
	values, i := &q.body, roll>>52
	if i == strata-1 {
		values, i = &q.tail, roll>>40%strata
	}
	below, above := values[i], values[i+1]
	return below + (above-below)*time.Duration(roll%(1<<16))>>16
}

// exponential returns a number from the exponential distribution with mean 1.
func exponential(from *rand.PCG) (x float64) {
	for {
		roll := from.Uint64()
		i := roll >> 52
		below := exponentials[i]
		if i < strata-1 {
			within := float64(roll<<12>>12) / (1 << 52)
			return x + (below + float64((exponentials[i+1]-below)*within))
		}
		x += below // it has no memory: beyond the last, it begins anew
	}
}

var exponentials = func() (edges [strata]float64) {
	for i := range edges {
		edges[i] = -ln(1 - float64(i)/strata)
	}
	return edges
}()
