package breaker_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// pages returns the paths of README.md and of what is in docs.
func pages(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return append(paths, "README.md")
}

var fenced = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// blocks returns the fenced code blocks of a page in one language.
func blocks(t *testing.T, path, language string) (code []string) {
	t.Helper()
	for _, match := range fenced.FindAllStringSubmatch(readPage(t, path), -1) {
		if match[1] == language {
			code = append(code, match[2])
		}
	}
	return code
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// anchors returns what a link can point to in a page.
func anchors(t *testing.T, path string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	text := fenced.ReplaceAllString(readPage(t, path), "")
	for _, match := range heading.FindAllStringSubmatch(text, -1) {
		anchor := strings.ReplaceAll(strings.ToLower(match[1]), " ", "-")
		found[regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(anchor, "")] = true
	}
	return found
}

func TestLinksResolve(t *testing.T) {
	for _, page := range pages(t) {
		text := fenced.ReplaceAllString(readPage(t, page), "")
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			path, anchor, _ := strings.Cut(match[1], "#")
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			require.FileExists(t, target, "%s links to %s", page, match[1])
			if anchor != "" {
				require.True(t, anchors(t, target)[anchor], "%s links to %s, which has no such heading", page, match[1])
			}
		}
	}
}

// Comments in the code name sections of the design by their headings.
func TestSectionsNamedInCommentsExist(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	named := regexp.MustCompile(`docs/(\w+)\.md, "([^"]+)"`)
	comment := regexp.MustCompile(`\s*\n\s*//\s*`)
	sections := 0
	for _, file := range files {
		text := comment.ReplaceAllString(readPage(t, file), " ")
		for _, match := range named.FindAllStringSubmatch(text, -1) {
			sections++
			require.Regexp(t, `(?m)^## `+regexp.QuoteMeta(match[2])+`$`, readPage(t, "docs/"+match[1]+".md"), "named in %s", file)
		}
	}
	require.NotZero(t, sections)
}

func TestEverySettingIsInDefaults(t *testing.T) {
	page := readPage(t, "docs/defaults.md")
	for _, field := range settingNames(reflect.TypeFor[breaker.Settings](), "") {
		require.Contains(t, page, "\n| `"+field+"` |")
	}
}

// settingNames returns the names of all fields, those of nested values after a dot. Off is
// not a value of its own.
func settingNames(of reflect.Type, prefix string) (names []string) {
	for i := range of.NumField() {
		field := of.Field(i)
		name := prefix + field.Name
		if field.Name == "Off" {
			continue
		}
		names = append(names, name)
		if field.Type.Kind() == reflect.Struct {
			names = append(names, settingNames(field.Type, name+".")...)
		}
	}
	return names
}

func TestEveryCauseIsInOperations(t *testing.T) {
	page := readPage(t, "docs/operations.md")
	n := 0
	for cause := breaker.Cause(1); !strings.HasPrefix(cause.String(), "Cause("); cause++ {
		n++
		require.Contains(t, page, "\n| `"+cause.String()+"` |")
	}
	require.NotZero(t, n)
}

// sampleOutage is what the log and the snapshot in docs/operations.md were taken from:
// minutes of ordinary traffic, one replica of three down, a probe that meets it, and the
// break after that.
func sampleOutage() (log string, snapshot breaker.Snapshot) {
	mock := clock.NewMock()
	mock.Set(time.Date(2026, 3, 2, 3, 0, 0, 0, time.UTC))
	b := breaker.MustNew(breaker.Settings{
		Name:         "db",
		Clock:        mock,
		Random:       func() float64 { return 0.5 },
		OnTransition: func(_ context.Context, t breaker.Transition) { log += t.String() + "\n" },
	})
	call := func(v breaker.Verdict, d time.Duration) {
		attempt, err := b.TryAdmit(context.Background())
		if err == nil {
			attempt.Record(v, d)
		}
	}
	for second := range 240 {
		for range 4 {
			call(breaker.OK, 38*time.Millisecond)
		}
		switch {
		case second%100 == 7:
			call(breaker.Transient, 38*time.Millisecond)
		case second%60 == 5:
			call(breaker.Throttled, time.Millisecond)
		}
		mock.Add(time.Second)
	}
	for i := range 4 * 22 { // some served, then refused, then a probe that fails, then refused
		if i%3 == 0 || i > 20 {
			call(breaker.Transient, 38*time.Millisecond)
		} else {
			call(breaker.OK, 38*time.Millisecond)
		}
		mock.Add(250 * time.Millisecond)
	}
	return log, b.Snapshot()
}

func TestSamplesInOperationsAreReal(t *testing.T) {
	log, snapshot := sampleOutage()
	require.Equal(t, log, blocks(t, "docs/operations.md", "text")[0])
	text, err := json.MarshalIndent(snapshot, "", "  ")
	require.NoError(t, err)
	require.Equal(t, string(text)+"\n", blocks(t, "docs/operations.md", "json")[0])
}

// Every name that can stand in the JSON of a snapshot is explained.
func TestEverySnapshotFieldIsInOperations(t *testing.T) {
	page := readPage(t, "docs/operations.md")
	text, err := json.Marshal(breaker.Snapshot{
		Shadow:                 true,
		OpenedAt:               time.Now(),
		RetryAfterKnown:        true,
		WindowKnown:            true,
		FailureEvidence:        breaker.Evidence{TripPoint: 1, ReferenceKnown: true, Required: 1},
		NormalLatencyKnown:     true,
		NormalFailureRateKnown: true,
		SlowThreshold:          1,
		TripRatio:              1,
		AdmittedFraction:       1,
		BreakKnown:             true,
		Last:                   &breaker.Transition{Cause: breaker.CauseReset, NormalLatencyKnown: true, NormalFailureRateKnown: true},
	})
	require.NoError(t, err)
	names := regexp.MustCompile(`"([a-z_]+)":`).FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, names)
	explained := fenced.ReplaceAllString(page, "")
	for _, name := range names {
		require.Contains(t, explained, "`"+name[1]+"`")
	}
}

// Pages that tell what the tests show name them.
func TestTestsNamedInPagesExist(t *testing.T) {
	declared := map[string]bool{}
	_, files := goFiles(t)
	for path, file := range files {
		for name := range file.Scope.Objects {
			declared[name] = declared[name] || strings.HasSuffix(path, "_test.go")
		}
	}
	named := regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w*`)
	for _, page := range pages(t) {
		text := fenced.ReplaceAllString(readPage(t, page), "")
		for _, name := range named.FindAllString(text, -1) {
			require.True(t, declared[name], "%s names %s", page, name)
		}
	}
	require.Regexp(t, named, readPage(t, "docs/known-faults.md"))
}

// Every fault has its line of three cells, the last of which names a test.
func TestEveryKnownFaultIsTested(t *testing.T) {
	line := regexp.MustCompile("(?m)^\\| (.+) \\| (.+) \\| (`Test.+`) \\|$")
	rows := regexp.MustCompile(`(?m)^\|`)
	page := readPage(t, "docs/known-faults.md")
	require.Len(t, rows.FindAllString(page, -1), len(line.FindAllString(page, -1))+2)
}
