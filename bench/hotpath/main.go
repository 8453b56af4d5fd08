// Command hotpath makes a number of calls of one kind and nothing else, for
// bench/instructions.sh to count what a call executes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/normal-go/breaker"
)

func main() {
	if len(os.Args) != 3 {
		fail("usage: hotpath closed|failing|refused calls")
	}
	calls, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fail(err.Error())
	}
	ctx := context.Background()
	succeed := func(context.Context) error { return nil }
	down := errors.New("down")
	switch os.Args[1] {
	case "closed":
		b := breaker.MustNew(breaker.Settings{})
		for range calls {
			_ = b.Do(ctx, succeed)
		}
	case "failing":
		b := breaker.MustNew(breaker.Settings{})
		for i := range calls {
			_ = b.Do(ctx, func(context.Context) error {
				if i%100 == 0 {
					return down
				}
				return nil
			})
		}
	case "refused":
		b := breaker.MustNew(breaker.Settings{ConsecutiveFailures: 1, BreakDuration: 24 * time.Hour})
		_ = b.Do(ctx, func(context.Context) error { return down })
		for range calls {
			_, _ = b.TryAdmit(ctx)
		}
	default:
		fail("no such kind of call: " + os.Args[1])
	}
}

func fail(text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(2)
}
