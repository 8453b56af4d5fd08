package breaker_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

func TestRecoveryOver(t *testing.T) {
	for _, fraction := range []float64{tiny, 0.25, 1, 3, math.MaxFloat64} {
		r := breaker.RecoveryOver(fraction)
		require.Equal(t, breaker.Recovery{
			Fraction:        fraction,
			MinimumDuration: time.Second,
			MaximumDuration: 30 * time.Second,
			InitialFraction: 0.05,
		}, r)
		require.Empty(t, problems(t, breaker.Settings{Recovery: r}))
	}
	require.Equal(t, &breaker.SettingsError{Problems: []string{"Recovery.Fraction must not be 0"}},
		panicOf(func() { breaker.RecoveryOver(0) }))
	for _, fraction := range []float64{-tiny, -1, nan, inf, -inf} {
		s := breaker.Settings{Recovery: breaker.Recovery{Fraction: fraction}}
		require.Equal(t, &breaker.SettingsError{Problems: problems(t, s)},
			panicOf(func() { breaker.RecoveryOver(fraction) }), "%v", fraction)
	}
}

func TestRecoveryFields(t *testing.T) {
	fraction := rule[float64]{"Recovery.Fraction", func(s *breaker.Settings, f float64) { s.Recovery.Fraction = f }}
	fraction.accepts(t, 0, tiny, 0.25, 1, above1, math.MaxFloat64)
	fraction.refuses(t, "be a finite number and not negative", -tiny, -1, nan, inf, -inf)

	initial := rule[float64]{"Recovery.InitialFraction", func(s *breaker.Settings, f float64) { s.Recovery.InitialFraction = f }}
	initial.accepts(t, 0, tiny, 0.05, below1)
	initial.refuses(t, "be in (0, 1)", 1, above1, 5, -tiny, -0.05, nan, inf, -inf)
}

func TestRecoveryDurationsMustFit(t *testing.T) {
	for _, c := range []struct {
		minimum, maximum time.Duration
		want             []string
	}{
		{minimum: 5, maximum: 5},
		{minimum: 4, maximum: 5},
		{minimum: 6, maximum: 5, want: []string{"Recovery.MinimumDuration must be at most MaximumDuration (5ns), got 6ns"}},
		{minimum: 30*time.Second + 1, maximum: 30 * time.Second, want: []string{"Recovery.MinimumDuration must be at most MaximumDuration (30s), got 30.000000001s"}},
		{minimum: -1, maximum: 5, want: []string{"Recovery.MinimumDuration must not be negative, got -1ns"}},
		{minimum: 5, maximum: -1, want: []string{"Recovery.MaximumDuration must not be negative, got -1ns"}},
	} {
		s := breaker.Settings{Recovery: breaker.Recovery{MinimumDuration: c.minimum, MaximumDuration: c.maximum}}
		require.Equal(t, c.want, problems(t, s), "%v, %v", c.minimum, c.maximum)
	}
}

// Written alone, either duration moves the default of the other out of its way.
func TestRecoveryPartlyWritten(t *testing.T) {
	for name, c := range map[string]struct{ given, want breaker.Recovery }{
		"nothing":                   {},
		"a fraction":                {breaker.Recovery{Fraction: 0.5}, breaker.Recovery{Fraction: 0.5, MinimumDuration: time.Second, MaximumDuration: 30 * time.Second, InitialFraction: 0.05}},
		"an initial fraction":       {breaker.Recovery{InitialFraction: 0.5}, breaker.Recovery{Fraction: 0.25, MinimumDuration: time.Second, MaximumDuration: 30 * time.Second, InitialFraction: 0.5}},
		"a minimum":                 {breaker.Recovery{MinimumDuration: 5 * time.Second}, breaker.Recovery{Fraction: 0.25, MinimumDuration: 5 * time.Second, MaximumDuration: 30 * time.Second, InitialFraction: 0.05}},
		"a minimum at the default":  {breaker.Recovery{MinimumDuration: 30 * time.Second}, breaker.Recovery{Fraction: 0.25, MinimumDuration: 30 * time.Second, MaximumDuration: 30 * time.Second, InitialFraction: 0.05}},
		"a minimum above a default": {breaker.Recovery{MinimumDuration: 30*time.Second + 1}, breaker.Recovery{Fraction: 0.25, MinimumDuration: 30*time.Second + 1, MaximumDuration: 30*time.Second + 1, InitialFraction: 0.05}},
		"a maximum":                 {breaker.Recovery{MaximumDuration: 5 * time.Second}, breaker.Recovery{Fraction: 0.25, MinimumDuration: time.Second, MaximumDuration: 5 * time.Second, InitialFraction: 0.05}},
		"a maximum at the default":  {breaker.Recovery{MaximumDuration: time.Second}, breaker.Recovery{Fraction: 0.25, MinimumDuration: time.Second, MaximumDuration: time.Second, InitialFraction: 0.05}},
		"a maximum below a default": {breaker.Recovery{MaximumDuration: time.Second - 1}, breaker.Recovery{Fraction: 0.25, MinimumDuration: time.Second - 1, MaximumDuration: time.Second - 1, InitialFraction: 0.05}},
		"a minimum and a maximum":   {breaker.Recovery{MinimumDuration: 2, MaximumDuration: 3}, breaker.Recovery{Fraction: 0.25, MinimumDuration: 2, MaximumDuration: 3, InitialFraction: 0.05}},
	} {
		require.Equal(t, c.want, breaker.MustNew(breaker.Settings{Recovery: c.given}).Effective().Recovery, name)
	}
}
