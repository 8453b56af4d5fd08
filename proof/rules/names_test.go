package rules_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

// Queries name metrics, labels and values that exist. A misspelt one is no error anywhere: it
// finds nothing, and alerts nobody.

var queries = parser.NewParser(parser.Options{})

// expr is a query, where it stands, and the labels that the text beside it shows.
type expr struct {
	where, text string
	shows       []string
}

var (
	inLegends     = regexp.MustCompile(`\{\{(\w+)\}\}`)
	inAnnotations = regexp.MustCompile(`\$labels\.(\w+)`)
	inPages       = regexp.MustCompile("(?ms)^```promql\n(.*?)^```$")
)

func labelsIn(text string, form *regexp.Regexp) (found []string) {
	for _, match := range form.FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

func ruleExprs(t *testing.T) (all []expr) {
	t.Helper()
	groups, errs := rulefmt.ParseFile(rules, false, model.UTF8Validation, queries, slog.New(slog.DiscardHandler))
	require.Empty(t, errs)
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			one := expr{where: rule.Alert, text: rule.Expr}
			for _, text := range rule.Annotations {
				one.shows = append(one.shows, labelsIn(text, inAnnotations)...)
			}
			all = append(all, one)
		}
	}
	require.NotEmpty(t, all)
	return all
}

func pageExprs(t *testing.T) (all []expr) {
	t.Helper()
	text, err := os.ReadFile("../../docs/integrations.md")
	require.NoError(t, err)
	for _, match := range inPages.FindAllStringSubmatch(string(text), -1) {
		all = append(all, expr{where: "docs/integrations.md", text: match[1]})
	}
	require.NotEmpty(t, all)
	return all
}

type panel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ RefID, Expr, LegendFormat string }
}

func panels(t *testing.T) []panel {
	t.Helper()
	text, err := os.ReadFile(dashboard)
	require.NoError(t, err)
	var board struct{ Panels []panel }
	require.NoError(t, json.Unmarshal(text, &board))
	require.NotEmpty(t, board.Panels)
	return board.Panels
}

// dashboardExprs are the queries of the dashboard, with the values that Grafana would put in
// place of its variables.
func dashboardExprs(t *testing.T) (all []expr) {
	t.Helper()
	variables := strings.NewReplacer("$__rate_interval", "1m", "$job", ".*", "$instance", ".*", "$breaker", ".*")
	for _, panel := range panels(t) {
		for _, target := range panel.Targets {
			text := variables.Replace(target.Expr)
			require.NotContains(t, text, "$", panel.Title)
			all = append(all, expr{panel.Title, text, labelsIn(target.LegendFormat, inLegends)})
		}
	}
	return all
}

// exposed are the values of each label of each metric that a scraped run shows.
func exposed(t *testing.T) map[string]map[string][]string {
	t.Helper()
	metrics := map[string]map[string][]string{}
	for series := range scrapedRun(t).values {
		found, err := queries.ParseMetric(series)
		require.NoError(t, err)
		name := found.Get(model.MetricNameLabel)
		if metrics[name] == nil {
			metrics[name] = map[string][]string{}
		}
		found.Range(func(l labels.Label) {
			metrics[name][l.Name] = append(metrics[name][l.Name], l.Value)
		})
	}
	return metrics
}

func TestNamesExist(t *testing.T) {
	metrics := exposed(t)
	for _, one := range slices.Concat(ruleExprs(t), dashboardExprs(t), pageExprs(t)) {
		tree, err := queries.ParseExpr(one.text)
		require.NoError(t, err, "%s: %s", one.where, one.text)
		has := map[string]bool{} // labels, of any metric in it
		named := slices.Clone(one.shows)
		parser.Inspect(tree, func(node parser.Node, _ []parser.Node) error {
			switch n := node.(type) {
			case *parser.VectorSelector:
				require.Contains(t, metrics, n.Name, "%s: %s", one.where, one.text)
				for label := range metrics[n.Name] {
					has[label] = true
				}
				for _, m := range n.LabelMatchers {
					requireValues(t, one.where, n.Name, metrics[n.Name], m)
				}
			case *parser.AggregateExpr:
				named = append(named, n.Grouping...)
			case *parser.BinaryExpr:
				if n.VectorMatching != nil {
					named = append(named, n.VectorMatching.MatchingLabels...)
				}
			}
			return nil
		})
		for _, label := range named {
			require.True(t, has[label], "%s: no metric in it has the label %s: %s", one.where, label, one.text)
		}
	}
}

// requireValues holds a matcher to values that exist, each of its alternatives.
func requireValues(t *testing.T, where, metric string, values map[string][]string, m *labels.Matcher) {
	t.Helper()
	require.Contains(t, values, m.Name, "%s: label of %s", where, metric)
	for _, alternative := range strings.Split(m.Value, "|") {
		if alternative != ".*" {
			require.Contains(t, values[m.Name], alternative, "%s: value of %s in %s", where, m.Name, metric)
		}
	}
}

// Every metric is somewhere on the dashboard, but the few that say no more than others do.
func TestDashboardShowsEveryMetric(t *testing.T) {
	var all strings.Builder
	for _, one := range dashboardExprs(t) {
		all.WriteString(one.text)
	}
	var missing []string
	for metric := range exposed(t) {
		if !regexp.MustCompile(`\b` + metric + `\b`).MatchString(all.String()) {
			missing = append(missing, metric)
		}
	}
	slices.Sort(missing)
	require.Equal(t, []string{
		"breaker_consecutive_opens", // the length of the break grows with it
		"breaker_last_transition_timestamp_seconds",
		"breaker_probes_in_flight",
		"breaker_window_slow_calls",
	}, missing)
}

// Grafana draws what it gets. Panels that overlap, or share a number, are not told of.
func TestDashboardLayout(t *testing.T) {
	taken, ids := map[[2]int]string{}, map[int]string{}
	for _, p := range panels(t) {
		require.NotContains(t, ids, p.ID, p.Title)
		ids[p.ID] = p.Title
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				require.NotContains(t, taken, cell, p.Title)
				taken[cell] = p.Title
			}
		}
		refs := map[string]bool{}
		for _, target := range p.Targets {
			require.False(t, refs[target.RefID], p.Title)
			refs[target.RefID] = true
		}
		require.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
	}
}
