package league

import (
	"context"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

var (
	theHistory  = flag.String("history", "", "print what this library does in this row, and why")
	theSettings = flag.String("settings", "{}", "with -history: settings of this library, in JSON")
)

// TestHistory prints the transitions of this library in a row, by the time since the row
// began, and what they come to.
func TestHistory(t *testing.T) {
	p, row := full, *theHistory
	if row == "" {
		p, row = small, "outage"
	}
	var settings breaker.Settings
	require.NoError(t, json.Unmarshal([]byte(*theSettings), &settings))
	transitions := 0
	col := column{name: "breaker", module: ourselves, build: func(random *rand.Rand) guard {
		born := time.Now()
		s := settings
		s.OnTransition = func(_ context.Context, transition breaker.Transition) {
			transitions++
			t.Logf("%8.1f s %s", time.Since(born).Seconds(), transition)
		}
		return ours(s, false)(random)
	}}
	var times []Result
	for number := range rowNamed(t, p.incidents(*theSeed, 0), row).times {
		in := rowNamed(t, p.incidents(*theSeed, number), row)
		t.Logf("%s, time %d: trouble %v", in.name, number+1, in.trouble)
		times = append(times, inBubble(t, in, &col))
	}
	r, oracle := sum(times), resultOf(t, p, row, *theSeed, columnNamed(t, "oracle"))
	t.Logf("%s: %s %% of the oracle's goodput, %s sent into the dead dependency, %s refused that would have been served",
		row, percent(float64(r.Served)/float64(oracle.Served)), thousands(r.Wasted), thousands(r.Lost))
	require.Equal(t, r.Refused > 0, transitions > 0)
}
