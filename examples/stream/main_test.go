package main

import (
	"strings"
	"testing"
	"testing/synctest"
)

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		run(&out)
		const want = `a whole file: error <nil>; 1 ok, 0 transient, 0 released
normal is the time to the first byte, not the length of the stream: about 30ms
a stream that breaks off: error connection reset; 1 ok, 1 transient, 0 released
a reader that goes away: error io: read/write on closed pipe; 1 ok, 1 transient, 1 released
`
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", &out, want)
		}
	})
}
