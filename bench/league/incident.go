package league

import (
	"fmt"
	"hash/fnv"
	"time"
)

// incident is a row of the table.
type incident struct {
	name   string
	what   string // in a sentence, for the page
	length time.Duration

	load   func(at time.Duration) float64 // calls a second; it changes at the ends of trouble only
	fleet  int                            // how many breakers share the load
	always bool                           // nothing changes

	// trouble is when the dependency is not well. A breaker that trips then is right, or at
	// least not wrong; one that trips at another time is wrong.
	trouble []span

	// lingers says that what the trouble leaves behind depends on what was sent. So nobody
	// can say of a trip after it that it was wrong.
	lingers bool

	build func() dependency

	times int  // how often the row is run, with other luck
	luck  luck // of this time, the same for every column
}

// span is from one instant up to another.
type span struct{ from, until time.Duration }

func (s span) String() string {
	return fmt.Sprintf("%.1f s to %.1f s", s.from.Seconds(), s.until.Seconds())
}

func (s span) has(at time.Duration) bool { return s.from <= at && at < s.until }

func (in *incident) troubled(at time.Duration) bool {
	for _, s := range in.trouble {
		if s.has(at) {
			return true
		}
	}
	return false
}

// calm reports whether a trip is wrong.
func (in *incident) calm(at time.Duration) bool {
	if in.lingers {
		return at < in.trouble[0].from
	}
	return !in.troubled(at)
}

// steady reports whether nothing changes in the row.
func (in *incident) steady() bool { return in.always }

func luckOf(seed uint64, time int, of string) luck {
	h := fnv.New64a()
	fmt.Fprint(h, seed, " ", time, " ", of)
	return luck(h.Sum64())
}

// pace says how long the rows are.
type pace struct {
	Day, BusyDay         time.Duration // of the steady rows, and of those at 100 calls a second
	Before, During, Then time.Duration // of the incidents
	Times                int           // each of the incidents

	stretch float64 // of what is drawn anew each time
}

// full is the pace of the table, quick that of a look at it.
var (
	full  = pace{Day: 24 * time.Hour, BusyDay: 6 * time.Hour, Before: 6 * time.Minute, During: 5 * time.Minute, Then: 8 * time.Minute, Times: 6}
	quick = pace{Day: 10 * time.Minute, BusyDay: time.Minute, Before: 2 * time.Minute, During: time.Minute, Then: time.Minute, Times: 2}
)

// drawn is the pace of one time. Troubles last for half as long to half as long again, or
// a break of a minute would always end with an outage of five.
func (p pace) drawn(seed uint64, time int) pace {
	l := luckOf(seed, time, "pace")
	p.stretch = 0.5 + l.of(0, 0)
	p.Before += seconds(60 * l.of(1, 0))
	p.During = p.stretched(p.During)
	return p
}

func (p *pace) stretched(d time.Duration) time.Duration {
	return seconds(d.Seconds() * p.stretch)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

var (
	usual = spread{20 * time.Millisecond, 100 * time.Millisecond}

	usually = func(c *call) time.Duration { return usual.latency(c) }

	humps = func(c *call) time.Duration {
		if c.draw(drawHump) < 0.6 {
			return time.Millisecond
		}
		return 50 * time.Millisecond
	}
)

const busy = 100 // calls a second

func constant(perSecond float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return perSecond }
}

// incidents returns the rows, in order, as they are at one of their times.
func (p pace) incidents(seed uint64, time int) []incident {
	rows := p.drawn(seed, time).all()
	for i := range rows {
		in := &rows[i]
		in.luck = luckOf(seed, time, in.name)
		in.times = p.Times
		if in.steady() {
			in.times = 1
		}
	}
	return rows
}

func (p pace) all() []incident {
	rows := []incident{p.calm("healthy", busy, "All is well.", weather{})}
	for _, percent := range []float64{0.1, 1, 2, 5, 10, 30} {
		for _, load := range []float64{0.5, 10, busy} {
			rows = append(rows, p.calm(fmt.Sprintf("%g %% fail, %g/s", percent, load), load,
				fmt.Sprintf("It has always failed %g %% of the calls, each by itself.", percent),
				weather{failing: percent / 100}))
		}
	}
	two := p.calm("two humps", busy, "60 % of the answers take 1 ms, from a cache, and 40 % take 50 ms.", weather{})
	two.build = func() dependency { return &fated{fair(), humps, 0} }
	rows = append(rows, two)

	rows = append(rows,
		p.spell("outage", "Every call fails, after 1 ms.", weather{down: true}),
		p.rare(),
		p.spell("brownout", "Ten times slower: a median of 200 ms, and 1 % of the answers come too late.", weather{slower: 10}),
		p.spell("hang", "No call is answered.", weather{hangs: true}),
		p.spell("one shard of ten", "One call in ten goes to a shard that is down, and fails after 1 ms.", weather{shards: 0.1}),
		p.rising(),
		p.flapping(),
		p.cold(),
		p.fleet(),
		p.throttling(),
		p.canceling(),
		p.overload(),
		p.doubling(),
		p.coldStart(),
		p.deadStart(),
	)
	return rows
}

func fair() func(time.Duration) weather { return func(time.Duration) weather { return weather{} } }

// calm is a row in which nothing changes.
func (p pace) calm(name string, load float64, what string, always weather) incident {
	length := p.Day
	if load >= busy {
		length = p.BusyDay
	}
	return incident{
		name: name, what: what, length: length, load: constant(load), fleet: 1, always: true,
		build: func() dependency {
			return &fated{func(time.Duration) weather { return always }, usually, 0}
		},
	}
}

// spell is a row with one spell of bad weather.
func (p pace) spell(name, what string, bad weather) incident {
	trouble := span{p.Before, p.Before + p.During}
	return incident{
		name: name, what: what, length: trouble.until + p.Then, load: constant(busy), fleet: 1, trouble: []span{trouble},
		build: func() dependency {
			return &fated{func(at time.Duration) weather {
				if trouble.has(at) {
					return bad
				}
				return weather{}
			}, usually, 0}
		},
	}
}

func (p pace) rare() incident {
	q := pace{Before: 12 * p.Before, During: 12 * p.During, Then: 12 * p.Then}
	in := q.spell("outage, 2 a minute", "The same with two calls a minute, and twelve times as long.", weather{down: true})
	in.load = constant(2.0 / 60)
	return in
}

func (p pace) rising() incident {
	in := p.spell("0.1 % rising to 20 %", "The share of calls that fail rises for a minute, and stays.", weather{})
	trouble := in.trouble[0]
	in.build = func() dependency {
		return &fated{func(at time.Duration) weather {
			w := weather{failing: 0.001}
			if trouble.has(at) {
				w.failing += (0.2 - 0.001) * min(1, float64(at-trouble.from)/float64(time.Minute))
			}
			return w
		}, usually, 0}
	}
	return in
}

func (p pace) flapping() incident {
	in := p.spell("flapping", "Down for 20 s, up for 20 s, and so on: the trouble is when it is down.", weather{down: true})
	whole, phase := in.trouble[0], p.stretched(20*time.Second)
	in.trouble = nil
	for at := whole.from; at < whole.until; at += 2 * phase {
		in.trouble = append(in.trouble, span{at, at + phase})
	}
	in.build = func() dependency {
		return &fated{func(at time.Duration) weather { return weather{down: in.troubled(at)} }, usually, 0}
	}
	return in
}

// cold and fleet are the outage of a dependency that has to warm. What comes after it is
// the point, so the outage is short.
func (p pace) cold() incident {
	trouble := span{p.Before, p.Before + p.stretched(time.Minute)}
	return incident{
		name:   "cold recovery",
		what:   "Down for a minute, then cold: room for 10 calls a second, which grows to 200 by being used. It shrinks when twice as much comes.",
		length: trouble.until + p.Then, load: constant(warmFull * float64(time.Second/warmStep)), fleet: 1,
		trouble: []span{trouble}, lingers: true,
		build: func() dependency { return newWarming(trouble) },
	}
}

func (p pace) fleet() incident {
	in := p.cold()
	in.name, in.fleet = "fleet of 50", 50
	in.what = "The same dependency and the same calls, through 50 breakers."
	return in
}

func (p pace) throttling() incident {
	in := p.spell("half are 429", "Half of the answers are 429, after 1 ms.", weather{throttled: 0.5})
	in.trouble = nil // it defends itself, and works
	return in
}

func (p pace) canceling() incident {
	in := p.spell("a third cancels", "A third of the callers go away when half of the latency has passed. All else is well.", weather{})
	in.trouble = nil
	in.build = func() dependency { return &fated{fair(), usually, 1.0 / 3} }
	return in
}

func (p pace) overload() incident {
	in := p.spell("load times ten", "1,000 calls a second to a queue that works off 200. Turning one away takes a tenth of the work of serving one.", weather{})
	trouble := in.trouble[0]
	in.load = func(at time.Duration) float64 {
		if trouble.has(at) {
			return 10 * busy
		}
		return busy
	}
	in.build = func() dependency { return &queue{latency: usual} }
	return in
}

func (p pace) doubling() incident {
	in := p.spell("twice as slow for good", "From one moment on the latency is twice what it was.", weather{})
	changes := p.Before
	in.trouble = nil
	in.build = func() dependency {
		return &fated{func(at time.Duration) weather {
			if at >= changes {
				return weather{slower: 2}
			}
			return weather{}
		}, usually, 0}
	}
	return in
}

func (p pace) coldStart() incident {
	in := p.spell("first minute, cold", "A young breaker: the answers take five times as long at first, and what is usual after a minute.", weather{})
	in.trouble, in.length = nil, p.Then
	in.build = func() dependency {
		return &fated{func(at time.Duration) weather {
			return weather{slower: max(1, 5-4*at.Minutes())}
		}, usually, 0}
	}
	return in
}

func (p pace) deadStart() incident {
	q := pace{Before: 20 * time.Second, During: p.stretched(time.Minute), Then: p.Then}
	return q.spell("first minute, dead", "A young breaker: after 20 s every call fails for a minute.", weather{down: true})
}

// changes returns the first end of a span of trouble after one instant and before another.
func (in *incident) changes(from, until time.Duration) (time.Duration, bool) {
	for _, s := range in.trouble {
		for _, at := range []time.Duration{s.from, s.until} {
			if from < at && at < until {
				return at, true
			}
		}
	}
	return 0, false
}
