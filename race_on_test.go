//go:build race

package breaker_test

// The race detector allocates for itself.
const underRace = true
