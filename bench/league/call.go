package league

import (
	"context"
	"errors"
	"math"
	"time"
)

// Deadline is how long every caller waits for an answer.
const Deadline = time.Second

// What a call ends with. They are plain errors, as a client without a word of its own for
// them returns: only a column that was told so takes a 429 for anything but a failure.
var (
	errFailed    = errors.New("503 Service Unavailable")
	errThrottled = errors.New("429 Too Many Requests")
)

// call is one call offered to a breaker.
type call struct {
	number uint64
	at     time.Duration // since the incident began
	luck   luck
}

// luck is where all the chance of a row comes from.
type luck uint64

// The draws of a call. Each is its own, so that a row that asks for one more leaves the
// others as they were.
const (
	drawGap = iota
	drawFailing
	drawLatency
	drawThrottled
	drawShard
	drawHump
	drawCanceled
	drawBreaker
	draws
)

// of returns a number in (0, 1) that depends on the luck, the number of a call and the
// draw alone. The mixing is that of splitmix64.
func (l luck) of(number uint64, draw uint64) float64 {
	x := uint64(l) + (number*draws+draw+1)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return (float64(x>>12) + 0.5) / (1 << 52)
}

func (c *call) draw(draw uint64) float64 { return c.luck.of(c.number, draw) }

// gap is the time to the next of calls that come at random, so many a second on average.
func (l luck) gap(number uint64, perSecond float64) time.Duration {
	return time.Duration(-math.Log(l.of(number, drawGap)) / perSecond * float64(time.Second))
}

// spread is a lognormal distribution of latencies.
type spread struct{ median, p99 time.Duration }

// z99 is the 99th percentile of the standard normal distribution.
const z99 = 2.3263478740408408

func (s spread) latency(c *call) time.Duration {
	z := math.Sqrt2 * math.Erfinv(2*c.draw(drawLatency)-1)
	return time.Duration(float64(s.median) * math.Exp(z/z99*math.Log(float64(s.p99)/float64(s.median))))
}

// reply is how a call ends for its caller, and how long after it was sent.
type reply struct {
	after time.Duration
	err   error // nil: served
}

func (r reply) served() bool { return r.err == nil }

// waitedFor returns what becomes of a reply for a caller who waits only so long.
func (r reply) waitedFor(limit time.Duration, why error) reply {
	if r.after < limit {
		return r
	}
	return reply{limit, why}
}

// callContext is the context of a call, driven by events: a real one would start a timer
// for each call. It has ended when the call has.
type callContext struct{ err error }

var _ context.Context = (*callContext)(nil)

func (c *callContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c *callContext) Done() <-chan struct{}       { return nil }
func (c *callContext) Err() error                  { return c.err }
func (c *callContext) Value(any) any               { return nil }

// end is told what the call ended with. A context knows of two ends only.
func (c *callContext) end(err error) {
	if err == context.Canceled || err == context.DeadlineExceeded {
		c.err = err
	}
}
