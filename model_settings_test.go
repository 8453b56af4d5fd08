package breaker_test

import (
	"math"
	"time"

	"github.com/normal-go/breaker"
)

// filled fills in every default.
func filled(s breaker.Settings) breaker.Settings {
	orInt := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	orFloat := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}
	orTime := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	orInt(&s.ConsecutiveFailures, 5)
	if s.TripCalls > 0 {
		orInt(&s.MinimumCalls, min(20, s.TripCalls))
	}
	orInt(&s.MinimumCalls, 20)
	orTime(&s.TripWindow, 30*time.Second)
	orFloat(&s.SlowCallRatio, 0.5)
	if s.MaximumBreakDuration > 0 {
		orTime(&s.BreakDuration, min(15*time.Second, s.MaximumBreakDuration))
	}
	orTime(&s.BreakDuration, 15*time.Second)
	orTime(&s.MaximumBreakDuration, max(2*time.Minute, s.BreakDuration))
	orInt(&s.HalfOpenProbes, 1)
	orInt(&s.ProbeSuccesses, 2)

	failures := s.Failures
	failures.FalseAlarm = 0
	failuresWritten := failures != breaker.Failures{}
	orFloat(&s.Failures.FalseAlarm, 5e-5)
	orFloat(&s.Failures.Multiple, 5)
	orInt(&s.Failures.MinimumSamples, 100)
	orFloat(&s.Failures.Floor, 0.05)
	if !failuresWritten {
		s.Failures.Window, s.Failures.Off = derived(10 * s.TripWindow)
	}
	orTime(&s.Failures.Window, 5*time.Minute)

	slow := s.SlowCalls
	slow.FalseAlarm = 0
	slowWritten := slow != breaker.SlowCalls{}
	orFloat(&s.SlowCalls.FalseAlarm, 5e-5)
	orFloat(&s.SlowCalls.Multiple, 3)
	orFloat(&s.SlowCalls.Quantile, 0.5)
	orInt(&s.SlowCalls.MinimumSamples, 20)
	if !slowWritten {
		s.SlowCalls.Window, s.SlowCalls.Off = derived(time.Duration(4 * s.SlowCallRatio * float64(s.TripWindow)))
	}
	orTime(&s.SlowCalls.Window, 5*time.Minute)
	if s.DisableAdaptive {
		s.Failures.Off, s.SlowCalls.Off = true, true
	}

	if r := s.Recovery; r != (breaker.Recovery{}) {
		orFloat(&s.Recovery.Fraction, 0.25)
		orFloat(&s.Recovery.InitialFraction, 0.05)
		switch {
		case r.MinimumDuration == 0 && r.MaximumDuration > 0:
			s.Recovery.MinimumDuration = min(time.Second, r.MaximumDuration)
		case r.MinimumDuration > 0 && r.MaximumDuration == 0:
			s.Recovery.MaximumDuration = max(30*time.Second, r.MinimumDuration)
		}
		orTime(&s.Recovery.MinimumDuration, time.Second)
		orTime(&s.Recovery.MaximumDuration, 30*time.Second)
	}
	return s
}

// derived is the window of a baseline that nobody wrote, and whether it is off.
func derived(need time.Duration) (time.Duration, bool) {
	if need > 5*time.Minute {
		return need + time.Second, need > time.Hour
	}
	return 5 * time.Minute, false
}

const headerBytes = 33

// decodeSettings makes settings of numbers so small that things happen. All zeros are the
// defaults.
func decodeSettings(header []byte) (s breaker.Settings, draws []float64, mood int) {
	next := func() int {
		b := header[0]
		header = header[1:]
		return int(b)
	}
	first := next()
	s.DisableAdaptive, s.Shadow = first%16 == 15, first/16%8 == 7
	s.ConsecutiveFailures = pick(next(), 0, 0, 0, 3, 5, 8, 1000, 2, 1)
	s.FailureRatio = pick(next(), 0, 0, 0, 0.07, 0.3, 0.5, 1)
	s.MinimumCalls = pick(next(), 0, 1, 2, 5, 10)
	s.TripWindow = pick(next(), 0, time.Second, 10*time.Second, 7*time.Second+3, 40*time.Second, 15, 3, 100, 400*time.Second)
	s.TripCalls = pick(next(), 0, 0, 0, 1, 3, 10, 25)
	if s.TripCalls > 0 {
		s.MinimumCalls = min(s.MinimumCalls, s.TripCalls)
	}
	s.SlowCallThreshold = pick(next(), 0, 0, 0, 5*time.Microsecond, 20*time.Millisecond, time.Second)
	s.SlowCallRatio = pick(next(), 0, 0.05, 0.3, 0.5, 1)
	s.BreakDuration = pick(next(), 0, time.Second, 2*time.Second, 64, 4*time.Second, 2*time.Minute, 4*time.Minute)
	s.MaximumBreakDuration = pick(next(), 0, s.BreakDuration, 4*s.BreakDuration, 3*s.BreakDuration)
	s.BreakJitter = pick(next(), breaker.JitterEqual, breaker.JitterNone, breaker.JitterFull)
	s.HalfOpenProbes = pick(next(), 0, 1, 2, 3, 3)
	s.ProbeSuccesses = pick(next(), 0, 1, 2, 3, 5, 9, 12, 4)
	s.ProbeTimeout = pick(next(), 0, time.Second, 32, 10*time.Second)
	functions := next()
	s.Name = pick(functions/2, "db", "replica")
	if functions%2 == 1 {
		s.Classify = func(err error) breaker.Verdict {
			if err == errUnknown {
				return breaker.Verdict(77)
			}
			return breaker.Classify(err)
		}
	}

	written, chance := next(), pick(next(), 0, 1, 0.5, 0.1, 0.01, 1e-9)
	window, multiple, minimum := next(), next(), next()
	tripWindow, ratio := filled(s).TripWindow, filled(s).SlowCallRatio
	switch floor := next(); {
	case written%8 == 7:
		s.Failures.Off = true
	case s.DisableAdaptive:
	case written%8 < 6:
		s.Failures = breaker.Failures{
			Multiple: pick(multiple, 0, 2, 1.5, 10), MinimumSamples: pick(minimum, 0, 1, 5, 20, 2, 10),
			Floor: pick(floor, 0, 0.01, 0.2, 1),
		}
		if s.Failures != (breaker.Failures{}) {
			need := 2 * pick(multiple, 5, 2, 1.5, 10) * float64(tripWindow)
			s.Failures.Window = time.Duration(pick(window, 1, 1.3, 2, 10)*need) + 1
		}
		fallthrough
	default:
		s.Failures.FalseAlarm = chance
	}

	written, chance = next(), pick(next(), 0, 1, 0.5, 0.1, 0.01, 1e-9)
	window, multiple, minimum = next(), next(), next()
	switch quantile := next(); {
	case written%8 == 7:
		s.SlowCalls.Off = true
	case s.DisableAdaptive:
	case written%8 < 6:
		s.SlowCalls = breaker.SlowCalls{
			Multiple: pick(multiple, 0, 2, 1.5, 10, 1.0001234567), MinimumSamples: pick(minimum, 0, 1, 5, 20, 2, 10),
			Quantile: pick(quantile, 0, 0.1, 0.25, 0.28),
		}
		if s.SlowCalls != (breaker.SlowCalls{}) {
			need := 2 * ratio * float64(tripWindow) / pick(quantile, 0.5, 0.1, 0.25, 0.28)
			s.SlowCalls.Window = time.Duration(pick(window, 1, 1.3, 2, 10)*need) + 1
		}
		fallthrough
	default:
		s.SlowCalls.FalseAlarm = chance
	}

	ramp := next()
	fraction, initial, length := next(), next(), next()
	if ramp%4 != 0 {
		s.Recovery = breaker.Recovery{
			Fraction: pick(fraction, 0.25, 1, 3), InitialFraction: pick(initial, 0, 0.1, 0.25, 0.5, 0.9),
		}
		switch length % 4 {
		case 1:
			s.Recovery.MinimumDuration = 10
		case 2:
			s.Recovery.MaximumDuration = 500 * time.Millisecond
		case 3:
			s.Recovery.MinimumDuration, s.Recovery.MaximumDuration = 3*time.Second, 20*time.Second
		}
	}
	// Draws of which a break of any length above takes a whole number of nanoseconds.
	draws = pick(next(), []float64{0}, []float64{0.5, 0.25, 0.9375}, []float64{-1, 0.75, 1, 0.125, math.NaN()})
	return s, draws, next()
}

func pick[T any](b int, from ...T) T { return from[b%len(from)] }
