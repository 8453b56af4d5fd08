package breaker_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

func TestSlowCallsAbove(t *testing.T) {
	for _, multiple := range []float64{above1, 1.5, 3, 1e6, math.MaxFloat64} {
		require.Equal(t,
			breaker.SlowCalls{Multiple: multiple, Quantile: 0.5, Window: 5 * time.Minute, MinimumSamples: 20, FalseAlarm: 5e-5},
			breaker.SlowCallsAbove(multiple))
	}
	require.Equal(t, &breaker.SettingsError{Problems: []string{"SlowCalls.Multiple must not be 0"}},
		panicOf(func() { breaker.SlowCallsAbove(0) }))
	for _, multiple := range []float64{1, below1, 0.5, -tiny, -3, nan, inf, -inf} {
		s := breaker.Settings{SlowCalls: breaker.SlowCalls{Multiple: multiple}}
		require.Equal(t, &breaker.SettingsError{Problems: problems(t, s)},
			panicOf(func() { breaker.SlowCallsAbove(multiple) }), "%v", multiple)
	}
}

func TestSlowCallsFields(t *testing.T) {
	multiple := rule[float64]{"SlowCalls.Multiple", func(s *breaker.Settings, m float64) { s.SlowCalls.Multiple = m }}
	multiple.accepts(t, 0, above1, 1.5, 3, math.MaxFloat64)
	multiple.refuses(t, "be a finite number above 1", 1, below1, 0.5, tiny, -tiny, -3, nan, inf, -inf)

	quantile := rule[float64]{"SlowCalls.Quantile", func(s *breaker.Settings, q float64) {
		s.SlowCalls.Quantile, s.SlowCallRatio, s.TripWindow = q, tiny, 1 // a race that it wins
	}}
	quantile.accepts(t, 0, tiny, 0.1, math.Nextafter(0.5, 0), 0.5)
	quantile.refuses(t, "be in (0, 0.5]", math.Nextafter(0.5, 1), 0.99, 1, 50, -tiny, -0.5, nan, inf, -inf)
}

func TestSlowCallsOffStandsAlone(t *testing.T) {
	require.Empty(t, problems(t, breaker.Settings{SlowCalls: breaker.SlowCalls{Off: true}}))
	for want, c := range map[string]breaker.SlowCalls{
		"SlowCalls.Multiple 3":                         {Multiple: 3},
		"SlowCalls.Quantile 0.5":                       {Quantile: 0.5},
		"SlowCalls.Quantile NaN":                       {Quantile: nan},
		"SlowCalls.Window 1ns":                         {Window: 1},
		"SlowCalls.MinimumSamples 1":                   {MinimumSamples: 1},
		"SlowCalls.FalseAlarm 1":                       {FalseAlarm: 1},
		"SlowCalls.Quantile 0.25, SlowCalls.Window 1s": {Quantile: 0.25, Window: time.Second},
	} {
		c.Off = true
		require.Equal(t, []string{"SlowCalls.Off must stand alone, got it with " + want}, problems(t, breaker.Settings{SlowCalls: c}))
	}
}

// A brownout fills the ratio of the trip window after SlowCallRatio * TripWindow, and moves
// the quantile after Quantile * Window, which must be twice as much or more.
func TestSlowCallsRace(t *testing.T) {
	const lost = "SlowCalls.Quantile * SlowCalls.Window must be at least 2 * SlowCallRatio * TripWindow, or the baseline learns a brownout before the window shows it, got %s against 2 * %s: raise SlowCalls.Window or SlowCalls.Quantile, or lower SlowCallRatio or TripWindow"
	for _, c := range []struct {
		slowCalls  breaker.SlowCalls
		ratio      float64
		tripWindow time.Duration
		got, need  string // of the message, where the race is lost
	}{
		{slowCalls: breaker.SlowCallsAbove(3)},
		{slowCalls: breaker.SlowCallsAbove(3), ratio: 1, tripWindow: 75 * time.Second},
		{slowCalls: breaker.SlowCallsAbove(3), ratio: 1, tripWindow: 75*time.Second + 1, got: "0.5 * 5m0s", need: "1 * 1m15.000000001s"},
		{slowCalls: breaker.SlowCalls{Window: time.Minute}},
		{slowCalls: breaker.SlowCalls{Window: time.Minute - 1}, got: "0.5 * 59.999999999s", need: "0.5 * 30s"},
		{slowCalls: breaker.SlowCalls{Window: time.Minute}, tripWindow: 30*time.Second + 1, got: "0.5 * 1m0s", need: "0.5 * 30.000000001s"},
		{slowCalls: breaker.SlowCalls{Window: time.Minute}, ratio: 0.500001, got: "0.5 * 1m0s", need: "0.500001 * 30s"},
		{slowCalls: breaker.SlowCalls{Quantile: 0.25, Window: 2 * time.Minute}},
		{slowCalls: breaker.SlowCalls{Quantile: 0.249999, Window: 2 * time.Minute}, got: "0.249999 * 2m0s", need: "0.5 * 30s"},
		{slowCalls: breaker.SlowCalls{Quantile: 0.25, Window: 2*time.Minute - 1}, got: "0.25 * 1m59.999999999s", need: "0.5 * 30s"},
		{slowCalls: breaker.SlowCalls{Quantile: 0.125}},
		{slowCalls: breaker.SlowCalls{Quantile: 0.09}, got: "0.09 * 5m0s", need: "0.5 * 30s"},
		{slowCalls: breaker.SlowCalls{Window: longest}, tripWindow: 24 * time.Hour},

		// Any one field but FalseAlarm makes it written, and the window is no longer derived.
		{slowCalls: breaker.SlowCalls{Multiple: 3}, tripWindow: 151 * time.Second, got: "0.5 * 5m0s", need: "0.5 * 2m31s"},
		{slowCalls: breaker.SlowCalls{Quantile: 0.5}, tripWindow: 151 * time.Second, got: "0.5 * 5m0s", need: "0.5 * 2m31s"},
		{slowCalls: breaker.SlowCalls{MinimumSamples: 20}, tripWindow: 151 * time.Second, got: "0.5 * 5m0s", need: "0.5 * 2m31s"},
		{slowCalls: breaker.SlowCalls{FalseAlarm: 5e-5}, tripWindow: 151 * time.Second},
	} {
		s := breaker.Settings{SlowCalls: c.slowCalls, SlowCallRatio: c.ratio, TripWindow: c.tripWindow}
		var want []string
		if c.need != "" {
			want = []string{fmt.Sprintf(lost, c.got, c.need)}
		}
		require.Equal(t, want, problems(t, s), "%+v", s)
	}
}

// A ratio that is refused is one problem, and not a race lost as well.
func TestNoRaceWithARatioThatIsRefused(t *testing.T) {
	for _, ratio := range []float64{-1, above1, 50, nan} {
		err := breaker.Settings{SlowCalls: breaker.SlowCallsAbove(3), SlowCallRatio: ratio}.Validate()
		var invalid *breaker.SettingsError
		require.ErrorAs(t, err, &invalid)
		require.Len(t, invalid.Problems, 1, "%v", err)
	}
}

// A race that is just won in decimals, as people write them, must not be lost by how a
// float rounds.
func TestSlowCallsRaceInDecimals(t *testing.T) {
	for quantile := int64(1); quantile <= 50; quantile++ {
		for ratio := int64(1); ratio <= 100; ratio++ {
			need := 2 * ratio * int64(30*time.Second)
			if need%quantile != 0 {
				continue
			}
			s := breaker.Settings{
				TripWindow:    30 * time.Second,
				SlowCallRatio: float64(ratio) / 100,
				SlowCalls:     breaker.SlowCalls{Quantile: float64(quantile) / 100, Window: time.Duration(need / quantile)},
			}
			require.Empty(t, problems(t, s))
			s.SlowCalls.Window--
			require.NotEmpty(t, problems(t, s), "%v * %v", s.SlowCalls.Quantile, s.SlowCalls.Window)
		}
	}
}

func TestSlowCallsPartlyWritten(t *testing.T) {
	for _, c := range []struct{ given, want breaker.SlowCalls }{
		{breaker.SlowCalls{Multiple: 2}, breaker.SlowCalls{Multiple: 2, Quantile: 0.5, Window: 5 * time.Minute, MinimumSamples: 20, FalseAlarm: 5e-5}},
		{breaker.SlowCalls{Quantile: 0.25}, breaker.SlowCalls{Multiple: 3, Quantile: 0.25, Window: 5 * time.Minute, MinimumSamples: 20, FalseAlarm: 5e-5}},
		{breaker.SlowCalls{Window: time.Hour}, breaker.SlowCalls{Multiple: 3, Quantile: 0.5, Window: time.Hour, MinimumSamples: 20, FalseAlarm: 5e-5}},
		{breaker.SlowCalls{MinimumSamples: 7}, breaker.SlowCalls{Multiple: 3, Quantile: 0.5, Window: 5 * time.Minute, MinimumSamples: 7, FalseAlarm: 5e-5}},
		{breaker.SlowCalls{FalseAlarm: 1}, breaker.SlowCalls{Multiple: 3, Quantile: 0.5, Window: 5 * time.Minute, MinimumSamples: 20, FalseAlarm: 1}},
	} {
		require.Equal(t, c.want, breaker.MustNew(breaker.Settings{SlowCalls: c.given}).Effective().SlowCalls)
	}
}

// The default that nobody wrote widens by what its race needs and a second, and is off
// beyond an hour.
func TestDefaultSlowCallsStepAside(t *testing.T) {
	for _, c := range []struct {
		tripWindow time.Duration
		ratio      float64
		want       time.Duration // of the baseline; 0: off
	}{
		{1, 0, 5 * time.Minute},
		{30 * time.Second, 1, 5 * time.Minute},
		{150 * time.Second, 0, 5 * time.Minute},
		{150*time.Second + 1, 0, 5*time.Minute + 2 + time.Second},
		{151 * time.Second, 0, 303 * time.Second},
		{150 * time.Second, 0.75, 451 * time.Second},
		{150 * time.Second, 0.25, 5 * time.Minute},
		{30*time.Minute - 1, 0, time.Hour - 2 + time.Second},
		{30 * time.Minute, 0, time.Hour + time.Second},
		{30*time.Minute + 1, 0, 0},
		{15 * time.Minute, 1, time.Hour + time.Second},
		{15*time.Minute + 1, 1, 0},
		{longest, 0, 0},
		{longest, 1, 0},
		{longest, tiny, 5 * time.Minute},
	} {
		s := breaker.Settings{TripWindow: c.tripWindow, SlowCallRatio: c.ratio}
		want := breaker.SlowCalls{Off: true}
		if c.want != 0 {
			want = breaker.SlowCallsAbove(3)
			want.Window = c.want
		}
		b, err := breaker.New(s)
		require.NoError(t, err, "%v, %v", c.tripWindow, c.ratio)
		require.Equal(t, want, b.Effective().SlowCalls, "%v, %v", c.tripWindow, c.ratio)
		require.Zero(t, b.Settings().SlowCalls)
	}
}
