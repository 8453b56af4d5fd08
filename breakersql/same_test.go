package breakersql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakersql"
)

// valued is an argument with a value of its own, which counts how often it is asked.
type valued struct{ asked *int }

func (v valued) Value() (driver.Value, error) {
	*v.asked++
	return "its value", nil
}

// play is a program that uses a database in every way, and what it sees. Both are to be
// the same with a breaker in between and without one.
type play struct {
	*fake
	db   *sql.DB
	seen []string
}

func (p *play) saw(what string, values ...any) {
	p.seen = append(p.seen, fmt.Sprint(what, ": ", fmt.Sprintln(values...)))
	for _, line := range p.taken() {
		p.seen = append(p.seen, "  "+line)
	}
}

// all are the scenes, by what they show.
func (p *play) all() {
	p.arguments()
	p.statements()
	p.transactions()
	p.deadConnections()
	p.declined()
	p.endingContexts()
	p.saw("driver", p.db.Driver(), p.db.Stats().OpenConnections)
	p.saw("closed", p.db.Close())
}

func (p *play) exec(what string, e interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, args ...any) {
	result, err := e.ExecContext(bg, "exec ?", args...)
	n := int64(0)
	if err == nil {
		n, _ = result.RowsAffected()
	}
	p.saw(what, n, err)
}

func (p *play) query(what string, q interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, args ...any) {
	rows, err := q.QueryContext(bg, "query ?", args...)
	p.read(what, rows, err)
}

func (p *play) read(what string, rows *sql.Rows, err error) {
	p.saw(what, err)
	if err != nil {
		return
	}
	types, err := rows.ColumnTypes()
	for _, c := range types {
		length, hasLength := c.Length()
		nullable, hasNullable := c.Nullable()
		digits, scale, hasDigits := c.DecimalSize()
		p.saw("column", c.Name(), c.DatabaseTypeName(), c.ScanType(), length, hasLength, nullable, hasNullable, digits, scale, hasDigits, err)
	}
	for {
		for rows.Next() {
			n := 0
			p.saw("row", rows.Scan(&n), n)
		}
		more := rows.NextResultSet()
		p.saw("set", more, rows.Err())
		if !more {
			break
		}
	}
	p.saw("rows closed", rows.Close(), rows.Err())
}

func (p *play) arguments() {
	asked := 0
	for _, args := range [][]any{
		{1}, {"text"}, {nil}, {odd{3}}, {valued{&asked}}, {removed{}}, {removed{}, 1}, {sql.Named("n", 1)},
		{sql.Named("1", 1)}, {}, {1, 2}, {struct{}{}}, {odd{1}, odd{2}},
	} {
		p.exec(fmt.Sprint("exec with ", len(args)), p.db, args...)
		p.query(fmt.Sprint("query with ", len(args)), p.db, args...)
	}
	p.saw("asked", asked)
	p.saw("ping", p.db.Ping())
}

func (p *play) statements() {
	for _, name := range []string{"exec", "query", "prepare", "stmt exec", "stmt query", "next", "next set", "close rows", "close stmt", "ping"} {
		p.fails(name, errAnswer)
		p.exec("exec while failing "+name, p.db, 1)
		p.query("query while failing "+name, p.db, 1)
		p.saw("ping while failing "+name, p.db.Ping())
		p.fails(name, nil)
	}
	n := 0
	p.saw("one row", p.db.QueryRow("query").Scan(&n), n)
	stmt, err := p.db.Prepare("prepared ?")
	p.saw("prepared", err)
	for _, arg := range []any{1, odd{3}, removed{}, sql.Named("n", 1), struct{}{}} {
		_, err = stmt.Exec(arg)
		p.saw("statement", err)
		rows, err := stmt.Query(arg)
		p.read("statement", rows, err)
	}
	p.saw("closed", stmt.Close())
}

func (p *play) transactions() {
	for _, opts := range []*sql.TxOptions{nil, {Isolation: sql.LevelSerializable}, {ReadOnly: true}} {
		tx, err := p.db.BeginTx(bg, opts)
		p.saw("begun", err)
		if err != nil {
			continue
		}
		p.exec("exec within", tx, 1)
		p.query("query within", tx, 1)
		stmt, err := tx.Prepare("prepared ?")
		p.saw("prepared within", err)
		_, err = stmt.Exec(1)
		p.saw("executed within", err)
		if opts == nil {
			p.saw("committed", tx.Commit())
		} else {
			p.saw("rolled back", tx.Rollback())
		}
	}
	for _, name := range []string{"begin", "commit"} {
		p.failsOnce(name, errAnswer)
		tx, err := p.db.Begin()
		p.saw("begun", err)
		if err == nil {
			p.saw("committed", tx.Commit())
		}
	}

	// The end of its context rolls a transaction back. Whether its connection lives on shows
	// in what the next caller of the only one gets.
	ctx, cancel := context.WithCancel(bg)
	_, err := p.db.BeginTx(ctx, nil)
	p.saw("begun to be abandoned", err)
	cancel()
	conn, err := p.db.Conn(bg)
	p.saw("after that", err)
	p.exec("exec on a connection", conn, 1)
	tx, err := conn.BeginTx(bg, nil)
	p.saw("begun on a connection", err)
	p.saw("rolled back", tx.Rollback(), conn.Close())
}

func (p *play) deadConnections() {
	for _, name := range []string{"exec", "query", "prepare", "begin", "stmt exec", "stmt query", "commit", "reset", "ping", "connect"} {
		for _, failure := range []error{driver.ErrBadConn, fmt.Errorf("gone: %w", driver.ErrBadConn), errAnswer} {
			p.failsOnce(name, failure)
			p.exec("exec after a failing "+name, p.db, 1)
			p.failsOnce(name, failure)
			p.query("query after a failing "+name, p.db, 1)
			p.failsOnce(name, failure)
			tx, err := p.db.Begin()
			p.saw("begun", err)
			if err == nil {
				p.saw("committed", tx.Commit())
			}
			p.saw("ping", p.db.Ping())
			p.when(name, nil)
		}
		p.fails(name, driver.ErrBadConn)
		p.exec("exec while failing "+name, p.db, 1)
		p.fails(name, nil)
	}
	p.spoil()
	p.exec("exec on an invalid connection", p.db, 1)
	p.exec("exec after that", p.db, 1)
}

func (p *play) declined() {
	p.fails("exec", driver.ErrSkip)
	p.fails("query", driver.ErrSkip)
	p.exec("exec declined", p.db, 1)
	p.query("query declined", p.db, 1)
	p.failsOnce("prepare", errAnswer)
	p.exec("exec declined and not prepared", p.db, 1)
	p.exec("exec declined", p.db, odd{3})
	p.fails("exec", nil)
	p.fails("query", nil)
}

// endingContexts ends the caller's context during calls that a driver may not tell of it.
func (p *play) endingContexts() {
	ctx, cancel := context.WithCancel(bg)
	p.when("prepare", func() error { cancel(); return nil })
	stmt, err := p.db.PrepareContext(ctx, "late")
	p.saw("prepared late", err)
	if err == nil {
		p.saw("closed", stmt.Close())
	}
	ctx, cancel = context.WithCancel(bg)
	p.when("begin", func() error { cancel(); return nil })
	_, err = p.db.BeginTx(ctx, nil)
	p.when("begin", nil)
	conn, _ := p.db.Conn(bg) // waits for the end of a transaction
	p.saw("begun late", err, conn.Close())
}

func played(f *fake, c driver.Connector) []string {
	db := sql.OpenDB(c)
	defer db.Close()
	db.SetMaxOpenConns(1)
	p := &play{fake: f, db: db}
	p.all()
	return p.seen
}

func TestNothingChangesForTheProgramOrTheDriver(t *testing.T) {
	compare := func(name string, build func() *fake) {
		t.Run(name, func(t *testing.T) {
			f := build()
			without := played(f, f)
			f = build()
			b, _ := newBreaker(t, breaker.Settings{ConsecutiveFailures: 1 << 30, DisableAdaptive: true})
			with := played(f, breakersql.Wrap(f, b))
			for i, line := range without {
				require.Less(t, i, len(with), "missing: %s", line)
				require.Equal(t, line, with[i], "after %q", without[max(0, i-8):i])
			}
			require.Len(t, with, len(without))
			require.Contains(t, with, "  close connector")
		})
	}
	for connKind, conn := range connKinds {
		for stmtKind, stmt := range stmtKinds {
			compare("conn: "+connKind+", stmt: "+stmtKind, func() *fake {
				f := newFake()
				f.conn, f.stmt = conn, stmt
				return f
			})
		}
	}
	for rowsKind, rows := range rowsKinds {
		compare("rows: "+rowsKind, func() *fake {
			f := newFake()
			f.rows = rows
			return f
		})
	}
}
