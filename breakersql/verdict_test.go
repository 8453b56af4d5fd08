package breakersql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakersql"
)

// unsent is an error from before or after anything was sent.
type unsent bool

func (u unsent) Error() string     { return "conn closed" }
func (u unsent) SafeToRetry() bool { return bool(u) }

func TestClassify(t *testing.T) {
	_, refused := net.Dial("tcp", "127.0.0.1:0")
	require.Error(t, refused)
	tests := []struct {
		err  error
		want breaker.Verdict
	}{
		{nil, breaker.OK},
		{breaker.WithVerdict(io.EOF, breaker.Throttled), breaker.Throttled},
		{breaker.WithVerdict(state("23505"), breaker.Transient), breaker.Transient},
		{&breaker.RejectedError{State: breaker.Isolated}, breaker.Throttled},
		{errors.Join(driver.ErrBadConn, &breaker.RejectedError{State: breaker.Open}), breaker.Throttled},
		{errors.Join(&breaker.RejectedError{State: breaker.Open}, context.Canceled), breaker.Throttled},
		{breaker.WithVerdict(&breaker.RejectedError{State: breaker.Open}, breaker.Permanent), breaker.Permanent},
		{context.Canceled, breaker.Canceled},
		{errors.Join(io.EOF, context.Canceled), breaker.Canceled},

		{driver.ErrBadConn, breaker.Transient},
		{io.EOF, breaker.Transient}, {io.ErrUnexpectedEOF, breaker.Transient}, {net.ErrClosed, breaker.Transient},
		{refused, breaker.Transient}, {syscall.ECONNREFUSED, breaker.Transient}, {syscall.ECONNRESET, breaker.Transient},
		{syscall.EPIPE, breaker.Transient}, {&net.DNSError{Err: "no such host"}, breaker.Transient},
		{context.DeadlineExceeded, breaker.Transient}, {os.ErrDeadlineExceeded, breaker.Transient},
		{&fs.PathError{Op: "write", Path: "db", Err: syscall.ENOSPC}, breaker.Transient},

		{unsent(true), breaker.Transient}, {unsent(false), breaker.Permanent},
		{errAnswer, breaker.Permanent}, {sql.ErrNoRows, breaker.Permanent}, {driver.ErrSkip, breaker.Permanent},
		{errors.Join(state("23505"), driver.ErrBadConn), breaker.Permanent}, {errors.Join(io.EOF, state("42601")), breaker.Permanent},
		{state(""), breaker.Permanent}, {state("08"), breaker.Permanent}, {state("0800"), breaker.Permanent},
	}
	for verdict, states := range map[breaker.Verdict]string{
		breaker.Transient: "08000 08003 08006 08P01 53000 53100 53200 53300 57000 57014 57P01 57P02 57P03 57P04 57P05 " +
			"58000 58030 XX000 XX001 40003",
		breaker.Permanent: "00000 02000 22012 23503 23505 23514 25006 25P02 25P03 28000 28P01 3D000 40001 40P01 " +
			"42501 42601 42P01 54001 55P03 F0000 HY000 HV000 P0001 70100",
	} {
		for _, s := range strings.Fields(states) {
			tests = append(tests, struct {
				err  error
				want breaker.Verdict
			}{state(s), verdict})
		}
	}
	for _, test := range tests {
		require.Equal(t, test.want, breakersql.Classify(test.err), "%v", test.err)
		if test.err != nil {
			require.Equal(t, test.want, breakersql.Classify(fmt.Errorf("query: %w", test.err)), "%v, wrapped", test.err)
		}
	}
}
