package calls_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/cmd/breakersim/internal/calls"
)

// Whatever a log says, nothing panics, calls come out in order and can be replayed, and
// each line is a call or a bad line.
func FuzzLog(f *testing.F) {
	for _, log := range []string{
		"start,duration,outcome\n2026-03-02T03:00:00.5Z,12ms,ok\n1772420401,1ms,failed\n1772420400,1ms,ok\nwhat\n",
		"start;duration_ms;status\n\"1772420400.5\";1.5;\"2\"\"00\"\n;;\n",
		`{"start":"2026-03-02T03:00:00Z","duration":"1s","status":"503, 200","a":{"b":1}}` + "\n{}\n",
		`10.0.0.7 - - [02/Mar/2026:03:00:05 +0000] "GET / HTTP/1.1" 200 5 "-" "curl" 0.25` + "\n",
		"-9223372036854775808 200 1e9\n9223372036854775807 0 -1\n",
	} {
		f.Add(log, "", "", "s", uint16(60))
	}
	f.Add("1772420400.5 200 0.1, 0.2 : -\n", "nginx", "$msec $status $request_time", "", uint16(0))
	f.Fuzz(func(t *testing.T, log, format, logFormat, unit string, reorder uint16) {
		o := calls.Options{
			Format: format, LogFormat: logFormat, Unit: unit,
			Reorder: time.Duration(reorder) * time.Second, MostBad: 1,
		}
		if strings.Contains(log, ";") {
			o.Comma = ';'
		}
		if o.Validate() != nil {
			t.Skip()
		}
		r := calls.NewReader(strings.NewReader(log), o)
		var last calls.Call
		var n int64
		for {
			c, err := r.Next()
			if err != nil {
				if err == io.EOF {
					require.Equal(t, r.Counts().Lines, n+r.Counts().Bad)
				}
				var tooBad *calls.TooBadError
				require.False(t, errors.As(err, &tooBad), "all of them may be bad")
				return
			}
			require.GreaterOrEqual(t, c.Latency, time.Duration(0))
			require.LessOrEqual(t, c.Verdict, breaker.Canceled)
			if n > 0 {
				require.GreaterOrEqual(t, c.Start, last.Start)
			}
			last, n = c, n+1
		}
	})
}
