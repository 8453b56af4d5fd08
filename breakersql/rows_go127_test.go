//go:build go1.27

package breakersql_test

import (
	"database/sql"
	"database/sql/driver"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// scanning are rows that database/sql does not ask for values.
type scanning struct{ *fakeRows }

func (s scanning) Next([]driver.Value) error { panic("superseded") }

func (s scanning) NextRow() error { return s.fakeRows.Next(make([]driver.Value, 1)) }

func (s scanning) ScanColumn(_ driver.ScanContext, _ int, dest any) error {
	*dest.(*int) = 42
	return s.c.reached("scan", s.c.id)
}

// Rows that scan their columns by themselves do so behind a breaker too, and what fails
// there ends the call like any other failure of rows.
func TestRowsThatScan(t *testing.T) {
	for name, test := range map[string]struct {
		fails string
		does  func() error
		want  outcomes
	}{
		"to their end":            {"", nil, outcomes{ok: 1}},
		"breaking off":            {"next", func() error { return io.ErrUnexpectedEOF }, outcomes{transient: 1}},
		"breaking off in a row":   {"scan", func() error { return io.ErrUnexpectedEOF }, outcomes{transient: 1}},
		"a value that fits not":   {"scan", func() error { return errAnswer }, outcomes{permanent: 1}},
		"panicking for a new row": {"next", func() error { panic("driver") }, outcomes{permanent: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuarded(t, breaker.Settings{})
			g.rows = func(r *fakeRows) driver.Rows { return scanning{r} }
			g.warm(t)
			if test.fails != "" {
				g.when(test.fails, test.does)
			}
			n := g.during(func() {
				rows, err := g.db.Query("query")
				require.NoError(t, err)
				defer func() {
					recovered := recover()
					require.NoError(t, rows.Close())
					require.Contains(t, []any{nil, "driver"}, recovered)
				}()
				scanAll(t, rows, test.fails == "scan")
			})
			require.Equal(t, test.want, n)
		})
	}
}

func scanAll(t *testing.T, rows *sql.Rows, fails bool) {
	for rows.Next() {
		n := 0
		require.Equal(t, fails, rows.Scan(&n) != nil)
		require.Equal(t, 42, n)
	}
}
