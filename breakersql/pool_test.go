package breakersql_test

import (
	"database/sql/driver"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// A connection of the pool that answered was alive. That its result breaks off afterwards
// is a failure, also where the driver says so by driver.ErrBadConn.
func TestResultsThatBreakOffOnAConnectionOfThePool(t *testing.T) {
	for _, how := range []string{"next", "next set", "close rows"} {
		for _, err := range []error{driver.ErrBadConn, io.ErrUnexpectedEOF} {
			g := newGuarded(t, breaker.Settings{})
			g.warm(t)
			g.fails(how, err)
			n := g.during(func() {
				rows, err := g.db.Query("query")
				require.NoError(t, err)
				rows.Next()
				rows.NextResultSet()
				_ = rows.Close()
			})
			require.Equal(t, outcomes{transient: 1}, n, "%s: %v", how, err)
		}
	}
}

// An outage in which every result breaks off opens the breaker.
func TestOutageOfResults(t *testing.T) {
	g := newGuarded(t, breaker.Settings{})
	g.warm(t)
	g.fails("next", driver.ErrBadConn)
	for range 5 {
		require.ErrorIs(t, asking["query"](bg, g.db), driver.ErrBadConn)
	}
	requireRefusal(t, asking["query"](bg, g.db), breaker.Open, "five in a row")
}

// A refusal does not reach the connection, so the call after it is still its first.
func TestDeadConnectionsAfterARefusal(t *testing.T) {
	g := newGuarded(t, breaker.Settings{})
	g.warm(t)
	conn, err := g.db.Conn(bg)
	require.NoError(t, err)
	defer conn.Close()
	g.b.Isolate()
	_, err = conn.ExecContext(bg, "exec")
	requireRefusal(t, err, breaker.Isolated, "exec")
	g.b.Reset()
	g.failsOnce("exec", driver.ErrBadConn)
	n := g.during(func() { _, err = conn.ExecContext(bg, "exec") })
	require.ErrorIs(t, err, driver.ErrBadConn)
	require.Equal(t, outcomes{released: 1}, n)
}
