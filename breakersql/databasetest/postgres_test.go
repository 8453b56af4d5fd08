//go:build unix

package databasetest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakersql"
)

func (s *server) open(t *testing.T, b *breaker.Breaker, more string) *sql.DB {
	t.Helper()
	var c driver.Connector = stdlib.GetConnector(s.config(t, more))
	if b != nil {
		c = breakersql.Wrap(c, b)
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// One server for the tests of this file; those that kill it start it again.
func TestPostgres(t *testing.T) {
	s := startServer(t)
	plain := s.open(t, nil, "")
	exec := execer(t, plain)
	exec("CREATE TABLE users (id int PRIMARY KEY, name varchar(20) NOT NULL CHECK (name <> ''), balance numeric(8, 2))")
	exec("INSERT INTO users VALUES (1, 'Ada', 10), (2, 'Grace', 20)")
	t.Run("verdicts", s.verdicts)
	t.Run("transactions", s.transactions)
	t.Run("connecting", s.connecting)
	t.Run("dead connections of the pool", s.deadConnections)
	t.Run("the driver's features", s.features)
	t.Run("a result that breaks off", s.breaksOff)
	t.Run("killed and restarted", s.killedAndRestarted)
}

func (s *server) verdicts(t *testing.T) {
	b, _ := newBreaker(t, breaker.Settings{ConsecutiveFailures: 1000, DisableAdaptive: true})
	db := s.open(t, b, "")
	db.SetMaxOpenConns(1)
	for _, test := range []struct {
		query string
		state string
		want  outcomes
	}{
		{"SELECT 1", "", outcomes{ok: 1}},
		{"SELECT name FROM users WHERE id = 99", "", outcomes{ok: 1}},
		{"INSERT INTO users VALUES (1, 'Ada')", "23505", outcomes{permanent: 1}},
		{"INSERT INTO users VALUES (3, NULL)", "23502", outcomes{permanent: 1}},
		{"INSERT INTO users VALUES (3, '')", "23514", outcomes{permanent: 1}},
		{"INSERT INTO users VALUES (3, 'a name that is far too long for it')", "22001", outcomes{permanent: 1}},
		{"SELEKT 1", "42601", outcomes{permanent: 1}},
		{"SELECT 1 FROM nowhere", "42P01", outcomes{permanent: 1}},
		{"SELECT 1 / 0", "22012", outcomes{permanent: 1}},
		{"DO $$ BEGIN RAISE 'no'; END $$", "P0001", outcomes{permanent: 1}},
		{"DO $$ BEGIN RAISE 'no' USING ERRCODE = '53100'; END $$", "53100", outcomes{transient: 1}},
		{"SELECT pg_cancel_backend(pg_backend_pid())", "57014", outcomes{transient: 1}},
		{"SELECT pg_terminate_backend(pg_backend_pid())", "57P01", outcomes{transient: 1}},
		{"SELECT 1", "", outcomes{ok: 1}},
	} {
		got := during(b, func() {
			_, err := db.Exec(test.query)
			require.Equal(t, test.state, sqlState(err), "%s: %v", test.query, err)
		})
		require.Equal(t, test.want, got, test.query)
	}

	t.Run("no rows", func(t *testing.T) {
		got := during(b, func() {
			var name string
			require.ErrorIs(t, db.QueryRow("SELECT name FROM users WHERE id = $1", 99).Scan(&name), sql.ErrNoRows)
		})
		require.Equal(t, outcomes{ok: 1}, got)
	})
	t.Run("time limit of the server's", func(t *testing.T) {
		limited := s.open(t, b, "options='-c statement_timeout=10'")
		got := during(b, func() {
			_, err := limited.Exec("SELECT pg_sleep(60)")
			require.Equal(t, "57014", sqlState(err))
		})
		require.Equal(t, outcomes{transient: 1}, got)
	})
	t.Run("deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(bg, 20*time.Millisecond)
		defer cancel()
		require.Equal(t, outcomes{transient: 1}, during(b, func() {
			_, err := db.ExecContext(ctx, "SELECT pg_sleep(60)")
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}))
	})
	t.Run("cancelled", func(t *testing.T) {
		require.NoError(t, db.Ping()) // on a new connection, after the deadline
		ctx, cancel := context.WithCancel(bg)
		stop := time.AfterFunc(20*time.Millisecond, cancel)
		defer stop.Stop()
		require.Equal(t, outcomes{canceled: 1}, during(b, func() {
			_, err := db.ExecContext(ctx, "SELECT pg_sleep(60)")
			require.ErrorIs(t, err, context.Canceled)
		}))
	})
}

func sqlState(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}

// Two transactions that cannot both be: the database is well.
func (s *server) transactions(t *testing.T) {
	b, _ := newBreaker(t, breaker.Settings{})
	db := s.open(t, b, "")
	begin := func() *sql.Tx {
		tx, err := db.BeginTx(bg, &sql.TxOptions{Isolation: sql.LevelSerializable})
		require.NoError(t, err)
		_, err = tx.Exec("SELECT sum(balance) FROM users")
		require.NoError(t, err)
		return tx
	}
	one, two := begin(), begin()
	got := during(b, func() {
		for i, tx := range []*sql.Tx{one, two} {
			_, err := tx.Exec("INSERT INTO users VALUES ($1, 'Mary', 1)", 10+i)
			require.NoError(t, err)
		}
		require.NoError(t, one.Commit())
		require.Equal(t, "40001", sqlState(two.Commit()))
	})
	require.Equal(t, outcomes{ok: 3, permanent: 1}, got)

	tx := begin()
	b.Isolate()
	_, err := tx.Exec("INSERT INTO users VALUES (20, 'Emmy', 1)")
	require.NoError(t, err)
	require.NoError(t, tx.Commit(), "a transaction goes on")
	_, err = db.BeginTx(bg, nil)
	require.ErrorIs(t, err, breaker.ErrRejected)
	b.Reset()
	n := 0
	require.NoError(t, db.QueryRow("SELECT count(*) FROM users WHERE id = 20").Scan(&n))
	require.Equal(t, 1, n)
}

func (s *server) connecting(t *testing.T) {
	for more, want := range map[string]struct {
		state    string
		outcomes outcomes
	}{
		"dbname=nothing":     {"3D000", outcomes{permanent: 1}},
		"user=nobody_at_all": {"28000", outcomes{permanent: 1}},
	} {
		b, _ := newBreaker(t, breaker.Settings{})
		require.Equal(t, want.state, sqlState(s.open(t, b, more).Ping()))
		require.Equal(t, want.outcomes, outcomesOf(b), more)
	}

	// More connections than the server has.
	b, _ := newBreaker(t, breaker.Settings{ConsecutiveFailures: 3})
	db := s.open(t, b, "user=app")
	execer(t, s.open(t, nil, ""))("CREATE ROLE app LOGIN")
	var held []*sql.Conn
	defer func() {
		for _, c := range held {
			_ = c.Close()
		}
	}()
	for {
		c, err := db.Conn(bg)
		if err != nil {
			require.Equal(t, "53300", sqlState(err))
			break
		}
		held = append(held, c)
	}
	for b.State() == breaker.Closed {
		_, err := db.Conn(bg)
		require.Equal(t, "53300", sqlState(err))
	}
	require.Equal(t, outcomes{transient: 3}, outcomesOf(b))
	_, err := db.Conn(bg)
	require.ErrorIs(t, err, breaker.ErrRejected)
}

// Connections that died while they waited are replaced, and nobody notices: neither if the
// driver finds out before the call, nor if the call does.
func (s *server) deadConnections(t *testing.T) {
	for _, pings := range []bool{true, false} {
		b, _ := newBreaker(t, breaker.Settings{ConsecutiveFailures: 1})
		db := sql.OpenDB(breakersql.Wrap(stdlib.GetConnector(s.config(t, ""),
			stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return pings })), b))
		defer db.Close()
		conn, err := db.Conn(bg)
		require.NoError(t, err)
		require.NoError(t, conn.Raw(func(driverConn any) error {
			return breakersql.Unwrap(driverConn).(*stdlib.Conn).Conn().PgConn().Conn().Close()
		}))
		require.NoError(t, conn.Close())
		released := b.Snapshot().Totals.Released
		require.Equal(t, outcomes{ok: 1}, during(b, func() { execer(t, db)("SELECT 1") }))
		released = b.Snapshot().Totals.Released - released
		if pings {
			require.Equal(t, uint64(1), released, "a new connection")
		} else {
			require.Equal(t, uint64(2), released, "a new connection, and the dead one")
		}
	}
}

func (s *server) features(t *testing.T) {
	b, _ := newBreaker(t, breaker.Settings{})
	db, plain := s.open(t, b, ""), s.open(t, nil, "")
	const query = "SELECT id, name, balance, now(), '{1}'::int[] AS list FROM users"
	require.Equal(t, columns(t, plain, query), columns(t, db, query))
	require.IsType(t, plain.Driver(), db.Driver())

	conn, err := db.Conn(bg)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.Raw(func(driverConn any) error {
		pg := breakersql.Unwrap(driverConn).(*stdlib.Conn).Conn()
		n, err := pg.CopyFrom(bg, pgx.Identifier{"users"}, []string{"id", "name"}, pgx.CopyFromRows([][]any{{30, "Sofia"}, {31, "Maryam"}}))
		require.Equal(t, int64(2), n)
		return err
	}))

	// Arguments that only the driver knows what to do with.
	var names string
	err = db.QueryRow("SELECT string_agg(name, ' ' ORDER BY id) FROM users WHERE id = ANY($1)",
		pgx.QueryExecModeCacheDescribe, []int{30, 31}).Scan(&names)
	require.NoError(t, err)
	require.Equal(t, "Sofia Maryam", names)
}

func (s *server) breaksOff(t *testing.T) {
	b, _ := newBreaker(t, breaker.Settings{})
	db := s.open(t, b, "")
	rows, err := db.Query("SELECT pg_backend_pid(), repeat('x', 1000) FROM generate_series(1, 1000000)")
	require.NoError(t, err)
	defer rows.Close()
	require.True(t, rows.Next())
	var pid int
	var text string
	require.NoError(t, rows.Scan(&pid, &text))
	require.Equal(t, outcomes{}, outcomesOf(b), "no verdict yet")
	execer(t, s.open(t, nil, ""))("SELECT pg_terminate_backend($1)", pid)
	for rows.Next() {
	}
	require.Error(t, rows.Err())
	require.Equal(t, outcomes{transient: 1}, outcomesOf(b))
}

func (s *server) killedAndRestarted(t *testing.T) {
	var told []string
	b, mock := newBreaker(t, breaker.Settings{OnTransition: func(_ context.Context, tr breaker.Transition) {
		told = append(told, fmt.Sprint(tr.From, " ", tr.To))
	}})
	db := s.open(t, b, "")
	count := func() (n int, err error) {
		err = db.QueryRow("SELECT count(*) FROM users").Scan(&n)
		return n, err
	}
	before, err := count()
	require.NoError(t, err)

	tx, err := db.Begin()
	require.NoError(t, err)
	_, err = tx.Exec("DELETE FROM users")
	require.NoError(t, err)
	plain := s.open(t, nil, "")
	waiting := make(chan error)
	go func() {
		_, err := db.Exec("SELECT pg_sleep(600)")
		waiting <- err
	}()
	require.Eventually(t, func() bool {
		n := 0
		err := plain.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'").Scan(&n)
		return err == nil && n == 1
	}, time.Minute, time.Millisecond, "only the server can tell that it sleeps")

	got := during(b, func() {
		s.kill(t, plain)
		require.Error(t, <-waiting)
	})
	require.NotZero(t, got.transient, "the call under way; the driver may have had it tried again")
	require.Equal(t, outcomes{transient: got.transient}, got)
	got = during(b, func() { require.Error(t, tx.Commit()) })
	require.Equal(t, outcomes{transient: 1}, got, "the transaction under way")
	for b.State() == breaker.Closed {
		_, err = count()
		require.Error(t, err)
		require.NotErrorIs(t, err, breaker.ErrRejected)
	}
	require.Equal(t, 5, outcomesOf(b).transient)
	_, err = count()
	var refusal *breaker.RejectedError
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, breaker.Open, refusal.State)

	mock.Add(15 * time.Second)
	_, err = count()
	require.Error(t, err)
	require.NotErrorIs(t, err, breaker.ErrRejected, "a probe, and it fails")
	_, err = count()
	require.ErrorIs(t, err, breaker.ErrRejected)

	s.restart(t)
	_, err = count()
	require.ErrorIs(t, err, breaker.ErrRejected, "the break has to be served")
	mock.Add(30 * time.Second)
	for range 2 {
		after, err := count()
		require.NoError(t, err)
		require.Equal(t, before, after, "what was not committed is gone")
	}
	require.Equal(t, breaker.Closed, b.State())
	require.Equal(t, []string{"closed open", "open half-open", "half-open open", "open half-open", "half-open closed"}, told)
}
