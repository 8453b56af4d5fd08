package breakerotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/normal-go/breaker"
)

// MarkRefusal marks the span in ctx if err is a refusal, and does nothing for any other error
// and for nil. It is for callers of [breaker.CallOr], [breaker.Breaker.TryAdmit] and of
// clients with a breaker inside; [Do] and [Call] do it themselves.
//
// The span gets the attribute breaker.refused and an event breaker.refusal with the name of
// the breaker, its state, and the seconds until it may be worth to try again, if they are
// known. It does not get an error status: whoever falls back on something else has not
// failed.
//
// It is safe for concurrent use.
func MarkRefusal(ctx context.Context, err error) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	var refusal *breaker.RejectedError
	if !errors.As(err, &refusal) {
		return
	}
	attributes := []attribute.KeyValue{nameOf(refusal.Name), stateKey.String(refusal.State.String())}
	if refusal.Reason != breaker.DependencyUnavailable {
		attributes = append(attributes, reasonKey.String(refusal.Reason.String()))
	}
	if after, known := refusal.RetryAfter(); known {
		attributes = append(attributes, attribute.Float64("breaker.retry_after", after.Seconds()))
	}
	span.SetAttributes(attribute.Bool("breaker.refused", true))
	span.AddEvent("breaker.refusal", trace.WithAttributes(attributes...))
}

// MarkProbe marks the span in ctx if the call was admitted as a probe of b. Ask before the
// attempt ends; [Do] and [Call] do it themselves. The span gets the attribute breaker.probe
// and an event breaker.probe with the name of the breaker.
// It is safe for concurrent use, but for the attempt, which belongs to one goroutine.
func MarkProbe(ctx context.Context, b *breaker.Breaker, attempt *breaker.Attempt) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() || !attempt.Probe() {
		return
	}
	span.SetAttributes(attribute.Bool("breaker.probe", true))
	span.AddEvent("breaker.probe", trace.WithAttributes(nameOf(b.Name())))
}

// MarkTransition marks the span of the call that changed the state of a breaker. It fits
// [breaker.Settings.OnTransition] as it is:
//
//	breaker.Settings{Name: "db", OnTransition: breakerotel.MarkTransition}
//
// The span gets the attribute breaker.cause and an event breaker.transition with the name of
// the breaker, the states from and to, the cause, and the numbers of the decision as they are
// known; durations are in seconds. If the call did two, as a probe that failed does, the
// attribute is that of the second.
//
// A transition belongs to the span that the context given to Do, Call, Admit or TryAdmit
// carries, not to one that the call started inside. The event may be delivered by another
// call that is under way; if the span has ended by then, it is lost to the trace. What an
// operator does belongs to no call, and OnTransition is not told of it.
//
// It is safe for concurrent use.
func MarkTransition(ctx context.Context, t breaker.Transition) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	cause := causeKey.String(t.Cause.String())
	span.SetAttributes(cause)
	span.AddEvent("breaker.transition", trace.WithAttributes(append(numbersOf(t),
		nameOf(t.Name),
		attribute.Int64("breaker.seq", int64(t.Seq)),
		attribute.String("breaker.from", t.From.String()),
		toKey.String(t.To.String()),
		cause,
	)...))
}

// numbersOf are the numbers behind a transition, as far as there are any.
func numbersOf(t breaker.Transition) (attributes []attribute.KeyValue) {
	add := func(when bool, more ...attribute.KeyValue) {
		if when {
			attributes = append(attributes, more...)
		}
	}
	opens := t.To == breaker.Open
	add(t.Shadow, attribute.Bool("breaker.shadow", true))
	add(opens, attribute.Float64("breaker.break", t.Break.Seconds()))
	add(t.Calls > 0,
		attribute.Int("breaker.window.calls", t.Calls),
		attribute.Int("breaker.window.failures", t.Failures),
		attribute.Int("breaker.window.slow_calls", t.Slow))
	add(opens, attribute.Int("breaker.consecutive_failures", t.Run), attribute.Int("breaker.consecutive_failures_needed", t.RunNeeded))
	add(t.NormalLatencyKnown, attribute.Float64("breaker.normal_latency", t.NormalLatency.Seconds()))
	add(t.NormalFailureRateKnown, attribute.Float64("breaker.normal_failure_ratio", t.NormalFailureRate))
	return attributes
}
