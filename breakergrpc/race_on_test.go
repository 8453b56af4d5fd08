//go:build race

package breakergrpc_test

// The race detector allocates for itself.
const underRace = true
