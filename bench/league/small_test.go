package league

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// small is a league of seconds.
var small = pace{
	Day: 2 * time.Minute, BusyDay: 20 * time.Second,
	Before: 30 * time.Second, During: 20 * time.Second, Then: 30 * time.Second, Times: 1,
}

// inSmall returns what each column came to in a row.
func inSmall(t *testing.T, row string, cols []column) map[string]Result {
	t.Helper()
	found := map[string]Result{}
	for _, col := range cols {
		found[col.name] = resultOf(t, small, row, 1, &col)
	}
	return found
}

func TestNobodyBeatsTheOracle(t *testing.T) {
	for _, in := range small.incidents(1, 0) {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			cols := columns()
			if in.name != "outage" && in.name != "load times ten" { // processes take time
				cols = chosen(t, cols, "^[^h]", func(c *column) string { return c.name })
			}
			found := inSmall(t, in.name, cols)
			oracle, none := found["oracle"], found["no breaker"]
			_, isFated := in.build().(*fated)
			require.Zero(t, none.Refused)
			require.Zero(t, oracle.Wasted)
			for name, r := range found {
				require.Equal(t, oracle.Offered, r.Offered, name)
				require.LessOrEqual(t, r.Served+r.Refused, r.Offered, name)
				require.LessOrEqual(t, r.Lost, r.Refused, name)
				if isFated { // what can be served is served or lost
					require.Equal(t, oracle.Served, r.Served+r.Lost, name)
				} else {
					require.LessOrEqual(t, r.Served, oracle.Served, name)
				}
			}
		})
	}
}

func TestWithoutABreakerEverythingIsSent(t *testing.T) {
	found := inSmall(t, "outage", columns()[:2])
	none, oracle := found["no breaker"], found["oracle"]
	require.Equal(t, none.Offered, none.Served+none.Wasted)
	require.Equal(t, none.Served, oracle.Served)
	require.Equal(t, none.Wasted, oracle.Refused)
	require.InDelta(t, none.Wasted, 100*duringOf(t, "outage").Seconds(), 200)
}

func duringOf(t *testing.T, row string) time.Duration {
	t.Helper()
	trouble := rowNamed(t, small.incidents(1, 0), row).trouble[0]
	return trouble.until - trouble.from
}

func TestEveryBreakerTripsInAnOutage(t *testing.T) {
	for name, r := range inSmall(t, "outage", columns()[2:]) {
		require.GreaterOrEqual(t, r.Tripped, time.Duration(0), name)
		require.Less(t, r.Tripped, duringOf(t, "outage"), name)
		require.False(t, r.Early, name)
		require.Positive(t, r.Refused, name)
		require.Zero(t, r.FalseTrips, name)
	}
}

// A column that is said to know a 429 and a cancelled call is better off for it.
func TestTunedColumnsKnowWhatIsNoFailure(t *testing.T) {
	for _, row := range []string{"half are 429", "a third cancels"} {
		found := inSmall(t, row, chosen(t, columns(), "^(breaker|gobreaker|failsafe-go|go-zero|aegis), tuned$", func(c *column) string { return c.name }))
		require.Len(t, found, 5)
		for name, r := range found {
			require.Zero(t, r.Refused, "%s: %s", row, name)
		}
	}
}

func TestSameSeedSameResult(t *testing.T) {
	for _, row := range []string{"30 % fail, 100/s", "flapping", "fleet of 50"} {
		in := rowNamed(t, small.incidents(1, 0), row)
		for _, col := range columns() {
			if strings.HasPrefix(col.name, "hystrix-go") || col.name == "go-resiliency" {
				continue // they have goroutines of their own
			}
			first := inBubble(t, in, &col)
			require.Equal(t, first, inBubble(t, in, &col), "%s: %s", row, col.name)
			other := rowNamed(t, small.incidents(2, 0), row)
			require.NotEqual(t, first, inBubble(t, other, &col), "%s: %s", row, col.name)
		}
	}
}

func TestTimesOfARowDiffer(t *testing.T) {
	lengths := map[time.Duration]bool{}
	for time := range full.Times {
		in := rowNamed(t, full.incidents(1, time), "outage")
		trouble := in.trouble[0]
		length := trouble.until - trouble.from
		require.InDelta(t, full.During.Seconds(), length.Seconds(), full.During.Seconds()/2)
		lengths[length] = true
		require.Equal(t, full.incidents(1, time)[0].length, full.BusyDay)
	}
	require.Len(t, lengths, full.Times)
}

func TestRowsAndColumnsHaveNamesOfTheirOwn(t *testing.T) {
	names := map[string]bool{}
	for _, in := range full.incidents(1, 0) {
		require.False(t, names[in.name], in.name)
		names[in.name] = true
	}
	for _, col := range columns() {
		require.False(t, names[col.name], col.name)
		names[col.name] = true
		require.Equal(t, col.module == "", col.why == "", col.name)
	}
}
