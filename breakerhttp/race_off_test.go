//go:build !race

package breakerhttp_test

const underRace = false
