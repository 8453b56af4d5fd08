//go:build go1.27

package breakersql

import "database/sql/driver"

// asDriverHas returns the rows with driver.RowsColumnScanner if the driver's have it. Its
// rows come in a way of their own, which Next cannot play.
func (r *rows) asDriverHas() driver.Rows {
	if scanner, ok := r.Rows.(driver.RowsColumnScanner); ok {
		return &scannedRows{r, scanner}
	}
	return r
}

type scannedRows struct {
	*rows
	scanner driver.RowsColumnScanner
}

var _ driver.RowsColumnScanner = (*scannedRows)(nil)

func (r *scannedRows) NextRow() error { return r.ask(r.scanner.NextRow) }

func (r *scannedRows) ScanColumn(scan driver.ScanContext, index int, dest any) error {
	return r.ask(func() error { return r.scanner.ScanColumn(scan, index, dest) })
}
