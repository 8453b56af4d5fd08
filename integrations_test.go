package breaker_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// The table of names has those of each system, all of them, once. The adapters' own tests
// hold the sections to what they do.
func TestEveryNameIsInTheTableOfNames(t *testing.T) {
	page := readPage(t, "docs/integrations.md")
	section := func(heading string) string {
		_, text, ok := strings.Cut(page, "\n"+heading+"\n")
		require.True(t, ok, heading)
		text, _, _ = strings.Cut(text, "\n#")
		return text
	}
	name := regexp.MustCompile("`([a-z_.]+)`")
	names := func(cell string) (found []string) {
		for _, match := range name.FindAllStringSubmatch(cell, -1) {
			found = append(found, match[1])
		}
		return found
	}
	// column returns the names in one column of a section's tables.
	column := func(heading string, n int, like string) (found []string) {
		for _, row := range regexp.MustCompile(`(?m)^\|.*$`).FindAllString(section(heading), -1) {
			for _, name := range names(strings.Split(row, "|")[n]) {
				if strings.HasPrefix(name, like) {
					found = append(found, name)
				}
			}
		}
		require.NotEmpty(t, found, heading)
		return found
	}
	const table = "## One thing, four names"
	require.ElementsMatch(t, column("## Prometheus", 1, "breaker_"), column(table, 2, "breaker_"))
	require.ElementsMatch(t, column("### Instruments", 1, "breaker."), column(table, 3, "breaker."))
	require.Subset(t, column("### Attributes of a line", 1, "breaker."), column(table, 4, "breaker."))

	fields := fieldsOfASnapshot(t)
	parent := ""
	for _, field := range column(table, 1, "") {
		if before, _, ok := strings.Cut(field, "."); ok && before != "" {
			parent = before
		}
		if strings.HasPrefix(field, ".") { // one more of the same object
			field = parent + field
		}
		require.Contains(t, fields, field)
	}
}

// fieldsOfASnapshot returns the names in the JSON of a snapshot that knows everything.
func fieldsOfASnapshot(t *testing.T) map[string]bool {
	t.Helper()
	text, err := json.Marshal(breaker.Snapshot{
		Shadow: true, RetryAfterKnown: true, WindowKnown: true, NormalLatencyKnown: true, NormalFailureRateKnown: true, BreakKnown: true,
		State: breaker.Recovering, SlowThreshold: 1, TripRatio: 1, AdmittedFraction: 1,
		Last: &breaker.Transition{Seq: 1, Cause: breaker.CauseReset},
	})
	require.NoError(t, err)
	var document map[string]any
	require.NoError(t, json.Unmarshal(text, &document))
	fields := map[string]bool{}
	for name, value := range document {
		fields[name] = true
		if object, ok := value.(map[string]any); ok {
			for inner := range object {
				fields[name+"."+inner] = true
			}
		}
	}
	return fields
}
