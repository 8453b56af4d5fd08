package breakersql

import (
	"context"
	"database/sql/driver"
)

// conn is a connection of the driver's behind the breaker. Like every driver.Conn, it is
// used by one goroutine at a time.
//
// It has the optional interfaces whose absence it can play: database/sql has a documented
// way of its own where a driver lacks one, and takes that way at run time. What decides
// earlier, by the type alone, is left to asDriverHas.
type conn struct {
	inner driver.Conn
	guard *guard

	rested   bool  // it was in the pool, and no call has used it since
	declined *call // by the driver, to go on in the prepare that database/sql makes next
	txs      int   // under way: some drivers let one begin within another
	spoilt   bool  // it must not go back to the pool
}

var (
	_ driver.Conn               = (*conn)(nil)
	_ driver.ConnPrepareContext = (*conn)(nil)
	_ driver.ConnBeginTx        = (*conn)(nil)
	_ driver.Pinger             = (*conn)(nil)
	_ driver.SessionResetter    = (*conn)(nil)
	_ driver.Validator          = (*conn)(nil)
	_ driver.NamedValueChecker  = (*conn)(nil)
)

func newConn(inner driver.Conn, g *guard) driver.Conn {
	c := &conn{inner: inner, guard: g}
	return c.asDriverHas()
}

// Unwrap returns the driver's own connection of what [database/sql.Conn.Raw] passes, and
// what else there is as it is. Calls of it are not guarded: where they ask the database,
// [breaker.Breaker.Do] is the way.
//
//	err := conn.Raw(func(driverConn any) error {
//		pg := breakersql.Unwrap(driverConn).(*stdlib.Conn).Conn()
//		...
//	})
//
// It is safe for concurrent use.
func Unwrap(driverConn any) any {
	if c, ok := driverConn.(interface{ unwrap() driver.Conn }); ok {
		return c.unwrap()
	}
	return driverConn
}

func (c *conn) unwrap() driver.Conn { return c.inner }

// asDriverHas returns the connection with those of Exec and Query that the driver has.
// Where one is there, database/sql converts the arguments before it asks, without a
// statement that may know more about them: so one that only declines is not the same as
// none.
func (c *conn) asDriverHas() driver.Conn {
	switch execs, queries := hasExec(c.inner), hasQuery(c.inner); {
	case execs && queries:
		return struct {
			*conn
			execer
			queryer
		}{c, execer{c}, queryer{c}}
	case execs:
		return struct {
			*conn
			execer
		}{c, execer{c}}
	case queries:
		return struct {
			*conn
			queryer
		}{c, queryer{c}}
	}
	return c
}

type execer struct{ on *conn }

func (e execer) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	exec, err := connExec(ctx, e.on.inner, query, args)
	if err != nil {
		return nil, err
	}
	return run(ctx, e.on, exec)
}

type queryer struct{ on *conn }

func (q queryer) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	ask, err := connQuery(ctx, q.on.inner, query, args)
	if err != nil {
		return nil, err
	}
	return runQuery(ctx, q.on, ask)
}

// begin begins a call, if the breaker admits it or the transaction that it is part of.
func (c *conn) begin(ctx context.Context) (*call, error) {
	c.forget()
	x := newCall(ctx, c.guard, c)
	x.rested = c.rested
	if c.txs > 0 {
		x.follow()
	} else if err := x.admit(); err != nil {
		return nil, err
	}
	c.rested = false
	return x, nil
}

// forget gives back what the driver declined where no prepare followed.
func (c *conn) forget() {
	if x := c.declined; x != nil {
		c.declined = nil
		x.attempt.Release()
	}
}

// run makes a call that is over when the driver returns.
func run[T any](ctx context.Context, c *conn, fn func() (T, error)) (T, error) {
	x, err := c.begin(ctx)
	if err != nil {
		var none T
		return none, err
	}
	answer, err := ask(x, fn)
	if err == nil {
		x.succeed()
	}
	return answer, err
}

// runQuery makes a call that is over with its rows.
func runQuery(ctx context.Context, c *conn, fn func() (driver.Rows, error)) (driver.Rows, error) {
	x, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	inner, err := ask(x, fn)
	if err != nil {
		return nil, err
	}
	return (&rows{inner, x}).asDriverHas(), nil
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	x := c.declined
	if x != nil {
		c.declined = nil
	} else {
		var err error
		if x, err = c.begin(ctx); err != nil {
			return nil, err
		}
	}
	inner, err := ask(x, func() (driver.Stmt, error) { return prepare(ctx, c.inner, query) })
	if err != nil {
		return nil, err
	}
	x.succeed()
	return newStmt(inner, c), nil
}

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := canBegin(c.inner, opts); err != nil {
		return nil, err
	}
	inner, err := run(ctx, c, func() (driver.Tx, error) { return begin(ctx, c.inner, opts) })
	if err != nil {
		return nil, err
	}
	c.txs++
	return &tx{inner, c, ctx}, nil
}

// Ping asks nothing of a driver that has none, and so neither the breaker.
func (c *conn) Ping(ctx context.Context) error {
	pinger, ok := c.inner.(driver.Pinger)
	if !ok {
		return nil
	}
	_, err := run(ctx, c, func() (struct{}, error) { return struct{}{}, pinger.Ping(ctx) })
	return err
}

// ResetSession is what database/sql calls on a connection that comes out of the pool.
func (c *conn) ResetSession(ctx context.Context) error {
	c.rested = true
	if r, ok := c.inner.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

// IsValid is what database/sql calls before it puts a connection into the pool.
func (c *conn) IsValid() bool {
	c.forget()
	c.txs = 0 // also where the program ended one by a statement
	return !c.spoilt && c.driverSaysValid()
}

func (c *conn) driverSaysValid() bool {
	v, ok := c.inner.(driver.Validator)
	return !ok || v.IsValid()
}

// survivesRollback reports what database/sql asks of a connection whose transaction it
// rolls back by itself. Otherwise it closes the connection, whatever the type says here.
func (c *conn) survivesRollback() bool {
	_, resets := c.inner.(driver.SessionResetter)
	_, validates := c.inner.(driver.Validator)
	return resets && validates
}

func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.inner.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *conn) Close() error {
	c.forget()
	return c.inner.Close()
}

// Prepare and Begin are part of driver.Conn. database/sql calls those with a context.

func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

func (c *conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}
