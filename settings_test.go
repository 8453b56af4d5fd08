package breaker_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

var _ breaker.Clock = (*clock.Mock)(nil)

var (
	nan    = math.NaN()
	inf    = math.Inf(1)
	below1 = math.Nextafter(1, 0)
	above1 = math.Nextafter(1, 2)
)

const (
	tiny    = math.SmallestNonzeroFloat64
	longest = time.Duration(math.MaxInt64)
)

// problems returns what Validate finds wrong. New must refuse the same, and MustNew panic
// with it.
func problems(t *testing.T, s breaker.Settings) []string {
	t.Helper()
	err := s.Validate()
	if err == nil {
		return nil
	}
	require.IsType(t, (*breaker.SettingsError)(nil), err)
	b, refused := breaker.New(s)
	require.Nil(t, b)
	require.Equal(t, err, refused)
	require.Equal(t, err, panicOf(func() { breaker.MustNew(s) }))
	return err.(*breaker.SettingsError).Problems
}

// panicOf returns the value that f panics with, or nil.
func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// rule is what one field alone must keep.
type rule[T any] struct {
	field string
	set   func(*breaker.Settings, T)
}

func (r rule[T]) accepts(t *testing.T, values ...T) {
	t.Helper()
	for _, v := range values {
		var s breaker.Settings
		r.set(&s, v)
		require.Empty(t, problems(t, s), "%s %v", r.field, v)
	}
}

// refuses holds the problem to the field, the rule and the value.
func (r rule[T]) refuses(t *testing.T, must string, values ...T) {
	t.Helper()
	for _, v := range values {
		var s breaker.Settings
		r.set(&s, v)
		require.Equal(t, []string{fmt.Sprintf("%s must %s, got %v", r.field, must, v)}, problems(t, s))
	}
}

func TestCounts(t *testing.T) {
	for _, r := range []rule[int]{
		{"ConsecutiveFailures", func(s *breaker.Settings, n int) { s.ConsecutiveFailures = n }},
		{"MinimumCalls", func(s *breaker.Settings, n int) { s.MinimumCalls = n }},
		{"ProbeSuccesses", func(s *breaker.Settings, n int) { s.ProbeSuccesses = n }},
		{"Failures.MinimumSamples", func(s *breaker.Settings, n int) { s.Failures.MinimumSamples = n }},
		{"SlowCalls.MinimumSamples", func(s *breaker.Settings, n int) { s.SlowCalls.MinimumSamples = n }},
	} {
		r.accepts(t, 0, 1, math.MaxInt)
		r.refuses(t, "not be negative", -1, math.MinInt)
	}
	for _, r := range []rule[int]{
		{"TripCalls", func(s *breaker.Settings, n int) { s.TripCalls = n }},
		{"HalfOpenProbes", func(s *breaker.Settings, n int) { s.HalfOpenProbes = n }},
	} {
		r.accepts(t, 0, 1, 999_999, 1_000_000)
		r.refuses(t, "be at most 1000000", 1_000_001, math.MaxInt)
		r.refuses(t, "not be negative", -1, math.MinInt)
	}
}

func TestRatios(t *testing.T) {
	for _, r := range []rule[float64]{
		{"FailureRatio", func(s *breaker.Settings, r float64) { s.FailureRatio = r }},
		{"SlowCallRatio", func(s *breaker.Settings, r float64) { s.SlowCallRatio = r }},
		{"Failures.Floor", func(s *breaker.Settings, r float64) { s.Failures.Floor = r }},
		{"Failures.FalseAlarm", func(s *breaker.Settings, r float64) { s.Failures.FalseAlarm = r }},
		{"SlowCalls.FalseAlarm", func(s *breaker.Settings, r float64) { s.SlowCalls.FalseAlarm = r }},
	} {
		r.accepts(t, 0, tiny, 0.07, below1, 1)
		r.refuses(t, "be in (0, 1]", -tiny, -0.5, -1, above1, 50, nan, inf, -inf)
	}
}

func TestDurations(t *testing.T) {
	for _, r := range []rule[time.Duration]{
		{"TripWindow", func(s *breaker.Settings, d time.Duration) { s.TripWindow = d }},
		{"SlowCallThreshold", func(s *breaker.Settings, d time.Duration) { s.SlowCallThreshold = d }},
		{"BreakDuration", func(s *breaker.Settings, d time.Duration) { s.BreakDuration = d }},
		{"MaximumBreakDuration", func(s *breaker.Settings, d time.Duration) { s.MaximumBreakDuration = d }},
		{"ProbeTimeout", func(s *breaker.Settings, d time.Duration) { s.ProbeTimeout = d }},
		{"Recovery.MinimumDuration", func(s *breaker.Settings, d time.Duration) { s.Recovery.MinimumDuration = d }},
		{"Recovery.MaximumDuration", func(s *breaker.Settings, d time.Duration) { s.Recovery.MaximumDuration = d }},
		{"Failures.Window", func(s *breaker.Settings, d time.Duration) { s.Failures.Window, s.TripWindow = d, 1 }},
		{"SlowCalls.Window", func(s *breaker.Settings, d time.Duration) { s.SlowCalls.Window, s.TripWindow = d, 1 }},
	} {
		r.accepts(t, 0, 10, time.Hour, longest)
		r.refuses(t, "not be negative", -1, -time.Hour, math.MinInt64)
	}
}

func TestBreakJitterIsKnown(t *testing.T) {
	r := rule[breaker.Jitter]{"BreakJitter", func(s *breaker.Settings, j breaker.Jitter) { s.BreakJitter = j }}
	r.accepts(t, breaker.JitterEqual, breaker.JitterNone, breaker.JitterFull)
	r.refuses(t, "be JitterEqual, JitterNone or JitterFull", 3, 255)
}

// Two fields that must fit each other, where someone wrote both.
func TestFieldsThatMustFit(t *testing.T) {
	for name, c := range map[string]struct {
		settings breaker.Settings
		want     []string
	}{
		"break at its maximum":        {breaker.Settings{BreakDuration: time.Second, MaximumBreakDuration: time.Second}, nil},
		"break above its maximum":     {breaker.Settings{BreakDuration: time.Second + 1, MaximumBreakDuration: time.Second}, []string{"MaximumBreakDuration must be at least BreakDuration (1.000000001s), got 1s"}},
		"a long break alone":          {breaker.Settings{BreakDuration: time.Hour}, nil},
		"a short maximum alone":       {breaker.Settings{MaximumBreakDuration: 1}, nil},
		"minimum at the last calls":   {breaker.Settings{MinimumCalls: 10, TripCalls: 10}, nil},
		"minimum above them":          {breaker.Settings{MinimumCalls: 11, TripCalls: 10}, []string{"TripCalls must be at least MinimumCalls (11), got 10: the window could never hold enough calls"}},
		"few last calls alone":        {breaker.Settings{TripCalls: 1}, nil},
		"a large minimum alone":       {breaker.Settings{MinimumCalls: 1_000_000_000}, nil},
		"a negative break, a maximum": {breaker.Settings{BreakDuration: -1, MaximumBreakDuration: 1}, []string{"BreakDuration must not be negative, got -1ns"}},
		"a negative minimum":          {breaker.Settings{MinimumCalls: -1, TripCalls: 1}, []string{"MinimumCalls must not be negative, got -1"}},

		"adaptive off":                       {breaker.Settings{DisableAdaptive: true}, nil},
		"adaptive off, both trips off":       {breaker.Settings{DisableAdaptive: true, Failures: breaker.Failures{Off: true}, SlowCalls: breaker.SlowCalls{Off: true}}, nil},
		"adaptive off, constants":            {breaker.Settings{DisableAdaptive: true, FailureRatio: 0.5, SlowCallThreshold: time.Second, SlowCallRatio: 1}, nil},
		"adaptive off, rare false alarms":    {breaker.Settings{DisableAdaptive: true, Failures: breaker.Failures{FalseAlarm: 0.01}, SlowCalls: breaker.SlowCalls{FalseAlarm: 0.02}}, nil},
		"adaptive off, a long trip window":   {breaker.Settings{DisableAdaptive: true, TripWindow: 24 * time.Hour}, nil},
		"both trips off, a long trip window": {breaker.Settings{Failures: breaker.Failures{Off: true}, SlowCalls: breaker.SlowCalls{Off: true}, TripWindow: longest}, nil},
		"adaptive off, trips written": {
			breaker.Settings{DisableAdaptive: true, Failures: breaker.FailuresAbove(5), SlowCalls: breaker.SlowCalls{Multiple: 3}},
			[]string{
				"DisableAdaptive turns Failures off, got it with Failures.Multiple 5, Failures.Window 5m0s, Failures.MinimumSamples 100, Failures.Floor 0.05, Failures.FalseAlarm 5e-05: keep one of the two",
				"DisableAdaptive turns SlowCalls off, got it with SlowCalls.Multiple 3: keep one of the two",
			},
		},
	} {
		require.Equal(t, c.want, problems(t, c.settings), name)
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	require.Equal(t, []string{
		"ConsecutiveFailures must not be negative, got -1",
		"FailureRatio must be in (0, 1], got 1.5",
		"Failures.Multiple must be a finite number above 1, got 1",
		"Failures.Window must not be negative, got -2ns",
		"Failures.MinimumSamples must not be negative, got -3",
		"Failures.Floor must be in (0, 1], got -0.5",
		"Failures.FalseAlarm must be in (0, 1], got -0.25",
		"MinimumCalls must not be negative, got -4",
		"TripWindow must not be negative, got -5ns",
		"TripCalls must not be negative, got -6",
		"SlowCallThreshold must not be negative, got -7ns",
		"SlowCalls.Multiple must be a finite number above 1, got NaN",
		"SlowCalls.Quantile must be in (0, 0.5], got 0.99",
		"SlowCalls.Window must not be negative, got -8ns",
		"SlowCalls.MinimumSamples must not be negative, got -9",
		"SlowCalls.FalseAlarm must be in (0, 1], got +Inf",
		"SlowCallRatio must be in (0, 1], got 2",
		"BreakDuration must not be negative, got -10ns",
		"MaximumBreakDuration must not be negative, got -11ns",
		"BreakJitter must be JitterEqual, JitterNone or JitterFull, got Jitter(12)",
		"HalfOpenProbes must be at most 1000000, got 1300000",
		"ProbeSuccesses must not be negative, got -14",
		"ProbeTimeout must not be negative, got -15ns",
		"Recovery.Fraction must be a finite number and not negative, got -0.16",
		"Recovery.MinimumDuration must not be negative, got -17ns",
		"Recovery.MaximumDuration must not be negative, got -18ns",
		"Recovery.InitialFraction must be in (0, 1), got 1",
	}, problems(t, breaker.Settings{
		ConsecutiveFailures:  -1,
		FailureRatio:         1.5,
		Failures:             breaker.Failures{Multiple: 1, Window: -2, MinimumSamples: -3, Floor: -0.5, FalseAlarm: -0.25},
		MinimumCalls:         -4,
		TripWindow:           -5,
		TripCalls:            -6,
		SlowCallThreshold:    -7,
		SlowCalls:            breaker.SlowCalls{Multiple: nan, Quantile: 0.99, Window: -8, MinimumSamples: -9, FalseAlarm: inf},
		SlowCallRatio:        2,
		BreakDuration:        -10,
		MaximumBreakDuration: -11,
		BreakJitter:          12,
		HalfOpenProbes:       1_300_000,
		ProbeSuccesses:       -14,
		ProbeTimeout:         -15,
		Recovery:             breaker.Recovery{Fraction: -0.16, MinimumDuration: -17, MaximumDuration: -18, InitialFraction: 1},
	}))
}

// untouchable is a clock that nobody may look at.
type untouchable struct{ t *testing.T }

func (c untouchable) Now() time.Time {
	c.t.Error("Now called")
	return time.Time{}
}

func (c untouchable) After(time.Duration) <-chan time.Time {
	c.t.Error("After called")
	return nil
}

func TestValidateCallsNothing(t *testing.T) {
	s := breaker.Settings{
		Classify:     func(error) breaker.Verdict { t.Error("Classify called"); return breaker.OK },
		OnTransition: func(context.Context, breaker.Transition) { t.Error("OnTransition called") },
		Clock:        untouchable{t},
		Random:       func() float64 { t.Error("Random called"); return 0 },
	}
	require.NoError(t, s.Validate())
	s.HalfOpenProbes = -1
	require.Error(t, s.Validate())
	_, err := breaker.New(s)
	require.Error(t, err, "and New does not, once it refuses")
}

func TestNewBreakerIsClosed(t *testing.T) {
	for _, b := range []*breaker.Breaker{
		breaker.MustNew(breaker.Settings{}),
		breaker.MustNew(written),
		breaker.Of(5, time.Second, "db"),
	} {
		require.Equal(t, breaker.Closed, b.State())
		require.Empty(t, b.History())
	}
}

func TestOf(t *testing.T) {
	for _, c := range []struct {
		failures     int
		duration     time.Duration
		wantMaximum  time.Duration
		wantProblems []string
	}{
		{failures: 1, duration: 1, wantMaximum: 2 * time.Minute},
		{failures: 3, duration: 2 * time.Minute, wantMaximum: 2 * time.Minute},
		{failures: 3, duration: 2*time.Minute + 1, wantMaximum: 2*time.Minute + 1},
		{failures: math.MaxInt, duration: longest, wantMaximum: longest},
		{failures: 0, duration: time.Second, wantProblems: []string{"ConsecutiveFailures must not be 0"}},
		{failures: 1, duration: 0, wantProblems: []string{"BreakDuration must not be 0"}},
		{failures: 0, duration: 0, wantProblems: []string{"ConsecutiveFailures must not be 0", "BreakDuration must not be 0"}},
		{failures: -1, duration: -2, wantProblems: []string{"ConsecutiveFailures must not be negative, got -1", "BreakDuration must not be negative, got -2ns"}},
		{failures: 0, duration: -2, wantProblems: []string{"ConsecutiveFailures must not be 0", "BreakDuration must not be negative, got -2ns"}},
	} {
		if c.wantProblems != nil {
			require.Equal(t, &breaker.SettingsError{Problems: c.wantProblems},
				panicOf(func() { breaker.Of(c.failures, c.duration, "db") }))
			continue
		}
		want := breaker.MustNew(breaker.Settings{}).Effective()
		want.Name = "db"
		want.ConsecutiveFailures = c.failures
		want.BreakDuration = c.duration
		want.MaximumBreakDuration = c.wantMaximum
		require.Equal(t, withoutFunctions(want), withoutFunctions(breaker.Of(c.failures, c.duration, "db").Effective()))
	}
}
