package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/normal-go/breaker"
)

func ExampleOf() {
	// Five failures in a row open it, for 15 seconds.
	b := breaker.Of(5, 15*time.Second, "db")

	fmt.Println(b.Name(), "is", b.State())
	// Output: db is closed
}

func ExampleNew() {
	b, err := breaker.New(breaker.Settings{Name: "db"}) // a complete configuration
	fmt.Println(b.State(), err)

	_, err = breaker.New(breaker.Settings{FailureRatio: 1.5, TripWindow: -time.Second})
	var refused *breaker.SettingsError
	if errors.As(err, &refused) {
		for _, problem := range refused.Problems {
			fmt.Println(problem)
		}
	}
	// Output:
	// closed <nil>
	// FailureRatio must be in (0, 1], got 1.5
	// TripWindow must not be negative, got -1s
}

func ExampleBreaker_Do() {
	b := breaker.Of(3, time.Minute, "db")
	ping := func(context.Context) error { return errors.New("connection refused") }

	for range 4 {
		err := b.Do(context.Background(), ping)
		if errors.Is(err, breaker.ErrRejected) {
			fmt.Println("not even tried:", err)
			continue
		}
		fmt.Println("tried:", err)
	}
	// Output:
	// tried: connection refused
	// tried: connection refused
	// tried: connection refused
	// not even tried: breaker: "db" refused the call: open
}

func ExampleCall() {
	b := breaker.Of(5, 15*time.Second, "users")
	user := func(context.Context) (string, error) { return "Gopher", nil }

	name, err := breaker.Call(context.Background(), b, user)
	fmt.Println(name, err)
	// Output: Gopher <nil>
}

func ExampleCallOr() {
	b := breaker.Of(5, 15*time.Second, "users")
	b.Isolate() // refuses all calls, until Reset

	user := func(context.Context) (string, error) { return "Gopher", nil }
	cached := func(_ context.Context, refusal *breaker.RejectedError) (string, error) {
		return "someone, for the breaker is " + refusal.State.String(), nil
	}

	name, err := breaker.CallOr(context.Background(), b, user, cached)
	fmt.Println(name, err)
	// Output: someone, for the breaker is isolated <nil>
}

func ExampleWithVerdict() {
	b := breaker.Of(1, 15*time.Second, "users") // a single failure would open it
	errNotFound := errors.New("no such user")

	err := b.Do(context.Background(), func(context.Context) error {
		return breaker.WithVerdict(errNotFound, breaker.OK) // an answer, and not a failure
	})
	fmt.Println(err, errors.Is(err, errNotFound), b.State())
	// Output: no such user true closed
}

func ExampleBreaker_TryAdmit() {
	b := breaker.Of(1, time.Minute, "primary")
	read := func(context.Context) error { return errors.New("connection refused") }

	for range 2 {
		attempt, err := b.TryAdmit(context.Background())
		if err != nil {
			fmt.Println("read from the replica:", err)
			continue
		}
		err = read(context.Background())
		attempt.Done(err)
		fmt.Println("read from the primary:", err)
	}
	// Output:
	// read from the primary: connection refused
	// read from the replica: breaker: "primary" refused the call: open
}

func ExampleSettings_onTransition() {
	b := breaker.MustNew(breaker.Settings{
		Name:                "db",
		ConsecutiveFailures: 2,
		BreakJitter:         breaker.JitterNone, // for the same output on every run
		OnTransition: func(_ context.Context, t breaker.Transition) {
			fmt.Println(t)
		},
	})
	for range 2 {
		_ = b.Do(context.Background(), func(context.Context) error { return errors.New("down") })
	}
	// Output: "db" closed -> open: consecutive-failures, 2 in a row, 2 of 2 failed, break 15s
}

func ExampleRecoveryOver() {
	mock := clock.NewMock() // moves only when it is told to
	b := breaker.MustNew(breaker.Settings{
		Name:        "search",
		BreakJitter: breaker.JitterNone,
		Recovery:    breaker.RecoveryOver(0.4), // of a break of 15 s: a ramp of 6 s
		Clock:       mock,
	})
	call := func(verdict breaker.Verdict) (admitted bool) {
		attempt, err := b.TryAdmit(context.Background())
		attempt.Record(verdict, 10*time.Millisecond)
		return err == nil
	}

	for range 5 {
		call(breaker.Transient)
	}
	mock.Add(15 * time.Second) // the break
	for range 2 {
		call(breaker.OK) // the probes
	}
	for range 4 {
		admitted := 0
		for range 100 {
			if call(breaker.OK) {
				admitted++
			}
		}
		fmt.Printf("%v: admits %d of 100\n", b.State(), admitted)
		mock.Add(2 * time.Second)
	}
	// Output:
	// recovering: admits 5 of 100
	// recovering: admits 36 of 100
	// recovering: admits 69 of 100
	// closed: admits 100 of 100
}

func ExampleBreaker_Snapshot() {
	b := breaker.Of(5, 15*time.Second, "db")
	for i := range 10 {
		_ = b.Do(context.Background(), func(context.Context) error {
			if i == 9 {
				return errors.New("down")
			}
			return nil
		})
	}

	s := b.Snapshot()
	fmt.Printf("%s is %v: %d of the last %d calls failed, %d in a row\n", s.Name, s.State, s.Failures, s.Calls, s.Run)
	fmt.Printf("since it was built: %d ok, %d transient, %d refused\n", s.Totals.OK, s.Totals.Transient, s.Totals.Refused)
	// Output:
	// db is closed: 1 of the last 10 calls failed, 1 in a row
	// since it was built: 9 ok, 1 transient, 0 refused
}
