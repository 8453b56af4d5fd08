// Package linearizability checks that a breaker under concurrent use does what a
// breaker used by one caller at a time could have done.
//
// Its tests record histories of a few goroutines that admit, end, reset, isolate and look,
// and hand each to a checker, which looks for an order of the operations that a small
// sequential model of the breaker explains, and in which no operation comes before one
// that had returned when it began. docs/testing.md of the breaker has more.
//
// It is a module of its own, so that the breaker does not require the checker.
package linearizability
