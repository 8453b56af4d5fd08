package league

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

var theHistory = flag.String("history", "", "print what this library does in this row at its defaults, and why")

// TestHistory prints the transitions of this library in a row, by the time since the row
// began.
func TestHistory(t *testing.T) {
	p, row := full, *theHistory
	if row == "" {
		p, row = small, "outage"
	}
	for number := range rowNamed(t, p.incidents(*theSeed, 0), row).times {
		in := rowNamed(t, p.incidents(*theSeed, number), row)
		t.Logf("%s, time %d: trouble %v", in.name, number+1, in.trouble)
		transitions := 0
		col := column{name: "breaker", library: ourselves, build: func(random *rand.Rand) guard {
			born := time.Now()
			return ours(breaker.Settings{OnTransition: func(_ context.Context, transition breaker.Transition) {
				transitions++
				t.Logf("%8.1f s %s", time.Since(born).Seconds(), transition)
			}}, false)(random)
		}}
		r := inBubble(t, in, &col)
		require.Equal(t, r.Refused > 0, transitions > 0, "%+v", r)
	}
}
