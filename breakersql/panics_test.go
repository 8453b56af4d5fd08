package breakersql_test

import (
	"database/sql"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// unspeakable is an error of which a method panics.
type unspeakable struct{ error }

func (unspeakable) SQLState() string { panic("state") }

type undecided struct{ error }

func (undecided) Verdict() breaker.Verdict { panic("verdict") }

// halfOpen lets a breaker fail until it opens, and the break pass.
func (g *guarded) halfOpen(t *testing.T) {
	t.Helper()
	g.warm(t)
	g.fails("exec", io.EOF)
	for g.b.State() == breaker.Closed {
		_ = asking["exec"](bg, g.db)
	}
	g.clock.Add(g.b.Effective().BreakDuration)
	g.fails("exec", nil)
}

// A probe whose error cannot be judged gives its slot back.
func TestPanicsOfTheJudgement(t *testing.T) {
	for name, test := range map[string]struct {
		classify func(error) breaker.Verdict
		err      error
	}{
		"an SQLSTATE": {nil, unspeakable{errAnswer}},
		"a verdict":   {nil, undecided{errAnswer}},
		"a classifier": {func(err error) breaker.Verdict {
			if err == errAnswer {
				panic("classifier")
			}
			return breaker.Transient
		}, errAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuarded(t, breaker.Settings{Classify: test.classify})
			g.halfOpen(t)
			g.fails("exec", test.err)
			n := g.during(func() { require.Panics(t, func() { _ = asking["exec"](bg, g.db) }) })
			require.Equal(t, outcomes{permanent: 1}, n)
			require.Zero(t, g.b.Snapshot().ProbesInFlight)
		})
	}
}

// Rows in which the driver panicked have no good end, though database/sql closes them.
func TestPanicsOfRows(t *testing.T) {
	for name, read := range map[string]func(*sql.Rows){
		"next":       func(r *sql.Rows) { r.Next() },
		"next set":   func(r *sql.Rows) { r.NextResultSet() },
		"close rows": func(r *sql.Rows) { _ = r.Close() },
	} {
		g := newGuarded(t, breaker.Settings{})
		g.warm(t)
		n := g.during(func() {
			rows, err := g.db.Query("query")
			require.NoError(t, err)
			g.when(name, func() error { g.when(name, nil); panic("driver") })
			require.PanicsWithValue(t, "driver", func() { read(rows) }, name)
			_ = rows.Close()
		})
		require.Equal(t, outcomes{permanent: 1}, n, name)
	}
}
