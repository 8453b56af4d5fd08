package breakersql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakersql"
)

// asking are the ways to ask a database, by name.
var asking = map[string]func(context.Context, *sql.DB) error{
	"exec":  func(ctx context.Context, db *sql.DB) error { _, err := db.ExecContext(ctx, "exec"); return err },
	"ping":  func(ctx context.Context, db *sql.DB) error { return db.PingContext(ctx) },
	"query": func(ctx context.Context, db *sql.DB) error { return read(db.QueryContext(ctx, "query")) },
	"begin": func(ctx context.Context, db *sql.DB) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		return tx.Rollback()
	},
	"prepare": func(ctx context.Context, db *sql.DB) error {
		stmt, err := db.PrepareContext(ctx, "prepared")
		if err != nil {
			return err
		}
		return stmt.Close()
	},
}

// read reads rows to their end.
func read(rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	return errors.Join(rows.Err(), rows.Close())
}

func requireRefusal(t *testing.T, err error, want breaker.State, what string) {
	t.Helper()
	var refusal *breaker.RejectedError
	require.ErrorAs(t, err, &refusal, what)
	require.Equal(t, want, refusal.State, what)
	require.NotErrorIs(t, err, driver.ErrBadConn, what)
}

// One refusal a call, and nothing for the driver to do. The clock stands still, so a pause
// would never end.
func TestRefusalsReachTheCallerAndNotTheDriver(t *testing.T) {
	for name, ask := range asking {
		for _, pooled := range []bool{false, true} {
			g := newGuarded(t, breaker.Settings{})
			if pooled {
				g.warm(t)
			}
			g.b.Isolate()
			n := g.during(func() { requireRefusal(t, ask(bg, g.db), breaker.Isolated, name) })
			require.Equal(t, outcomes{refused: 1}, n, name)
			for _, call := range g.taken() {
				require.Equal(t, "reset 1", call, name) // of the session, before the question
			}
			g.b.Reset()
			require.NoError(t, ask(bg, g.db), name)
			require.Equal(t, 1, g.db.Stats().OpenConnections, "the pool keeps its connection")
		}
	}
}

func TestStatementsAreRefused(t *testing.T) {
	g := newGuarded(t, breaker.Settings{})
	stmt, err := g.db.Prepare("prepared")
	require.NoError(t, err)
	defer stmt.Close()
	g.b.Isolate()
	_, err = stmt.Exec()
	requireRefusal(t, err, breaker.Isolated, "exec")
	_, err = stmt.Query()
	requireRefusal(t, err, breaker.Isolated, "query")
	g.b.Reset()
	require.NoError(t, read(stmt.Query()))
}

// Nobody waits for the connection of a caller who is told off.
func TestRefusalsDoNotHoldThePool(t *testing.T) {
	g := newGuarded(t, breaker.Settings{})
	g.warm(t)
	g.b.Isolate()
	errs := make(chan error)
	for range 100 {
		go func() { errs <- asking["query"](bg, g.db) }()
	}
	for range 100 {
		requireRefusal(t, <-errs, breaker.Isolated, "query")
	}
}

func TestATransactionIsRefusedAtItsBeginOrNotAtAll(t *testing.T) {
	for _, state := range []breaker.State{breaker.Closed, breaker.Isolated} {
		g := newGuarded(t, breaker.Settings{})
		tx, err := g.db.Begin()
		require.NoError(t, err)
		stmt, err := tx.Prepare("prepared")
		require.NoError(t, err)
		if state == breaker.Isolated {
			g.b.Isolate()
		}
		g.taken()
		n := g.during(func() {
			_, err = tx.Exec("exec")
			require.NoError(t, err)
			require.NoError(t, read(tx.Query("query")))
			_, err = stmt.Exec()
			require.NoError(t, err)
			require.NoError(t, tx.Commit())
		})
		require.Contains(t, g.taken(), "commit 1")
		want := outcomes{ok: 4} // exec, query, statement, commit
		if state == breaker.Isolated {
			want = outcomes{} // neither refused nor heard of
		}
		require.Equal(t, want, n, state)

		if state == breaker.Isolated {
			_, err = g.db.Begin()
			requireRefusal(t, err, state, "begin")
			_, err = g.db.Exec("exec")
			requireRefusal(t, err, state, "after the transaction")
		}
	}
}

func TestRollbackIsNoEvidence(t *testing.T) {
	g := newGuarded(t, breaker.Settings{})
	g.fails("rollback", driver.ErrBadConn)
	for _, isolated := range []bool{false, true} {
		tx, err := g.db.Begin()
		require.NoError(t, err)
		if isolated {
			g.b.Isolate()
		}
		g.taken()
		require.Zero(t, g.during(func() { require.Error(t, tx.Rollback()) }))
		require.Contains(t, g.taken(), map[bool]string{false: "rollback 1", true: "rollback 2"}[isolated])
	}
}

func TestAfterATransaction(t *testing.T) {
	for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
		g := newGuarded(t, breaker.Settings{})
		tx, err := g.db.Begin()
		require.NoError(t, err)
		require.NoError(t, end(tx))
		g.b.Isolate()
		requireRefusal(t, asking["exec"](bg, g.db), breaker.Isolated, "the same connection")
	}
}

// A transaction that a probe began goes on while other callers have the slot.
func TestATransactionBehindAProbe(t *testing.T) {
	g := newGuarded(t, breaker.Settings{})
	g.warm(t)
	g.fails("exec", driver.ErrBadConn)
	for g.b.State() == breaker.Closed {
		_, _ = g.db.Exec("exec")
	}
	g.fails("exec", nil)
	g.clock.Add(g.b.Effective().BreakDuration)
	tx, err := g.db.Begin() // the probe; its connection is one too, and decides nothing
	require.NoError(t, err)
	require.Equal(t, breaker.HalfOpen, g.b.State())
	attempt, err := g.b.TryAdmit(bg) // somebody else's
	require.NoError(t, err)
	require.Zero(t, g.during(func() {
		_, err = tx.Exec("exec")
		require.NoError(t, err)
		require.NoError(t, tx.Commit())
	}))
	attempt.Done(nil)
	require.Equal(t, breaker.Closed, g.b.State())
}

func TestContextThatIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(bg)
	cancel()
	for name, ask := range asking {
		g := newGuarded(t, breaker.Settings{})
		g.warm(t)
		require.Zero(t, g.during(func() { require.ErrorIs(t, ask(ctx, g.db), context.Canceled, name) }))
		require.Empty(t, g.taken(), name)
	}
}

func TestMistakes(t *testing.T) {
	b, _ := newBreaker(t, breaker.Settings{})
	const text = "breakersql: Wrap with a nil connector or a nil breaker"
	require.PanicsWithValue(t, text, func() { breakersql.Wrap(nil, b) })
	require.PanicsWithValue(t, text, func() { breakersql.Wrap(newFake(), nil) })
	require.Panics(t, func() { breakersql.Wrap(newFake(), new(breaker.Breaker)) })
}

// Some drivers let a transaction begin within another. The end of one is not that of both.
func TestATransactionWithinAnother(t *testing.T) {
	for name, end := range map[string]func(*sql.Tx) error{"commit": (*sql.Tx).Commit, "rollback": (*sql.Tx).Rollback} {
		g := newGuarded(t, breaker.Settings{})
		conn, err := g.db.Conn(bg)
		require.NoError(t, err)
		outer, err := conn.BeginTx(bg, nil)
		require.NoError(t, err)
		inner, err := conn.BeginTx(bg, nil)
		require.NoError(t, err)
		require.NoError(t, end(inner))
		g.b.Isolate()
		_, err = outer.Exec("exec")
		require.NoError(t, err, name)
		require.NoError(t, outer.Commit(), name)
		_, err = conn.ExecContext(bg, "exec")
		requireRefusal(t, err, breaker.Isolated, name)
		require.NoError(t, conn.Close())
	}
}

// A transaction that nobody ended is over with its connection's way back into the pool.
func TestATransactionLeftOnItsConnection(t *testing.T) {
	g := newGuarded(t, breaker.Settings{})
	conn, err := g.db.Conn(bg)
	require.NoError(t, err)
	require.NoError(t, conn.Raw(func(c any) error {
		_, err := c.(driver.ConnBeginTx).BeginTx(bg, driver.TxOptions{})
		return err
	}))
	_, err = conn.ExecContext(bg, "COMMIT")
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	g.b.Isolate()
	requireRefusal(t, asking["exec"](bg, g.db), breaker.Isolated, "exec")
}

// A breaker behind another opens no other: of its refusals the database knows nothing.
func TestRefusalsOfABreakerBehindThisOne(t *testing.T) {
	f := newFake()
	inner, _ := newBreaker(t, breaker.Settings{})
	outer, _ := newBreaker(t, breaker.Settings{})
	db := open(t, breakersql.Wrap(breakersql.Wrap(f, inner), outer))
	for _, when := range []string{"connect", "with a connection"} {
		inner.Isolate()
		was := outer.Snapshot().Totals.Throttled
		for range 10 {
			requireRefusal(t, asking["exec"](bg, db), breaker.Isolated, when)
		}
		require.EqualValues(t, 10, outer.Snapshot().Totals.Throttled-was, when)
		require.Equal(t, breaker.Closed, outer.State(), when)
		inner.Reset()
		require.NoError(t, asking["exec"](bg, db), when)
	}
}
