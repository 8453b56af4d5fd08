package breakersql_test

import (
	"context"
	"database/sql/driver"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakersql"
)

// oldDriver knows data source names and nothing of connectors.
type oldDriver struct{ fake *fake }

func (d oldDriver) Open(name string) (driver.Conn, error) {
	if name != "good name" {
		return nil, errAnswer
	}
	return d.fake.Connect(context.Background())
}

// newDriver reads data source names by itself.
type newDriver struct{ oldDriver }

func (d newDriver) OpenConnector(name string) (driver.Connector, error) {
	if name != "good name" {
		return nil, errAnswer
	}
	return d.fake, nil
}

func TestOpenConnector(t *testing.T) {
	f := newFake()
	old := oldDriver{f}
	c, err := breakersql.OpenConnector(old, "good name")
	require.NoError(t, err)
	require.Equal(t, old, c.Driver())
	require.Empty(t, f.taken(), "it does not connect")
	b, _ := newBreaker(t, breaker.Settings{})
	db := open(t, breakersql.Wrap(c, b))
	require.NoError(t, db.Ping())
	require.Equal(t, []string{"connect", "ping 1"}, f.taken())
	require.NoError(t, db.Close())

	c, err = breakersql.OpenConnector(old, "bad name")
	require.NoError(t, err)
	require.Equal(t, errAnswer, open(t, c).Ping())

	c, err = breakersql.OpenConnector(newDriver{old}, "good name")
	require.NoError(t, err)
	require.Equal(t, f, c)
	_, err = breakersql.OpenConnector(newDriver{old}, "bad name")
	require.Equal(t, errAnswer, err)

	require.PanicsWithValue(t, "breakersql: OpenConnector with a nil driver", func() { _, _ = breakersql.OpenConnector(nil, "a name") })
}

func TestUnwrap(t *testing.T) {
	for kind, build := range connKinds {
		f := newFake()
		var drivers driver.Conn
		f.conn = func(c *fakeConn) driver.Conn {
			drivers = build(c)
			return drivers
		}
		b, _ := newBreaker(t, breaker.Settings{})
		db := open(t, breakersql.Wrap(f, b))
		conn, err := db.Conn(bg)
		require.NoError(t, err)
		err = conn.Raw(func(driverConn any) error {
			require.NotEqual(t, drivers, driverConn)
			require.Equal(t, drivers, breakersql.Unwrap(driverConn), kind)
			return errAnswer
		})
		require.Equal(t, errAnswer, err)
		require.NoError(t, conn.Close())
		require.Equal(t, drivers, breakersql.Unwrap(drivers), "not wrapped")
	}
	require.Nil(t, breakersql.Unwrap(nil))
}
