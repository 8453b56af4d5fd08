package breaker_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

func TestFailuresAbove(t *testing.T) {
	for _, multiple := range []float64{above1, 1.5, 5, 1e6, math.MaxFloat64} {
		require.Equal(t,
			breaker.Failures{Multiple: multiple, Window: 5 * time.Minute, MinimumSamples: 100, Floor: 0.05, FalseAlarm: 5e-5},
			breaker.FailuresAbove(multiple))
	}
	require.Equal(t, &breaker.SettingsError{Problems: []string{"Failures.Multiple must not be 0"}},
		panicOf(func() { breaker.FailuresAbove(0) }))
	for _, multiple := range []float64{1, below1, 0.5, -tiny, -5, nan, inf, -inf} {
		s := breaker.Settings{Failures: breaker.Failures{Multiple: multiple}}
		require.Equal(t, &breaker.SettingsError{Problems: problems(t, s)},
			panicOf(func() { breaker.FailuresAbove(multiple) }), "%v", multiple)
	}
}

func TestFailuresMultiple(t *testing.T) {
	r := rule[float64]{"Failures.Multiple", func(s *breaker.Settings, m float64) {
		s.Failures.Multiple, s.TripWindow = m, 1 // a window in which even a large one wins its race
	}}
	r.accepts(t, 0, above1, 1.5, 5, 1e6)
	r.refuses(t, "be a finite number above 1", 1, below1, 0.5, tiny, -tiny, -5, nan, inf, -inf)
}

func TestFailuresOffStandsAlone(t *testing.T) {
	require.Empty(t, problems(t, breaker.Settings{Failures: breaker.Failures{Off: true}}))
	for want, f := range map[string]breaker.Failures{
		"Failures.Multiple 5":                        {Multiple: 5},
		"Failures.Multiple NaN":                      {Multiple: nan},
		"Failures.Window 1ns":                        {Window: 1},
		"Failures.MinimumSamples 1":                  {MinimumSamples: 1},
		"Failures.Floor 0.05":                        {Floor: 0.05},
		"Failures.FalseAlarm 1":                      {FalseAlarm: 1},
		"Failures.Multiple 4, Failures.Window 10m0s": {Multiple: 4, Window: 10 * time.Minute},
	} {
		f.Off = true
		require.Equal(t, []string{"Failures.Off must stand alone, got it with " + want}, problems(t, breaker.Settings{Failures: f}))
	}
}

// An outage of age t raises the baseline to t/Window: the trip point reaches 1 after
// Window/Multiple, which must be twice the trip window or more.
func TestFailuresRace(t *testing.T) {
	const lost = "Failures.Window / Failures.Multiple must be at least 2 * TripWindow, or the baseline learns an outage before the window shows it, got %s against 2 * %s: raise Failures.Window, or lower Failures.Multiple or TripWindow"
	for _, c := range []struct {
		failures   breaker.Failures
		tripWindow time.Duration
		got, need  string // of the message, where the race is lost
	}{
		{failures: breaker.FailuresAbove(5)},
		{failures: breaker.Failures{Window: 5 * time.Minute}},
		{failures: breaker.Failures{Window: 5*time.Minute - 1}, got: "4m59.999999999s / 5", need: "30s"},
		{failures: breaker.Failures{Window: 5 * time.Minute}, tripWindow: 30*time.Second + 1, got: "5m0s / 5", need: "30.000000001s"},
		{failures: breaker.Failures{Multiple: above1}},
		{failures: breaker.Failures{Multiple: 5.000001}, got: "5m0s / 5.000001", need: "30s"},
		{failures: breaker.FailuresAbove(10), got: "5m0s / 10", need: "30s"},
		{failures: breaker.Failures{Multiple: 10, Window: 10 * time.Minute}},
		{failures: breaker.Failures{Multiple: 2, Window: 4 * time.Second}, tripWindow: time.Second},
		{failures: breaker.Failures{Multiple: 2, Window: 4*time.Second - 1}, tripWindow: time.Second, got: "3.999999999s / 2", need: "1s"},
		{failures: breaker.Failures{Multiple: 2, Window: 4 * time.Second}, tripWindow: time.Second + 1, got: "4s / 2", need: "1.000000001s"},
		{failures: breaker.Failures{Window: longest}, tripWindow: 24 * time.Hour},
		{failures: breaker.Failures{Multiple: math.MaxFloat64, Window: longest}, tripWindow: 1, got: "2562047h47m16.854775807s / 1.7976931348623157e+308", need: "1ns"},
		{failures: breaker.FailuresAbove(5), tripWindow: longest, got: "5m0s / 5", need: "2562047h47m16.854775807s"}, // twice as much is no duration

		// Any one field but FalseAlarm makes it written, and the window is no longer derived.
		{failures: breaker.Failures{Multiple: 5}, tripWindow: 31 * time.Second, got: "5m0s / 5", need: "31s"},
		{failures: breaker.Failures{MinimumSamples: 100}, tripWindow: 31 * time.Second, got: "5m0s / 5", need: "31s"},
		{failures: breaker.Failures{Floor: 0.05}, tripWindow: 31 * time.Second, got: "5m0s / 5", need: "31s"},
		{failures: breaker.Failures{FalseAlarm: 5e-5}, tripWindow: 31 * time.Second},
	} {
		s := breaker.Settings{Failures: c.failures, TripWindow: c.tripWindow}
		var want []string
		if c.got != "" {
			want = []string{fmt.Sprintf(lost, c.got, c.need)}
		}
		require.Equal(t, want, problems(t, s), "%+v", s)
	}
}

// A race that is just won in decimals, as people write them, must not be lost by how a
// float rounds.
func TestFailuresRaceInDecimals(t *testing.T) {
	for tenths := 11; tenths <= 1000; tenths++ {
		s := breaker.Settings{
			TripWindow: 30 * time.Second,
			Failures:   breaker.Failures{Multiple: float64(tenths) / 10, Window: time.Duration(tenths) * 6 * time.Second},
		}
		require.Empty(t, problems(t, s))
		s.Failures.Window--
		require.NotEmpty(t, problems(t, s), "%v / %v", s.Failures.Window, s.Failures.Multiple)
	}
}

func TestFailuresPartlyWritten(t *testing.T) {
	for _, c := range []struct{ given, want breaker.Failures }{
		{breaker.Failures{Multiple: 3}, breaker.Failures{Multiple: 3, Window: 5 * time.Minute, MinimumSamples: 100, Floor: 0.05, FalseAlarm: 5e-5}},
		{breaker.Failures{Window: time.Hour}, breaker.Failures{Multiple: 5, Window: time.Hour, MinimumSamples: 100, Floor: 0.05, FalseAlarm: 5e-5}},
		{breaker.Failures{MinimumSamples: 7}, breaker.Failures{Multiple: 5, Window: 5 * time.Minute, MinimumSamples: 7, Floor: 0.05, FalseAlarm: 5e-5}},
		{breaker.Failures{Floor: 1}, breaker.Failures{Multiple: 5, Window: 5 * time.Minute, MinimumSamples: 100, Floor: 1, FalseAlarm: 5e-5}},
		{breaker.Failures{FalseAlarm: 1}, breaker.Failures{Multiple: 5, Window: 5 * time.Minute, MinimumSamples: 100, Floor: 0.05, FalseAlarm: 1}},
	} {
		require.Equal(t, c.want, breaker.MustNew(breaker.Settings{Failures: c.given}).Effective().Failures)
	}
}

// The default that nobody wrote widens by what its race needs and a second, and is off
// beyond an hour.
func TestDefaultFailuresStepAside(t *testing.T) {
	for _, c := range []struct {
		tripWindow time.Duration
		want       time.Duration // of the baseline; 0: off
	}{
		{1, 5 * time.Minute},
		{time.Second, 5 * time.Minute},
		{30 * time.Second, 5 * time.Minute},
		{30*time.Second + 1, 5*time.Minute + 10 + time.Second},
		{31 * time.Second, 311 * time.Second},
		{time.Minute, 601 * time.Second},
		{6*time.Minute - 1, time.Hour - 10 + time.Second},
		{6 * time.Minute, time.Hour + time.Second},
		{6*time.Minute + 1, 0},
		{time.Hour, 0},
		{longest, 0},
	} {
		s := breaker.Settings{TripWindow: c.tripWindow}
		want := breaker.Failures{Off: true}
		if c.want != 0 {
			want = breaker.FailuresAbove(5)
			want.Window = c.want
		}
		b, err := breaker.New(s)
		require.NoError(t, err, "%v", c.tripWindow)
		require.Equal(t, want, b.Effective().Failures, "%v", c.tripWindow)
		require.Zero(t, b.Settings().Failures)
	}
}
