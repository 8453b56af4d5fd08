package breakersql

import (
	"database/sql/driver"
	"io"
	"reflect"
)

// rows are the driver's, and end the call that they answer: at the first error that is not
// the end, or when they are closed, which database/sql does at the end too. For each
// optional interface that the driver's rows lack, they say what database/sql takes that for.
type rows struct {
	driver.Rows
	call *call
}

var (
	_ driver.RowsNextResultSet              = (*rows)(nil)
	_ driver.RowsColumnTypeScanType         = (*rows)(nil)
	_ driver.RowsColumnTypeDatabaseTypeName = (*rows)(nil)
	_ driver.RowsColumnTypeLength           = (*rows)(nil)
	_ driver.RowsColumnTypeNullable         = (*rows)(nil)
	_ driver.RowsColumnTypePrecisionScale   = (*rows)(nil)
)

func (r *rows) Next(dest []driver.Value) error {
	return r.ask(func() error { return r.Rows.Next(dest) })
}

func (r *rows) Close() error {
	err := r.ask(r.Rows.Close)
	r.call.succeed() // a no-op after an error
	return err
}

// ask calls the driver, and ends the call by an error or a panic.
func (r *rows) ask(fn func() error) error {
	returned := false
	defer r.call.left(&returned)
	err := fn()
	returned = true
	if err != nil && err != io.EOF {
		r.call.fail(err)
	}
	return err
}

func (r *rows) HasNextResultSet() bool {
	next, ok := r.Rows.(driver.RowsNextResultSet)
	return ok && next.HasNextResultSet()
}

func (r *rows) NextResultSet() error {
	next, ok := r.Rows.(driver.RowsNextResultSet)
	if !ok {
		return io.EOF
	}
	return r.ask(next.NextResultSet)
}

func (r *rows) ColumnTypeScanType(index int) reflect.Type {
	if column, ok := r.Rows.(driver.RowsColumnTypeScanType); ok {
		return column.ColumnTypeScanType(index)
	}
	return reflect.TypeFor[any]()
}

func (r *rows) ColumnTypeDatabaseTypeName(index int) string {
	if column, ok := r.Rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return column.ColumnTypeDatabaseTypeName(index)
	}
	return ""
}

func (r *rows) ColumnTypeLength(index int) (length int64, ok bool) {
	if column, ok := r.Rows.(driver.RowsColumnTypeLength); ok {
		return column.ColumnTypeLength(index)
	}
	return 0, false
}

func (r *rows) ColumnTypeNullable(index int) (nullable, ok bool) {
	if column, ok := r.Rows.(driver.RowsColumnTypeNullable); ok {
		return column.ColumnTypeNullable(index)
	}
	return false, false
}

func (r *rows) ColumnTypePrecisionScale(index int) (precision, scale int64, ok bool) {
	if column, ok := r.Rows.(driver.RowsColumnTypePrecisionScale); ok {
		return column.ColumnTypePrecisionScale(index)
	}
	return 0, 0, false
}
