package breakersql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// declineWithoutPrepare leaves a connection on which the driver declined a call and no
// prepare followed, as who calls through sql.Conn.Raw may do.
func (g *guarded) declineWithoutPrepare(t *testing.T) *sql.Conn {
	t.Helper()
	g.fails("exec", driver.ErrSkip)
	defer g.fails("exec", nil)
	conn, err := g.db.Conn(bg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	require.NoError(t, conn.Raw(func(c any) error {
		_, err := c.(driver.ExecerContext).ExecContext(ctx, "exec", nil)
		require.Equal(t, driver.ErrSkip, err)
		return nil
	}))
	return conn
}

// What was declined is given back, at the latest with its connection, and means nothing to
// the prepare of somebody else.
func TestDeclinedCallsThatNoPrepareFollows(t *testing.T) {
	for name, ends := range map[string]func(*testing.T, *guarded, *sql.Conn){
		"back to the pool": func(t *testing.T, _ *guarded, conn *sql.Conn) { require.NoError(t, conn.Close()) },
		"closed": func(t *testing.T, _ *guarded, conn *sql.Conn) {
			require.Equal(t, driver.ErrBadConn, conn.Raw(func(any) error { return driver.ErrBadConn }))
		},
		"another call": func(t *testing.T, g *guarded, conn *sql.Conn) {
			was := g.outcomes().released
			_, err := conn.ExecContext(bg, "exec")
			require.NoError(t, err)
			require.Equal(t, was+1, g.outcomes().released)
			require.NoError(t, conn.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuarded(t, breaker.Settings{})
			g.warm(t)
			n := g.during(func() { ends(t, g, g.declineWithoutPrepare(t)) })
			require.Equal(t, 1, n.released)

			g.fails("prepare", io.EOF)
			n = g.during(func() { require.Equal(t, io.EOF, asking["prepare"](bg, g.db)) })
			require.Equal(t, 1, n.transient, "and not of the context that was cancelled")

			g.b.Isolate()
			requireRefusal(t, asking["prepare"](bg, g.db), breaker.Isolated, "prepare")
		})
	}
}

// A statement that declines is the caller's to hear of: database/sql prepares no other.
func TestStatementsThatDecline(t *testing.T) {
	g := newGuarded(t, breaker.Settings{})
	stmt, err := g.db.Prepare("prepared")
	require.NoError(t, err)
	defer stmt.Close()
	g.fails("stmt exec", driver.ErrSkip)
	n := g.during(func() { _, err = stmt.Exec(); require.Equal(t, driver.ErrSkip, err) })
	require.Equal(t, outcomes{released: 1}, n)
	g.b.Isolate()
	requireRefusal(t, asking["prepare"](bg, g.db), breaker.Isolated, "prepare")
}
