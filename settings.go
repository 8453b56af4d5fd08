package breaker

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"
)

// Settings configures a breaker. The zero value of every field means its
// default, so Settings{Name: "db"} is a complete configuration. A Settings is a
// plain value: copy it, change the copy, build another breaker with it.
//
// [Settings.Validate] tells what [New] would refuse. [Settings.UnmarshalJSON] reads
// settings from a file. docs/defaults.md gives the arithmetic behind each default.
type Settings struct {
	// Name appears in errors, transitions, metrics and health reports. Set it: it is
	// what tells breakers apart there. The default is the empty name.
	Name string `json:"name"`

	// DisableAdaptive turns both relative trips, Failures and SlowCalls, off.
	// What remains are ConsecutiveFailures and the absolute FailureRatio and
	// SlowCallThreshold. It is an error beside a Failures or SlowCalls that
	// someone wrote, unless that one is Off as well. Default false.
	DisableAdaptive bool `json:"disable_adaptive"`

	// ConsecutiveFailures is the number of failures in a row that open the
	// breaker. It needs no traffic to mean anything, which makes it the trip
	// that works from the first call on and at two calls an hour. Default 5, or
	// more for a dependency that is known to fail so often that five in a row
	// are ordinary; see Failures.FalseAlarm. A written value is used as written.
	ConsecutiveFailures int `json:"consecutive_failures"`

	// FailureRatio opens the breaker when at least this share of the calls in
	// the trip window failed, in (0, 1]. Default 0: off.
	FailureRatio float64 `json:"failure_ratio"`

	// Failures opens the breaker when the failure rate rises to a multiple of
	// the dependency's own. Default FailuresAbove(5), with a baseline window
	// that widens with TripWindow; Failures{Off: true} turns it off.
	Failures Failures `json:"failures"`

	// MinimumCalls is how many sampled calls the trip window must hold before
	// any ratio of it is looked at. Default 20, or TripCalls if that is less.
	MinimumCalls int `json:"minimum_calls"`

	// TripWindow is the length of the sliding window over which the ratios that
	// trip are measured. Default 30 s.
	TripWindow time.Duration `json:"trip_window"`

	// TripCalls bounds the trip window by number as well: only the last
	// TripCalls samples count, and of those only the ones within TripWindow. At
	// most 1,000,000, and 16 bytes each. Default 0: bounded by time alone.
	TripCalls int `json:"trip_calls"`

	// SlowCallThreshold is a constant at and above which a call that succeeded
	// is slow. Default 0: none.
	SlowCallThreshold time.Duration `json:"slow_call_threshold"`

	// SlowCalls makes a call slow at a multiple of the dependency's own normal
	// latency. Default SlowCallsAbove(3), with a baseline window that widens
	// with TripWindow; SlowCalls{Off: true} turns it off. With SlowCallThreshold
	// beside it, the lower of the two decides.
	SlowCalls SlowCalls `json:"slow_calls"`

	// SlowCallRatio is the share of slow calls in the trip window that opens the
	// breaker, or the least share that can; see SlowCalls.FalseAlarm. In (0, 1].
	// Default 0.5.
	SlowCallRatio float64 `json:"slow_call_ratio"`

	// BreakDuration is how long the first break lasts, before jitter. It doubles
	// with every consecutive open. Default 15 s, or MaximumBreakDuration if that
	// is less.
	BreakDuration time.Duration `json:"break_duration"`

	// MaximumBreakDuration caps the doubling; equal to BreakDuration it turns the
	// growth off. Default 2 min, or BreakDuration if that is longer.
	MaximumBreakDuration time.Duration `json:"maximum_break_duration"`

	// BreakJitter says how much of a break is random. Default JitterEqual.
	BreakJitter Jitter `json:"break_jitter"`

	// HalfOpenProbes is how many probes may be under way at once. At most
	// 1,000,000. Default 1.
	HalfOpenProbes int `json:"half_open_probes"`

	// ProbeSuccesses is how many successful probes close the breaker or start
	// the ramp. In a ramp it is also how many fast calls in a row raise the
	// admitted fraction. Default 2.
	ProbeSuccesses int `json:"probe_successes"`

	// ProbeTimeout is how long a probe may take before another caller may have
	// its slot. Default 0: the break being served, and at least 1 s.
	ProbeTimeout time.Duration `json:"probe_timeout"`

	// Recovery hands the traffic back over a ramp once the probes succeeded.
	// Default: no ramp. See [RecoveryOver].
	Recovery Recovery `json:"recovery"`

	// Shadow makes the breaker measure and decide as usual and refuse nothing: a dry run.
	// What it would have refused runs, is no evidence, and is counted by how it ended; see
	// [Totals]. Default false. See docs/dry-run.md.
	Shadow bool `json:"shadow"`

	// Classify turns the error of a call into a verdict. It is asked for errors
	// only: a nil error is OK. It comes after a verdict that the error carries
	// and after the rule for cancelled callers, and it must be safe for
	// concurrent use. If it panics, the call counts as Permanent and the panic
	// goes up. Default [Classify].
	Classify func(error) Verdict `json:"-"`

	// OnTransition is told of every transition but three: Isolate, Reset, and
	// Recovering to Closed at the end of a ramp are silent. So it is no source for a
	// gauge of the state; read [Breaker.State] or [Breaker.Snapshot] for that.
	//
	// It is told outside the breaker's lock, one at a time and in order, with the
	// context of the call that caused it. It may call any method of the breaker. It
	// runs in the goroutine of a call, which waits for it: hand long work to a
	// goroutine of your own. If it panics, the panic goes up in that call. Default
	// none.
	OnTransition func(context.Context, Transition) `json:"-"`

	// Clock is where the breaker reads the time. Default the system clock.
	Clock Clock `json:"-"`

	// Random gives numbers in [0, 1) for the jitter; one outside counts as 0.
	// It must be safe for concurrent use. If it panics, that goes up in the call
	// that opened the breaker, whose outcome counts. Default rand.Float64 of
	// math/rand/v2.
	Random func() float64 `json:"-"`
}

// The defaults, each written once. docs/defaults.md says why.
const (
	defaultConsecutiveFailures  = 5
	defaultMinimumCalls         = 20
	defaultTripWindow           = 30 * time.Second
	defaultSlowCallRatio        = 0.5
	defaultBreakDuration        = 15 * time.Second
	defaultMaximumBreakDuration = 2 * time.Minute
	defaultHalfOpenProbes       = 1
	defaultProbeSuccesses       = 2
	minimumProbeTimeout         = time.Second

	// A default baseline widens with the trip window up to here; beyond it the
	// trip that needs it is off.
	widestDefaultBaseline = time.Hour

	// Both TripCalls and HalfOpenProbes are memory that someone asked for by
	// writing a number; this is where a number is taken for a mistake.
	mostSlots = 1_000_000
)

// The breaker keeps its settings as they were given and asks these methods for
// the values in force: half the memory of two copies, and one home a default.

func (s *Settings) consecutiveFailures() int {
	return cmp.Or(s.ConsecutiveFailures, defaultConsecutiveFailures)
}

func (s *Settings) minimumCalls() int {
	switch {
	case s.MinimumCalls != 0:
		return s.MinimumCalls
	case s.TripCalls != 0:
		return min(s.TripCalls, defaultMinimumCalls)
	}
	return defaultMinimumCalls
}

func (s *Settings) tripWindow() time.Duration { return cmp.Or(s.TripWindow, defaultTripWindow) }
func (s *Settings) slowCallRatio() float64    { return cmp.Or(s.SlowCallRatio, defaultSlowCallRatio) }
func (s *Settings) halfOpenProbes() int       { return cmp.Or(s.HalfOpenProbes, defaultHalfOpenProbes) }
func (s *Settings) probeSuccesses() int       { return cmp.Or(s.ProbeSuccesses, defaultProbeSuccesses) }

func (s *Settings) breakDuration() time.Duration {
	if s.BreakDuration == 0 && s.MaximumBreakDuration != 0 {
		return min(defaultBreakDuration, s.MaximumBreakDuration)
	}
	return cmp.Or(s.BreakDuration, defaultBreakDuration)
}

func (s *Settings) maximumBreakDuration() time.Duration {
	return cmp.Or(s.MaximumBreakDuration, max(defaultMaximumBreakDuration, s.BreakDuration))
}

func (s *Settings) random() func() float64 {
	if s.Random == nil {
		return rand.Float64
	}
	return s.Random
}

// hasWindow reports that some trip goes by a rate.
func (s *Settings) hasWindow() bool {
	return s.FailureRatio > 0 || !s.failures().Off || s.SlowCallThreshold > 0 || !s.slowCalls().Off
}

// effective fills in every default and derived value.
func (s Settings) effective() Settings {
	e := s
	e.ConsecutiveFailures = s.consecutiveFailures()
	e.Failures = s.failures()
	e.MinimumCalls = s.minimumCalls()
	e.TripWindow = s.tripWindow()
	e.SlowCalls = s.slowCalls()
	e.SlowCallRatio = s.slowCallRatio()
	e.BreakDuration = s.breakDuration()
	e.MaximumBreakDuration = s.maximumBreakDuration()
	e.HalfOpenProbes = s.halfOpenProbes()
	e.ProbeSuccesses = s.probeSuccesses()
	e.Recovery = s.recovery()
	if e.Classify == nil {
		e.Classify = Classify
	}
	if e.Clock == nil {
		e.Clock = systemClock{}
	}
	e.Random = s.random()
	return e
}

// Validate reports every problem of s at once, as a [*SettingsError], or nil.
// Each problem names the field, the rule and the value. Only values that someone
// wrote can be refused: a default steps aside. It changes nothing, and it calls
// none of the functions in s.
func (s Settings) Validate() error {
	var p problems
	p.count("ConsecutiveFailures", s.ConsecutiveFailures)
	p.ratio("FailureRatio", s.FailureRatio)
	s.validateFailures(&p)
	p.count("MinimumCalls", s.MinimumCalls)
	p.duration("TripWindow", s.TripWindow)
	p.slots("TripCalls", s.TripCalls)
	if s.TripCalls > 0 && s.MinimumCalls > s.TripCalls {
		p.add("TripCalls must be at least MinimumCalls (%d), got %d: the window could never hold enough calls", s.MinimumCalls, s.TripCalls)
	}
	p.duration("SlowCallThreshold", s.SlowCallThreshold)
	s.validateSlowCalls(&p)
	p.ratio("SlowCallRatio", s.SlowCallRatio)
	p.duration("BreakDuration", s.BreakDuration)
	p.duration("MaximumBreakDuration", s.MaximumBreakDuration)
	if s.MaximumBreakDuration > 0 && s.MaximumBreakDuration < s.BreakDuration {
		p.add("MaximumBreakDuration must be at least BreakDuration (%v), got %v", s.BreakDuration, s.MaximumBreakDuration)
	}
	if !s.BreakJitter.known() {
		p.add("BreakJitter must be JitterEqual, JitterNone or JitterFull, got %v", s.BreakJitter)
	}
	p.slots("HalfOpenProbes", s.HalfOpenProbes)
	p.count("ProbeSuccesses", s.ProbeSuccesses)
	p.duration("ProbeTimeout", s.ProbeTimeout)
	s.Recovery.validate(&p)
	return p.err()
}

// problems gathers what Validate finds. Its checks let a zero pass, which stands
// for the default.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return &SettingsError{Problems: p}
}

func (p problems) mustBeNone() {
	if err := p.err(); err != nil {
		panic(err)
	}
}

// writtenIn lists the fields of a struct that are not zero, with their values, in the
// words that a problem has for them.
func writtenIn(name string, of any) string {
	var fields []string
	for i, v := 0, reflect.ValueOf(of); i < v.NumField(); i++ {
		if !v.Field(i).IsZero() {
			fields = append(fields, fmt.Sprintf("%s.%s %v", name, v.Type().Field(i).Name, v.Field(i)))
		}
	}
	return strings.Join(fields, ", ")
}

// given refuses the zero that is not a field left out but an argument written.
func (p *problems) given(field string, ok bool) {
	if !ok {
		p.add("%s must not be 0", field)
	}
}

func (p *problems) count(field string, n int) {
	if n < 0 {
		p.add("%s must not be negative, got %d", field, n)
	}
}

func (p *problems) slots(field string, n int) {
	p.count(field, n)
	if n > mostSlots {
		p.add("%s must be at most %d, got %d", field, mostSlots, n)
	}
}

func (p *problems) duration(field string, d time.Duration) {
	if d < 0 {
		p.add("%s must not be negative, got %v", field, d)
	}
}

func (p *problems) ratio(field string, r float64) {
	if r != 0 && !(r > 0 && r <= 1) { // NaN fails every comparison
		p.add("%s must be in (0, 1], got %v", field, r)
	}
}

func (p *problems) multiple(field string, m float64) {
	if m != 0 && !(m > 1 && !math.IsInf(m, 1)) {
		p.add("%s must be a finite number above 1, got %v", field, m)
	}
}
