package calls_test

import (
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker/cmd/breakersim/internal/calls"
)

// endless is a log of 1,000 calls a second, that is written as it is read.
type endless struct {
	lines, n int
	write    func([]byte, int) []byte
	rest     []byte
	buffer   []byte
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.n == e.lines {
			return 0, io.EOF
		}
		e.buffer = e.write(e.buffer[:0], e.n)
		e.rest = e.buffer
		e.n++
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func at(n int) time.Time { return three.Add(time.Duration(n) * time.Millisecond) }

var logs = map[string]struct {
	options calls.Options
	write   func([]byte, int) []byte
}{
	"csv": {calls.Options{}, func(b []byte, n int) []byte {
		if n == 0 {
			b = append(b, "start,duration_ms,status\n"...)
		}
		b = at(n).AppendFormat(b, "2006-01-02T15:04:05.000Z07:00")
		return append(b, ",12.5,200\n"...)
	}},
	"nginx": {calls.Options{}, func(b []byte, n int) []byte {
		b = at(n).AppendFormat(append(b, "10.0.0.7 - - ["...), "02/Jan/2006:15:04:05 -0700")
		return append(b, `] "GET / HTTP/1.1" 200 512 "-" "curl/8.5" 0.020`+"\n"...)
	}},
	"jsonl": {calls.Options{Unit: "ms"}, func(b []byte, n int) []byte {
		return fmt.Appendf(b, `{"start":%d.%03d,"duration":20,"status":200,"path":"/a"}`+"\n", three.Unix()+int64(n/1000), n%1000)
	}},
}

// What is held back is the calls of a window, so a longer log takes no more.
func TestMemoryDoesNotGrowWithTheLog(t *testing.T) {
	for name, log := range logs {
		t.Run(name, func(t *testing.T) {
			o := log.options
			o.Reorder = 10 * time.Second
			r := calls.NewReader(&endless{lines: 120_000, write: log.write}, o)
			var heaps []uint64
			for n := 0; ; n++ {
				_, err := r.Next()
				if err == io.EOF {
					require.Equal(t, 120_000, n, "%v", r.Counts())
					break
				}
				require.NoError(t, err)
				if n%20_000 == 0 {
					runtime.GC()
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					heaps = append(heaps, m.HeapAlloc)
				}
			}
			for _, h := range heaps[1:] {
				require.Less(t, h, heaps[0]+2<<20, "heap in bytes, every 20,000 calls: %v", heaps)
			}
		})
	}
}

func TestAllocationsOfALine(t *testing.T) {
	for name, most := range map[string]float64{"csv": 1, "nginx": 0, "jsonl": 40} {
		log := logs[name]
		r := calls.NewReader(&endless{lines: 20_000, write: log.write}, log.options)
		next := func() {
			_, err := r.Next()
			require.NoError(t, err)
		}
		for range 5000 {
			next()
		}
		require.LessOrEqual(t, testing.AllocsPerRun(5_000, next), most, name)
	}
}
