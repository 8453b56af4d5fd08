package breakersql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakersql"
)

type state string

func (s state) Error() string    { return "state " + string(s) }
func (s state) SQLState() string { return string(s) }

func TestErrorsOfEveryCall(t *testing.T) {
	wellBut := map[error]outcomes{
		io.ErrUnexpectedEOF: {transient: 1}, state("53300"): {transient: 1},
		state("23505"): {permanent: 1}, errAnswer: {permanent: 1},
	}
	for name, ask := range asking {
		for err, want := range wellBut {
			g := newGuarded(t, breaker.Settings{})
			g.warm(t)
			g.fails(name, err)
			require.Equal(t, want, g.during(func() { require.ErrorIs(t, ask(bg, g.db), err) }), "%s: %v", name, err)
		}
	}
	for err, want := range wellBut {
		g := newGuarded(t, breaker.Settings{})
		tx, begun := g.db.Begin()
		require.NoError(t, begun)
		g.fails("commit", err)
		require.Equal(t, want, g.during(func() { require.Equal(t, err, tx.Commit()) }), "commit: %v", err)

		stmt, prepared := g.db.Prepare("prepared")
		require.NoError(t, prepared)
		g.fails("stmt exec", err)
		g.fails("stmt query", err)
		require.Equal(t, want, g.during(func() { _, got := stmt.Exec(); require.Equal(t, err, got) }), "stmt exec: %v", err)
		require.Equal(t, want, g.during(func() { _, got := stmt.Query(); require.Equal(t, err, got) }), "stmt query: %v", err)
		require.NoError(t, stmt.Close())
	}
}

// A connection that opened tells little, and the call that follows more. One that did not
// is a failure, unless the server says that it is the caller's own.
func TestConnect(t *testing.T) {
	g := newGuarded(t, breaker.Settings{})
	require.Equal(t, outcomes{released: 1, ok: 1}, g.during(func() { require.NoError(t, g.db.Ping()) }))
	for err, want := range map[error]outcomes{
		errAnswer: {transient: 1}, io.EOF: {transient: 1}, state("53300"): {transient: 1}, state("57P03"): {transient: 1},
		state("28P01"): {permanent: 1}, state("3D000"): {permanent: 1}, context.Canceled: {canceled: 1},
		driver.ErrBadConn: {transient: 3}, // database/sql tries that often
	} {
		g := newGuarded(t, breaker.Settings{})
		g.fails("connect", err)
		require.Equal(t, want, g.during(func() { require.Equal(t, err, g.db.Ping()) }), err)
	}
}

// An error that leaves no connection behind is a lost connection, if the server did not
// say what it is.
func TestConnectionsThatAreInvalidAfterwards(t *testing.T) {
	for err, want := range map[error]outcomes{errAnswer: {transient: 1}, state("25P03"): {permanent: 1}} {
		g := newGuarded(t, breaker.Settings{})
		g.when("exec", func() error { g.spoil(); return err })
		got := g.during(func() { _, failed := g.db.Exec("exec"); require.Equal(t, err, failed) })
		want.released = 1 // the connect
		require.Equal(t, want, got, err)
	}
}

// driver.ErrBadConn from a connection that waited in the pool is no evidence; from one
// that has just been in use it is.
func TestDeadConnectionsOfThePool(t *testing.T) {
	g := newGuarded(t, breaker.Settings{})
	g.warm(t)
	g.failsOnce("exec", driver.ErrBadConn)
	n := g.during(func() { require.NoError(t, asking["exec"](bg, g.db)) })
	require.Equal(t, outcomes{released: 2, ok: 1}, n, "the dead one, a new one, and what it answered")

	conn, err := g.db.Conn(bg)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(bg, "exec")
	require.NoError(t, err)
	g.failsOnce("exec", driver.ErrBadConn)
	n = g.during(func() { _, err = conn.ExecContext(bg, "exec") })
	require.ErrorIs(t, err, driver.ErrBadConn)
	require.Equal(t, outcomes{transient: 1}, n)
}

func TestNewConnectionsThatAreDead(t *testing.T) {
	g := newGuarded(t, breaker.Settings{})
	g.fails("exec", driver.ErrBadConn)
	n := g.during(func() { require.ErrorIs(t, asking["exec"](bg, g.db), driver.ErrBadConn) })
	require.Equal(t, outcomes{released: 3, transient: 3}, n, "three new ones")
}

// What a driver declines goes on in the prepare that follows, as one attempt.
func TestDeclinedCalls(t *testing.T) {
	g := newGuarded(t, breaker.Settings{})
	g.warm(t)
	g.fails("exec", driver.ErrSkip)
	g.fails("query", driver.ErrSkip)
	for _, name := range []string{"exec", "query"} {
		n := g.during(func() { require.NoError(t, asking[name](bg, g.db)) })
		require.Equal(t, outcomes{ok: 2}, n, "%s: one to prepare and one to execute", name)
	}
	g.fails("prepare", io.EOF)
	require.Equal(t, outcomes{transient: 1}, g.during(func() { require.Error(t, asking["exec"](bg, g.db)) }))

	// Nor does it ask twice: a slot that was given back could be gone.
	g.fails("prepare", nil)
	for g.b.State() == breaker.Closed {
		g.fails("query", io.EOF)
		_ = asking["query"](bg, g.db)
	}
	g.clock.Add(g.b.Effective().BreakDuration)
	g.when("exec", func() error {
		attempt, err := g.b.TryAdmit(bg)
		requireRefusal(t, err, breaker.HalfOpen, "the slot is taken")
		attempt.Release()
		return driver.ErrSkip
	})
	g.when("prepare", func() error {
		_, err := g.b.TryAdmit(bg)
		requireRefusal(t, err, breaker.HalfOpen, "the slot is still taken")
		return nil
	})
	require.NoError(t, asking["exec"](bg, g.db))
	require.Equal(t, breaker.Closed, g.b.State(), "prepared and executed")
}

func TestTheCallersContext(t *testing.T) {
	for name, ask := range asking {
		for _, err := range []error{errAnswer, driver.ErrBadConn, io.EOF, state("57014")} {
			g := newGuarded(t, breaker.Settings{})
			g.warm(t)
			ctx, cancel := context.WithCancel(bg)
			g.when(name, func() error { cancel(); return err })
			n := g.during(func() { require.Error(t, ask(ctx, g.db)) })
			require.Equal(t, outcomes{canceled: 1}, n, "%s: %v", name, err)
		}
	}

	// Whatever the cause, and whatever a classifier would say.
	g := newGuarded(t, breaker.Settings{Classify: func(error) breaker.Verdict { return breaker.Transient }})
	g.warm(t)
	ctx, cancel := context.WithCancelCause(bg)
	g.when("exec", func() error { cancel(io.EOF); return errAnswer })
	require.Equal(t, outcomes{canceled: 1}, g.during(func() { require.Error(t, asking["exec"](ctx, g.db)) }))
}

// A verdict on the error comes before everything that is known of the call: that the
// caller has gone, or that its connection waited in the pool.
func TestCarriedVerdicts(t *testing.T) {
	for _, classify := range []func(error) breaker.Verdict{nil, breakersql.Classify} {
		for verdict, want := range map[breaker.Verdict]outcomes{
			breaker.OK: {ok: 1}, breaker.Transient: {transient: 1}, breaker.Permanent: {permanent: 1},
		} {
			for _, cancelled := range []bool{false, true} {
				g := newGuarded(t, breaker.Settings{Classify: classify})
				g.warm(t)
				conn, err := g.db.Conn(bg) // database/sql tries no other
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(bg)
				g.when("exec", func() error {
					if cancelled {
						cancel()
					}
					return breaker.WithVerdict(driver.ErrBadConn, verdict)
				})
				n := g.during(func() { _, err = conn.ExecContext(ctx, "exec") })
				require.Error(t, err)
				require.Equal(t, want, n, "%v, cancelled: %v", verdict, cancelled)
				cancel()
			}
		}
	}
}

// After a deadline, what a driver says is a timeout, unless the server said what it is.
// One that is shorter than the database normally takes says nothing about it.
func TestDeadlines(t *testing.T) {
	for _, test := range []struct {
		err    error
		normal time.Duration
		want   outcomes
	}{
		{errAnswer, 0, outcomes{transient: 1}},
		{driver.ErrBadConn, 0, outcomes{transient: 1}},
		{state("57014"), 0, outcomes{transient: 1}},
		{state("23505"), 0, outcomes{permanent: 1}},
		{errAnswer, time.Minute, outcomes{canceled: 1}},
		{state("57014"), time.Minute, outcomes{canceled: 1}},
	} {
		g := newGuarded(t, breaker.Settings{})
		for range 50 {
			if attempt, err := g.b.TryAdmit(bg); test.normal > 0 {
				require.NoError(t, err)
				attempt.Record(breaker.OK, test.normal)
			}
		}
		g.warm(t)
		ctx := deadline(t, time.Millisecond)
		g.when("exec", func() error { <-ctx.Done(); return test.err })
		n := g.during(func() { _, _ = g.db.ExecContext(ctx, "exec") })
		require.Equal(t, test.want, n, "%v, normally after %v", test.err, test.normal)
	}
}

// The breaker's own classifier decides, and hears what this package knows besides.
func TestClassifierOfTheSettings(t *testing.T) {
	var heard []error
	g := newGuarded(t, breaker.Settings{Classify: func(err error) breaker.Verdict {
		heard = append(heard, err)
		return breaker.Permanent
	}})
	g.fails("connect", errAnswer)
	require.Equal(t, outcomes{permanent: 1}, g.during(func() { require.Equal(t, errAnswer, g.db.Ping()) }))
	require.Len(t, heard, 1)
	require.ErrorIs(t, heard[0], errAnswer)
	require.ErrorIs(t, heard[0], driver.ErrBadConn, "there is no connection")

	g.fails("connect", nil)
	g.fails("ping", errAnswer)
	require.Equal(t, errAnswer, g.db.Ping())
	require.Equal(t, errAnswer, heard[1], "the connection lives")

	ctx := deadline(t, time.Millisecond)
	g.when("exec", func() error { <-ctx.Done(); return errAnswer })
	_, err := g.db.ExecContext(ctx, "exec")
	require.Equal(t, errAnswer, err)
	require.ErrorIs(t, heard[2], errAnswer)
	require.ErrorIs(t, heard[2], context.DeadlineExceeded)
}

func TestRows(t *testing.T) {
	tests := map[string]struct {
		fails string
		read  func(*sql.Rows)
		want  outcomes
	}{
		"to their end": {"", func(r *sql.Rows) {
			for r.Next() {
			}
		}, outcomes{ok: 1}},
		"closed before their end": {"", func(r *sql.Rows) { r.Next() }, outcomes{ok: 1}},
		"not read at all":         {"", func(r *sql.Rows) {}, outcomes{ok: 1}},
		"breaking off":            {"next", func(r *sql.Rows) { r.Next() }, outcomes{transient: 1}},
		"breaking off in between": {"next set", func(r *sql.Rows) { r.NextResultSet() }, outcomes{transient: 1}},
		"failing to close":        {"close rows", func(r *sql.Rows) {}, outcomes{transient: 1}},
	}
	for name, test := range tests {
		g := newGuarded(t, breaker.Settings{})
		g.warm(t)
		if test.fails != "" {
			g.fails(test.fails, io.ErrUnexpectedEOF)
		}
		rows, err := g.db.Query("query")
		require.NoError(t, err)
		require.Equal(t, outcomes{released: 1, ok: 1}, g.outcomes(), "%s: no verdict yet", name)
		n := g.during(func() { test.read(rows); _ = rows.Close() })
		require.Equal(t, test.want, n, name)
	}
}

func TestNoRowsAreAnAnswer(t *testing.T) {
	g := newGuarded(t, breaker.Settings{})
	g.warm(t)
	g.fails("next", io.EOF)
	n := g.during(func() { require.ErrorIs(t, g.db.QueryRow("query").Scan(), sql.ErrNoRows) })
	require.Equal(t, outcomes{ok: 1}, n)
}

// The latency of a query is that of its answer, however long its rows are read.
func TestLatency(t *testing.T) {
	g := newGuarded(t, breaker.Settings{SlowCalls: breaker.SlowCalls{Multiple: 3, MinimumSamples: 1}})
	g.warm(t)
	takes := func(name string, d time.Duration) {
		g.when(name, func() error { g.clock.Add(d); return nil })
	}
	takes("query", 64*time.Millisecond)
	takes("next", time.Second)
	takes("close rows", time.Second)
	takes("reset", time.Second)
	for range 10 {
		require.NoError(t, read(g.db.Query("query")))
	}
	normal, known := g.b.NormalLatency()
	require.True(t, known)
	require.InDelta(t, 64*time.Millisecond, normal, float64(8*time.Millisecond))

	takes("connect", time.Minute)
	require.NoError(t, g.db.Close())
	g.db = open(t, breakersql.Wrap(g.fake, g.b))
	n := g.b.Snapshot().Totals.Slow
	require.NoError(t, read(g.db.Query("query")))
	require.Equal(t, n, g.b.Snapshot().Totals.Slow, "the time to connect is not the query's")
}

func TestPanicsOfTheDriver(t *testing.T) {
	for _, name := range []string{"exec", "query", "prepare", "begin", "ping", "connect"} {
		g := newGuarded(t, breaker.Settings{})
		ask := asking[name]
		if ask == nil {
			ask = asking["ping"]
		} else {
			g.warm(t)
		}
		g.when(name, func() error { panic("driver") })
		n := g.during(func() { require.PanicsWithValue(t, "driver", func() { _ = ask(bg, g.db) }, name) })
		require.Equal(t, outcomes{permanent: 1}, n, name)
	}
}

// An outage from its start to its end, as a program sees it.
func TestOutage(t *testing.T) {
	var told []string
	g := newGuarded(t, breaker.Settings{OnTransition: func(_ context.Context, tr breaker.Transition) {
		told = append(told, fmt.Sprint(tr.From, " ", tr.To))
	}})
	g.warm(t)
	refused := errors.New("connection refused")
	g.fails("connect", refused)
	g.fails("exec", driver.ErrBadConn)
	for range 5 {
		require.Equal(t, refused, asking["exec"](bg, g.db))
	}
	requireRefusal(t, asking["exec"](bg, g.db), breaker.Open, "five in a row")
	g.clock.Add(15 * time.Second)
	require.Equal(t, refused, asking["exec"](bg, g.db), "a probe")
	requireRefusal(t, asking["exec"](bg, g.db), breaker.Open, "it failed")
	g.fails("connect", nil)
	g.fails("exec", nil)
	g.clock.Add(30 * time.Second)
	require.NoError(t, asking["exec"](bg, g.db))
	require.NoError(t, asking["exec"](bg, g.db))
	require.Equal(t, breaker.Closed, g.b.State())
	require.Equal(t, []string{"closed open", "open half-open", "half-open open", "open half-open", "half-open closed"}, told)
}
