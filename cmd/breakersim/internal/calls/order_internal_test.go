package calls

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// However wide the window, only so many calls are held back.
func TestCallsHeldBackAreBounded(t *testing.T) {
	o := order{window: time.Hour, most: 3}
	for i := range 10 {
		require.NoError(t, o.put(Call{Start: int64(10 - i), Line: int64(i)}, 10), "nothing has gone on yet")
	}
	var starts []int64
	for c, ok := o.due(); ok; c, ok = o.due() {
		starts = append(starts, c.Start)
	}
	require.Equal(t, []int64{1, 2, 3, 4, 5, 6, 7}, starts)
	require.Len(t, o.heap, 3)
	require.ErrorContains(t, o.put(Call{Start: 6}, 10), "--reorder is 1h0m0s")
	require.NoError(t, o.put(Call{Start: 7}, 10))
}

// Also those of one second are.
func TestCallsOfASecondAreBounded(t *testing.T) {
	log := "start,duration,outcome\n" + strings.Repeat("1772420400,1ms,ok\n", 8)
	r := NewReader(strings.NewReader(log), Options{Reorder: time.Minute})
	r.order.most = 4
	var starts []string
	for {
		c, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.LessOrEqual(t, len(r.second), 4)
		starts = append(starts, fmt.Sprint(c.Start%1e9/1e6))
	}
	require.Equal(t, "125 125 375 375 625 625 875 875", strings.Join(starts, " "))
}
