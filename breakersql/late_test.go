package breakersql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakersql"
)

// cancelling is an argument that ends a context when it is asked for its value.
type cancelling struct{ cancel func() }

func (c cancelling) Value() (driver.Value, error) {
	c.cancel()
	return "its value", nil
}

// A driver whose calls take no context is not called after that has ended. In a
// transaction, where the breaker does not ask, that is as it is without one.
func TestContextThatEndsBeforeAnOldDriverIsAsked(t *testing.T) {
	calls := map[string]func(context.Context, *sql.Tx, *sql.Stmt, any) error{
		"exec": func(ctx context.Context, tx *sql.Tx, _ *sql.Stmt, arg any) error {
			_, err := tx.ExecContext(ctx, "exec ?", arg)
			return err
		},
		"query": func(ctx context.Context, tx *sql.Tx, _ *sql.Stmt, arg any) error {
			return read(tx.QueryContext(ctx, "query ?", arg))
		},
		"statement's exec": func(ctx context.Context, _ *sql.Tx, stmt *sql.Stmt, arg any) error {
			_, err := stmt.ExecContext(ctx, arg)
			return err
		},
		"statement's query": func(ctx context.Context, _ *sql.Tx, stmt *sql.Stmt, arg any) error {
			return read(stmt.QueryContext(ctx, arg))
		},
	}
	for name, call := range calls {
		for _, kind := range []string{"old exec", "old query", "none"} {
			reached := func(wrap func(*fake) driver.Connector) []string {
				f := newFake()
				f.conn, f.stmt = connKinds[kind], stmtKinds["none"]
				db := open(t, wrap(f))
				tx, err := db.Begin()
				require.NoError(t, err)
				stmt, err := tx.Prepare("prepared ?")
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(bg)
				defer cancel()
				f.taken()
				require.Equal(t, context.Canceled, call(ctx, tx, stmt, cancelling{cancel}), "%s: %s", kind, name)
				taken := f.taken()
				require.NoError(t, tx.Rollback())
				return taken
			}
			without := reached(func(f *fake) driver.Connector { return f })
			with := reached(func(f *fake) driver.Connector {
				b, _ := newBreaker(t, breaker.Settings{})
				return breakersql.Wrap(f, b)
			})
			require.Equal(t, without, with, "%s: %s", kind, name)
		}
	}
}
