//go:build !race

package breakergrpc_test

const underRace = false
