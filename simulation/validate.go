package simulation

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/normal-go/breaker"
)

const (
	longest       = 31 * 24 * time.Hour // the timeline has an entry a second
	mostInstances = 100_000
	mostRetries   = 100

	// A call of a busy run costs well under a microsecond, so a rate above this one is a
	// slip of the pen.
	highestRate = 1e7
)

// Validate reports every problem of s at once, as a [*ScenarioError], or nil. Each problem
// names the field, the rule and the value; those of the settings are the ones that
// [breaker.Settings.Validate] finds. It changes nothing, and calls none of the functions
// in s.
func (s Scenario) Validate() error {
	var p problems
	p.duration("Duration", s.Duration)
	p.between("Instances", s.Instances, mostInstances)
	s.Load.validate(&p)
	s.Callers.validate(&p)
	s.Dependency.validate(&p)
	hangs := false
	for i, incident := range s.Incidents {
		incident.validate(fmt.Sprintf("Incidents[%d]", i), &p)
		hangs = hangs || incident.Kind == Hang
	}
	if hangs && s.Callers.Deadline == 0 && s.Callers.Timeout == 0 {
		p.add("Callers.Deadline or Callers.Timeout must be set beside an incident of kind %q: a call would never end", Hang)
	}
	p.duration("Grace", s.Grace)
	if !s.NoBreaker {
		p.settings(s.Settings)
	}
	return p.err()
}

func (l Load) validate(p *problems) {
	p.rate("Load.Rate", l.Rate)
	if l.Rate == 0 && len(l.Steps) == 0 {
		p.add("Load.Rate must be above 0 where there are no Load.Steps, got 0: no call would be offered")
	}
	p.duration("Load.Every", l.Every)
	if l.Poisson && l.Every > 0 {
		p.add("Load.Every must be 0 beside Load.Poisson, got %v: calls come in batches or at random", l.Every)
	}
	for i, step := range l.Steps {
		name := fmt.Sprintf("Load.Steps[%d]", i)
		p.duration(name+".At", step.At)
		p.rate(name+".Rate", step.Rate)
		if i > 0 && step.At <= l.Steps[i-1].At {
			p.add("%s.At must be after that of the step before (%v), got %v", name, l.Steps[i-1].At, step.At)
		}
	}
	for i, burst := range l.Bursts {
		name := fmt.Sprintf("Load.Bursts[%d]", i)
		p.duration(name+".Start", burst.Start)
		p.positive(name+".Duration", burst.Duration)
		p.period(name+".Every", burst.Every)
		if burst.Every > 0 && burst.Every < burst.Duration {
			p.add("%s.Every must be at least its Duration (%v), got %v", name, burst.Duration, burst.Every)
		}
		p.above(name+".Factor", burst.Factor, 0)
	}
	p.share("Load.Day.Lowest", l.Day.Lowest)
	p.duration("Load.Day.Length", l.Day.Length)
	if l.Day.Length > 0 && l.Day.Length < time.Second {
		p.add("Load.Day.Length must be at least 1s, got %v", l.Day.Length)
	}
}

func (c Callers) validate(p *problems) {
	p.duration("Callers.Deadline", c.Deadline)
	p.duration("Callers.Timeout", c.Timeout)
	p.between("Callers.Retries", c.Retries, mostRetries)
	p.duration("Callers.Backoff", c.Backoff)
	p.share("Callers.CancelShare", c.CancelShare)
	p.duration("Callers.CancelAfter", c.CancelAfter)
}

func (d Dependency) validate(p *problems) {
	p.latency("Dependency", d.Median, d.P99)
	p.share("Dependency.Hump.Share", d.Hump.Share)
	p.latency("Dependency.Hump", d.Hump.Median, d.Hump.P99)
	if d.Hump.Share > 0 && d.Hump.Median == 0 {
		p.add("Dependency.Hump.Median must be above 0 beside a Share, got 0")
	}
	p.share("Dependency.FailureRate", d.FailureRate)
	p.duration("Dependency.FailureLatency", d.FailureLatency)
	p.rate("Dependency.Capacity", d.Capacity)
	p.duration("Dependency.Queue", d.Queue)
	w := d.Warming
	if w.Full != 0 {
		p.above("Dependency.Warming.Full", w.Full, 0)
		if w.Full > 0 && w.Full < 1 {
			p.add("Dependency.Warming.Full must be at least 1, got %v", w.Full)
		}
	}
	p.period("Dependency.Warming.Step", w.Step)
	p.gain("Dependency.Warming.Gain", w.Gain)
	p.gain("Dependency.Warming.IdleGain", w.IdleGain)
	p.gain("Dependency.Warming.Loss", w.Loss)
}

func (i Incident) validate(name string, p *problems) {
	p.duration(name+".Start", i.Start)
	p.duration(name+".Duration", i.Duration)
	p.share(name+".Share", i.Share)
	p.period(name+".Period", i.Period)
	switch i.Kind {
	case Brownout:
		p.above(name+".Factor", i.Factor, 1)
	case Latency:
		p.above(name+".Factor", i.Factor, 0)
	case Capacity:
		p.above(name+".Rate", i.Rate, 0)
	case Failing, Shards:
		if i.Share == 0 {
			p.add("%s.Share must be in (0, 1] for kind %q, got 0", name, i.Kind)
		}
	case Outage, Hang, Flapping, Throttling:
	default:
		p.add("%s.Kind must be one of %v, got %q", name, Kinds(), string(i.Kind))
		return
	}
	unused := func(field string, written bool, by ...Kind) {
		for _, kind := range by {
			if i.Kind == kind {
				return
			}
		}
		if written {
			p.add("%s.%s must be left out for kind %q", name, field, i.Kind)
		}
	}
	unused("Factor", i.Factor != 0, Brownout, Latency)
	unused("Rate", i.Rate != 0, Capacity)
	unused("Period", i.Period != 0, Flapping)
	if i.Kind == Capacity || i.Kind == Latency {
		unused("Share", i.Share != 0)
	}
}

// problems gathers what Validate finds. Its checks let a zero pass, which stands for the
// default, where they do not say otherwise.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return &ScenarioError{Problems: p}
}

func (p *problems) settings(s breaker.Settings) {
	var invalid *breaker.SettingsError
	if errors.As(s.Validate(), &invalid) {
		for _, problem := range invalid.Problems {
			p.add("Settings.%s", problem)
		}
	}
	if s.Clock != nil {
		p.add("Settings.Clock must be left out: a run has its own")
	}
	if s.Random != nil {
		p.add("Settings.Random must be left out: a run has its own, from the seed")
	}
}

func (p *problems) duration(field string, d time.Duration) {
	if d < 0 {
		p.add("%s must not be negative, got %v", field, d)
	}
	if d > longest { // and no sum of a few overflows
		p.add("%s must be at most %v, got %v", field, longest, d)
	}
}

// period is a duration that comes again and again: a run attends to each.
func (p *problems) period(field string, d time.Duration) {
	const least = time.Millisecond
	if d > 0 && d < least {
		p.add("%s must be at least %v, got %v", field, least, d)
		return
	}
	p.duration(field, d)
}

func (p *problems) positive(field string, d time.Duration) {
	if d <= 0 {
		p.add("%s must be above 0, got %v", field, d)
		return
	}
	p.duration(field, d)
}

func (p *problems) latency(field string, median, p99 time.Duration) {
	p.duration(field+".Median", median)
	p.duration(field+".P99", p99)
	const most = time.Hour
	if median > most || p99 > most {
		p.add("%s.Median and P99 must be at most %v, got %v and %v", field, most, median, p99)
	}
	if p99 > 0 && p99 < median {
		p.add("%s.P99 must be at least Median (%v), got %v", field, median, p99)
	}
}

func (p *problems) between(field string, n, most int) {
	if n < 0 || n > most {
		p.add("%s must be from 0 to %d, got %d", field, most, n)
	}
}

func (p *problems) rate(field string, r float64) {
	if !(r >= 0 && r <= highestRate) { // NaN fails every comparison
		p.add("%s must be from 0 to %g, got %v", field, highestRate, r)
	}
}

func (p *problems) share(field string, s float64) {
	if !(s >= 0 && s <= 1) {
		p.add("%s must be from 0 to 1, got %v", field, s)
	}
}

func (p *problems) gain(field string, g float64) {
	if !(g >= 0) || math.IsInf(g, 1) {
		p.add("%s must be a finite number and not negative, got %v", field, g)
	}
}

func (p *problems) above(field string, f, least float64) {
	if !(f > least) || f > highestRate {
		p.add("%s must be above %v and at most %g, got %v", field, least, highestRate, f)
	}
}
