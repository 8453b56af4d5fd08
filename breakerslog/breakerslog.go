// Package breakerslog writes the transitions of circuit breakers to a [slog.Logger]:
//
//	b := breaker.MustNew(breaker.Settings{
//		Name:         "db",
//		OnTransition: breakerslog.Transitions(nil),
//	})
//
// and then, with a JSON handler:
//
//	{"time":"2026-03-02T03:00:00Z","level":"WARN","msg":"breaker opened","breaker":{"name":"db",
//	 "seq":1,"from":"closed","to":"open","cause":"consecutive-failures","break":15000000000,
//	 "calls":5,"failures":5,"slow":0,"run":5,"run_needed":5}}
//
// # What is logged
//
// One line for each transition that [breaker.Settings.OnTransition] is told of. The message
// says what happened and never varies, so that it can be searched for; what varies is in
// the attributes, under the group "breaker". docs/integrations.md lists messages, levels and
// attributes.
//
// A refusal is no line. An open breaker may refuse thousands of calls a second, and a line
// for each would be a second outage, of the log. How many were refused is in
// [breaker.Totals].
//
// Nor are three transitions, of which OnTransition is not told: [breaker.CauseIsolated] and
// [breaker.CauseReset] are moves of an operator, to be logged where they are made, and
// [breaker.CauseRampCompleted] was announced by the start of the ramp. All three are in
// [breaker.Breaker.History], and what Transitions returns writes any transition that it is
// given; the example of an operator shows it.
//
// # Whose request it was
//
// The handler of the logger gets the context of the call that caused the transition. A
// handler that adds a trace or request id to each record adds it here too: the line of an
// open says which call was the last straw.
//
// A [breaker.Snapshot] needs no help from here under a JSON handler, where
// slog.Any("breaker", b.Snapshot()) is its JSON. For a text handler, log the fields that you
// want.
package breakerslog

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/normal-go/breaker"
)

// Transitions returns a function for [breaker.Settings.OnTransition] that writes each
// transition to logger. A nil logger stands for [slog.Default], asked for at each
// transition.
//
// To open and to be isolated are warnings, and all else is information: so is everything in
// a dry run, which refuses nothing. The time of a record is [breaker.Transition].At, by the
// clock of the breaker, and a record has no source: no line of the program is to blame.
//
// The function is safe for concurrent use as the logger is, and one serves any number of
// breakers. It may be called with any transition, such as one from a history. An error of the
// handler is dropped, as [slog.Logger] does.
func Transitions(logger *slog.Logger) func(context.Context, breaker.Transition) {
	return func(ctx context.Context, t breaker.Transition) {
		logger := cmp.Or(logger, slog.Default())
		level := levelOf(t)
		if !logger.Enabled(ctx, level) {
			return
		}
		r := slog.NewRecord(t.At, level, messageOf(t), 0)
		r.AddAttrs(slog.Attr{Key: "breaker", Value: slog.GroupValue(attributesOf(t)...)})
		_ = logger.Handler().Handle(ctx, r)
	}
}

func levelOf(t breaker.Transition) slog.Level {
	refuses := t.To == breaker.Open || t.To == breaker.Isolated
	if refuses && !t.Shadow {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

func messageOf(t breaker.Transition) string {
	switch {
	case t.To == breaker.Open && t.From == breaker.Closed:
		return "breaker opened"
	case t.To == breaker.Open:
		return "breaker opened again"
	}
	return "breaker " + t.To.String()
}

// attributesOf are the numbers behind the transition, as far as there are any.
func attributesOf(t breaker.Transition) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("name", t.Name),
		slog.Uint64("seq", t.Seq),
		slog.String("from", t.From.String()),
		slog.String("to", t.To.String()),
		slog.String("cause", t.Cause.String()),
	}
	add := func(when bool, more ...slog.Attr) {
		if when {
			attrs = append(attrs, more...)
		}
	}
	opens := t.To == breaker.Open
	add(t.Shadow, slog.Bool("shadow", true))
	add(opens, slog.Duration("break", t.Break))
	add(t.Calls > 0, slog.Int("calls", t.Calls), slog.Int("failures", t.Failures), slog.Int("slow", t.Slow))
	add(opens, slog.Int("run", t.Run), slog.Int("run_needed", t.RunNeeded))
	add(t.NormalLatencyKnown, slog.Duration("normal_latency", t.NormalLatency))
	add(t.NormalFailureRateKnown, slog.Float64("normal_failure_rate", t.NormalFailureRate))
	add(t.Cause == breaker.CauseRelativeFailures, evidence(t.FailureEvidence))
	add(t.Cause == breaker.CauseSlowCalls, evidence(t.SlowEvidence))
	return attrs
}

// evidence is what a relative trip weighed.
func evidence(e breaker.Evidence) slog.Attr {
	attrs := []any{slog.Float64("rate", e.Rate), slog.Float64("trip_point", e.TripPoint)}
	if e.ReferenceKnown {
		attrs = append(attrs, slog.Float64("reference", e.Reference),
			slog.Float64("surprise_nats", e.Surprise), slog.Float64("required_nats", e.Required))
	}
	return slog.Group("evidence", attrs...)
}
