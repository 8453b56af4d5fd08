// Retry is a plain retry loop around a breaker. It waits as long as the refusal says,
// when the refusal says anything, and a while of its own otherwise; and it stops when
// its context does. Each try goes through the breaker by itself, so the try that opens
// the breaker is the last to reach the dependency.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/normal-go/breaker"
)

// retry runs fn until it succeeds, so many tries have been made, or ctx is done.
func retry(ctx context.Context, b *breaker.Breaker, tries int, fn func(context.Context) error) error {
	wait := 100 * time.Millisecond // in production with jitter: callers that fail together come back together
	for {
		err := b.Do(ctx, fn)
		if tries--; err == nil || tries == 0 || ctx.Err() != nil {
			return err
		}
		next := wait
		var refusal *breaker.RejectedError
		if errors.As(err, &refusal) {
			if left, known := refusal.RetryAfter(); known {
				next = left // the rest of the break, to the moment at which a probe may go
			}
		} else {
			wait *= 2
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= next {
			return fmt.Errorf("no time for another try: %w", err) // rather than wait in vain
		}
		select {
		case <-time.After(next):
		case <-ctx.Done():
			return fmt.Errorf("%w, after %w", ctx.Err(), err)
		}
	}
}

func main() { run(os.Stdout) }

func run(out io.Writer) {
	b := breaker.MustNew(breaker.Settings{
		Name:                "db",
		ConsecutiveFailures: 3,
		BreakDuration:       2 * time.Second,
		BreakJitter:         breaker.JitterNone, // for this program to say the same each time
	})
	began := time.Now()
	say := func(format string, args ...any) {
		at := time.Since(began).Round(100 * time.Millisecond)
		fmt.Fprintf(out, "%4.1fs  %s\n", at.Seconds(), fmt.Sprintf(format, args...))
	}
	call := func(context.Context) error {
		if time.Since(began) < time.Second {
			say("the call failed")
			return errors.New("down")
		}
		say("the call was served")
		return nil
	}

	short, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	say("a caller in a hurry: %v", retry(short, b, 10, call))

	patient, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	say("a patient caller: %v", retry(patient, b, 10, call))
}
