package breakerprom

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/normal-go/breaker"
)

// Options are the options of [NewCollector]. The zero value, and a nil pointer, mean the
// defaults.
type Options struct {
	// MaximumBreakers is how many breakers have series of their own, each about fifty.
	// Default 200, which makes ten thousand series in each process.
	MaximumBreakers int
}

const defaultMaximumBreakers = 200

// Collector is a [prometheus.Collector] of the breakers of a source. Build it with
// [NewCollector]; the scrape of a zero one fails. It is safe for concurrent use, and must not
// be copied.
type Collector struct {
	source  breaker.Source
	maximum int

	// reading is held by whoever reads the breakers, which runs functions of the
	// caller's: the source, and clocks.
	reading sync.Mutex
	shown   map[*breaker.Breaker]longest
}

// longest is the most time that was ever reported for each state. The core's own may fall
// by a moment, which Prometheus would take for a restart from zero.
type longest map[breaker.State]time.Duration

// NewCollector returns a collector of the breakers of source, as they are at each scrape.
//
//	prometheus.MustRegister(breakerprom.NewCollector(source, nil))
//
// The label breaker is the breaker's name. What is not UTF-8 in it is replaced by U+FFFD. Of
// several breakers of one name, one has series; breakers without a name share the empty one.
// Past [Options.MaximumBreakers] there are no more. What is left out is counted in
// breaker_collector_dropped_breakers. A breaker that has series keeps them as long as it is
// in the source; else the source's order decides, so put first what must not be missed. A
// breaker that the source yields twice is read once.
//
// A registry takes one such collector. For several, give each a label of its own with
// [prometheus.WrapRegistererWith], or have one over a [breaker.Registry] of all sources.
//
// NewCollector panics if source is nil, and if MaximumBreakers is negative.
func NewCollector(source breaker.Source, options *Options) *Collector {
	if source == nil {
		panic("breakerprom: NewCollector with a nil Source")
	}
	if options == nil {
		options = &Options{}
	}
	if options.MaximumBreakers < 0 {
		panic(fmt.Sprintf("breakerprom: NewCollector with a negative MaximumBreakers: %d", options.MaximumBreakers))
	}
	return &Collector{source: source, maximum: cmp.Or(options.MaximumBreakers, defaultMaximumBreakers)}
}

// Describe sends the descriptions of all metrics, whatever is in the source.
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, m := range metrics {
		descs <- m.desc
	}
	descs <- breakersDesc
	descs <- droppedDesc
}

// Collect takes one snapshot of each breaker and sends what it says. Scrapes at the same
// time wait for each other. If the source panics, or a breaker's clock, the scrape fails
// with its text, and the program lives on.
func (c *Collector) Collect(sent chan<- prometheus.Metric) {
	for _, m := range c.read() {
		sent <- m
	}
}

func (c *Collector) read() (read []prometheus.Metric) {
	if c.source == nil {
		return []prometheus.Metric{prometheus.NewInvalidMetric(breakersDesc, errors.New("breakerprom: zero Collector; build one with NewCollector"))}
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	defer func() {
		if problem := recover(); problem != nil {
			read = []prometheus.Metric{prometheus.NewInvalidMetric(breakersDesc, fmt.Errorf("breakerprom: reading the breakers: %v", problem))}
		}
	}()
	in := map[breaker.State]int{}
	dropped := map[string]int{}
	shown := map[*breaker.Breaker]longest{}
	names := map[string]bool{}
	for _, b := range c.inOrder() {
		if len(shown) == c.maximum {
			dropped[reasonLimit]++
			in[b.State()]++
			continue
		}
		s := b.Snapshot()
		in[s.State]++
		name := strings.ToValidUTF8(s.Name, "\uFFFD")
		if names[name] {
			dropped[reasonName]++
			continue
		}
		names[name] = true
		for state, d := range c.shown[b] {
			s.Totals.TimeIn[state] = max(s.Totals.TimeIn[state], d)
		}
		shown[b] = s.Totals.TimeIn
		for _, m := range metrics {
			m.read(s, func(value float64, label ...string) {
				read = append(read, prometheus.MustNewConstMetric(m.desc, m.kind, value, append([]string{name}, label...)...))
			})
		}
	}
	c.shown = shown
	for state := breaker.Closed; state <= breaker.Isolated; state++ {
		read = append(read, prometheus.MustNewConstMetric(breakersDesc, gauge, float64(in[state]), state.String()))
	}
	for _, reason := range []string{reasonLimit, reasonName} {
		read = append(read, prometheus.MustNewConstMetric(droppedDesc, gauge, float64(dropped[reason]), reason))
	}
	return read
}

// inOrder returns the breakers of the source, each once: first those that have series, or a
// newcomer could take the place of one, or its name.
func (c *Collector) inOrder() []*breaker.Breaker {
	var known, others []*breaker.Breaker
	seen := map[*breaker.Breaker]bool{}
	for b := range c.source.Breakers() {
		_, had := c.shown[b]
		switch {
		case seen[b]:
		case had:
			known = append(known, b)
		default:
			others = append(others, b)
		}
		seen[b] = true
	}
	return append(known, others...)
}
