package breakersql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/normal-go/breaker"
)

// Classify is what an error of a driver tells about the database, unless
// [breaker.Settings.Classify] says otherwise. The first that fits decides:
//
//   - An error that carries a verdict has that one.
//   - A refusal by a breaker that is nearer to the database is Throttled: the database was
//     not asked, so no breaker before that one opens with it.
//   - Nil is OK, and context.Canceled is Canceled, as in [breaker.Classify].
//   - An error with a method SQLState() string, as the drivers of PostgreSQL have it, is
//     what the server says. These classes are Transient: 08, lost connections; 53, out of
//     connections, memory or disk; 57, shut down, not up yet, or cancelled by a time limit
//     of the server's; 58 and XX, failures of the system and of the server itself; and the
//     code 40003, by which a clustered database says that it does not know how the
//     statement ended.
//   - Every other code is Permanent. The database is well: the statement is wrong (class
//     42), or its values (22), a constraint holds (23), another transaction was faster
//     (40, 55), or the password is not right (28).
//   - [driver.ErrBadConn], the end of a stream, and every [net.Error], which all timeouts,
//     context.DeadlineExceeded and errors of the operating system are, are Transient. So is
//     an error with a method SafeToRetry() bool that returns true, by which pgx says that
//     nothing reached the server.
//   - Everything else is Permanent. A server that answers with an error has answered,
//     and drivers have more kinds of errors for that than a list can keep up with. An
//     error that leaves no connection behind does not come here as such: see the
//     package's doc.
//
// sql.ErrNoRows is no error of a driver: a query without rows is OK.
//
// A database whose errors tell more has them judged first. With MySQL's driver:
//
//	Classify: func(err error) breaker.Verdict {
//		var answer *mysql.MySQLError
//		if errors.As(err, &answer) && answer.Number == 3024 { // over max_execution_time
//			return breaker.Transient
//		}
//		return breakersql.Classify(err)
//	}
//
// It is safe for concurrent use.
func Classify(err error) breaker.Verdict {
	var refusal *breaker.RejectedError
	switch {
	case carriesVerdict(err):
		return breaker.Classify(err)
	case errors.As(err, &refusal):
		return breaker.Throttled
	case err == nil || errors.Is(err, context.Canceled):
		return breaker.Classify(err)
	}
	var answer interface{ SQLState() string }
	if errors.As(err, &answer) {
		return stateVerdict(answer.SQLState())
	}
	for _, lost := range []error{driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, lost) {
			return breaker.Transient
		}
	}
	var network net.Error
	var unsent interface{ SafeToRetry() bool }
	if errors.As(err, &network) || errors.As(err, &unsent) && unsent.SafeToRetry() {
		return breaker.Transient
	}
	return breaker.Permanent
}

func carriesVerdict(err error) bool {
	var carrier interface{ Verdict() breaker.Verdict }
	return errors.As(err, &carrier)
}

// stateVerdict judges an SQLSTATE, of which the first two characters are the class.
func stateVerdict(state string) breaker.Verdict {
	if len(state) == 5 {
		switch state[:2] {
		case "08", "53", "57", "58", "XX":
			return breaker.Transient
		}
	}
	if state == "40003" {
		return breaker.Transient
	}
	return breaker.Permanent
}
