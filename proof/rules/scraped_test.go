package rules_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerprom"
)

const (
	interval = 15 * time.Second
	runs     = 75 * time.Minute
)

// Breakers of different fates, scraped while it happens. Prometheus' rule tests then tell which
// alerts fire when, and that in the midst of it every query of the dashboard finds something.
func TestScrapedRun(t *testing.T) {
	scraped := scrapedRun(t)
	var file strings.Builder
	rulesFile, err := filepath.Abs(rules)
	require.NoError(t, err)
	fmt.Fprintf(&file, "rule_files: [%q]\nevaluation_interval: %v\ntests:\n- interval: %v\n  input_series:\n", rulesFile, interval, interval)
	for series, values := range scraped.values {
		fmt.Fprintf(&file, "  - series: '%s'\n    values: '%s'\n", series, strings.Join(values, " "))
	}
	file.WriteString("  promql_expr_test:\n")
	for _, c := range []struct {
		at     string
		firing []string // alert and breaker
	}{
		{"9m45s", nil},
		{"11m", []string{"BreakerOpen down", "BreakerOpen slow to return"}},
		{"12m", []string{"BreakerOpen down", "BreakerStaysOpen down", "BreakerOpen slow to return", "BreakerRecoveringForLong slow to return"}},
		{"25m", []string{"BreakerOpen down", "BreakerStaysOpen down", "BreakersWithoutSeries"}},
		{"28m", []string{"BreakerOpen down", "BreakersWithoutSeries"}},
		{"35m", []string{"BreakerOpen up and down", "BreakerFlapping up and down", "BreakersWithoutSeries"}},
		{"47m", []string{"BreakersWithoutSeries"}},
		{"66m", []string{"BreakerIsolated cut", "BreakersWithoutSeries"}},
	} {
		fmt.Fprintf(&file, "  - expr: count by (alertname, breaker) (ALERTS{alertstate=\"firing\"})\n    eval_time: %s\n    exp_samples:\n", c.at)
		for _, one := range c.firing {
			alert, name, named := strings.Cut(one, " ")
			labels := fmt.Sprintf("{alertname=%q, breaker=%q}", alert, name)
			if !named {
				labels = fmt.Sprintf("{alertname=%q}", alert)
			}
			fmt.Fprintf(&file, "    - {labels: '%s', value: 1}\n", labels)
		}
	}
	for _, expr := range dashboardExprs(t) {
		fmt.Fprintf(&file, "  - expr: %q\n    eval_time: 12m\n    exp_samples: [{labels: '{}', value: 1}]\n", "count("+expr.text+") > bool 0")
	}
	name := filepath.Join(t.TempDir(), "scraped.yml")
	require.NoError(t, os.WriteFile(name, []byte(file.String()), 0o600))
	promtool(t, "test", "rules", name)
}

// scrapes are the values of each series, one a scrape.
type scrapes struct {
	n      int
	values map[string][]string
}

// add appends one scrape. As Prometheus does, it marks the end of a series that is gone.
func (s *scrapes) add(t *testing.T, gatherer prometheus.Gatherer) {
	t.Helper()
	families, err := gatherer.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			series := seriesOf(family, m)
			for len(s.values[series]) < s.n {
				s.values[series] = append(s.values[series], "_")
			}
			value := m.GetGauge().GetValue()
			if family.GetType() == dto.MetricType_COUNTER {
				value = m.GetCounter().GetValue()
			}
			s.values[series] = append(s.values[series], strconv.FormatFloat(value, 'f', -1, 64))
		}
	}
	s.n++
	for series, values := range s.values {
		if len(values) == s.n {
			continue
		}
		mark := "_"
		if last := values[len(values)-1]; last != "_" && last != "stale" {
			mark = "stale"
		}
		s.values[series] = append(values, mark)
	}
}

// seriesOf writes a series as it is in PromQL, with the labels that a target gives it.
func seriesOf(family *dto.MetricFamily, m *dto.Metric) string {
	labels := []string{`job="app"`, `instance="app:80"`}
	for _, label := range m.GetLabel() {
		labels = append(labels, fmt.Sprintf("%s=%q", label.GetName(), label.GetValue()))
	}
	return family.GetName() + "{" + strings.Join(labels, ", ") + "}"
}

// dependency is how a call at that time ends, and after how long.
type dependency func(at time.Duration) (breaker.Verdict, time.Duration)

func between(at, from, to time.Duration) bool { return from <= at && at < to }

const (
	fine   = 20 * time.Millisecond
	second = time.Second
	minute = time.Minute
)

// handClock begins at the beginning of time, as Prometheus does in its rule tests.
type handClock struct{ at time.Duration }

func (c *handClock) Now() time.Time                       { return time.Unix(0, 0).Add(c.at) }
func (c *handClock) After(time.Duration) <-chan time.Time { panic("a pause") }

func scrapedRun(t *testing.T) *scrapes {
	t.Helper()
	now := &handClock{}
	build := func(name string, change func(*breaker.Settings)) *breaker.Breaker {
		s := breaker.Settings{Name: name, Clock: now, BreakJitter: breaker.JitterNone}
		if change != nil {
			change(&s)
		}
		return breaker.MustNew(s)
	}
	downFrom10To25 := func(at time.Duration) (breaker.Verdict, time.Duration) {
		if between(at, 10*minute, 25*minute) {
			return breaker.Transient, fine
		}
		return breaker.OK, fine
	}
	all := []struct {
		*breaker.Breaker
		dependency
	}{
		{build("well", nil), func(time.Duration) (breaker.Verdict, time.Duration) { return breaker.OK, fine }},
		{build("down", nil), downFrom10To25},
		{build("dry", func(s *breaker.Settings) { s.Shadow = true }), downFrom10To25},
		{build("slow to return", func(s *breaker.Settings) { s.Recovery = breaker.RecoveryOver(1) }),
			func(at time.Duration) (breaker.Verdict, time.Duration) {
				switch {
				case between(at, 10*minute, 10*minute+10*second):
					return breaker.Transient, fine
				case between(at, 10*minute+10*second, 15*minute):
					return breaker.OK, 5 * fine // slow, which a ramp waits for
				}
				return breaker.OK, fine
			}},
		{build("up and down", nil), func(at time.Duration) (breaker.Verdict, time.Duration) {
			if between(at, 30*minute, 40*minute) && at%(2*minute) < 10*second {
				return breaker.Transient, fine
			}
			return breaker.OK, fine
		}},
		{build("cut", nil), func(time.Duration) (breaker.Verdict, time.Duration) { return breaker.OK, fine }},
		{build("well", nil), func(time.Duration) (breaker.Verdict, time.Duration) { return breaker.OK, fine }},
	}
	var source breaker.Registry
	for _, one := range all {
		source.Add(one.Breaker)
	}
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(breakerprom.NewCollector(&source, nil)))

	scraped := &scrapes{values: map[string][]string{}}
	for {
		at := now.at
		if at == 5*minute {
			all[5].Isolate()
		}
		if at%interval == 0 {
			scraped.add(t, registry)
		}
		if at == runs {
			return scraped
		}
		for _, one := range all {
			attempt, err := one.TryAdmit(context.Background())
			if err == nil {
				attempt.Record(one.dependency(at))
			}
		}
		now.at += second
	}
}
