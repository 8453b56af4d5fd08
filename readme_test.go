package breaker_test

import (
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// Each Go block in the README and in docs is a whole file. They are built, vetted and, where
// they are tests, run in a module of their own, which needs nothing that this one has not.
func TestGoCodeInPagesWorks(t *testing.T) {
	root, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	n := 0
	for _, page := range pages(t) {
		for i, code := range blocks(t, page, "go") {
			n++
			formatted, err := format.Source([]byte(code))
			require.NoError(t, err, "Go block %d of %s", i+1, page)
			require.Equal(t, string(formatted), code, "Go block %d of %s is not formatted", i+1, page)
			name := "main.go"
			if strings.Contains(code, `"testing"`) {
				name = "code_test.go"
			}
			within := filepath.Join(dir, fmt.Sprintf("%s.%d", filepath.Base(page), i+1))
			require.NoError(t, os.Mkdir(within, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(within, name), []byte(code), 0o600))
		}
	}
	require.NotZero(t, n)

	const module = "module github.com/normal-go/breaker\n"
	require.Contains(t, readPage(t, "go.mod"), module)
	mod := strings.Replace(readPage(t, "go.mod"), module,
		"module pages\n\nrequire github.com/normal-go/breaker v0.0.0\n\nreplace github.com/normal-go/breaker => "+root+"\n", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), []byte(readPage(t, "go.sum")), 0o600))
	for _, command := range []string{"vet", "test"} {
		cmd := exec.CommandContext(t.Context(), "go", command, "-mod=mod", "./...")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "PWD="+dir)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %s: %s", command, out)
	}
}

var settingRow = regexp.MustCompile("(?m)^\\| `([A-Za-z.]+)` \\| ([^|]*[^| ]) \\|")

// rows returns the settings in the tables of a page, and their defaults.
func rows(t *testing.T, page string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, match := range settingRow.FindAllStringSubmatch(readPage(t, page), -1) {
		require.NotContains(t, found, match[1], page)
		found[match[1]] = match[2]
	}
	return found
}

func TestDefaultsInTablesAreInForce(t *testing.T) {
	effective := breaker.MustNew(breaker.Settings{}).Effective()
	for _, page := range []string{"README.md", "docs/defaults.md"} {
		listed := rows(t, page)
		for name, want := range defaultTexts(t, reflect.ValueOf(effective), "") {
			require.Equal(t, want, listed[name], "default of %s in %s", name, page)
		}
	}
	ramp := breaker.MustNew(breaker.Settings{Recovery: breaker.Recovery{Fraction: 0.25}}).Effective().Recovery
	for name, want := range defaultTexts(t, reflect.ValueOf(ramp), "Recovery.") {
		require.Equal(t, want, rows(t, "docs/defaults.md")[name], "default of %s", name)
	}
	require.Equal(t, breaker.FailuresAbove(5), effective.Failures)
	require.Equal(t, breaker.SlowCallsAbove(3), effective.SlowCalls)
}

// defaultTexts writes each value as the tables do. Functions, the clock and the name have no
// value to compare.
func defaultTexts(t *testing.T, settings reflect.Value, prefix string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for i := range settings.NumField() {
		field, value := settings.Type().Field(i), settings.Field(i)
		name := prefix + field.Name
		switch v := value.Interface().(type) {
		case time.Duration, int, float64, breaker.Jitter, breaker.Recovery:
			texts[name] = valueText(v)
			if name == "ProbeTimeout" && v == time.Duration(0) {
				texts[name] = "the break, at least 1 s"
			}
		case bool:
			require.False(t, v, name)
			if field.Name != "Off" {
				texts[name] = "false"
			}
		case breaker.Failures, breaker.SlowCalls:
			for nested, text := range defaultTexts(t, value, name+".") {
				texts[nested] = text
			}
		}
	}
	return texts
}

func valueText(v any) string {
	d, timed := v.(time.Duration)
	switch {
	case reflect.ValueOf(v).IsZero() && v != breaker.JitterEqual:
		return "off"
	case timed && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	case timed:
		return fmt.Sprintf("%v s", d.Seconds())
	}
	return fmt.Sprint(v)
}
