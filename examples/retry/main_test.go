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
		const want = ` 0.0s  the call failed
 0.1s  the call failed
 0.3s  the call failed
 0.8s  a caller in a hurry: no time for another try: breaker: "db" refused the call: open
 2.3s  the call was served
 2.3s  a patient caller: <nil>
`
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", &out, want)
		}
	})
}
