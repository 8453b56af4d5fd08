package simulation

import (
	"errors"
	"strings"

	"github.com/normal-go/breaker"
)

// What the attempts of a run end with, besides nil, [context.DeadlineExceeded] for one
// that took too long and [context.Canceled] for a caller who went away. A
// [breaker.Settings.Classify] of the scenario's sees them.
var (
	// ErrFailed: the dependency failed.
	ErrFailed = errors.New("simulation: the dependency failed")

	// ErrShed: the dependency had no room for the call.
	ErrShed = errors.New("simulation: the dependency shed the call")

	// ErrThrottled: the dependency defends itself. It carries the verdict
	// [breaker.Throttled].
	ErrThrottled = breaker.WithVerdict(errors.New("simulation: the dependency throttled the call"), breaker.Throttled)
)

// ScenarioError says why a scenario, or a recording, cannot be run, with every problem at
// once.
type ScenarioError struct {
	// Problems has one sentence for each: the field, the rule and the value.
	Problems []string
}

// Error returns all problems in one line.
func (e *ScenarioError) Error() string {
	return "simulation: invalid scenario: " + strings.Join(e.Problems, "; ")
}
