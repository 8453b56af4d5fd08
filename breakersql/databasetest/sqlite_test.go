package databasetest

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakersql"
)

const busy = 5 // SQLITE_BUSY

// openSQLite opens a database in a file, behind a breaker unless that is nil.
func openSQLite(t *testing.T, b *breaker.Breaker, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	if b != nil {
		c, err := breakersql.OpenConnector(db.Driver(), file)
		require.NoError(t, err)
		require.NoError(t, db.Close())
		db = sql.OpenDB(breakersql.Wrap(c, b))
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

const users = `CREATE TABLE users (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL CHECK (name <> ''), balance REAL);
	INSERT INTO users VALUES (1, 'Ada', 10.5), (2, 'Grace', 20)`

func TestSQLiteVerdicts(t *testing.T) {
	b, _ := newBreaker(t, breaker.Settings{})
	db := openSQLite(t, b, filepath.Join(t.TempDir(), "db"))
	execer(t, db)(users)
	for query, want := range map[string]outcomes{
		"UPDATE users SET balance = 11 WHERE id = 1": {ok: 1},
		"INSERT INTO users VALUES (1, 'Ada', 1)":     {permanent: 1},
		"INSERT INTO users VALUES (3, NULL, 1)":      {permanent: 1},
		"INSERT INTO users VALUES (3, '', 1)":        {permanent: 1},
		"SELEKT 1":                                   {permanent: 1},
		"SELECT 1 FROM nowhere":                      {permanent: 1},
	} {
		require.Equal(t, want, during(b, func() { _, _ = db.Exec(query) }), query)
	}
	require.Equal(t, outcomes{ok: 1}, during(b, func() {
		var name string
		require.ErrorIs(t, db.QueryRow("SELECT name FROM users WHERE id = 99").Scan(&name), sql.ErrNoRows)
	}))
	require.Equal(t, outcomes{ok: 4}, during(b, func() {
		tx, err := db.Begin()
		require.NoError(t, err)
		stmt, err := tx.Prepare("UPDATE users SET balance = balance + ?")
		require.NoError(t, err)
		_, err = stmt.Exec(1)
		require.NoError(t, err)
		require.NoError(t, tx.Commit())
	}))
}

func TestSQLiteFeatures(t *testing.T) {
	b, _ := newBreaker(t, breaker.Settings{})
	file := filepath.Join(t.TempDir(), "db")
	db, plain := openSQLite(t, b, file), openSQLite(t, nil, file)
	execer(t, plain)(users)
	const query = "SELECT id, name, balance FROM users"
	require.Equal(t, columns(t, plain, query), columns(t, db, query))
	require.Same(t, plain.Driver(), db.Driver())

	conn, err := db.Conn(bg)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.Raw(func(driverConn any) error {
		copied, err := breakersql.Unwrap(driverConn).(interface{ Serialize() ([]byte, error) }).Serialize()
		require.NotEmpty(t, copied)
		return err
	}))
}

// An outage of a database in a file: its directory is away.
func TestSQLiteOutage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "volume")
	require.NoError(t, os.Mkdir(dir, 0o700))
	b, mock := newBreaker(t, breaker.Settings{})
	db := openSQLite(t, b, filepath.Join(dir, "db"))
	execer(t, db)(users)
	db.SetMaxIdleConns(-1) // every call opens the file
	count := func() (n int, err error) {
		err = db.QueryRow("SELECT count(*) FROM users").Scan(&n)
		return n, err
	}

	require.NoError(t, os.Rename(dir, dir+" away"))
	for range 5 {
		_, err := count()
		require.Error(t, err)
		require.NotErrorIs(t, err, breaker.ErrRejected)
	}
	require.Equal(t, breaker.Open, b.State())
	_, err := count()
	require.ErrorIs(t, err, breaker.ErrRejected)

	require.NoError(t, os.Rename(dir+" away", dir))
	mock.Add(15 * time.Second)
	for range 2 {
		n, err := count()
		require.NoError(t, err)
		require.Equal(t, 2, n)
	}
	require.Equal(t, breaker.Closed, b.State())
}

// A database that is locked is well, unless one waits for it until a deadline, or a
// classifier says otherwise.
func TestSQLiteLocked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	plain := openSQLite(t, nil, file)
	execer(t, plain)(users)
	tx, err := plain.Begin()
	require.NoError(t, err)
	defer tx.Rollback()
	_, err = tx.Exec("UPDATE users SET balance = 0")
	require.NoError(t, err)

	const query = "UPDATE users SET balance = 1"
	b, _ := newBreaker(t, breaker.Settings{})
	db := openSQLite(t, b, file)
	require.Equal(t, outcomes{permanent: 1}, during(b, func() {
		_, err := db.Exec(query)
		require.Error(t, err)
	}))

	waits := openSQLite(t, b, "file:"+file+"?_pragma=busy_timeout(100)")
	require.NoError(t, waits.Ping())
	require.Equal(t, outcomes{transient: 1}, during(b, func() {
		ctx, cancel := context.WithTimeout(bg, 20*time.Millisecond)
		defer cancel()
		_, err := waits.ExecContext(ctx, query)
		require.Error(t, err)
	}))

	strict, _ := newBreaker(t, breaker.Settings{Classify: func(err error) breaker.Verdict {
		var answer *sqlite.Error
		if errors.As(err, &answer) && answer.Code() == busy {
			return breaker.Transient
		}
		return breakersql.Classify(err)
	}})
	db = openSQLite(t, strict, file)
	require.Equal(t, outcomes{transient: 1}, during(strict, func() { _, _ = db.Exec(query) }))
	require.Equal(t, outcomes{permanent: 1}, during(strict, func() { _, _ = db.Exec("SELEKT 1") }))
}
