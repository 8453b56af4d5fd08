//go:build !go1.27

package breakersql

import "database/sql/driver"

// asDriverHas returns the rows: up to Go 1.26, all that they may lack can be played.
func (r *rows) asDriverHas() driver.Rows { return r }
