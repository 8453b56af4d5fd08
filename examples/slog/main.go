// Slog logs what happens to a breaker, with the id of the request that caused it, and
// nothing of the calls that are refused.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerslog"
)

// withRequest adds the id of the request in the context to every line of the program, so
// also to those of its breakers.
type withRequest struct{ slog.Handler }

type requestKey struct{}

func (h withRequest) Handle(ctx context.Context, r slog.Record) error {
	if id, ok := ctx.Value(requestKey{}).(int); ok {
		r.AddAttrs(slog.Int("request", id))
	}
	return h.Handler.Handle(ctx, r)
}

// newLogger leaves out what differs from run to run.
func newLogger() *slog.Logger {
	return slog.New(withRequest{slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey || a.Key == "break" {
				return slog.Attr{}
			}
			return a
		},
	})})
}

func main() {
	slog.SetDefault(newLogger())

	b := breaker.MustNew(breaker.Settings{
		Name:                "prices",
		ConsecutiveFailures: 3,
		BreakDuration:       time.Minute,
		OnTransition:        breakerslog.Transitions(nil), // the default logger
	})
	down, refused := true, 0
	serve := func(request int) {
		ctx := context.WithValue(context.Background(), requestKey{}, request)
		attempt, err := b.TryAdmit(ctx)
		if err != nil {
			refused++ // an answer without prices
			return
		}
		err = nil
		if down {
			err = errors.New("the price service is down")
		}
		attempt.Done(err)
	}

	for request := range 5000 {
		serve(request)
	}
	fmt.Println(refused, "requests were refused, without a line")

	down = false
	b.ProbeNow() // an operator knows that it is up again
	serve(5000)
	serve(5001)
}
