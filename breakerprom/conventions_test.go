package breakerprom_test

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerprom"
)

// everything is a source of which everything is known: a breaker in a ramp, and an open one.
func everything(t *testing.T) breaker.List {
	t.Helper()
	clock := newHandClock()
	down := breaker.MustNew(settings("down", clock))
	open(t, down)
	return breaker.List{busy(t, clock), down, breaker.MustNew(settings("down", clock))}
}

func TestPromlint(t *testing.T) {
	problems, err := testutil.GatherAndLint(registry(t, everything(t), nil))
	require.NoError(t, err)
	require.Empty(t, problems)
}

// documented is what a page says of a metric.
type documented struct {
	kind, meaning string
	labels        []string
}

// described is what a scrape says of all metrics there are, and the values of each label.
func described(t *testing.T) (metrics map[string]documented, values map[string]map[string]bool) {
	t.Helper()
	families, err := registry(t, everything(t), nil).Gather()
	require.NoError(t, err)
	descs := make(chan *prometheus.Desc, 100)
	breakerprom.NewCollector(breaker.List{}, nil).Describe(descs)
	require.Len(t, families, len(descs), "what is described, and was not in the scrape, cannot be checked here")
	metrics, values = map[string]documented{}, map[string]map[string]bool{}
	for _, family := range families {
		one := documented{strings.ToLower(family.GetType().String()), family.GetHelp(), nil}
		for _, m := range family.GetMetric() {
			one.labels = nil
			for _, label := range m.GetLabel() {
				one.labels = append(one.labels, label.GetName())
				if values[label.GetName()] == nil {
					values[label.GetName()] = map[string]bool{}
				}
				values[label.GetName()][label.GetValue()] = true
			}
		}
		metrics[family.GetName()] = one
	}
	return metrics, values
}

func sorted(labels string, separator string) []string {
	return slices.Sorted(slices.Values(strings.Split(labels, separator)))
}

// page returns what the documentation says of Prometheus.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/integrations.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "\n## Prometheus\n")
	require.True(t, found)
	section, _, _ := strings.Cut(after, "\n## ")
	return section
}

func TestPageHasEveryMetric(t *testing.T) {
	listed := map[string]documented{}
	row := regexp.MustCompile("(?m)^\\| `(breaker_[a-z_]+)` \\| (\\w+) \\| `([a-z`, ]+)` \\| (.+) \\|$")
	for _, m := range row.FindAllStringSubmatch(page(t), -1) {
		require.NotContains(t, listed, m[1])
		listed[m[1]] = documented{m[2], m[4], sorted(m[3], "`, `")}
	}
	metrics, _ := described(t)
	require.Equal(t, metrics, listed)
}

func TestPackageDocHasEveryMetric(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	require.NoError(t, err)
	text := regexp.MustCompile(`\n +([^ -])`).ReplaceAllString(file.Doc.Text(), " $1")
	listed := map[string]documented{}
	line := regexp.MustCompile(`(?m)^ *- (breaker_[a-z_]+)\{(.+)\}, (\w+): (.+)$`)
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		listed[m[1]] = documented{m[3], m[4], sorted(m[2], ", ")}
	}
	metrics, _ := described(t)
	require.Equal(t, metrics, listed)
}

// The page names the values that each label can have, and no others.
func TestPageHasEveryValueOfALabel(t *testing.T) {
	_, values := described(t)
	delete(values, "breaker")
	row := regexp.MustCompile("(?m)^\\| ((?:`[a-z]+`(?:, )?)+) \\| (.+) \\|$")
	code := regexp.MustCompile("`([a-z_-]+)`")
	listed := map[string]map[string]bool{}
	for _, m := range row.FindAllStringSubmatch(page(t), -1) {
		for _, label := range code.FindAllStringSubmatch(m[1], -1) {
			listed[label[1]] = map[string]bool{}
			for _, value := range code.FindAllStringSubmatch(m[2], -1) {
				listed[label[1]][value[1]] = true
			}
		}
	}
	delete(listed, "breaker")
	require.Equal(t, slices.Sorted(maps.Keys(values)), slices.Sorted(maps.Keys(listed)))
	for label := range values {
		require.Equal(t, values[label], listed[label], label)
	}
}

// Whatever is documented as an alert is one, and the other way round.
func TestPageHasEveryAlert(t *testing.T) {
	rules, err := os.ReadFile("rules.yml")
	require.NoError(t, err)
	listed, defined := map[string]string{}, map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(Breakers?[A-Z]\\w+)` \\| .+ \\| (\\w+) \\|$").FindAllStringSubmatch(page(t), -1) {
		listed[m[1]] = m[2]
	}
	for _, m := range regexp.MustCompile(`(?s)- alert: (\w+)\n.*?severity: (\w+)\n`).FindAllStringSubmatch(string(rules), -1) {
		defined[m[1]] = m[2]
	}
	require.NotEmpty(t, defined)
	require.Equal(t, defined, listed)
}
