package breakerotel_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// section returns what stands under a heading of docs/integrations.md, up to the next.
func section(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../docs/integrations.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "\n"+heading+"\n")
	require.True(t, found, heading)
	return regexp.MustCompile(`(?m)^#+ `).Split(text, 2)[0]
}

var code = regexp.MustCompile("`([^`]+)`")

// words returns what is set as code in a text.
func words(text string) (all []string) {
	for _, match := range code.FindAllStringSubmatch(text, -1) {
		all = append(all, match[1])
	}
	return all
}

// rows returns the rows of the only table in a text, as cells, but for its head.
func rows(t *testing.T, text string) (all [][]string) {
	t.Helper()
	for _, row := range regexp.MustCompile(`(?m)^\|(.*)\|$`).FindAllStringSubmatch(text, -1)[2:] {
		cells := strings.Split(row[1], "|")
		for i, cell := range cells {
			cells[i] = strings.TrimSpace(cell)
		}
		all = append(all, cells)
	}
	require.NotEmpty(t, all)
	return all
}

// everything are meters that show each instrument at least once.
func everything(t *testing.T) meters {
	t.Helper()
	mock := clock.NewMock()
	open := on(mock, breaker.Settings{Name: "open"})
	recovering := on(mock, breaker.Settings{Name: "recovering", Recovery: breaker.RecoveryOver(1)})
	for _, b := range []*breaker.Breaker{open, recovering} {
		calls(b, 300, breaker.OK)
	}
	mock.Add(time.Minute)
	calls(recovering, 8, breaker.Transient)
	mock.Add(15 * time.Second)
	calls(recovering, 2, breaker.OK)
	calls(open, 8, breaker.Transient)
	require.Equal(t, breaker.Open, open.State())
	require.Equal(t, breaker.Recovering, recovering.State())
	return register(t, breaker.List{open, recovering}, nil)
}

// The table in the docs has the instruments that are registered, with their kinds, units and
// attributes.
func TestInstrumentsAreThoseOfTheTable(t *testing.T) {
	var listed []string
	table := map[string][]string{}
	for _, row := range rows(t, section(t, "### Instruments")) {
		name := words(row[0])[0]
		listed = append(listed, name)
		table[name] = row
	}
	var registered []string
	for _, m := range everything(t).metrics(t) {
		registered = append(registered, m.Name)
		row := table[m.Name]
		require.NotEmpty(t, row, m.Name)
		require.Equal(t, kindOf(t, m), row[1], m.Name)
		require.Equal(t, m.Unit, words(row[2])[0], m.Name)
		require.NotEmpty(t, m.Description, m.Name)
		var attributes []string
		for _, p := range points(t, m) {
			for _, a := range p.attributes.ToSlice() {
				if key := string(a.Key); key != "breaker.name" && !slices.Contains(attributes, key) {
					attributes = append(attributes, key)
				}
			}
			if m.Name == "breaker.count" || m.Name == "breaker.dropped_breakers" {
				require.False(t, p.attributes.HasValue("breaker.name"))
			} else {
				require.True(t, p.attributes.HasValue("breaker.name"), m.Name)
			}
		}
		require.Equal(t, attributes, words(row[3]), m.Name)
	}
	require.ElementsMatch(t, registered, listed)
}

// The table in the docs has every value of every attribute.
func TestAttributesAreThoseOfTheTable(t *testing.T) {
	listed, observed := map[string][]string{}, map[string][]string{}
	for _, row := range rows(t, section(t, "### Attributes of the instruments")) {
		listed[words(row[0])[0]] = words(row[1])
	}
	for _, m := range everything(t).metrics(t) {
		for _, p := range points(t, m) {
			for _, a := range p.attributes.ToSlice() {
				if value := a.Value.AsString(); !slices.Contains(observed[string(a.Key)], value) {
					observed[string(a.Key)] = append(observed[string(a.Key)], value)
				}
			}
		}
	}
	delete(observed, "breaker.name")
	delete(listed, "breaker.name")
	require.Equal(t, len(observed), len(listed))
	for key, values := range observed {
		require.ElementsMatch(t, values, listed[key], key)
	}
}

// The package doc lists the instruments too.
func TestInstrumentsAreThoseOfThePackageDoc(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	var listed []string
	for _, match := range regexp.MustCompile(`(?m)^//\t(breaker\.[a-z_.]+)  `).FindAllStringSubmatch(string(doc), -1) {
		listed = append(listed, match[1])
	}
	var registered []string
	for _, m := range everything(t).metrics(t) {
		registered = append(registered, m.Name)
	}
	require.ElementsMatch(t, registered, listed)
}
