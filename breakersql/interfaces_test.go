package breakersql_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"reflect"
)

// The optional interfaces of a driver, one type each.

type (
	execCtx   struct{ on *fakeConn }
	execOld   struct{ on *fakeConn }
	queryCtx  struct{ on *fakeConn }
	queryOld  struct{ on *fakeConn }
	prepares  struct{ on *fakeConn }
	begins    struct{ on *fakeConn }
	pings     struct{ on *fakeConn }
	resets    struct{ on *fakeConn }
	validates struct{ on *fakeConn }
	checks    struct{ on *fakeConn }

	stmtExecs    struct{ on *fakeStmt }
	stmtQueries  struct{ on *fakeStmt }
	stmtChecks   struct{}
	stmtConverts struct{}

	nextSet   struct{ on *fakeRows }
	scanType  struct{ on *fakeRows }
	typeName  struct{ on *fakeRows }
	length    struct{ on *fakeRows }
	nullable  struct{ on *fakeRows }
	precision struct{ on *fakeRows }
)

func (m execCtx) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), m.on.reached("exec", m.on.id, query, args)
}

func (m execOld) Exec(query string, args []driver.Value) (driver.Result, error) {
	return driver.RowsAffected(1), m.on.reached("exec", m.on.id, query, args)
}

func (m queryCtx) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return m.on.answer(m.on.reached("query", m.on.id, query, args))
}

func (m queryOld) Query(query string, args []driver.Value) (driver.Rows, error) {
	return m.on.answer(m.on.reached("query", m.on.id, query, args))
}

func (m prepares) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	return m.on.prepared(query, m.on.reached("prepare", m.on.id, query))
}

func (m begins) BeginTx(_ context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := m.on.reached("begin", m.on.id, opts); err != nil {
		return nil, err
	}
	return fakeTx{m.on}, nil
}

func (m pings) Ping(context.Context) error          { return m.on.reached("ping", m.on.id) }
func (m resets) ResetSession(context.Context) error { return m.on.reached("reset", m.on.id) }

// IsValid is not written down: how often one asks makes no difference.
func (m validates) IsValid() bool {
	m.on.mu.Lock()
	defer m.on.mu.Unlock()
	return m.on.id > m.on.spoilt
}

func (m checks) CheckNamedValue(v *driver.NamedValue) error {
	return check("conn", v)
}

// odd is an argument that only the checks and converters of a driver know.
type odd struct{ n int }

// removed is an argument that a check takes away.
type removed struct{}

func check(who string, v *driver.NamedValue) error {
	switch value := v.Value.(type) {
	case odd:
		v.Value = fmt.Sprint(who, " made ", value.n)
		return nil
	case removed:
		return driver.ErrRemoveArgument
	}
	return driver.ErrSkip
}

func (m stmtExecs) ExecContext(_ context.Context, args []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), m.on.c.reached("stmt exec", m.on.c.id, m.on.query, args)
}

func (m stmtQueries) QueryContext(_ context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return m.on.c.answer(m.on.c.reached("stmt query", m.on.c.id, m.on.query, args))
}

func (stmtChecks) CheckNamedValue(v *driver.NamedValue) error { return check("stmt", v) }

func (stmtConverts) ColumnConverter(index int) driver.ValueConverter { return converter(index) }

type converter int

func (c converter) ConvertValue(v any) (driver.Value, error) {
	if v, ok := v.(odd); ok {
		return fmt.Sprint("column ", int(c), " made ", v.n), nil
	}
	return driver.DefaultParameterConverter.ConvertValue(v)
}

// fakeRows are result sets of one column.
type fakeRows struct {
	c    *fakeConn
	left []int // rows, by result set
}

func (r *fakeRows) Columns() []string { return []string{"n"} }
func (r *fakeRows) Close() error      { return r.c.reached("close rows", r.c.id) }

func (r *fakeRows) Next(dest []driver.Value) error {
	if err := r.c.reached("next", r.c.id); err != nil {
		return err
	}
	if r.left[0] == 0 {
		return io.EOF
	}
	dest[0] = int64(r.left[0])
	r.left[0]--
	return nil
}

func (m nextSet) HasNextResultSet() bool { return len(m.on.left) > 1 }

func (m nextSet) NextResultSet() error {
	if err := m.on.c.reached("next set", m.on.c.id); err != nil {
		return err
	}
	if len(m.on.left) == 1 {
		return io.EOF
	}
	m.on.left = m.on.left[1:]
	return nil
}

func (m scanType) ColumnTypeScanType(int) reflect.Type                { return reflect.TypeFor[int16]() }
func (m typeName) ColumnTypeDatabaseTypeName(int) string              { return "SMALLINT" }
func (m length) ColumnTypeLength(int) (int64, bool)                   { return 7, true }
func (m nullable) ColumnTypeNullable(int) (bool, bool)                { return true, true }
func (m precision) ColumnTypePrecisionScale(int) (int64, int64, bool) { return 5, 2, true }
