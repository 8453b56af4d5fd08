//go:build !race

package breaker_test

const underRace = false
