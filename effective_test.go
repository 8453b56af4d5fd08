package breaker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// withoutFunctions makes settings that can be compared.
func withoutFunctions(s breaker.Settings) breaker.Settings {
	s.Classify, s.OnTransition, s.Clock, s.Random = nil, nil, nil, nil
	return s
}

func TestEffectiveDefaults(t *testing.T) {
	e := breaker.MustNew(breaker.Settings{Name: "db"}).Effective()
	require.Equal(t, breaker.Settings{
		Name:                 "db",
		ConsecutiveFailures:  5,
		Failures:             breaker.Failures{Multiple: 5, Window: 5 * time.Minute, MinimumSamples: 100, Floor: 0.05, FalseAlarm: 5e-5},
		MinimumCalls:         20,
		TripWindow:           30 * time.Second,
		SlowCalls:            breaker.SlowCalls{Multiple: 3, Quantile: 0.5, Window: 5 * time.Minute, MinimumSamples: 20, FalseAlarm: 5e-5},
		SlowCallRatio:        0.5,
		BreakDuration:        15 * time.Second,
		MaximumBreakDuration: 2 * time.Minute,
		BreakJitter:          breaker.JitterEqual,
		HalfOpenProbes:       1,
		ProbeSuccesses:       2,
	}, withoutFunctions(e))
	require.Equal(t, breaker.Throttled, e.Classify(breaker.WithVerdict(errDown, breaker.Throttled)))
	require.Equal(t, breaker.Transient, e.Classify(errDown))
	require.Nil(t, e.OnTransition)
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		require.Equal(t, begin, e.Clock.Now())
		require.Equal(t, time.Hour, (<-e.Clock.After(time.Hour)).Sub(begin))
	})
	for range 100 {
		draw := e.Random()
		require.True(t, draw >= 0 && draw < 1, draw)
	}
}

// What steps aside for what.
func TestEffectiveDerivedValues(t *testing.T) {
	for name, c := range map[string]struct {
		given breaker.Settings
		want  func(*breaker.Settings) // of the effective defaults
	}{
		"adaptive off": {
			breaker.Settings{DisableAdaptive: true},
			func(s *breaker.Settings) {
				s.DisableAdaptive = true
				s.Failures, s.SlowCalls = breaker.Failures{Off: true}, breaker.SlowCalls{Off: true}
			},
		},
		"failures off": {
			breaker.Settings{Failures: breaker.Failures{Off: true}},
			func(s *breaker.Settings) { s.Failures = breaker.Failures{Off: true} },
		},
		"slow calls off": {
			breaker.Settings{SlowCalls: breaker.SlowCalls{Off: true}},
			func(s *breaker.Settings) { s.SlowCalls = breaker.SlowCalls{Off: true} },
		},
		"rare false alarms": { // written alone, they leave the windows derived
			breaker.Settings{TripWindow: 3 * time.Minute, Failures: breaker.Failures{FalseAlarm: 0.01}, SlowCalls: breaker.SlowCalls{FalseAlarm: 0.02}},
			func(s *breaker.Settings) {
				s.TripWindow = 3 * time.Minute
				s.Failures.Window, s.Failures.FalseAlarm = 30*time.Minute+time.Second, 0.01
				s.SlowCalls.Window, s.SlowCalls.FalseAlarm = 6*time.Minute+time.Second, 0.02
			},
		},
		"rare false alarms, a trip window of a day": {
			breaker.Settings{TripWindow: 24 * time.Hour, Failures: breaker.Failures{FalseAlarm: 0.01}, SlowCalls: breaker.SlowCalls{FalseAlarm: 0.02}},
			func(s *breaker.Settings) {
				s.TripWindow, s.Failures, s.SlowCalls = 24*time.Hour, breaker.Failures{Off: true}, breaker.SlowCalls{Off: true}
			},
		},
		"few last calls": {
			breaker.Settings{TripCalls: 19},
			func(s *breaker.Settings) { s.TripCalls, s.MinimumCalls = 19, 19 },
		},
		"many last calls": {
			breaker.Settings{TripCalls: 21},
			func(s *breaker.Settings) { s.TripCalls, s.MinimumCalls = 21, 20 },
		},
		"few last calls, and a minimum": {
			breaker.Settings{TripCalls: 19, MinimumCalls: 7},
			func(s *breaker.Settings) { s.TripCalls, s.MinimumCalls = 19, 7 },
		},
		"a break at the default maximum": {
			breaker.Settings{BreakDuration: 2 * time.Minute},
			func(s *breaker.Settings) { s.BreakDuration = 2 * time.Minute },
		},
		"a break above it": {
			breaker.Settings{BreakDuration: 2*time.Minute + 1},
			func(s *breaker.Settings) { s.BreakDuration, s.MaximumBreakDuration = 2*time.Minute+1, 2*time.Minute+1 },
		},
		"a maximum at the default break": {
			breaker.Settings{MaximumBreakDuration: 15 * time.Second},
			func(s *breaker.Settings) { s.MaximumBreakDuration = 15 * time.Second },
		},
		"a maximum below it": {
			breaker.Settings{MaximumBreakDuration: 15*time.Second - 1},
			func(s *breaker.Settings) {
				s.BreakDuration, s.MaximumBreakDuration = 15*time.Second-1, 15*time.Second-1
			},
		},
		"a probe timeout": {
			breaker.Settings{ProbeTimeout: 7 * time.Millisecond},
			func(s *breaker.Settings) { s.ProbeTimeout = 7 * time.Millisecond },
		},
	} {
		want := breaker.MustNew(breaker.Settings{}).Effective()
		c.want(&want)
		require.Equal(t, withoutFunctions(want), withoutFunctions(breaker.MustNew(c.given).Effective()), name)
	}
}

// written has every field set, to something else than its default.
var written = breaker.Settings{
	Name:                 "db",
	ConsecutiveFailures:  7,
	FailureRatio:         0.25,
	Failures:             breaker.Failures{Multiple: 4, Window: 10 * time.Minute, MinimumSamples: 50, Floor: 0.1, FalseAlarm: 0.01},
	MinimumCalls:         10,
	TripWindow:           time.Minute,
	TripCalls:            40,
	SlowCallThreshold:    time.Second,
	SlowCalls:            breaker.SlowCalls{Multiple: 2, Quantile: 0.25, Window: 10 * time.Minute, MinimumSamples: 30, FalseAlarm: 0.02},
	SlowCallRatio:        0.75,
	BreakDuration:        2 * time.Second,
	MaximumBreakDuration: 3 * time.Second,
	BreakJitter:          breaker.JitterFull,
	HalfOpenProbes:       3,
	ProbeSuccesses:       4,
	ProbeTimeout:         5 * time.Second,
	Recovery:             breaker.Recovery{Fraction: 0.5, MinimumDuration: 6 * time.Second, MaximumDuration: 7 * time.Second, InitialFraction: 0.125},
}

func TestWrittenValuesAreUsedAsWritten(t *testing.T) {
	mock := clock.NewMock()
	s := written
	s.Classify = func(error) breaker.Verdict { return breaker.Throttled }
	s.Random = func() float64 { return 0.375 }
	s.Clock = mock
	told := 0
	s.OnTransition = func(context.Context, breaker.Transition) { told++ }
	e := breaker.MustNew(s).Effective()
	require.Equal(t, withoutFunctions(written), withoutFunctions(e))
	require.Same(t, mock, e.Clock)
	require.Equal(t, 0.375, e.Random())
	require.Equal(t, breaker.Throttled, e.Classify(errDown))
	e.OnTransition(bg, breaker.Transition{})
	require.Equal(t, 1, told)
}

// The hour is for defaults: whoever writes a long baseline gets it.
func TestWrittenTripsNeverStepAside(t *testing.T) {
	f, c := breaker.FailuresAbove(5), breaker.SlowCallsAbove(3)
	f.Window, c.Window = 1000*time.Hour, 1000*time.Hour
	e := breaker.MustNew(breaker.Settings{TripWindow: 24 * time.Hour, Failures: f, SlowCalls: c}).Effective()
	require.Equal(t, f, e.Failures)
	require.Equal(t, c, e.SlowCalls)
}

// Settings keeps what was left out left out: a default must not come back as written.
func TestSettingsAreKeptAsGiven(t *testing.T) {
	for name, s := range map[string]breaker.Settings{
		"nothing":        {},
		"a name":         {Name: "db"},
		"derived values": {TripWindow: time.Minute, TripCalls: 5, BreakDuration: time.Hour, Recovery: breaker.Recovery{InitialFraction: 0.5}},
		"everything":     written,
	} {
		b := breaker.MustNew(s)
		require.Equal(t, s, b.Settings(), name)
		require.Equal(t, s.Name, b.Name(), name)
		again := breaker.MustNew(b.Settings())
		require.Equal(t, withoutFunctions(b.Effective()), withoutFunctions(again.Effective()), name)
	}
}

// Whatever else is written, a default fits it: it wins its race, or is off.
func TestDefaultsAreNeverRefused(t *testing.T) {
	for _, window := range []time.Duration{0, 1, time.Second, time.Minute, 6 * time.Minute, time.Hour, longest} {
		for _, ratio := range []float64{0, tiny, 0.07, 0.5, 1} {
			for _, d := range []time.Duration{0, 1, time.Minute, longest} {
				for _, s := range []breaker.Settings{
					{TripWindow: window, SlowCallRatio: ratio, MinimumCalls: 1000, BreakDuration: d, Recovery: breaker.Recovery{MinimumDuration: d}},
					{TripWindow: window, SlowCallRatio: ratio, TripCalls: 1, MaximumBreakDuration: d, Recovery: breaker.Recovery{MaximumDuration: d}},
				} {
					e := breaker.MustNew(s).Effective()
					require.True(t, e.Failures.Off || e.Failures.Window.Seconds()/5 >= 2*e.TripWindow.Seconds(), "%+v", e)
					require.True(t, e.SlowCalls.Off || e.SlowCalls.Window.Seconds()/2 >= 2*e.SlowCallRatio*e.TripWindow.Seconds(), "%+v", e)
				}
			}
		}
	}
}
