package breaker_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// holds requires what the trip window holds.
func holds(calls, failures, slow int) action {
	return func(r *rig) {
		r.t.Helper()
		s := r.Snapshot()
		require.True(r.t, s.WindowKnown)
		require.Equal(r.t, [3]int{calls, failures, slow}, [3]int{s.Calls, s.Failures, s.Slow}, "calls, failures, slow")
	}
}

// absolute are settings with an absolute failure trip alone, out of the way of a run.
func absolute(ratio float64, minimumCalls int) breaker.Settings {
	return breaker.Settings{
		DisableAdaptive:     true,
		ConsecutiveFailures: 1_000_000,
		FailureRatio:        ratio,
		MinimumCalls:        minimumCalls,
	}
}

func TestTripWindowSlides(t *testing.T) {
	r := newRig(t, absolute(1, 0))
	r.run(
		step{at: 0, do: all(ok(1), fail(1), holds(2, 1, 0)), want: breaker.Closed},
		step{at: 3*time.Second - 1, do: all(fail(1), holds(3, 2, 0)), want: breaker.Closed},
		step{at: 3 * time.Second, do: all(ok(1), holds(4, 2, 0)), want: breaker.Closed},
		step{at: 30*time.Second - 1, do: holds(4, 2, 0), want: breaker.Closed},
		step{at: 30 * time.Second, do: holds(1, 0, 0), want: breaker.Closed}, // the first bucket, whole
		step{at: 33*time.Second - 1, do: holds(1, 0, 0), want: breaker.Closed},
		step{at: 33 * time.Second, do: holds(0, 0, 0), want: breaker.Closed},
		step{at: 24 * time.Hour, do: holds(0, 0, 0), want: breaker.Closed},
		step{at: 24 * time.Hour, do: all(fail(1), holds(1, 1, 0)), want: breaker.Closed},
	)
}

func TestTripWindowTripsOnNothingStale(t *testing.T) {
	for _, idle := range []time.Duration{30 * time.Second, 31 * time.Second, time.Minute, time.Hour, 1001 * time.Hour} {
		r := newRig(t, absolute(0.5, 20))
		r.run(
			step{at: 0, do: fail(19), want: breaker.Closed},
			step{at: idle, do: fail(19), want: breaker.Closed}, // not the 20th in the window
			step{at: idle, do: fail(1), want: breaker.Open},
		)
	}
}

func TestTripWindowReadsMoveNothing(t *testing.T) {
	for _, calls := range []int{0, 10} {
		s := absolute(0.5, 4)
		s.TripCalls = calls
		r := newRig(t, s)
		r.run(
			step{at: 0, do: fail(3), want: breaker.Closed},
			step{at: 29 * time.Second, do: holds(3, 3, 0), want: breaker.Closed},
			step{at: 30 * time.Second, do: holds(0, 0, 0), want: breaker.Closed},
		)
		// A call whose reading is older than that of the read before it still finds what
		// was there then.
		r.run(
			step{at: 29*time.Second + 500*time.Millisecond, do: holds(3, 3, 0), want: breaker.Closed},
			step{at: 29*time.Second + 500*time.Millisecond, do: fail(1), want: breaker.Open},
		)
	}
}

func TestTripCallsBoundByNumberAndAge(t *testing.T) {
	s := absolute(1, 0)
	s.TripCalls = 10
	r := newRig(t, s)
	r.run(
		step{at: 0, do: all(fail(3), holds(3, 3, 0)), want: breaker.Closed},
		step{at: 1 * time.Second, do: all(ok(7), holds(10, 3, 0)), want: breaker.Closed},
		step{at: 2 * time.Second, do: all(ok(2), holds(10, 1, 0)), want: breaker.Closed}, // the oldest two went
		step{at: 30*time.Second - 1, do: holds(10, 1, 0), want: breaker.Closed},
		step{at: 30 * time.Second, do: holds(9, 0, 0), want: breaker.Closed}, // exactly TripWindow old
		step{at: 31*time.Second - 1, do: holds(9, 0, 0), want: breaker.Closed},
		step{at: 31 * time.Second, do: holds(2, 0, 0), want: breaker.Closed},
		step{at: 31 * time.Second, do: all(fail(9), holds(10, 9, 0)), want: breaker.Closed},
		step{at: 1001 * time.Hour, do: holds(0, 0, 0), want: breaker.Closed},
		step{at: 1001 * time.Hour, do: all(fail(9), holds(9, 9, 0)), want: breaker.Closed},
		step{at: 1001 * time.Hour, do: fail(1), want: breaker.Open},
	)
}

func TestTripWindowOfAnyLength(t *testing.T) {
	tests := []struct {
		length time.Duration
		last   time.Duration // that sees a call made at 0
	}{
		{1, 9}, {9, 9}, {10, 9}, {100, 99}, {time.Second, time.Second - 1}, {year, year - 1},
	}
	for _, tt := range tests {
		s := absolute(1, 3)
		s.TripWindow = tt.length
		r := newRig(t, s)
		r.run(
			step{at: 0, do: all(fail(2), holds(2, 2, 0)), want: breaker.Closed},
			step{at: tt.last, do: holds(2, 2, 0), want: breaker.Closed},
			step{at: tt.last + 1, do: holds(0, 0, 0), want: breaker.Closed},
			step{at: tt.last + 1, do: fail(2), want: breaker.Closed},
			step{at: tt.last + 1, do: fail(1), want: breaker.Open},
		)
	}
}

func TestFailureRatioIsAQuotient(t *testing.T) {
	tests := []struct {
		failures, calls int
		ratio           float64
		trips           bool
	}{
		{7, 100, 0.07, true}, // 0.07*100 is a hair more than 7
		{6, 100, 0.07, false},
		{496, 1000, 0.5, false}, // and not about a half
		{499, 1000, 0.5, false},
		{500, 1000, 0.5, true},
		{1, 3, 1.0 / 3, true},
		{29, 100, 0.29, true},
		{14, 25, 0.56, true},
		{1, 1000, 0.001, true},
		{999, 1000, 1, false},
		{1000, 1000, 1, true},
	}
	for _, tt := range tests {
		for _, tripCalls := range []int{0, tt.calls} {
			s := absolute(tt.ratio, tt.calls)
			s.TripCalls = tripCalls
			r := newRig(t, s)
			ok(tt.calls - tt.failures)(r)
			fail(tt.failures - 1)(r)
			require.Equal(t, breaker.Closed, r.State(), "%+v, one short of MinimumCalls", tt)
			fail(1)(r)
			require.Equal(t, tt.trips, r.State() == breaker.Open, "%+v", tt)
		}
	}
}

func TestMinimumCalls(t *testing.T) {
	tests := []struct {
		name                    string
		minimumCalls, tripCalls int
		want                    int
	}{
		{"default", 0, 0, 20},
		{"default beside more TripCalls", 0, 100, 20},
		{"default beside fewer TripCalls", 0, 10, 10},
		{"written", 7, 0, 7},
		{"written, all of TripCalls", 7, 7, 7},
		{"one", 1, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := absolute(0.5, tt.minimumCalls)
			s.TripCalls = tt.tripCalls
			r := newRig(t, s)
			r.run(
				step{at: 0, do: fail(tt.want - 1), want: breaker.Closed},
				step{at: 0, do: calls(100, breaker.Permanent, 0), want: breaker.Closed}, // not sampled
				step{at: 0, do: calls(100, breaker.Throttled, 0), want: breaker.Closed},
				step{at: 0, do: calls(100, breaker.Canceled, 0), want: breaker.Closed},
				step{at: 0, do: all(start("released"), release("released")), want: breaker.Closed},
				step{at: 0, do: holds(tt.want-1, tt.want-1, 0), want: breaker.Closed},
				step{at: 0, do: fail(1), want: breaker.Open},
			)
			require.Equal(t, []breaker.Cause{breaker.CauseFailureRatio}, r.causes())
		})
	}
}

func TestWindowOnlyWhereARateTripNeedsIt(t *testing.T) {
	failuresOff, slowOff := breaker.Failures{Off: true}, breaker.SlowCalls{Off: true}
	tests := []struct {
		name     string
		settings breaker.Settings
		want     bool
	}{
		{"default", breaker.Settings{}, true},
		{"not adaptive", breaker.Settings{DisableAdaptive: true}, false},
		{"both off", breaker.Settings{Failures: failuresOff, SlowCalls: slowOff}, false},
		{"both off, TripCalls", breaker.Settings{Failures: failuresOff, SlowCalls: slowOff, TripCalls: 50}, false},
		{"both stepped aside", breaker.Settings{TripWindow: 24 * time.Hour}, false},
		{"FailureRatio", breaker.Settings{DisableAdaptive: true, FailureRatio: 0.5}, true},
		{"SlowCallThreshold", breaker.Settings{DisableAdaptive: true, SlowCallThreshold: time.Second}, true},
		{"Failures", breaker.Settings{SlowCalls: slowOff}, true},
		{"SlowCalls", breaker.Settings{Failures: failuresOff}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, tt.settings)
			all(ok(3), fail(2))(r)
			s := r.Snapshot()
			require.Equal(t, tt.want, s.WindowKnown)
			text, err := json.Marshal(s)
			require.NoError(t, err)
			fields := map[string]any{}
			require.NoError(t, json.Unmarshal(text, &fields))
			for _, field := range []string{"calls", "failures", "slow"} {
				require.Equal(t, tt.want, fields[field] != nil, field)
			}
			require.Equal(t, 2, s.Run, "the run needs no window")

			fail(3)(r)
			last := r.Snapshot().Last
			require.Equal(t, breaker.CauseConsecutiveFailures, last.Cause)
			if tt.want {
				require.Equal(t, [2]int{8, 5}, [2]int{last.Calls, last.Failures})
			} else {
				require.Zero(t, [3]int{last.Calls, last.Failures, last.Slow})
				require.Zero(t, s.Calls)
			}
		})
	}
}

func TestTripWindowClearedByOpenCloseAndReset(t *testing.T) {
	for _, calls := range []int{0, 50} {
		s := absolute(0.5, 10)
		s.TripCalls = calls
		s.ProbeSuccesses = 1
		r := newRig(t, s)
		r.run(
			step{at: 0, do: all(fail(9), reset, holds(0, 0, 0)), want: breaker.Closed},
			step{at: 0, do: all(fail(10), holds(0, 0, 0)), want: breaker.Open},
			step{at: 15 * time.Second, do: all(ok(1), holds(0, 0, 0)), want: breaker.Closed},
			step{at: 15 * time.Second, do: all(fail(9), holds(9, 9, 0)), want: breaker.Closed},
			step{at: 15 * time.Second, do: fail(1), want: breaker.Open},
		)
		require.Equal(t, [2]int{10, 10}, [2]int{r.Snapshot().Last.Calls, r.Snapshot().Last.Failures}, "as they stood at the decision")
	}
}
