package breaker

import (
	"context"
	"errors"
	"time"
)

// Verdict says what an outcome tells about the dependency. Two of the five are evidence:
// OK, it answered, and Transient, it failed. Only Transient is a failure. Throttled,
// Permanent and Canceled are no evidence: they are counted in [Totals], and touch no
// window, no baseline and no run of failures. See docs/design.md, "Verdicts".
type Verdict uint8

const (
	// OK, the zero value: the dependency answered. Its latency is evidence too: a slow
	// answer is no failure, but enough of them open a breaker as well.
	OK Verdict = iota

	// Transient: the dependency failed. The only verdict that counts against it.
	Transient

	// Throttled: the dependency is up and defends itself, with a 429 for
	// instance. To trip on it would turn a working defence into an outage.
	Throttled

	// Permanent: the caller's own fault, which any dependency would refuse.
	Permanent

	// Canceled: the caller went away before there was an answer.
	Canceled

	verdicts = iota
)

var verdictNames = []string{"ok", "transient", "throttled", "permanent", "canceled"}

// String returns "ok", "transient", "throttled", "permanent" or "canceled", and
// Verdict(n) for a value that is none of them.
func (v Verdict) String() string { return nameOf(verdictNames, "Verdict", uint8(v)) }

// known makes Permanent of a value that is no verdict: a mistake of the caller's.
func (v Verdict) known() Verdict {
	if v < verdicts {
		return v
	}
	return Permanent
}

// Classify is the default classifier. A nil error is OK; an error that carries a
// verdict, from [WithVerdict] or a method Verdict() Verdict anywhere in its chain,
// has that one; one that is context.Canceled is Canceled; every other error,
// context.DeadlineExceeded included, is Transient. An unknown verdict counts as
// Permanent. It is safe for concurrent use.
func Classify(err error) Verdict {
	if v, ok := carriedVerdict(err); ok {
		return v
	}
	return classifyBare(err)
}

func classifyBare(err error) Verdict {
	switch {
	case err == nil:
		return OK
	case errors.Is(err, context.Canceled):
		return Canceled
	}
	return Transient
}

// carriedVerdict returns the verdict nearest to the top of the error's chain. Most errors
// have no chain, and need not wait for errors.As, which reflects and allocates.
func carriedVerdict(err error) (Verdict, bool) {
	switch e := err.(type) {
	case interface{ Verdict() Verdict }:
		return e.Verdict().known(), true
	case interface{ Unwrap() error }, interface{ Unwrap() []error }, interface{ As(any) bool }:
		var carrier interface{ Verdict() Verdict }
		if errors.As(err, &carrier) {
			return carrier.Verdict().known(), true
		}
	}
	return 0, false
}

// WithVerdict returns err with a verdict on it, which every breaker then honours:
// before its classifier and before the rules about the caller's context, and OK
// too. errors.Is and errors.As still see err, and its text is unchanged. Of several
// verdicts in a chain, the nearest wins. A nil err stays nil, and an unknown verdict
// counts as Permanent.
//
//	if resp.StatusCode == http.StatusNotFound {
//		return breaker.WithVerdict(errNotFound, breaker.OK) // an answer
//	}
func WithVerdict(err error, v Verdict) error {
	if err == nil {
		return nil
	}
	return &verdictError{err, v}
}

type verdictError struct {
	error
	verdict Verdict
}

func (e *verdictError) Unwrap() error    { return e.error }
func (e *verdictError) Verdict() Verdict { return e.verdict }

// judge turns an error, which is not nil, into a verdict. Hurried reports that a Transient
// comes from a deadline of the caller's own: whether the dependency had a fair chance is for
// the record to say, which knows the normal latency.
func (b *Breaker) judge(ctx context.Context, err error) (v Verdict, hurried bool) {
	if v, ok := carriedVerdict(err); ok {
		return v, false
	}
	ended := ctx.Err()
	if ended == context.Canceled && errors.Is(err, context.Cause(ctx)) {
		return Canceled, false
	}
	if classify := b.classifier(); classify != nil {
		v = classify(err).known()
	} else {
		v = classifyBare(err)
	}
	return v, v == Transient && (ended == context.DeadlineExceeded || ended == nil && deadlinePassed(ctx))
}

// deadlinePassed reports whether the deadline of a context has passed before the context says so. A
// connection that was given the same deadline has a timer of its own, and mostly its error
// is there first.
func deadlinePassed(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && !time.Now().Before(deadline)
}

// classifier returns the caller's own, or nil. Update may be changing it.
func (b *Breaker) classifier() func(error) Verdict {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settings.Classify
}
