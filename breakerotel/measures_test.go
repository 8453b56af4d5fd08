package breakerotel_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// db writes the name of a series of the breaker "db".
func db(name string, more ...string) string {
	labels := "breaker.name=db"
	for _, label := range more {
		labels += ",breaker." + label
	}
	return name + "{" + labels + "}"
}

// untouched is what is observed of "db" before its first call.
func untouched() map[string]float64 {
	series := map[string]float64{
		db("breaker.status", "state=closed"):                      1,
		db("breaker.consecutive_failures_needed"):                 5,
		"breaker.count{breaker.state=closed}":                     1,
		"breaker.dropped_breakers{breaker.reason=limit}":          0,
		"breaker.dropped_breakers{breaker.reason=duplicate_name}": 0,
	}
	for _, state := range []string{"open", "half-open", "recovering", "isolated"} {
		series[db("breaker.status", "state="+state)] = 0
		series["breaker.count{breaker.state="+state+"}"] = 0
	}
	for _, state := range []string{"closed", "open", "half-open", "recovering", "isolated"} {
		series[db("breaker.time", "state="+state)] = 0
	}
	for _, verdict := range []string{"ok", "transient", "throttled", "permanent", "canceled", "released"} {
		series[db("breaker.calls", "verdict="+verdict)] = 0
	}
	for _, verdict := range []string{"ok", "transient", "other"} {
		series[db("breaker.would_refuse_calls", "verdict="+verdict)] = 0
	}
	for _, outcome := range []string{"succeeded", "failed", "inconclusive"} {
		series[db("breaker.probes", "outcome="+outcome)] = 0
	}
	for cause, to := range map[string][]string{
		"consecutive-failures": {"open"}, "failure-ratio": {"open"}, "relative-failures": {"open"}, "slow-calls": {"open"},
		"probe-failed": {"open"}, "slow-probe": {"open"}, "probes-inconclusive": {"open"}, "ramp-failed": {"open"},
		"break-elapsed": {"half-open"}, "probe-requested": {"half-open"}, "probes-succeeded": {"recovering", "closed"},
		"ramp-completed": {"closed"}, "isolated": {"isolated"}, "reset": {"closed"},
	} {
		for _, state := range to {
			series[db("breaker.transitions", "cause="+cause, "to="+state)] = 0
		}
	}
	for _, name := range []string{
		"shadow", "refused_calls", "slow_calls", "stale_calls", "consecutive_failures",
		"window.calls", "window.failures", "window.slow_calls", "consecutive_opens", "probes_in_flight",
	} {
		series[db("breaker."+name)] = 0
	}
	return series
}

const gone = -1 // for a series that is no longer there

// changed says what differs between two collections.
func changed(before, after map[string]float64) map[string]float64 {
	diff := map[string]float64{}
	for name, value := range after {
		if old, had := before[name]; !had || old != value {
			diff[name] = value
		}
	}
	for name := range before {
		if _, has := after[name]; !has {
			diff[name] = gone
		}
	}
	return diff
}

// One breaker from its first collection to its recovery: after each step, all that has
// changed since the one before.
func TestMeasuresOfAnOutage(t *testing.T) {
	mock := clock.NewMock()
	b := on(mock, breaker.Settings{
		Name:                "db",
		ConsecutiveFailures: 3,
		Failures:            breaker.Failures{MinimumSamples: 20},
		SlowCallThreshold:   time.Second,
		Recovery:            breaker.RecoveryOver(1),
	})
	m := register(t, b, nil)
	var hung, probe breaker.Attempt
	steps := []struct {
		what string
		do   func()
		want map[string]float64
	}{
		{"a slow call, and the other verdicts", func() {
			calls(b, 2, breaker.OK)
			_ = call(b, breaker.OK, time.Second)
			calls(b, 3, breaker.Throttled)
			calls(b, 4, breaker.Permanent)
			calls(b, 5, breaker.Canceled)
			attempt, _ := b.TryAdmit(bg)
			attempt.Release()
			calls(b, 1, breaker.Transient)
		}, map[string]float64{
			db("breaker.calls", "verdict=ok"):        3,
			db("breaker.calls", "verdict=throttled"): 3,
			db("breaker.calls", "verdict=permanent"): 4,
			db("breaker.calls", "verdict=canceled"):  5,
			db("breaker.calls", "verdict=released"):  1,
			db("breaker.calls", "verdict=transient"): 1,
			db("breaker.slow_calls"):                 1,
			db("breaker.consecutive_failures"):       1,
			db("breaker.window.calls"):               4,
			db("breaker.window.failures"):            1,
			db("breaker.window.slow_calls"):          1,
		}},
		{"enough to know what is normal", func() {
			calls(b, 20, breaker.OK)
			mock.Add(40 * time.Second) // out of the trip window
		}, map[string]float64{
			db("breaker.calls", "verdict=ok"):  23,
			db("breaker.time", "state=closed"): 40,
			db("breaker.consecutive_failures"): 0,
			db("breaker.window.calls"):         0,
			db("breaker.window.failures"):      0,
			db("breaker.window.slow_calls"):    0,
			db("breaker.normal_latency"):       0.01024,
			db("breaker.slow_threshold"):       0.03072,
			db("breaker.normal_failure_ratio"): 1.0 / 24,
			db("breaker.trip_ratio"):           5.0 / 24,
		}},
		{"it opens", func() {
			hung, _ = b.TryAdmit(bg)
			calls(b, 3, breaker.Transient)
			calls(b, 7, breaker.OK) // refused
		}, map[string]float64{
			db("breaker.status", "state=closed"):                               0,
			"breaker.count{breaker.state=closed}":                              0,
			db("breaker.status", "state=open"):                                 1,
			"breaker.count{breaker.state=open}":                                1,
			db("breaker.calls", "verdict=transient"):                           4,
			db("breaker.refused_calls"):                                        7,
			db("breaker.transitions", "cause=consecutive-failures", "to=open"): 1,
			db("breaker.last_transition.timestamp"):                            40,
			db("breaker.consecutive_opens"):                                    1,
			db("breaker.normal_failure_ratio"):                                 4.0 / 27,
			db("breaker.trip_ratio"):                                           (1 + 4.5/28) / 2, // the head-room
			db("breaker.retry_after"):                                          15,
			db("breaker.break"):                                                15,
		}},
		{"the break goes on, and one that hung comes late", func() {
			mock.Add(5 * time.Second)
			hung.Record(breaker.Transient, time.Minute)
		}, map[string]float64{
			db("breaker.calls", "verdict=transient"): 5,
			db("breaker.stale_calls"):                1,
			db("breaker.time", "state=open"):         5,
			db("breaker.retry_after"):                10,
		}},
		{"the break is over, and nobody has called", func() {
			mock.Add(15 * time.Second)
		}, map[string]float64{
			db("breaker.status", "state=open"):       0,
			"breaker.count{breaker.state=open}":      0,
			db("breaker.status", "state=half-open"):  1,
			"breaker.count{breaker.state=half-open}": 1,
			db("breaker.time", "state=open"):         20,
			db("breaker.retry_after"):                0,
		}},
		{"a probe is under way", func() {
			probe, _ = b.TryAdmit(bg)
			mock.Add(time.Second)
		}, map[string]float64{
			db("breaker.probes_in_flight"):                                   1,
			db("breaker.last_transition.timestamp"):                          60,
			db("breaker.transitions", "cause=break-elapsed", "to=half-open"): 1,
			db("breaker.time", "state=half-open"):                            1,
			db("breaker.retry_after"):                                        gone,
		}},
		{"the probes succeed", func() {
			probe.Record(breaker.OK, 10*time.Millisecond)
			calls(b, 1, breaker.OK)
			mock.Add(10 * time.Second)
		}, map[string]float64{
			db("breaker.status", "state=half-open"):                              0,
			"breaker.count{breaker.state=half-open}":                             0,
			db("breaker.status", "state=recovering"):                             1,
			"breaker.count{breaker.state=recovering}":                            1,
			db("breaker.calls", "verdict=ok"):                                    25,
			db("breaker.probes_in_flight"):                                       0,
			db("breaker.probes", "outcome=succeeded"):                            2,
			db("breaker.last_transition.timestamp"):                              61,
			db("breaker.transitions", "cause=probes-succeeded", "to=recovering"): 1,
			db("breaker.time", "state=recovering"):                               10,
			db("breaker.admitted_ratio"):                                         0.05 + 0.95*10/15,
			db("breaker.normal_failure_ratio"):                                   4.0 / 29,
			db("breaker.trip_ratio"):                                             (1 + 4.5/30) / 2,
		}},
		{"the ramp is over", func() {
			mock.Add(5 * time.Second)
			calls(b, 1, breaker.OK)
		}, map[string]float64{
			db("breaker.status", "state=recovering"):                       0,
			"breaker.count{breaker.state=recovering}":                      0,
			db("breaker.status", "state=closed"):                           1,
			"breaker.count{breaker.state=closed}":                          1,
			db("breaker.calls", "verdict=ok"):                              26,
			db("breaker.last_transition.timestamp"):                        76,
			db("breaker.transitions", "cause=ramp-completed", "to=closed"): 1,
			db("breaker.consecutive_opens"):                                0,
			db("breaker.time", "state=recovering"):                         15,
			db("breaker.window.calls"):                                     1,
			db("breaker.admitted_ratio"):                                   gone,
			db("breaker.break"):                                            gone,
			db("breaker.normal_failure_ratio"):                             4.0 / 30,
		}},
		{"an operator isolates it", func() {
			b.Isolate()
			mock.Add(time.Second)
		}, map[string]float64{
			db("breaker.status", "state=closed"):                       0,
			"breaker.count{breaker.state=closed}":                      0,
			db("breaker.status", "state=isolated"):                     1,
			"breaker.count{breaker.state=isolated}":                    1,
			db("breaker.time", "state=isolated"):                       1,
			db("breaker.transitions", "cause=isolated", "to=isolated"): 1,
		}},
	}
	before := m.series(t)
	want := untouched()
	want[db("breaker.slow_threshold")] = 1 // the constant
	want[db("breaker.consecutive_failures_needed")] = 3
	require.Equal(t, want, before)
	for _, step := range steps {
		step.do()
		after := m.series(t)
		diff := changed(before, after)
		require.Equal(t, keys(step.want), keys(diff), step.what)
		for name, value := range step.want {
			require.InDelta(t, value, diff[name], 1e-9, "%s: %s", step.what, name)
		}
		before = after
	}
}

func keys(series map[string]float64) map[string]bool {
	names := map[string]bool{}
	for name := range maps.Keys(series) {
		names[name] = true
	}
	return names
}

func TestMeasuresOfADryRun(t *testing.T) {
	b := on(clock.NewMock(), breaker.Settings{Name: "db", Shadow: true, ConsecutiveFailures: 1})
	m := register(t, b, nil)
	calls(b, 1, breaker.Transient)
	calls(b, 2, breaker.OK)
	calls(b, 3, breaker.Transient)
	calls(b, 4, breaker.Throttled)
	series := m.series(t)
	require.Equal(t, 1.0, series[db("breaker.shadow")])
	require.Equal(t, 2.0, series[db("breaker.would_refuse_calls", "verdict=ok")])
	require.Equal(t, 3.0, series[db("breaker.would_refuse_calls", "verdict=transient")])
	require.Equal(t, 4.0, series[db("breaker.would_refuse_calls", "verdict=other")])
	require.Equal(t, 1.0, series[db("breaker.calls", "verdict=transient")])
	require.Zero(t, series[db("breaker.refused_calls")])
	require.Equal(t, 1.0, series[db("breaker.status", "state=open")])
}

// A breaker without a rate trip has no window, and nothing relative.
func TestWhatIsNotKnownIsNotObserved(t *testing.T) {
	b := on(clock.NewMock(), breaker.Settings{Name: "db", DisableAdaptive: true})
	calls(b, 200, breaker.OK)
	series := register(t, b, nil).series(t)
	want := untouched()
	for _, name := range []string{"breaker.window.calls", "breaker.window.failures", "breaker.window.slow_calls"} {
		delete(want, db(name))
	}
	want[db("breaker.calls", "verdict=ok")] = 200
	require.Equal(t, want, series)
}

// Each way in which a breaker moves after it has opened, with the history as the reference.
func TestTransitionsAreThoseOfTheHistory(t *testing.T) {
	mock := clock.NewMock()
	b := on(mock, breaker.Settings{Name: "db", DisableAdaptive: true, SlowCallThreshold: time.Second})
	breakIsOver := func() { mock.Add(2 * time.Minute) }
	calls(b, 5, breaker.Transient)
	b.ProbeNow()
	calls(b, 1, breaker.Transient) // a probe that fails
	breakIsOver()
	calls(b, 10, breaker.Canceled) // probes that say nothing
	breakIsOver()
	_ = call(b, breaker.OK, time.Second) // a slow one
	breakIsOver()
	calls(b, 2, breaker.OK)
	b.Isolate()
	b.Reset()
	s := b.Settings()
	s.Recovery = breaker.RecoveryOver(1)
	require.NoError(t, b.Update(s))
	calls(b, 5, breaker.Transient)
	breakIsOver()
	calls(b, 2, breaker.OK)
	calls(b, 30, breaker.Transient) // in the ramp
	breakIsOver()
	calls(b, 2, breaker.OK)
	breakIsOver()
	calls(b, 1, breaker.OK)

	want := map[string]float64{}
	for _, tr := range b.History() {
		want[db("breaker.transitions", "cause="+tr.Cause.String(), "to="+tr.To.String())]++
	}
	require.Len(t, want, 12)
	series := register(t, b, nil).series(t)
	for name, value := range series {
		if strings.HasPrefix(name, "breaker.transitions{") {
			require.Equal(t, want[name], value, name)
		}
	}
	require.Equal(t, 6.0, series[db("breaker.probes", "outcome=succeeded")])
	require.Equal(t, 2.0, series[db("breaker.probes", "outcome=failed")])
	require.Equal(t, 10.0, series[db("breaker.probes", "outcome=inconclusive")])
}
