package breakerotel

import (
	"context"

	"github.com/normal-go/breaker"
)

// Do is [breaker.Breaker.Do], and marks the span in ctx if the call is refused, see
// [MarkRefusal], or a probe, see [MarkProbe]. A refusal is marked after its pause.
// It is safe for concurrent use, and panics where Do of the breaker does.
func Do(ctx context.Context, b *breaker.Breaker, fn func(context.Context) error) error {
	if fn == nil {
		panic("breakerotel: Do with a nil function")
	}
	_, err := Call(ctx, b, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
	return err
}

// Call is [breaker.Call], and marks the span in ctx as [Do] does.
// It is safe for concurrent use, and panics where [breaker.Call] does.
func Call[T any](ctx context.Context, b *breaker.Breaker, fn func(context.Context) (T, error)) (T, error) {
	if fn == nil {
		panic("breakerotel: Call with a nil function")
	}
	attempt, err := b.Admit(ctx)
	if err != nil {
		MarkRefusal(ctx, err)
		var none T
		return none, err
	}
	defer abandon(&attempt)
	MarkProbe(ctx, b, &attempt)
	result, err := fn(ctx)
	attempt.Done(err)
	return result, err
}

// abandon ends an attempt that a panic or runtime.Goexit is leaving, as Permanent, and does
// nothing to one that has ended. What goes up goes on up: a panic of OnTransition, which this
// end may run, does not take its place.
func abandon(attempt *breaker.Attempt) {
	defer func() { _ = recover() }()
	attempt.Record(breaker.Permanent, 0)
}
