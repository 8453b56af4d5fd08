package breakersql

import (
	"context"
	"database/sql/driver"
)

// stmt is a prepared statement of the driver's behind the breaker.
type stmt struct {
	inner driver.Stmt
	conn  *conn
}

var (
	_ driver.Stmt              = (*stmt)(nil)
	_ driver.StmtExecContext   = (*stmt)(nil)
	_ driver.StmtQueryContext  = (*stmt)(nil)
	_ driver.NamedValueChecker = (*stmt)(nil)
)

// converter is driver.ColumnConverter under a name that does not hide its method where it
// is embedded.
type converter interface {
	ColumnConverter(index int) driver.ValueConverter
}

// newStmt returns a statement that converts arguments by column if the driver's does.
func newStmt(inner driver.Stmt, c *conn) driver.Stmt {
	s := &stmt{inner, c}
	if converts, ok := inner.(converter); ok {
		return struct {
			*stmt
			converter
		}{s, converts}
	}
	return s
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	exec, err := stmtExec(ctx, s.inner, args)
	if err != nil {
		return nil, err
	}
	return run(ctx, s.conn, exec)
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	query, err := stmtQuery(ctx, s.inner, args)
	if err != nil {
		return nil, err
	}
	return runQuery(ctx, s.conn, query)
}

// CheckNamedValue asks whom database/sql would ask: the statement, or else its connection.
func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := s.inner.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return s.conn.CheckNamedValue(v)
}

func (s *stmt) NumInput() int { return s.inner.NumInput() }

func (s *stmt) Close() error { return s.inner.Close() }

// Exec and Query are part of driver.Stmt. database/sql calls those with a context.

func (s *stmt) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), numbered(args))
}

func (s *stmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), numbered(args))
}

func numbered(args []driver.Value) []driver.NamedValue {
	values := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	return values
}
