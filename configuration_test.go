package breaker_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// The reference has a row for each field, in the order of the struct, with its default as a
// file would have it, and no other rows.
func TestConfigurationReference(t *testing.T) {
	effective := breaker.MustNew(breaker.Settings{}).Effective()
	effective.Recovery = breaker.MustNew(breaker.Settings{Recovery: breaker.Recovery{Fraction: 0.25}}).Effective().Recovery
	var want []string
	for _, field := range jsonFields(reflect.ValueOf(effective), "", "") {
		kind, value := "object", "see below"
		if field.value.Kind() != reflect.Struct {
			kind, value = referenceTexts(t, field.value.Interface())
		}
		want = append(want, fmt.Sprintf("| `%s` | `%s` | %s | %s |", field.path, field.goPath, kind, value))
	}
	reference, _, found := strings.Cut(readPage(t, "docs/configuration.md"), "\n## What is refused\n")
	require.True(t, found)
	var got []string
	for _, match := range regexp.MustCompile("(?m)^(\\| `(?:[^|]+\\|){4}) ([^|]+) \\|$").FindAllStringSubmatch(reference, -1) {
		got = append(got, match[1])
		require.NotEmpty(t, strings.TrimSpace(match[2]), match[1])
	}
	require.Equal(t, want, got)
}

// referenceTexts returns the type of a value and the value itself as the reference has them.
func referenceTexts(t *testing.T, value any) (kind, text string) {
	kind = map[reflect.Type]string{
		reflect.TypeFor[string]():         "string",
		reflect.TypeFor[bool]():           "boolean",
		reflect.TypeFor[int]():            "whole number",
		reflect.TypeFor[float64]():        "number",
		reflect.TypeFor[time.Duration]():  "duration",
		reflect.TypeFor[breaker.Jitter](): "`equal`, `none` or `full`",
	}[reflect.TypeOf(value)]
	require.NotEmpty(t, kind, "%T", value)
	if d, timed := value.(time.Duration); timed {
		value = d.String()
	}
	inJSON, err := json.Marshal(value)
	require.NoError(t, err)
	return kind, "`" + string(inJSON) + "`"
}

func TestSamplesInConfiguration(t *testing.T) {
	samples := blocks(t, "docs/configuration.md", "json")
	require.Len(t, samples, 2)
	var s breaker.Settings
	require.NoError(t, json.Unmarshal([]byte(samples[0]), &s))
	require.Equal(t, breaker.Settings{
		TripWindow:  time.Minute,
		Failures:    breaker.Failures{Multiple: 4, Window: 10 * time.Minute},
		SlowCalls:   breaker.SlowCalls{Off: true},
		BreakJitter: breaker.JitterFull,
		Recovery:    breaker.Recovery{Fraction: 0.25},
	}, s)
	require.Equal(t, blocks(t, "docs/configuration.md", "text")[0], strings.Join(jsonProblems(t, s, samples[1]), "\n")+"\n")
}

// To turn off in a file what code has written, and on again.
func TestOffOverWrittenSettings(t *testing.T) {
	s := breaker.Settings{Failures: breaker.Failures{Multiple: 4}}
	require.NoError(t, json.Unmarshal([]byte(`{"failures": {"off": true, "multiple": 0}}`), &s))
	require.Equal(t, breaker.Settings{Failures: breaker.Failures{Off: true}}, s)
	require.NoError(t, json.Unmarshal([]byte(`{"failures": {"off": false, "multiple": 4}}`), &s))
	require.Equal(t, breaker.Settings{Failures: breaker.Failures{Multiple: 4}}, s)
}
