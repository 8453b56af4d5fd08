package breakersql

import (
	"context"
	"database/sql/driver"
	"io"

	"github.com/normal-go/breaker"
)

// Wrap returns a connector whose connections ask b before they ask the database, for
// [database/sql.OpenDB]. One breaker stands for one database; where a replica fails on its
// own, give it a connector and a breaker of its own. Wrap panics if either is nil.
//
// Closing the [database/sql.DB] closes connector, if it can be closed.
// The connector that Wrap returns is safe for concurrent use if the given one is. As with any
// driver, a connection of it is for one goroutine at a time, which database/sql sees to.
func Wrap(connector driver.Connector, b *breaker.Breaker) driver.Connector {
	if connector == nil || b == nil {
		panic("breakersql: Wrap with a nil connector or a nil breaker")
	}
	return &wrapped{connector, guard{b, b.Settings().Clock}}
}

// OpenConnector returns a connector of a driver for a data source name, as
// [database/sql.Open] makes one: for drivers that have no constructor of their own for it.
// It does not connect. Its error is that of a driver which reads the name at once. It panics
// if d is nil.
// It is safe for concurrent use.
func OpenConnector(d driver.Driver, dataSourceName string) (driver.Connector, error) {
	if d == nil {
		panic("breakersql: OpenConnector with a nil driver")
	}
	if d, ok := d.(driver.DriverContext); ok {
		return d.OpenConnector(dataSourceName)
	}
	return named{d, dataSourceName}, nil
}

// named is the connector of a driver that has none.
type named struct {
	driver driver.Driver
	name   string
}

func (n named) Connect(context.Context) (driver.Conn, error) { return n.driver.Open(n.name) }

func (n named) Driver() driver.Driver { return n.driver }

type wrapped struct {
	connector driver.Connector
	guard     guard
}

// Connect asks the breaker, and then opens a connection. Only its failure is evidence.
func (w *wrapped) Connect(ctx context.Context) (driver.Conn, error) {
	x := newCall(ctx, &w.guard, nil)
	if err := x.admit(); err != nil {
		return nil, err
	}
	inner, err := ask(x, func() (driver.Conn, error) { return w.connector.Connect(ctx) })
	if err != nil {
		return nil, err
	}
	x.attempt.Release()
	return newConn(inner, &w.guard), nil
}

func (w *wrapped) Driver() driver.Driver { return w.connector.Driver() }

// Close is what sql.DB.Close calls.
func (w *wrapped) Close() error {
	if c, ok := w.connector.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
