package breakersql

import (
	"context"
	"database/sql/driver"
	"errors"
)

// What database/sql does where a driver is without the call that takes a context. A driver
// behind the breaker is to see the same. That the context has not ended yet is looked at
// before the breaker is asked.

var (
	errNamed     = errors.New("sql: driver does not support the use of Named Parameters")
	errIsolation = errors.New("sql: driver does not support non-default isolation level")
	errReadOnly  = errors.New("sql: driver does not support read-only transactions")
)

// unnamed returns the values of arguments for a call that knows them by their position,
// and knows no context.
func unnamed(ctx context.Context, args []driver.NamedValue) ([]driver.Value, error) {
	values := make([]driver.Value, len(args))
	for i, arg := range args {
		if arg.Name != "" {
			return nil, errNamed
		}
		values[i] = arg.Value
	}
	return values, ctx.Err()
}

func hasExec(c driver.Conn) bool {
	_, now := c.(driver.ExecerContext)
	//lint:ignore SA1019 drivers still have it
	_, then := c.(driver.Execer)
	return now || then
}

func hasQuery(c driver.Conn) bool {
	_, now := c.(driver.QueryerContext)
	//lint:ignore SA1019 drivers still have it
	_, then := c.(driver.Queryer)
	return now || then
}

// The four functions below return the call that asks the driver, or what keeps the
// arguments from it.

func connExec(ctx context.Context, c driver.Conn, query string, args []driver.NamedValue) (func() (driver.Result, error), error) {
	if c, ok := c.(driver.ExecerContext); ok {
		return func() (driver.Result, error) { return c.ExecContext(ctx, query, args) }, nil
	}
	values, err := unnamed(ctx, args)
	return func() (driver.Result, error) {
		//lint:ignore SA1019 drivers still have it
		return c.(driver.Execer).Exec(query, values)
	}, err
}

func connQuery(ctx context.Context, c driver.Conn, query string, args []driver.NamedValue) (func() (driver.Rows, error), error) {
	if c, ok := c.(driver.QueryerContext); ok {
		return func() (driver.Rows, error) { return c.QueryContext(ctx, query, args) }, nil
	}
	values, err := unnamed(ctx, args)
	return func() (driver.Rows, error) {
		//lint:ignore SA1019 drivers still have it
		return c.(driver.Queryer).Query(query, values)
	}, err
}

func stmtExec(ctx context.Context, s driver.Stmt, args []driver.NamedValue) (func() (driver.Result, error), error) {
	if s, ok := s.(driver.StmtExecContext); ok {
		return func() (driver.Result, error) { return s.ExecContext(ctx, args) }, nil
	}
	values, err := unnamed(ctx, args)
	return func() (driver.Result, error) {
		//lint:ignore SA1019 drivers still have it
		return s.Exec(values)
	}, err
}

func stmtQuery(ctx context.Context, s driver.Stmt, args []driver.NamedValue) (func() (driver.Rows, error), error) {
	if s, ok := s.(driver.StmtQueryContext); ok {
		return func() (driver.Rows, error) { return s.QueryContext(ctx, args) }, nil
	}
	values, err := unnamed(ctx, args)
	return func() (driver.Rows, error) {
		//lint:ignore SA1019 drivers still have it
		return s.Query(values)
	}, err
}

// prepare prepares a statement. One that comes after the context has ended is closed.
func prepare(ctx context.Context, c driver.Conn, query string) (driver.Stmt, error) {
	if c, ok := c.(driver.ConnPrepareContext); ok {
		return c.PrepareContext(ctx, query)
	}
	s, err := c.Prepare(query)
	if err == nil && ctx.Err() != nil {
		_ = s.Close()
		return nil, ctx.Err()
	}
	return s, err
}

// canBegin returns the error for options that the driver cannot be told of.
func canBegin(c driver.Conn, opts driver.TxOptions) error {
	_, told := c.(driver.ConnBeginTx)
	switch {
	case told:
		return nil
	case opts.Isolation != 0:
		return errIsolation
	case opts.ReadOnly:
		return errReadOnly
	}
	return nil
}

// begin begins a transaction. One that comes after the context has ended is rolled back.
func begin(ctx context.Context, c driver.Conn, opts driver.TxOptions) (driver.Tx, error) {
	if c, ok := c.(driver.ConnBeginTx); ok {
		return c.BeginTx(ctx, opts)
	}
	//lint:ignore SA1019 drivers still have it
	t, err := c.Begin()
	if err == nil && ctx.Err() != nil {
		_ = t.Rollback()
		return nil, ctx.Err()
	}
	return t, err
}
