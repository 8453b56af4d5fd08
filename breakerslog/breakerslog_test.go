package breakerslog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerslog"
)

var (
	bg      = context.Background()
	errDown = errors.New("down")
)

func fails(context.Context) error    { return errDown }
func succeeds(context.Context) error { return nil }

// logged is a logger and the lines that it has written.
type logged struct{ bytes.Buffer }

func (l *logged) logger(options *slog.HandlerOptions) *slog.Logger {
	return slog.New(slog.NewJSONHandler(&l.Buffer, options))
}

// line is what every line has.
type line struct {
	Time    time.Time
	Level   string
	Msg     string
	Request string
	Source  any
	Breaker map[string]any
}

// take returns the lines written since it was last called.
func (l *logged) take(t *testing.T) (lines []line) {
	t.Helper()
	decoder := json.NewDecoder(&l.Buffer)
	for decoder.More() {
		var next line
		require.NoError(t, decoder.Decode(&next))
		lines = append(lines, next)
	}
	l.Reset()
	return lines
}

// section returns what stands under a heading of docs/integrations.md.
func section(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../docs/integrations.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "\n"+heading+"\n")
	require.True(t, found, heading)
	level, _, _ := strings.Cut(heading, " ")
	return regexp.MustCompile(`(?m)^#{1,`+string('0'+rune(len(level)))+`} `).Split(text, 2)[0]
}

// cells returns the rows of the only table in a text, but for its head.
func cells(t *testing.T, text string) (rows [][]string) {
	t.Helper()
	for _, row := range regexp.MustCompile(`(?m)^\| (.*) \|$`).FindAllStringSubmatch(text, -1)[1:] {
		rows = append(rows, strings.Split(row[1], " | "))
	}
	require.NotEmpty(t, rows)
	return rows
}

var states = []breaker.State{breaker.Closed, breaker.Open, breaker.HalfOpen, breaker.Recovering, breaker.Isolated}

// statesIn reads a cell with a state, or with "any".
func statesIn(t *testing.T, cell string) []breaker.State {
	t.Helper()
	if cell == "any" {
		return states
	}
	var s breaker.State
	require.NoError(t, s.UnmarshalText([]byte(cell)))
	return []breaker.State{s}
}

// The table in the docs has every cause, with the levels and messages that are written.
func TestLevelsAndMessagesAreThoseOfTheTable(t *testing.T) {
	var told []breaker.Cause
	for _, row := range cells(t, section(t, "### Levels and messages")) {
		var cause breaker.Cause
		require.NoError(t, cause.UnmarshalText([]byte(strings.Trim(row[0], "`"))))
		told = append(told, cause)
		for _, from := range statesIn(t, row[1]) {
			for _, to := range statesIn(t, row[2]) {
				for _, shadow := range []bool{false, true} {
					want := row[3]
					if shadow {
						want = "INFO"
					}
					var out logged
					breakerslog.Transitions(out.logger(nil))(bg, breaker.Transition{From: from, To: to, Cause: cause, Shadow: shadow})
					lines := out.take(t)
					require.Len(t, lines, 1)
					require.Equal(t, want, lines[0].Level, "%v, dry run: %v", cause, shadow)
					require.Equal(t, strings.Trim(row[4], "`"), lines[0].Msg, cause)
				}
			}
		}
	}
	slices.Sort(told)
	told = slices.Compact(told)
	for i, cause := range told {
		require.Equal(t, breaker.Cause(i+1), cause)
	}
	require.Equal(t, breaker.CauseReset, told[len(told)-1])
}

func known(cause breaker.Cause) breaker.Transition {
	evidence := breaker.Evidence{Rate: 0.5, TripPoint: 0.25, Reference: 0.01, ReferenceKnown: true, Surprise: 40, Required: 9.9}
	return breaker.Transition{
		Seq: 7, Name: "db", Shadow: true, From: breaker.Closed, To: breaker.Open, Cause: cause,
		Break: 15 * time.Second, Calls: 40, Failures: 20, Slow: 1, Run: 3, RunNeeded: 5,
		FailureEvidence: evidence, SlowEvidence: evidence,
		NormalLatency: 38 * time.Millisecond, NormalLatencyKnown: true,
		NormalFailureRate: 0.011, NormalFailureRateKnown: true,
	}
}

func TestAttributes(t *testing.T) {
	evidence := map[string]any{"rate": 0.5, "trip_point": 0.25, "reference": 0.01, "surprise_nats": 40.0, "required_nats": 9.9}
	all := map[string]any{
		"name": "db", "seq": 7.0, "shadow": true, "from": "closed", "to": "open", "cause": "relative-failures",
		"break": 15e9, "calls": 40.0, "failures": 20.0, "slow": 1.0, "run": 3.0, "run_needed": 5.0,
		"normal_latency": 38e6, "normal_failure_rate": 0.011, "evidence": evidence,
	}
	without := func(names ...string) map[string]any {
		left := map[string]any{}
		for name, value := range all {
			if !slices.Contains(names, name) {
				left[name] = value
			}
		}
		return left
	}
	with := func(values map[string]any, name string, value any) map[string]any {
		values[name] = value
		return values
	}
	cases := map[string]struct {
		change func(*breaker.Transition)
		want   map[string]any
	}{
		"all that there is": {func(*breaker.Transition) {}, all},
		"slow calls": {
			func(tr *breaker.Transition) {
				tr.Cause, tr.FailureEvidence = breaker.CauseSlowCalls, breaker.Evidence{}
			},
			with(without(), "cause", "slow-calls"),
		},
		"a run": {
			func(tr *breaker.Transition) { tr.Cause = breaker.CauseConsecutiveFailures },
			with(without("evidence"), "cause", "consecutive-failures"),
		},
		"a constant for slow calls": {
			func(tr *breaker.Transition) { tr.FailureEvidence = breaker.Evidence{Rate: 0.5, TripPoint: 0.25} },
			with(without(), "evidence", map[string]any{"rate": 0.5, "trip_point": 0.25}),
		},
		"no window":                  {func(tr *breaker.Transition) { tr.Calls = 0 }, without("calls", "failures", "slow")},
		"latency not known":          {func(tr *breaker.Transition) { tr.NormalLatencyKnown = false }, without("normal_latency")},
		"failure rate not known":     {func(tr *breaker.Transition) { tr.NormalFailureRateKnown = false }, without("normal_failure_rate")},
		"not an open":                {func(tr *breaker.Transition) { tr.To = breaker.Closed }, with(without("break", "run", "run_needed"), "to", "closed")},
		"a breaker that does refuse": {func(tr *breaker.Transition) { tr.Shadow = false }, without("shadow")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tr := known(breaker.CauseRelativeFailures)
			c.change(&tr)
			var out logged
			breakerslog.Transitions(out.logger(nil))(bg, tr)
			require.Equal(t, c.want, out.take(t)[0].Breaker)
		})
	}
}

// The table in the docs has every attribute, and no other.
func TestAttributesAreThoseOfTheTable(t *testing.T) {
	var out logged
	breakerslog.Transitions(out.logger(nil))(bg, known(breaker.CauseRelativeFailures))
	var written, listed []string
	for name, value := range out.take(t)[0].Breaker {
		if group, ok := value.(map[string]any); ok {
			for nested := range group {
				written = append(written, "breaker."+name+"."+nested)
			}
			continue
		}
		written = append(written, "breaker."+name)
	}
	for _, row := range cells(t, section(t, "### Attributes of a line")) {
		listed = append(listed, strings.Trim(row[0], "`"))
	}
	require.ElementsMatch(t, written, listed)
}

// Durations are durations, for handlers that write them their own way.
func TestDurationsAreDurations(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, nil))
	breakerslog.Transitions(logger)(bg, known(breaker.CauseRampFailed))
	require.Contains(t, out.String(), " breaker.break=15s ")
	require.Contains(t, out.String(), " breaker.normal_latency=38ms ")
}

func TestTimeIsThatOfTheTransition(t *testing.T) {
	tr := known(breaker.CauseRampFailed)
	tr.At = time.Date(2026, 3, 2, 3, 4, 5, 6, time.UTC)
	var out logged
	breakerslog.Transitions(out.logger(&slog.HandlerOptions{AddSource: true}))(bg, tr)
	lines := out.take(t)
	require.Equal(t, tr.At, lines[0].Time)
	require.Nil(t, lines[0].Source)
}

func TestLevelOfTheLogger(t *testing.T) {
	var out logged
	log := breakerslog.Transitions(out.logger(&slog.HandlerOptions{Level: slog.LevelWarn}))
	log(bg, breaker.Transition{To: breaker.Closed})
	log(bg, breaker.Transition{To: breaker.Open})
	require.Len(t, out.take(t), 1)
}

func TestNilLoggerIsTheDefaultOfTheMoment(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	var first, second logged
	slog.SetDefault(first.logger(nil))
	log := breakerslog.Transitions(nil)
	log(bg, known(breaker.CauseSlowCalls))
	require.Len(t, first.take(t), 1)
	slog.SetDefault(second.logger(nil))
	log(bg, known(breaker.CauseSlowCalls))
	require.Len(t, second.take(t), 1)
	require.Empty(t, first.take(t))
}

// withRequest adds the id of the request in the context, as handlers of programs do.
type withRequest struct{ slog.Handler }

type requestKey struct{}

func (h withRequest) Handle(ctx context.Context, r slog.Record) error {
	if id, ok := ctx.Value(requestKey{}).(string); ok {
		r.AddAttrs(slog.String("request", id))
	}
	return h.Handler.Handle(ctx, r)
}

func TestContextIsThatOfTheCall(t *testing.T) {
	var out logged
	logger := slog.New(withRequest{out.logger(nil).Handler()})
	b := breaker.MustNew(breaker.Settings{Name: "db", ConsecutiveFailures: 2, OnTransition: breakerslog.Transitions(logger)})
	request := func(id string) context.Context { return context.WithValue(bg, requestKey{}, id) }
	_ = b.Do(request("first"), fails)
	_ = b.Do(request("last straw"), fails)
	b.ProbeNow()
	_ = b.Do(request("probe"), succeeds)
	_ = b.Do(request("second probe"), succeeds)
	var got []string
	for _, line := range out.take(t) {
		got = append(got, line.Msg+": "+line.Request)
	}
	require.Equal(t, []string{"breaker opened: last straw", "breaker half-open: probe", "breaker closed: second probe"}, got)
}

// Thousands of refusals write no line, in any state that refuses.
func TestRefusalsAreNotLogged(t *testing.T) {
	var out logged
	b := breaker.MustNew(breaker.Settings{Name: "db", ConsecutiveFailures: 1, OnTransition: breakerslog.Transitions(out.logger(nil))})
	refuse := func() {
		t.Helper()
		for range 5000 {
			_, err := b.TryAdmit(bg)
			require.ErrorIs(t, err, breaker.ErrRejected)
		}
		require.Empty(t, out.take(t))
	}
	_ = b.Do(bg, fails)
	require.Len(t, out.take(t), 1)
	refuse() // open
	b.ProbeNow()
	probe, err := b.TryAdmit(bg)
	require.NoError(t, err)
	require.Len(t, out.take(t), 1)
	refuse() // half-open
	probe.Release()
	b.Isolate()
	refuse()
	require.Equal(t, uint64(15000), b.Snapshot().Totals.Refused)
}
