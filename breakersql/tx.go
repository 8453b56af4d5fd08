package breakersql

import (
	"context"
	"database/sql/driver"
)

// tx is a transaction of the driver's. It ends whatever the breaker thinks.
type tx struct {
	inner driver.Tx
	conn  *conn
	ctx   context.Context // of its Begin
}

// Commit is never refused. It is evidence while the breaker is closed.
func (t *tx) Commit() error {
	_, err := run(t.ctx, t.conn, func() (struct{}, error) {
		t.end()
		return struct{}{}, t.inner.Commit()
	})
	return err
}

// Rollback is neither refused nor evidence: it tidies up after what was.
//
// When the context of a transaction ends, database/sql rolls back by itself, and then
// closes the connection unless its type tells that it can be reset.
func (t *tx) Rollback() error {
	t.end()
	if t.ctx.Err() != nil && !t.conn.survivesRollback() {
		t.conn.spoilt = true
	}
	return t.inner.Rollback()
}

func (t *tx) end() { t.conn.txs = max(0, t.conn.txs-1) }
