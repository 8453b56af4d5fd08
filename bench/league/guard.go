package league

import (
	"context"
	"math/rand/v2"
	"time"
)

// guard is a breaker as the league drives it. A library that has its admission and its
// end in two steps gets admit, and one goroutine drives all of its calls. One that only
// takes a function gets run, and a goroutine for each call.
type guard struct {
	// admit asks for a call. If it may go, end is to be told how it ended.
	admit func(ctx *callContext) (end func(err error), ok bool)

	// run runs a call, or refuses it. The function begins the call and tells how it will
	// end and when: the guard sleeps that long and returns its error.
	run func(send func() reply) error

	// closed reports whether the library would say that it lets all calls through. It is nil
	// for those that have no states.
	closed func() bool
}

// column is a library with its settings.
type column struct {
	name   string
	module string // of the library, empty for what is none
	how    string // its settings, for the page
	why    string // who recommends them

	// build makes the breaker of one instance. It draws from random what the library draws,
	// where the library lets itself be told. It runs within the bubble.
	build func(random *rand.Rand) guard

	oracle  bool
	endless bool // it starts goroutines that never end
}

// refusalsApart is how long a library without states must refuse nothing before its next
// refusal counts as a trip.
const refusalsApart = 10 * time.Second

// The errors that a tuned column takes for no failure of the dependency, where its
// library lets it say so.
func blameless(err error) bool { return err == errThrottled || err == context.Canceled }
