package breakerhttp

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/normal-go/breaker"
)

// The cost of one reading of 1,000 breakers with a page open, and the bytes that go to it:
// when nothing happens, and when every breaker is called in between, which is not in the
// time.
func BenchmarkBoardOf1000(b *testing.B) {
	for _, busy := range []bool{false, true} {
		b.Run(fmt.Sprintf("busy=%v", busy), func(b *testing.B) {
			var list breaker.List
			for i := range 1000 {
				list = append(list, breaker.MustNew(breaker.Settings{Name: fmt.Sprintf("dependency-%04d", i)}))
				callAll(list[i:], 200) // enough to know what is normal
			}
			board := Board(list, &BoardConfig{Interval: time.Hour})
			page := board.join(true)
			all := len(<-page.events)
			sent := 0
			b.ReportAllocs()
			for b.Loop() {
				if busy {
					b.StopTimer()
					callAll(list, 3)
					b.StartTimer()
				}
				board.sample()
				sent += len(<-page.events)
			}
			b.ReportMetric(float64(all), "bytes/page")
			b.ReportMetric(float64(sent)/float64(b.N), "bytes/event")
		})
	}
}

func callAll(list breaker.List, n int) {
	for _, one := range list {
		for range n {
			_ = one.Do(context.Background(), func(context.Context) error { return nil })
		}
	}
}
