package breakerprom_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

const ms = time.Millisecond

// Every series is there before the first call, or nobody would see the first failure grow
// out of nothing; only what is not known is absent.
func TestBeforeTheFirstCall(t *testing.T) {
	clock := newHandClock()
	b := breaker.MustNew(settings("db", clock))
	clock.move(1500 * ms)
	requireScrape(t, "testdata/new.prom", b)
}

// requireScrape compares what a real handler serves with a file.
func requireScrape(t *testing.T, file string, source breaker.Source) {
	t.Helper()
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	status, got := get(t, endpoint(t, registry(t, source, nil)))
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, string(want), got)
}

// busy takes a breaker through a bit of everything, and leaves it in a ramp.
func busy(t *testing.T, clock *handClock) *breaker.Breaker {
	t.Helper()
	s := settings("db", clock)
	s.Recovery = breaker.RecoveryOver(0.5)
	b := breaker.MustNew(s)
	call(t, b, 195, breaker.OK, 10*ms)
	call(t, b, 2, breaker.Transient, 10*ms)
	call(t, b, 3, breaker.OK, time.Second)
	call(t, b, 4, breaker.Throttled, ms)
	call(t, b, 6, breaker.Permanent, ms)
	call(t, b, 7, breaker.Canceled, ms)
	late, err := b.TryAdmit(context.Background())
	require.NoError(t, err)
	released, err := b.TryAdmit(context.Background())
	require.NoError(t, err)
	released.Release()
	clock.move(time.Minute)
	open(t, b)
	refuse(t, b, 8)
	clock.move(10 * time.Second)
	call(t, b, 3, breaker.Throttled, ms) // probes that decide nothing
	call(t, b, 1, breaker.Transient, ms) // and one that fails
	clock.move(4 * time.Second)          // of a break of 20 s
	late.Record(breaker.Transient, 0)
	b.ProbeNow()
	call(t, b, 2, breaker.OK, 10*ms) // a ramp of 10 s begins
	clock.move(2 * time.Second)
	refuse(t, b, 4) // it admits 24 %
	call(t, b, 1, breaker.OK, 10*ms)
	clock.move(500 * time.Millisecond)
	require.Equal(t, breaker.Recovering, b.State())
	return b
}

func TestAfterABitOfEverything(t *testing.T) {
	requireScrape(t, "testdata/busy.prom", busy(t, newHandClock()))
}

// In each state there is what can be known in it, and nothing else.
func TestWhatIsKnownInEachState(t *testing.T) {
	clock := newHandClock()
	s := settings("db", clock)
	s.Recovery = breaker.RecoveryOver(1)
	b := breaker.MustNew(s)
	url := endpoint(t, registry(t, b, nil))
	const absent = ""
	for i, c := range []struct {
		do                                         func()
		state                                      breaker.State
		brk, retryAfter, admitted, opens, inFlight string
	}{
		{func() {}, breaker.Closed, absent, absent, absent, "0", "0"},
		{func() { open(t, b) }, breaker.Open, "10", "10", absent, "1", "0"},
		{func() { clock.move(4 * time.Second) }, breaker.Open, "10", "6", absent, "1", "0"},
		{func() { clock.move(7 * time.Second) }, breaker.HalfOpen, "10", "0", absent, "1", "0"},
		{func() { call(t, b, 1, breaker.OK, 0) }, breaker.HalfOpen, "10", absent, absent, "1", "0"},
		{func() { _, _ = b.TryAdmit(context.Background()) }, breaker.HalfOpen, "10", absent, absent, "1", "1"},
		{func() { clock.move(time.Minute); call(t, b, 1, breaker.OK, 0) }, breaker.Recovering, "10", absent, "0.05", "1", "0"},
		{func() { clock.move(5 * time.Second) }, breaker.Recovering, "10", absent, "0.525", "1", "0"},
		{func() { clock.move(5 * time.Second) }, breaker.Closed, absent, absent, absent, "1", "0"},
		{func() { call(t, b, 1, breaker.OK, 0) }, breaker.Closed, absent, absent, absent, "0", "0"},
		{func() { b.Isolate() }, breaker.Isolated, absent, absent, absent, "0", "0"},
		{func() { b.Reset() }, breaker.Closed, absent, absent, absent, "0", "0"},
	} {
		c.do()
		series := scrape(t, url)
		for state := breaker.Closed; state <= breaker.Isolated; state++ {
			want := "0"
			if state == c.state {
				want = "1"
			}
			require.Equal(t, want, series[`breaker_state{breaker="db",state="`+state.String()+`"}`], "%v in step %d", state, i)
			require.Equal(t, want, series[`breaker_collector_breakers{state="`+state.String()+`"}`], "%v in step %d", state, i)
		}
		for name, want := range map[string]string{
			"break_seconds": c.brk, "retry_after_seconds": c.retryAfter, "admitted_ratio": c.admitted,
			"consecutive_opens": c.opens, "probes_in_flight": c.inFlight,
		} {
			require.Equal(t, want, series["breaker_"+name+`{breaker="db"}`], "%s in step %d", name, i)
		}
	}
}

// Where no rate trip is configured there is no window, and no baseline.
func TestWithoutAWindow(t *testing.T) {
	b := breaker.MustNew(breaker.Settings{Name: "db", DisableAdaptive: true, Clock: newHandClock()})
	call(t, b, 200, breaker.OK, 10*ms)
	series := scrape(t, endpoint(t, registry(t, b, nil)))
	require.Equal(t, "200", series[`breaker_calls_total{breaker="db",verdict="ok"}`])
	for _, absent := range []string{"window_calls", "window_failures", "window_slow_calls", "trip_ratio",
		"normal_latency_seconds", "normal_failure_ratio", "slow_threshold_seconds"} {
		require.NotContains(t, series, "breaker_"+absent+`{breaker="db"}`)
	}
}

func TestDryRun(t *testing.T) {
	s := settings("db", newHandClock())
	s.Shadow = true
	b := breaker.MustNew(s)
	open(t, b)
	call(t, b, 2, breaker.OK, 0)
	call(t, b, 3, breaker.Transient, 0)
	call(t, b, 4, breaker.Throttled, 0)
	series := scrape(t, endpoint(t, registry(t, b, nil)))
	for one, want := range map[string]string{
		`breaker_shadow{breaker="db"}`:                                       "1",
		`breaker_state{breaker="db",state="open"}`:                           "1",
		`breaker_refused_calls_total{breaker="db"}`:                          "0",
		`breaker_would_refuse_calls_total{breaker="db",verdict="ok"}`:        "2",
		`breaker_would_refuse_calls_total{breaker="db",verdict="transient"}`: "3",
		`breaker_would_refuse_calls_total{breaker="db",verdict="other"}`:     "4",
		`breaker_calls_total{breaker="db",verdict="transient"}`:              "5",
	} {
		require.Equal(t, want, series[one], one)
	}
}

// What it became and why adds up to the history, wherever a breaker wanders.
func TestTransitions(t *testing.T) {
	all := map[string]bool{}
	for seed := range uint64(40) {
		clock, random := newHandClock(), rand.New(rand.NewPCG(seed, 0))
		s := settings("db", clock)
		s.FailureRatio, s.SlowCallThreshold = 0.3, time.Second
		if seed%2 == 1 {
			s.Recovery = breaker.RecoveryOver(0.1)
		}
		b := breaker.MustNew(s)
		wander(b, clock, random)

		want, got := map[string]string{}, map[string]string{}
		for _, tr := range b.History() {
			one := fmt.Sprintf(`breaker_transitions_total{breaker="db",cause="%v",to="%v"}`, tr.Cause, tr.To)
			n, _ := strconv.Atoi(want[one])
			want[one], all[one] = strconv.Itoa(n+1), true
		}
		for one, value := range scrape(t, endpoint(t, registry(t, b, nil))) {
			if strings.HasPrefix(one, "breaker_transitions_total") && value != "0" {
				got[one] = value
			}
		}
		require.Equal(t, want, got, "seed %d", seed)
	}
	require.Len(t, all, 14, "all of fifteen but relative-failures: %v", all)
}

// wander leads a breaker through fifty transitions or more, which its history has room for.
func wander(b *breaker.Breaker, clock *handClock, random *rand.Rand) {
	mood, latency := breaker.OK, ms
	for len(b.History()) < 50 {
		switch random.IntN(100) {
		case 0:
			b.Isolate()
		case 1, 2:
			b.Reset()
		case 3:
			b.ProbeNow()
		case 4, 5, 6:
			mood = breaker.Verdict(random.IntN(3))
		case 7:
			latency = time.Duration(1 + random.Int64N(int64(1500*ms)))
		case 8, 9, 10, 11, 12:
			clock.move(time.Duration(random.Int64N(int64(5 * time.Second))))
		default:
			how := mood
			if random.IntN(4) == 0 {
				how = breaker.OK
			}
			if attempt, err := b.TryAdmit(context.Background()); err == nil {
				attempt.Record(how, latency)
			}
		}
	}
}

// The time in a state may fall by a moment in the core, when a call decides by a reading of
// the clock from before the last look. To Prometheus that would be a restart, and all of the
// time before it would count again.
func TestTimeNeverFalls(t *testing.T) {
	clock := newHandClock()
	b := breaker.MustNew(settings("db", clock))
	url := endpoint(t, registry(t, b, nil))
	closed := func() string { return scrape(t, url)[`breaker_state_seconds_total{breaker="db",state="closed"}`] }
	clock.move(10 * time.Second)
	require.Equal(t, "10", closed())
	clock.move(-500 * ms)
	open(t, b)
	require.Equal(t, 9500*ms, b.Snapshot().Totals.TimeIn[breaker.Closed])
	require.Equal(t, "10", closed())
	clock.move(time.Second)
	b.Reset()
	clock.move(2 * time.Second)
	require.Equal(t, "11.5", closed())
}

// A scrape reads the clock of a breaker once: all series come from one cut.
func TestOneSnapshotAScrape(t *testing.T) {
	clock := newHandClock()
	r := registry(t, breaker.List{breaker.MustNew(settings("a", clock)), breaker.MustNew(settings("b", clock))}, nil)
	before := clock.reads
	_, err := r.Gather()
	require.NoError(t, err)
	require.Equal(t, 2, clock.reads-before)
}

// Prometheus asks for the format that it likes best.
func TestFormats(t *testing.T) {
	handler := promhttp.HandlerFor(registry(t, busy(t, newHandClock()), nil), promhttp.HandlerOpts{EnableOpenMetrics: true})
	for accept, want := range map[string]string{
		"application/openmetrics-text;version=1.0.0": "# EOF\n",
		"text/plain;version=0.0.4":                   `breaker_would_refuse_calls_total{breaker="db",verdict="transient"} 0` + "\n",
	} {
		request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		request.Header.Set("Accept", accept)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		require.Equal(t, http.StatusOK, answer.Code)
		require.True(t, strings.HasSuffix(answer.Body.String(), want), accept)
		require.Contains(t, answer.Body.String(), `breaker_calls_total{breaker="db",verdict="ok"} 201`, accept)
	}
}
