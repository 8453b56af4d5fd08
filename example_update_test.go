package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/normal-go/breaker"
)

func ExampleBreaker_Update() {
	b := breaker.MustNew(breaker.Settings{Name: "db", BreakJitter: breaker.JitterNone})
	for range 200 {
		attempt, err := b.TryAdmit(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		attempt.Record(breaker.OK, 10*time.Millisecond)
	}

	s := b.Settings() // as given, functions included
	s.SlowCalls = breaker.SlowCallsAbove(5)
	s.BreakDuration = time.Minute
	fmt.Println(b.Update(s))
	normal, known := b.NormalLatency()
	fmt.Println("normal latency, still known:", normal, known)
	fmt.Println("slow from:", b.Snapshot().SlowThreshold)

	s.BreakDuration = -time.Minute
	var invalid *breaker.SettingsError
	fmt.Println(errors.As(b.Update(s), &invalid))
	fmt.Println("still:", b.Settings().BreakDuration)
	// Output:
	// <nil>
	// normal latency, still known: 10.24ms true
	// slow from: 51.2ms
	// true
	// still: 1m0s
}

// A dry run goes live with the state, and with what it has learnt.
func ExampleBreaker_Update_goLive() {
	b := breaker.MustNew(breaker.Settings{Name: "db", Shadow: true, BreakJitter: breaker.JitterNone})
	ctx := context.Background()
	for range 5 {
		_ = b.Do(ctx, func(context.Context) error { return errors.New("connection refused") })
	}
	attempt, err := b.TryAdmit(ctx) // would be refused
	fmt.Println(b.State(), err)
	attempt.Record(breaker.Transient, time.Second)

	s := b.Settings()
	s.Shadow = false
	fmt.Println(b.Update(s))
	_, err = b.TryAdmit(ctx)
	fmt.Println(b.State(), errors.Is(err, breaker.ErrRejected))
	totals := b.Snapshot().Totals
	fmt.Println("would have refused", totals.WouldRefuseTransient, "and refused", totals.Refused)
	// Output:
	// open <nil>
	// <nil>
	// open true
	// would have refused 1 and refused 1
}
