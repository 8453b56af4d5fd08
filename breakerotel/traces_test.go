package breakerotel_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerotel"
)

// traced runs do in a span, and returns it as it ended.
func traced(t *testing.T, do func(ctx context.Context)) sdk.ReadOnlySpan {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
	ctx, span := provider.Tracer("test").Start(bg, "span")
	do(ctx)
	span.End()
	require.Len(t, recorder.Ended(), 1, "no span but the caller's")
	return recorder.Ended()[0]
}

func values(attributes []attribute.KeyValue) map[string]any {
	all := map[string]any{}
	for _, a := range attributes {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	return all
}

// marks writes the attributes of a span and the names of its events.
func marks(span sdk.ReadOnlySpan) (all []string) {
	for _, a := range span.Attributes() {
		all = append(all, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
	}
	slices.Sort(all)
	for _, event := range span.Events() {
		all = append(all, event.Name)
	}
	return all
}

// opened is a breaker that has just opened for 15 s.
func opened(mock *clock.Mock, s breaker.Settings) *breaker.Breaker {
	s.Name, s.ConsecutiveFailures = "db", 2
	b := on(mock, s)
	calls(b, 2, breaker.Transient)
	return b
}

// ways are how a call in a span reaches the breaker.
var ways = map[string]func(ctx context.Context, b *breaker.Breaker, fn func(context.Context) error) error{
	"Do": breakerotel.Do,
	"Call": func(ctx context.Context, b *breaker.Breaker, fn func(context.Context) error) error {
		got, err := breakerotel.Call(ctx, b, func(ctx context.Context) (int, error) { return 7, fn(ctx) })
		if err == nil && got != 7 {
			panic("the result was lost")
		}
		return err
	},
	"by hand": func(ctx context.Context, b *breaker.Breaker, fn func(context.Context) error) error {
		attempt, err := b.TryAdmit(ctx)
		if err != nil {
			breakerotel.MarkRefusal(ctx, err)
			return err
		}
		defer attempt.Release()
		breakerotel.MarkProbe(ctx, b, &attempt)
		err = fn(ctx)
		attempt.Done(err)
		return err
	},
	"with a fallback, which cannot tell a probe": func(ctx context.Context, b *breaker.Breaker, fn func(context.Context) error) error {
		_, err := breaker.CallOr(ctx, b,
			func(ctx context.Context) (int, error) { return 0, fn(ctx) },
			func(ctx context.Context, refusal *breaker.RejectedError) (int, error) {
				breakerotel.MarkRefusal(ctx, refusal)
				return 0, refusal
			})
		return err
	},
}

// instantly is a clock on which a refusal does not pause.
type instantly struct{ *clock.Mock }

func (instantly) After(time.Duration) <-chan time.Time {
	c := make(chan time.Time, 1)
	c <- time.Time{}
	return c
}

// Each call of an outage, and what it leaves on its span: every way.
func TestMarksOfAnOutage(t *testing.T) {
	for name, call := range ways {
		t.Run(name, func(t *testing.T) {
			mock := clock.NewMock()
			b := on(instantly{mock}, breaker.Settings{
				Name: "db", ConsecutiveFailures: 2, ProbeSuccesses: 3, OnTransition: breakerotel.MarkTransition,
			})
			steps := []struct {
				after time.Duration
				fn    func(context.Context) error
				want  []string
			}{
				{0, succeeds, nil},
				{0, fails, nil},
				{0, fails, []string{"breaker.cause=consecutive-failures", "breaker.transition"}},
				{0, nil, []string{"breaker.refused=true", "breaker.refusal"}},
				{15 * time.Second, fails, []string{
					"breaker.cause=probe-failed", "breaker.probe=true", "breaker.transition", "breaker.probe", "breaker.transition",
				}},
				{29 * time.Second, nil, []string{"breaker.refused=true", "breaker.refusal"}},
				{time.Second, succeeds, []string{"breaker.cause=break-elapsed", "breaker.probe=true", "breaker.transition", "breaker.probe"}},
				{0, succeeds, []string{"breaker.probe=true", "breaker.probe"}},
				{0, succeeds, []string{"breaker.cause=probes-succeeded", "breaker.probe=true", "breaker.probe", "breaker.transition"}},
				{0, succeeds, nil},
			}
			for i, step := range steps {
				mock.Add(step.after)
				fn, refused := step.fn, step.fn == nil
				if refused {
					fn = func(context.Context) error { panic("a call ran that was not admitted") }
				}
				var err error
				span := traced(t, func(ctx context.Context) { err = call(ctx, b, fn) })
				if refused {
					require.ErrorIs(t, err, breaker.ErrRejected)
				} else {
					require.Equal(t, fn(bg), err)
				}
				var want []string
				for _, mark := range step.want {
					if !strings.HasPrefix(mark, "breaker.probe") || !strings.HasPrefix(name, "with a fallback") {
						want = append(want, mark)
					}
				}
				require.Equal(t, want, marks(span), "step %d", i)
				require.Equal(t, codes.Unset, span.Status().Code)
			}
		})
	}
}

func TestRefusalSaysWhoAndForHowLong(t *testing.T) {
	mock := clock.NewMock()
	open := opened(mock, breaker.Settings{})
	isolated := on(mock, breaker.Settings{Name: "cache"})
	isolated.Isolate()
	mock.Add(5 * time.Second)
	span := traced(t, func(ctx context.Context) {
		for _, b := range []*breaker.Breaker{open, isolated} {
			_, err := b.TryAdmit(ctx)
			breakerotel.MarkRefusal(ctx, fmt.Errorf("read: %w", err))
		}
		breakerotel.MarkRefusal(ctx, &breaker.RejectedError{Name: "retries", Reason: breaker.BudgetExhausted})
	})
	require.Equal(t, []map[string]any{
		{"breaker.name": "db", "breaker.state": "open", "breaker.retry_after": 10.0},
		{"breaker.name": "cache", "breaker.state": "isolated"},
		{"breaker.name": "retries", "breaker.state": "closed", "breaker.reason": "budget exhausted"},
	}, []map[string]any{
		values(span.Events()[0].Attributes), values(span.Events()[1].Attributes), values(span.Events()[2].Attributes),
	})
}

func TestOtherErrorsAreNoRefusals(t *testing.T) {
	span := traced(t, func(ctx context.Context) {
		breakerotel.MarkRefusal(ctx, nil)
		breakerotel.MarkRefusal(ctx, errDown)
		breakerotel.MarkRefusal(ctx, context.Canceled)
		// A call that is done before it begins is not refused.
		done, cancel := context.WithCancel(ctx)
		cancel()
		require.ErrorIs(t, breakerotel.Do(done, opened(clock.NewMock(), breaker.Settings{}), fails), context.Canceled)
	})
	require.Empty(t, marks(span))
}

// whole is a transition with all that there can be.
var whole = breaker.Transition{
	Seq: 7, Name: "db", Shadow: true, From: breaker.Closed, To: breaker.Open, Cause: breaker.CauseRelativeFailures,
	Break: 11250 * time.Millisecond, Calls: 40, Failures: 20, Slow: 1, Run: 3, RunNeeded: 5,
	NormalLatency: 38 * time.Millisecond, NormalLatencyKnown: true,
	NormalFailureRate: 0.011, NormalFailureRateKnown: true,
}

func TestNumbersOfATransition(t *testing.T) {
	all := map[string]any{
		"breaker.name": "db", "breaker.seq": int64(7), "breaker.from": "closed", "breaker.to": "open",
		"breaker.cause": "relative-failures", "breaker.shadow": true, "breaker.break": 11.25,
		"breaker.window.calls": int64(40), "breaker.window.failures": int64(20), "breaker.window.slow_calls": int64(1),
		"breaker.consecutive_failures": int64(3), "breaker.consecutive_failures_needed": int64(5),
		"breaker.normal_latency": 0.038, "breaker.normal_failure_ratio": 0.011,
	}
	least := map[string]any{
		"breaker.name": "db", "breaker.seq": int64(8), "breaker.from": "half-open", "breaker.to": "closed",
		"breaker.cause": "probes-succeeded",
	}
	span := traced(t, func(ctx context.Context) {
		breakerotel.MarkTransition(ctx, whole)
		breakerotel.MarkTransition(ctx, breaker.Transition{
			Seq: 8, Name: "db", From: breaker.HalfOpen, To: breaker.Closed, Cause: breaker.CauseProbesSucceeded, Run: 1, RunNeeded: 5,
		})
	})
	require.Equal(t, all, values(span.Events()[0].Attributes))
	require.Equal(t, least, values(span.Events()[1].Attributes))
	require.Equal(t, map[string]any{"breaker.cause": "probes-succeeded"}, values(span.Attributes()))
}

// The table in the docs has every mark, with its event and all of their attributes.
func TestMarksAreThoseOfTheTable(t *testing.T) {
	mock := clock.NewMock()
	b := opened(mock, breaker.Settings{})
	spans := []sdk.ReadOnlySpan{
		traced(t, func(ctx context.Context) {
			_, err := b.TryAdmit(ctx)
			breakerotel.MarkRefusal(ctx, err)
			breakerotel.MarkRefusal(ctx, &breaker.RejectedError{Reason: breaker.BudgetExhausted})
		}),
		traced(t, func(ctx context.Context) {
			mock.Add(15 * time.Second)
			require.NoError(t, breakerotel.Do(ctx, b, succeeds))
		}),
		traced(t, func(ctx context.Context) { breakerotel.MarkTransition(ctx, whole) }),
	}
	table := rows(t, section(t, "### Marks on spans"))
	require.Len(t, table, len(spans))
	for i, span := range spans {
		row, attributes := table[i], map[string]bool{}
		for _, event := range span.Events() {
			require.Equal(t, words(row[2]), []string{event.Name})
			for _, a := range event.Attributes {
				attributes[string(a.Key)] = true
			}
		}
		require.Len(t, span.Attributes(), 1)
		require.Equal(t, words(row[1]), []string{string(span.Attributes()[0].Key)})
		listed := map[string]bool{}
		for _, name := range words(row[3]) {
			listed[name] = true
		}
		require.Equal(t, attributes, listed, row[0])
	}
}

// A context without a span, and one whose span is not recorded, are nothing to mark.
func TestNothingToMark(t *testing.T) {
	never := sdk.NewTracerProvider(sdk.WithSampler(sdk.NeverSample()))
	unsampled, _ := never.Tracer("test").Start(bg, "span")
	for _, ctx := range []context.Context{bg, unsampled} {
		mock := clock.NewMock()
		b := opened(mock, breaker.Settings{OnTransition: breakerotel.MarkTransition})
		_, err := b.TryAdmit(ctx)
		breakerotel.MarkRefusal(ctx, err)
		mock.Add(15 * time.Second)
		require.NoError(t, breakerotel.Do(ctx, b, succeeds))
		require.NoError(t, breakerotel.Do(ctx, b, succeeds))
		require.Equal(t, breaker.Closed, b.State())
		require.Zero(t, testing.AllocsPerRun(100, func() {
			breakerotel.MarkRefusal(ctx, err)
			breakerotel.MarkTransition(ctx, whole)
		}))
	}
}

// A transition goes to the span of the call that caused it, also where another call delivers it.
func TestTransitionIsMarkedOnTheSpanThatCausedIt(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	tracer := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)).Tracer("test")
	opening, openingSpan := tracer.Start(bg, "opening")
	closing, closingSpan := tracer.Start(bg, "probing")
	var b *breaker.Breaker
	b = breaker.MustNew(breaker.Settings{
		Name: "db", ConsecutiveFailures: 1, ProbeSuccesses: 1,
		OnTransition: func(ctx context.Context, tr breaker.Transition) {
			breakerotel.MarkTransition(ctx, tr)
			if tr.To == breaker.Open { // the events of this call wait for the delivery that is under way
				b.ProbeNow()
				require.NoError(t, breakerotel.Do(closing, b, succeeds))
			}
		},
	})
	require.ErrorIs(t, breakerotel.Do(opening, b, fails), errDown)
	openingSpan.End()
	closingSpan.End()
	got := map[string][]string{}
	for _, span := range recorder.Ended() {
		for _, event := range span.Events() {
			got[span.Name()] = append(got[span.Name()], event.Name)
		}
	}
	require.Equal(t, map[string][]string{
		"opening": {"breaker.transition"},
		"probing": {"breaker.probe", "breaker.transition", "breaker.transition"},
	}, got)
}

// A call that is left by a panic or runtime.Goexit ends as it does without the marks.
func TestLeavingACall(t *testing.T) {
	boom := func(context.Context) error { panic("boom") }
	quit := func(context.Context) error { runtime.Goexit(); return nil }
	listener := func(context.Context, breaker.Transition) { panic("listener") }
	for name, call := range map[string]func(context.Context, *breaker.Breaker, func(context.Context) error) error{
		"Do": breakerotel.Do, "Call": ways["Call"], "of the core": func(ctx context.Context, b *breaker.Breaker, fn func(context.Context) error) error {
			return b.Do(ctx, fn)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := breaker.MustNew(breaker.Settings{Name: "db"})
			require.PanicsWithValue(t, "boom", func() { _ = call(bg, b, boom) })
			done := make(chan bool)
			go func() {
				defer close(done)
				_ = call(bg, b, quit)
			}()
			<-done
			totals := b.Snapshot().Totals
			require.Equal(t, uint64(2), totals.Permanent)
			require.Equal(t, uint64(2), totals.Admitted)

			// The tenth probe that decides nothing opens the breaker, while it panics.
			mock := clock.NewMock()
			told := false
			b = on(mock, breaker.Settings{Name: "db", ConsecutiveFailures: 1, OnTransition: func(ctx context.Context, tr breaker.Transition) {
				if tr.Cause == breaker.CauseProbesInconclusive {
					told = true
					listener(ctx, tr)
				}
			}})
			calls(b, 1, breaker.Transient)
			mock.Add(15 * time.Second)
			calls(b, 9, breaker.Throttled)
			require.PanicsWithValue(t, "boom", func() { _ = call(bg, b, boom) })
			require.True(t, told)
			require.Equal(t, breaker.Open, b.State())
		})
	}
}

func TestNilFunctions(t *testing.T) {
	b := breaker.MustNew(breaker.Settings{})
	b.Isolate() // and does not get as far as a refusal
	require.PanicsWithValue(t, "breakerotel: Do with a nil function", func() { _ = breakerotel.Do(bg, b, nil) })
	require.PanicsWithValue(t, "breakerotel: Call with a nil function", func() { _, _ = breakerotel.Call[int](bg, b, nil) })
	require.Zero(t, b.Snapshot().Totals.Refused)
}

func TestNameOfTheScopeIsThatOfThePackage(t *testing.T) {
	require.Equal(t, reflect.TypeFor[breakerotel.Options]().PkgPath(), breakerotel.ScopeName)
}
