// Package breakersql puts a circuit breaker between database/sql and a driver.
//
//	b := breaker.MustNew(breaker.Settings{Name: "orders"})
//	db := sql.OpenDB(breakersql.Wrap(connector, b))
//
//	err := db.QueryRowContext(ctx, "SELECT total FROM orders WHERE id = $1", id).Scan(&total)
//	var refusal *breaker.RejectedError
//	if errors.As(err, &refusal) {
//		// the database was not asked
//	}
//
// Nothing else changes in the program: db is a *sql.DB like any other, with its pool, its
// retries and its errors. A driver that is known by its name has a connector too, see
// [OpenConnector].
//
// # What is guarded
//
// Connect, Ping, Prepare, Exec, Query, their like on a prepared statement, and Begin ask
// the breaker first. A refusal is a [*breaker.RejectedError]. It is not
// [driver.ErrBadConn], so database/sql does not try again, and it returns at once, without
// the pause of [breaker.Breaker.Admit]: the caller holds a connection of the pool by then,
// or the right to open one, and whoever waits for that would wait for the pause as well. A
// loop that tries again after a refusal has to wait by itself, for as long as
// [breaker.RejectedError.RetryAfter] says.
//
// A transaction is refused at its Begin or not at all. What runs within it, and its Commit
// and Rollback, always reach the database: a refusal half-way would waste what is done, a
// refused Rollback would leave locks behind, and in a recovery, where one call in ten may
// be admitted, hardly any transaction would come to its end. The statements and the Commit
// are evidence while the breaker is closed, and not in any other state. A Rollback never
// is. A transaction that a statement such as BEGIN begins is not known as one.
//
// # What is evidence
//
// [Classify] says what an error tells, or [breaker.Settings.Classify] of the breaker, if
// it is set. It sees the driver's error. Where that alone does not tell, it sees one that
// wraps driver.ErrBadConn too, if there is no connection after it, or
// context.DeadlineExceeded, if the call's own deadline has passed. The caller gets the
// driver's error as it is.
//
// A verdict that the error carries comes before all of this; see [breaker.WithVerdict].
// Any other error after the caller's context was cancelled is Canceled: drivers tell of it
// in many ways. An error after a deadline is subject to the rule of the core about
// deadlines that are shorter than the database normally takes.
//
// The latency of a Query is the time to its first answer, until the driver returns. Its
// outcome waits for the end of the rows: a result that breaks off is a failure like any
// other, and rows closed before their end are OK. Rows that are never closed leave an
// attempt without an end, and a connection that the pool never gets back. Time spent
// waiting for a connection of the pool is not the database's, and not seen.
//
// Each call of the driver is an attempt, and one call of the program's may be several: a
// connect and a query, or a prepare and an execute where the driver knows no other way.
//   - A Connect that fails is evidence. One that succeeds is not, because opening a
//     connection takes another time than using one: the call that follows tells.
//   - A connection that comes out of the pool and turns out to be dead on its first call,
//     by driver.ErrBadConn, is no evidence. It may have died hours ago, and database/sql
//     tries another, and in the end a new one, which is.
//   - A call that the driver declines with [driver.ErrSkip] goes on in the prepare that
//     follows, as one attempt.
//
// # The driver's own features
//
// A connection, a statement and rows have all the optional interfaces of package driver
// that the driver's have, and behave for the others as if they had none. Calls of the
// connection that [sql.Conn.Raw] passes are guarded like all others. [Unwrap] returns the
// driver's own; calls of that are not.
// [sql.DB.Driver] returns the driver itself.
//
// # Concurrency
//
// All of it is safe for concurrent use where the driver's is. The package starts no
// goroutine and takes no lock. It needs the standard library alone.
//
// [breaker.Settings.OnTransition] runs within the call that brings a transition about, and
// that call has its connection of the pool. A listener that asks the same *sql.DB takes
// another one, and with SetMaxOpenConns(1), or when all others wait likewise, waits for
// itself.
package breakersql
