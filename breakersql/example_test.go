package breakersql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakersql"
)

// A database with a breaker in front of it. The connector is the driver's:
// stdlib.GetConnector of pgx, mysql.NewConnector, pq.NewConnector. Here it is one of the
// tests, whose server can be shut down.
func ExampleWrap() {
	server := newFake()
	b := breaker.MustNew(breaker.Settings{Name: "orders"})
	db := sql.OpenDB(breakersql.Wrap(server, b))
	defer db.Close()

	total := func() {
		var total int
		err := db.QueryRow("SELECT total FROM orders").Scan(&total)
		var refusal *breaker.RejectedError
		switch {
		case errors.As(err, &refusal):
			left, _ := refusal.RetryAfter()
			fmt.Println("not asked:", refusal.State, left > 0)
		case err != nil:
			fmt.Println("failed:", err)
		default:
			fmt.Println(total)
		}
	}
	total()
	server.fails("query", state("57P01")) // shutting down
	for range 6 {
		total()
	}
	// Output:
	// 2
	// failed: state 57P01
	// failed: state 57P01
	// failed: state 57P01
	// failed: state 57P01
	// failed: state 57P01
	// not asked: open true
}

// mysqlError stands for *mysql.MySQLError, which has no SQLState method but a number.
type mysqlError struct{ Number uint16 }

func (e *mysqlError) Error() string { return fmt.Sprint("error ", e.Number) }

// A classifier of one's own asks first, and leaves the rest to this one.
func ExampleClassify() {
	settings := breaker.Settings{Name: "orders", Classify: func(err error) breaker.Verdict {
		var answer *mysqlError
		if errors.As(err, &answer) && answer.Number == 3024 { // over max_execution_time
			return breaker.Transient
		}
		return breakersql.Classify(err)
	}}
	fmt.Println(settings.Classify(&mysqlError{3024}))
	fmt.Println(settings.Classify(&mysqlError{1062}), "for a duplicate key")
	fmt.Println(settings.Classify(context.DeadlineExceeded))
	// Output:
	// transient
	// permanent for a duplicate key
	// transient
}

// The driver's own connection, for what it can do besides.
func ExampleUnwrap() {
	db := sql.OpenDB(breakersql.Wrap(newFake(), breaker.Of(5, 15*time.Second, "orders")))
	defer db.Close()
	conn, err := db.Conn(context.Background())
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	err = conn.Raw(func(driverConn any) error {
		_, drivers := breakersql.Unwrap(driverConn).(interface{ connection() int })
		fmt.Println("the driver's own:", drivers)
		return nil
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// the driver's own: true
}
