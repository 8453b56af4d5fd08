package breaker_test

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

var (
	bg      = context.Background()
	errDown = errors.New("down")
)

const year = 365 * 24 * time.Hour

// rig is a breaker on a mock clock. Scenarios are tables of steps, each an instant, what
// happens at it, and the state that the breaker is in afterwards.
type rig struct {
	*breaker.Breaker
	t        *testing.T
	clock    *clock.Mock
	born     time.Time
	attempts map[string]*breaker.Attempt // under way, by name
	told     []breaker.Transition        // by OnTransition
}

// newRig builds a breaker from s, on a mock clock unless s has one, without jitter unless
// s says otherwise, and with its transitions written down unless s has a listener.
func newRig(t *testing.T, s breaker.Settings) *rig {
	t.Helper()
	r := &rig{t: t, clock: clock.NewMock(), attempts: map[string]*breaker.Attempt{}}
	r.born = r.clock.Now()
	if s.Clock == nil {
		s.Clock = r.clock
	}
	if s.BreakJitter == breaker.JitterEqual && s.Random == nil {
		s.BreakJitter = breaker.JitterNone
	}
	if s.OnTransition == nil {
		s.OnTransition = func(_ context.Context, tr breaker.Transition) { r.told = append(r.told, tr) }
	}
	b, err := breaker.New(s)
	require.NoError(t, err)
	r.Breaker = b
	return r
}

// at moves the clock to an instant, counted from when the breaker was built.
func (r *rig) at(d time.Duration) { r.clock.Set(r.born.Add(d)) }

// withoutChance turns the rules about chance off and leaves the plain ones: the ratios, and
// a run of five unless another is written.
func withoutChance(s breaker.Settings) breaker.Settings {
	s.ConsecutiveFailures = cmp.Or(s.ConsecutiveFailures, 5)
	if !s.Failures.Off {
		s.Failures.FalseAlarm = 1
	}
	if !s.SlowCalls.Off {
		s.SlowCalls.FalseAlarm = 1
	}
	return s
}

type action func(*rig)

type step struct {
	at   time.Duration
	do   action // nil: only look
	want breaker.State
}

func (r *rig) run(steps ...step) {
	r.t.Helper()
	for i, s := range steps {
		r.at(s.at)
		if s.do != nil {
			s.do(r)
		}
		require.Equal(r.t, s.want.String(), r.State().String(), "state after step %d, at %v", i, s.at)
	}
}

// all runs actions one after another, at the same instant.
func all(actions ...action) action {
	return func(r *rig) {
		for _, do := range actions {
			do(r)
		}
	}
}

// calls makes n calls that are admitted, and end at once with a verdict and a latency.
func calls(n int, v breaker.Verdict, d time.Duration) action {
	return func(r *rig) {
		r.t.Helper()
		for i := range n {
			attempt, err := r.TryAdmit(bg)
			require.NoError(r.t, err, "call %d of %d", i+1, n)
			attempt.Record(v, d)
		}
	}
}

func ok(n int) action   { return calls(n, breaker.OK, 10*time.Millisecond) }
func slow(n int) action { return calls(n, breaker.OK, time.Second) }
func fail(n int) action { return calls(n, breaker.Transient, 10*time.Millisecond) }

// refuse makes n calls that are refused.
func refuse(n int) action {
	return func(r *rig) {
		r.t.Helper()
		for i := range n {
			attempt, err := r.TryAdmit(bg)
			attempt.Release() // a zero Attempt does nothing
			require.ErrorIs(r.t, err, breaker.ErrRejected, "call %d of %d", i+1, n)
		}
	}
}

// start admits a call that stays under way, under a name.
func start(name string) action {
	return func(r *rig) {
		r.t.Helper()
		attempt, err := r.TryAdmit(bg)
		require.NoError(r.t, err, "attempt %q", name)
		r.attempts[name] = &attempt
	}
}

// end settles the attempt of that name; its name may be started again.
func end(name string, v breaker.Verdict, d time.Duration) action {
	return func(r *rig) { r.attempts[name].Record(v, d) }
}

func release(name string) action { return func(r *rig) { r.attempts[name].Release() } }

func reset(r *rig)    { r.Reset() }
func isolate(r *rig)  { r.Isolate() }
func probeNow(r *rig) { r.ProbeNow() }

// update changes the settings of the rig's breaker, starting from those in force.
func update(change func(*breaker.Settings)) action {
	return func(r *rig) {
		r.t.Helper()
		s := r.Settings()
		change(&s)
		require.NoError(r.t, r.Update(s))
	}
}

// The functions that calls run: one that succeeds, one that ends with an error, those that
// must not run because the call is refused or its context done, and a fallback that must not.

func succeed(context.Context) error { return nil }

func fails(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func never(context.Context) error { panic("a call ran that was not admitted") }

func neverValue(context.Context) (int, error) { panic("a call ran that was not admitted") }

func noFallback(context.Context, *breaker.RejectedError) (int, error) {
	panic("a fallback ran, and nothing was refused")
}

// causes returns the causes of all transitions, oldest first.
func (r *rig) causes() (causes []breaker.Cause) {
	for _, t := range r.History() {
		causes = append(causes, t.Cause)
	}
	return causes
}

func TestOneOutage(t *testing.T) {
	r := newRig(t, breaker.Settings{Name: "db", DisableAdaptive: true})
	r.run(
		step{at: 0, do: ok(100), want: breaker.Closed},
		step{at: 1 * time.Second, do: fail(4), want: breaker.Closed},
		step{at: 1 * time.Second, do: fail(1), want: breaker.Open},
		step{at: 16*time.Second - 1, do: refuse(1), want: breaker.Open},
		step{at: 16 * time.Second, want: breaker.HalfOpen},
		step{at: 16 * time.Second, do: start("probe"), want: breaker.HalfOpen},
		step{at: 16 * time.Second, do: refuse(1), want: breaker.HalfOpen},
		step{at: 17 * time.Second, do: end("probe", breaker.OK, time.Second), want: breaker.HalfOpen},
		step{at: 17 * time.Second, do: ok(1), want: breaker.Closed},
	)
	require.Equal(t, []breaker.Cause{
		breaker.CauseConsecutiveFailures, breaker.CauseBreakElapsed, breaker.CauseProbesSucceeded,
	}, r.causes())
}
