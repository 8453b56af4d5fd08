//go:build race

package breakerhttp_test

// The race detector allocates for itself.
const underRace = true
