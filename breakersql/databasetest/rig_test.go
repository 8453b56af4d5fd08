// Package databasetest tests breakersql with real databases: PostgreSQL, which it starts,
// kills and restarts, and SQLite.
package databasetest

import (
	"context"
	"database/sql"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

var bg = context.Background()

// newBreaker returns a breaker on a clock of the test's. Calls of a real database take no
// time on it.
func newBreaker(t *testing.T, s breaker.Settings) (*breaker.Breaker, *clock.Mock) {
	t.Helper()
	mock := clock.NewMock()
	s.Name, s.Clock, s.BreakJitter = "db", mock, breaker.JitterNone
	b, err := breaker.New(s)
	require.NoError(t, err)
	return b, mock
}

// outcomes are counts of a breaker.
type outcomes struct{ ok, transient, permanent, canceled int }

func outcomesOf(b *breaker.Breaker) outcomes {
	n := b.Snapshot().Totals
	return outcomes{int(n.OK), int(n.Transient), int(n.Permanent), int(n.Canceled)}
}

// during returns what fn adds to the outcomes.
func during(b *breaker.Breaker, fn func()) outcomes {
	was := outcomesOf(b)
	fn()
	is := outcomesOf(b)
	return outcomes{is.ok - was.ok, is.transient - was.transient, is.permanent - was.permanent, is.canceled - was.canceled}
}

func execer(t *testing.T, db *sql.DB) func(query string, args ...any) {
	return func(query string, args ...any) {
		t.Helper()
		_, err := db.Exec(query, args...)
		require.NoError(t, err, query)
	}
}

// columns tells all that is known of the columns of a query.
func columns(t *testing.T, db *sql.DB, query string) (known []any) {
	t.Helper()
	rows, err := db.Query(query)
	require.NoError(t, err)
	defer rows.Close()
	types, err := rows.ColumnTypes()
	require.NoError(t, err)
	for _, c := range types {
		length, hasLength := c.Length()
		nullable, hasNullable := c.Nullable()
		precision, scale, hasPrecision := c.DecimalSize()
		known = append(known, c.Name(), c.DatabaseTypeName(), c.ScanType().String(),
			length, hasLength, nullable, hasNullable, precision, scale, hasPrecision)
	}
	require.NotEmpty(t, known)
	return known
}
