package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/normal-go/breaker"
)

// A dry run decides as usual and refuses nothing.
func ExampleSettings_shadow() {
	mock := clock.NewMock() // time moves when the example says so
	b := breaker.MustNew(breaker.Settings{
		Name:         "db",
		Shadow:       true,
		Clock:        mock,
		BreakJitter:  breaker.JitterNone,
		OnTransition: func(_ context.Context, t breaker.Transition) { fmt.Println(t) },
	})
	ctx := context.Background()
	refused := 0
	for second := range 14 {
		err := b.Do(ctx, func(context.Context) error {
			if second < 12 {
				return errors.New("connection refused")
			}
			return nil // it is back, before the break is over
		})
		if errors.Is(err, breaker.ErrRejected) {
			refused++
		}
		mock.Add(time.Second)
	}
	totals := b.Snapshot().Totals
	fmt.Println("refused:", refused)
	fmt.Println("would have refused", totals.WouldRefuseTransient+totals.WouldRefuseOK+totals.WouldRefuseOther,
		"calls, of which", totals.WouldRefuseTransient, "failed anyway")
	// Output:
	// "db" (shadow) closed -> open: consecutive-failures, 5 in a row, 5 of 5 failed, break 15s
	// refused: 0
	// would have refused 9 calls, of which 7 failed anyway
}
