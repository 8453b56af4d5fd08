package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/simulation"
)

// down is steady with the dependency down from the first call to the last.
func down() simulation.Scenario { return steady(simulation.Incident{Kind: simulation.Outage}) }

func TestRetriesMultiplyTheLoad(t *testing.T) {
	s := down()
	s.Callers.Retries = 3
	require.EqualValues(t, 4, run(t, s).LoadMultiplier)
	s.NoBreaker = false
	require.Less(t, run(t, s).LoadMultiplier, 0.05, "a breaker stops them too")
}

// Each try takes a millisecond.
func TestBackoffDoubles(t *testing.T) {
	for _, test := range []struct {
		retries int
		backoff time.Duration
		want    time.Duration // of waits
	}{
		{3, 0, 0},
		{3, 10 * time.Millisecond, (10 + 20 + 40) * time.Millisecond},
		{3, 20 * time.Second, (20 + 40 + 60) * time.Second},
		{30, time.Microsecond, (1<<26-1)*time.Microsecond + 4*time.Minute},
		{40, 3 * time.Hour, 40 * 3 * time.Hour},
		{100, 31 * 24 * time.Hour, 100 * 31 * 24 * time.Hour},
	} {
		s := down()
		s.Duration, s.Load.Rate = time.Second, 1
		s.Callers = simulation.Callers{Retries: test.retries, Backoff: test.backoff}
		require.Equal(t, test.want+time.Duration(test.retries+1)*time.Millisecond, run(t, s).Waited.Max, test)
	}
}

func TestNoRetryBeyondTheDeadline(t *testing.T) {
	s := down()
	s.Callers.Retries, s.Callers.Backoff, s.Callers.Deadline = 3, 10*time.Millisecond, 35*time.Millisecond
	r := run(t, s)
	require.EqualValues(t, 3, r.LoadMultiplier)
	require.Equal(t, 33*time.Millisecond, r.Waited.Max)
}

func TestDeadline(t *testing.T) {
	s := steady()
	s.Callers.Deadline = 5 * time.Millisecond
	r := run(t, s)
	require.Equal(t, r.Calls.Offered, r.Calls.Failed)
	require.Equal(t, 5*time.Millisecond, r.Waited.Max)
}

// A deadline that is shorter than the normal latency tells a breaker nothing, a timeout
// inside the call does: so the breaker must have seen the one and not the other.
func TestDeadlineIsTheCallersAndTimeoutIsNot(t *testing.T) {
	s := steady(factor(simulation.Incident{Kind: simulation.Latency, Start: 10 * time.Second, Duration: 5 * time.Second}, 2))
	s.NoBreaker = false
	s.Callers = simulation.Callers{Deadline: 10*time.Millisecond + 1}
	r := run(t, s)
	require.EqualValues(t, 500, r.Calls.Failed)
	require.Empty(t, r.Opens)
	s.Callers = simulation.Callers{Timeout: 10*time.Millisecond + 1}
	require.NotEmpty(t, run(t, s).Opens)
}

func TestCancellations(t *testing.T) {
	s := steady(simulation.Incident{Kind: simulation.Hang, Start: 10 * time.Second})
	s.NoBreaker = false
	s.Callers.CancelShare, s.Callers.CancelAfter = 1, 3*time.Millisecond
	r := run(t, s)
	require.Equal(t, r.Calls.Offered, r.Calls.Canceled)
	require.Equal(t, 3*time.Millisecond, r.Waited.Max)
	require.Empty(t, r.Opens, "a caller who goes away says nothing")

	s.Callers.CancelShare, s.Incidents = 0.3, nil
	require.InDelta(t, 900, run(t, s).Calls.Canceled, 100)
	s.Callers.CancelAfter = 0 // half of the median
	require.InDelta(t, 900, run(t, s).Calls.Canceled, 100)
	s.Callers.CancelAfter = 11 * time.Millisecond
	require.Zero(t, run(t, s).Calls.Canceled, "they have their answer by then")
}

func TestRefusedCallersPause(t *testing.T) {
	s := down()
	s.NoBreaker = false
	require.Equal(t, 100*time.Millisecond, run(t, s).Waited.Max)
	s.Callers.Deadline = 70 * time.Millisecond
	require.Equal(t, 70*time.Millisecond, run(t, s).Waited.Max, "the pause ends with the deadline")
	s.Callers.NoPause = true
	require.Equal(t, time.Millisecond, run(t, s).Waited.Max)
}

func TestRetriesOfRefusals(t *testing.T) {
	s := down()
	s.NoBreaker = false
	s.Callers.Retries = 2
	r := run(t, s)
	require.Less(t, r.Attempts.Refused, 2*r.Calls.Offered)
	s.Callers.RetryRefusals = true
	r = run(t, s)
	require.Equal(t, 3*r.Calls.Offered, r.Attempts.Asked)
	require.Equal(t, 300*time.Millisecond, r.Waited.Max)
}

// What is refused is split by what the model would have answered, the same as what it
// answers without a breaker.
func TestRefusedAreSplitByWhatWouldHaveBeen(t *testing.T) {
	for name, callers := range map[string]simulation.Callers{
		"one try":                     {},
		"retries":                     {Retries: 3},
		"no time for all of them":     {Retries: 3, Backoff: 10 * time.Millisecond, Deadline: 65 * time.Millisecond},
		"some go away between tries":  {Retries: 3, Backoff: 10 * time.Millisecond, CancelShare: 0.5, CancelAfter: 35 * time.Millisecond},
		"refusals retried as well":    {Retries: 3, RetryRefusals: true, Backoff: 10 * time.Millisecond},
		"and the pauses eat the time": {Retries: 3, RetryRefusals: true, Backoff: 10 * time.Millisecond, Deadline: 350 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			s := steady(simulation.Incident{Kind: simulation.Failing, Start: 10 * time.Second, Share: 0.7})
			s.Callers = callers
			without := run(t, s)
			s.NoBreaker = false
			r := run(t, s)
			require.Greater(t, r.Calls.Refused, int64(1000))
			require.Equal(t, without.Calls.Served, r.Calls.Served+r.Calls.RefusedServable)
			require.InDelta(t, float64(r.Calls.Served)/float64(without.Calls.Served), r.Goodput, 1e-6)
		})
	}
}

// A setting changes what a breaker does, and not what happens to the calls.
func TestSettingsMoveNoCall(t *testing.T) {
	s := steady(shareOf(incident(simulation.Failing), 0.7))
	s.NoBreaker, s.Instances = false, 3
	s.Load.Poisson = true
	one := run(t, s)
	s.Settings = breaker.Settings{ConsecutiveFailures: 2, DisableAdaptive: true, BreakJitter: breaker.JitterFull}
	other := run(t, s)
	require.NotEqual(t, one.Calls.Refused, other.Calls.Refused)
	require.Equal(t, one.Calls.Served+one.Calls.RefusedServable, other.Calls.Served+other.Calls.RefusedServable)
	for i := range one.Timeline {
		require.Equal(t, one.Timeline[i].Offered, other.Timeline[i].Offered)
	}
}

func TestHump(t *testing.T) {
	s := steady()
	s.Dependency.Hump = simulation.Hump{Share: 0.4, Median: 50 * time.Millisecond, P99: 50 * time.Millisecond}
	r := run(t, s)
	requireLatency(t, usual, r.Latency.P50)
	requireLatency(t, 50*time.Millisecond, r.Latency.P90)
	s.Dependency.Hump.Share = 0.6
	requireLatency(t, 50*time.Millisecond, run(t, s).Latency.P50)
}

func TestLatencyHasItsMedianAndP99(t *testing.T) {
	s := steady()
	s.Duration, s.Load.Rate = 100*time.Second, 1000
	s.Dependency.P99 = 80 * time.Millisecond
	r := run(t, s)
	require.InEpsilon(t, 10*time.Millisecond, r.Latency.P50, 0.05)
	require.InEpsilon(t, 80*time.Millisecond, r.Latency.P99, 0.06)
}
