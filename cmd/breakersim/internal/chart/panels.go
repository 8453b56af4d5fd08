package chart

import (
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// kind is one of the panels, the same for all series of a figure.
type kind struct {
	title     string
	height    vg.Length
	low, high float64
	log       bool
	ticks     []tick
	legend    []entry
	plot      func(*panel, *Series)
	marks     func(*panel, *Series) // over everything; nil if there are none
}

// kindsFor returns the panels in which there is something to see.
func kindsFor(series []*Series) []kind {
	kinds := []kind{loadOf(series)}
	breakers := false
	for _, s := range series {
		breakers = breakers || !s.NoBreaker
	}
	if breakers {
		kinds = append(kinds, stateOf(series))
	}
	if latency, ok := latencyOf(series); ok {
		kinds = append(kinds, latency)
	}
	if breakers {
		kinds = append(kinds, failuresOf(series))
	}
	return kinds
}

// seen reports whether a value is not 0 in some bin of some series.
func seen(series []*Series, of func(bin) float64) bool {
	for _, s := range series {
		if highest(s.each(of)) > 0 {
			return true
		}
	}
	return false
}

var (
	offeredLine = stroke(0.7, ink)
	reachedLine = stroke(0.9, blue, 2, 1.5)
)

func loadOf(series []*Series) kind {
	layers := []struct {
		name  string
		of    func(bin) float64
		entry entry
	}{
		{"served", func(b bin) float64 { return b.served }, entry{area: served}},
		{"failed", func(b bin) float64 { return b.failed }, entry{area: failed}},
		{"throttled (429)", func(b bin) float64 { return b.throttled }, entry{area: throttled}},
		{"caller went away", func(b bin) float64 { return b.canceled }, entry{area: canceled}},
		{"refused", func(b bin) float64 { return b.refused }, entry{area: refused}},
	}
	retried := seen(series, func(b bin) float64 { return max(b.asked-b.offered, 0) })
	k := kind{
		title:  "Calls a second, by how they ended",
		height: 150,
		legend: []entry{{name: "offered", line: offeredLine}},
	}
	if retried {
		k.legend = append(k.legend, entry{name: "tries that got through", line: reachedLine})
	}
	for i := len(layers) - 1; i >= 0; i-- { // as they lie on each other
		if l := layers[i]; l.name == "served" || l.name == "failed" || seen(series, l.of) {
			l.entry.name = l.name
			k.legend = append(k.legend, l.entry)
		}
	}
	most := 0.0
	for _, s := range series {
		most = max(most, highest(s.mean(func(b bin) float64 {
			return max(b.offered, b.served+b.failed+b.throttled+b.canceled+b.refused)
		})))
		if retried {
			most = max(most, highest(s.mean(func(b bin) float64 { return b.reached })))
		}
	}
	k.ticks, k.high = evenTicks(most*1.02, plainNumber)
	k.plot = func(p *panel, s *Series) {
		edges := s.edges()
		var painted []layer
		for _, l := range layers {
			painted = append(painted, layer{s.mean(l.of), l.entry.area})
		}
		p.stack(edges, painted...)
		p.steps(edges, s.mean(func(b bin) float64 { return b.offered }), offeredLine)
		if retried {
			p.steps(edges, s.mean(func(b bin) float64 { return b.reached }), reachedLine)
		}
	}
	return k
}

var admittedLine = stroke(1.3, ink)

func stateOf(series []*Series) kind {
	k := kind{
		title:  "State of the breaker, and the share of calls it lets through",
		height: 62,
		high:   1,
		ticks:  []tick{{0, "0 %"}, {0.5, "50 %"}, {1, "100 %"}},
		legend: []entry{
			{name: "let through", line: admittedLine},
			{name: "closed", area: closed},
		},
	}
	for _, s := range series {
		if s.Fleet {
			k.title = "Share of the breakers in each state, and of the calls that the first lets through"
		}
	}
	if seen(series, func(b bin) float64 { return b.open }) {
		k.legend = append(k.legend, entry{name: "open", area: open})
	}
	if seen(series, func(b bin) float64 { return b.halfOpen }) {
		k.legend = append(k.legend, entry{name: "half-open", area: halfOpen})
	}
	if seen(series, func(b bin) float64 { return b.recovering }) {
		k.legend = append(k.legend, entry{name: "recovering", area: recovering})
	}
	k.plot = func(p *panel, s *Series) {
		if s.NoBreaker {
			p.note("no breaker")
			return
		}
		edges := s.edges()
		p.stack(edges,
			layer{s.mean(func(b bin) float64 { return b.open }), open},
			layer{s.mean(func(b bin) float64 { return b.halfOpen }), halfOpen},
			layer{s.mean(func(b bin) float64 { return b.recovering }), recovering},
			layer{s.mean(func(b bin) float64 { return b.closed }), closed})
		admitted := s.mean(func(b bin) float64 { return b.admitted })
		p.steps(edges, admitted, stroke(admittedLine.Width+2, paper))
		p.steps(edges, admitted, admittedLine)
	}
	return k
}

var (
	medianLine    = stroke(1.4, blue)
	p99Line       = stroke(0.8, faint)
	thresholdLine = stroke(1.2, orange, 5, 2.5)
)

func latencyOf(series []*Series) (kind, bool) {
	median := func(b bin) float64 { return b.medians / max(b.served, 1) }
	p99 := func(b bin) float64 { return b.p99.Seconds() }
	threshold := func(b bin) float64 { return b.threshold.Seconds() }
	if !seen(series, p99) {
		return kind{}, false
	}
	k := kind{
		title:  "Latency of the calls served, as their callers see it",
		height: 105,
		log:    true,
		low:    math.Inf(1),
		legend: []entry{{name: "99th percentile", line: p99Line}, {name: "median", line: medianLine}},
	}
	slow := seen(series, threshold)
	if slow {
		k.legend = append(k.legend, entry{name: "slow from here on", line: thresholdLine})
	}
	for _, s := range series {
		for _, of := range []func(bin) float64{median, p99, threshold} {
			for _, v := range s.each(of) {
				if v > 0 {
					k.low, k.high = min(k.low, v), max(k.high, v)
				}
			}
		}
	}
	k.low, k.high = k.low/1.3, k.high*1.3
	if k.high/k.low < 10 {
		k.low, k.high = k.low/2, k.high*2
	}
	k.ticks = latencyTicks(k.low, k.high)
	k.plot = func(p *panel, s *Series) {
		edges := s.edges()
		p.curve(edges, s.known(p99), p99Line)
		p.curve(edges, s.known(median), medianLine)
		p.steps(edges, s.known(threshold), thresholdLine)
	}
	return k, true
}

var (
	failuresLine = stroke(1.4, failed)
	slowLine     = stroke(1, blue)
	tripsLine    = stroke(1.2, failed, 5, 2.5)
)

func failuresOf(series []*Series) kind {
	failures := func(b bin) float64 { return b.failures }
	slow := func(b bin) float64 { return b.slow }
	trips := func(b bin) float64 { return b.tripsAbove }
	k := kind{
		title:  "Share of the calls in the trip window",
		height: 95,
		legend: []entry{{name: "failed", line: failuresLine}, {name: "slow", line: slowLine}},
	}
	if seen(series, trips) {
		k.legend = append(k.legend, entry{name: "failures trip here", line: tripsLine})
	}
	most, tripped := 0.1, false
	for _, s := range series {
		if s.Fleet {
			k.title = "Share of the calls in the trip window of the first breaker"
		}
		for _, of := range []func(bin) float64{failures, slow, trips} {
			most = max(most, highest(s.each(of)))
		}
		for _, t := range s.Trips {
			tripped = true
			most = max(most, t.share())
		}
	}
	if tripped {
		k.legend = append(k.legend, entry{name: "tripped, and why", dot: true})
	}
	k.ticks, k.high = evenTicks(min(most, 1), percent)
	k.plot = func(p *panel, s *Series) {
		if s.NoBreaker {
			p.note("no breaker")
			return
		}
		edges := s.edges()
		p.steps(edges, s.known(slow), slowLine)
		p.steps(edges, s.each(failures), failuresLine)
		p.steps(edges, s.known(trips), tripsLine)
	}
	k.marks = func(p *panel, s *Series) { tripMarks(p, s.Trips) }
	return k
}

// share is what the trip was about.
func (t Trip) share() float64 {
	if t.Cause.String() == "slow-calls" {
		return t.Slow
	}
	return t.Failures
}

// tripMarks draws a dot for each trip, and its cause where there is room.
func tripMarks(p *panel, trips []Trip) {
	const most = 200 // beyond that, they are a bar
	var dots []vg.Point
	trips = trips[:min(len(trips), most)]
	for _, t := range trips {
		dots = append(dots, p.at(t.At.Seconds(), t.share()))
	}
	free, text := p.Min.X, style(8, ink)
	for i, at := range dots {
		words := trips[i].Cause.String()
		width := text.Width(words)
		for _, left := range []vg.Length{at.X + 7, at.X - 7 - width} {
			right := left + width
			taken := slices.ContainsFunc(dots, func(dot vg.Point) bool {
				return dot.X > left-4 && dot.X < right+4 && dot.Y > at.Y-9 && dot.Y < at.Y+9
			})
			if left < free || right > p.Max.X || taken {
				continue
			}
			p.label(vg.Point{X: left, Y: min(max(at.Y-3, p.Min.Y+3), p.Max.Y-9)}, words)
			free = max(right, at.X) + 8
			break
		}
	}
	for _, at := range dots { // over the words
		p.dot(at)
	}
}
