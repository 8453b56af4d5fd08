package breakersql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakersql"
)

var (
	bg        = context.Background()
	errAnswer = errors.New("the database says no")
)

// fake is a database, its driver and a connector. It writes down what reaches it.
type fake struct {
	conn func(*fakeConn) driver.Conn // adds optional interfaces; nil for all of them
	stmt func(*fakeStmt) driver.Stmt
	rows func(*fakeRows) driver.Rows

	mu     sync.Mutex
	log    []string
	opened int
	spoilt int                     // connections up to this one are not valid
	on     map[string]func() error // what a call does, by its name
}

func newFake() *fake { return &fake{on: map[string]func() error{}} }

// reached writes a call down, and does what is set for it.
func (f *fake) reached(name string, details ...any) error {
	f.mu.Lock()
	f.log = append(f.log, strings.TrimSpace(name+" "+fmt.Sprintln(details...)))
	do := f.on[name]
	f.mu.Unlock()
	if do != nil {
		return do()
	}
	return nil
}

// when sets what the calls of a name do from now on. A nil function ends that.
func (f *fake) when(name string, do func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on[name] = do
}

// fails lets calls of a name fail from now on, or no longer with a nil error.
func (f *fake) fails(name string, err error) { f.when(name, func() error { return err }) }

// failsOnce lets the next call of a name fail.
func (f *fake) failsOnce(name string, err error) {
	f.when(name, func() error {
		f.when(name, nil)
		return err
	})
}

// spoil makes all connections of now invalid.
func (f *fake) spoil() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spoilt = f.opened
}

func (f *fake) taken() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	log := f.log
	f.log = nil
	return log
}

func (f *fake) Connect(context.Context) (driver.Conn, error) {
	if err := f.reached("connect"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.opened++
	c := &fakeConn{f, f.opened}
	f.mu.Unlock()
	if f.conn == nil {
		return everyConn(c), nil
	}
	return f.conn(c), nil
}

func (f *fake) Driver() driver.Driver { return fakeDriver{} }

func (f *fake) Close() error { return f.reached("close connector") }

type fakeDriver struct{}

func (fakeDriver) Open(string) (driver.Conn, error) { return nil, errAnswer }

type fakeConn struct {
	*fake
	id int
}

func (c *fakeConn) Prepare(query string) (driver.Stmt, error) {
	return c.prepared(query, c.reached("prepare", c.id, query))
}

func (c *fakeConn) prepared(query string, err error) (driver.Stmt, error) {
	if err != nil {
		return nil, err
	}
	s := &fakeStmt{c, query}
	if c.stmt == nil {
		return everyStmt(s), nil
	}
	return c.stmt(s), nil
}

func (c *fakeConn) Close() error { return c.reached("close", c.id) }

func (c *fakeConn) Begin() (driver.Tx, error) {
	if err := c.reached("begin", c.id); err != nil {
		return nil, err
	}
	return fakeTx{c}, nil
}

type fakeTx struct{ c *fakeConn }

func (t fakeTx) Commit() error   { return t.c.reached("commit", t.c.id) }
func (t fakeTx) Rollback() error { return t.c.reached("rollback", t.c.id) }

type fakeStmt struct {
	c     *fakeConn
	query string
}

func (s *fakeStmt) Close() error  { return s.c.reached("close stmt", s.c.id) }
func (s *fakeStmt) NumInput() int { return strings.Count(s.query, "?") }

func (s *fakeStmt) Exec(args []driver.Value) (driver.Result, error) {
	return driver.RowsAffected(1), s.c.reached("stmt exec", s.c.id, s.query, args)
}

func (s *fakeStmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.c.answer(s.c.reached("stmt query", s.c.id, s.query, args))
}

// answer returns the rows of a query: two results, of two rows and of one.
func (c *fakeConn) answer(err error) (driver.Rows, error) {
	if err != nil {
		return nil, err
	}
	r := &fakeRows{c: c, left: []int{2, 1}}
	if c.rows == nil {
		return everyRows(r), nil
	}
	return c.rows(r), nil
}

// newBreaker returns a breaker on a clock that stands still unless a test moves it.
func newBreaker(t *testing.T, s breaker.Settings) (*breaker.Breaker, *clock.Mock) {
	t.Helper()
	mock := clock.NewMock()
	s.Name, s.Clock, s.BreakJitter = "db", mock, breaker.JitterNone
	b, err := breaker.New(s)
	require.NoError(t, err)
	return b, mock
}

// open opens a pool that is closed with the test.
func open(t *testing.T, c driver.Connector) *sql.DB {
	t.Helper()
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// guarded is a fake database behind a breaker, with one connection.
type guarded struct {
	*fake
	db    *sql.DB
	b     *breaker.Breaker
	clock *clock.Mock
}

func newGuarded(t *testing.T, s breaker.Settings) *guarded {
	t.Helper()
	g := &guarded{fake: newFake()}
	g.b, g.clock = newBreaker(t, s)
	g.db = open(t, breakersql.Wrap(g.fake, g.b))
	g.db.SetMaxOpenConns(1)
	return g
}

// warm opens the connection and uses it, so that it waits in the pool.
func (g *guarded) warm(t *testing.T) {
	t.Helper()
	_, err := g.db.Exec("warm")
	require.NoError(t, err)
	g.taken()
}

// outcomes are the counts of a breaker.
type outcomes struct{ ok, transient, permanent, canceled, released, refused int }

func (g *guarded) outcomes() outcomes {
	n := g.b.Snapshot().Totals
	return outcomes{int(n.OK), int(n.Transient), int(n.Permanent), int(n.Canceled), int(n.Released), int(n.Refused)}
}

// during returns what fn adds to the outcomes.
func (g *guarded) during(fn func()) outcomes {
	was := g.outcomes()
	fn()
	is := g.outcomes()
	return outcomes{
		is.ok - was.ok, is.transient - was.transient, is.permanent - was.permanent,
		is.canceled - was.canceled, is.released - was.released, is.refused - was.refused,
	}
}

func deadline(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(bg, d)
	t.Cleanup(cancel)
	return ctx
}

// connection is something that no other driver has.
func (c *fakeConn) connection() int { return c.id }
