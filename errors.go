package breaker

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrRejected is what errors.Is finds in every refusal: the call did not run. The
// error itself is a [*RejectedError].
var ErrRejected = errors.New("breaker: call refused")

// RejectedError is a refusal: the call did not run. errors.Is finds [ErrRejected]
// in it. If the caller's context ended the pause before the refusal, errors.Is also
// finds the context's error in what was returned, and errors.As still finds the
// *RejectedError.
//
// One value may serve many refusals. Its fields are for reading only, and all of
// it is safe for concurrent use.
type RejectedError struct {
	// Name of the breaker that refused.
	Name string

	// State of the breaker when it refused.
	State State

	// Reason is DependencyUnavailable from a breaker.
	Reason Reason

	breaker *Breaker // set if the breaker was open: the break that RetryAfter speaks of is its own
}

// Error returns a text such as `breaker: "db" refused the call: open`, or
// `breaker: call refused: open` where there is no name.
func (e *RejectedError) Error() string {
	var why fmt.Stringer = e.State
	if e.Reason != DependencyUnavailable {
		why = e.Reason
	}
	if e.Name == "" {
		return fmt.Sprintf("%v: %v", ErrRejected, why)
	}
	return fmt.Sprintf("breaker: %q refused the call: %v", e.Name, why)
}

// Unwrap returns [ErrRejected].
func (e *RejectedError) Unwrap() error { return ErrRejected }

// RetryAfter returns what is left, at the time of asking, of the break that
// refused the call: never below zero, and zero once the break is over. It is
// unknown, false, for a refusal in any other state than [Open], and once a reset,
// an isolation or a later break has overtaken this one.
func (e *RejectedError) RetryAfter() (time.Duration, bool) {
	if e == nil || e.breaker == nil {
		return 0, false
	}
	return e.breaker.leftOfBreak(e)
}

// Reason says why a call was refused.
type Reason uint8

const (
	// DependencyUnavailable, the zero value: the breaker holds the dependency
	// for unavailable, or for not yet ready. Every refusal by a breaker.
	DependencyUnavailable Reason = iota

	// BudgetExhausted: a retry budget beside the breaker that reports through
	// the same error. No breaker uses it.
	BudgetExhausted
)

var reasonNames = []string{"dependency unavailable", "budget exhausted"}

// String returns "dependency unavailable" or "budget exhausted", and Reason(n) for
// a value that is neither.
func (r Reason) String() string { return nameOf(reasonNames, "Reason", uint8(r)) }

// SettingsError says why settings cannot work, with every problem at once.
type SettingsError struct {
	// Problems has one sentence for each: the field, the rule and the value.
	Problems []string
}

// Error returns all problems in one line.
func (e *SettingsError) Error() string {
	return "breaker: invalid settings: " + strings.Join(e.Problems, "; ")
}
