package breakerslog_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerslog"
)

// The life of an outage, in four lines.
func ExampleTransitions() {
	mock := clock.NewMock() // moves only when it is told to
	mock.Set(time.Date(2026, 3, 2, 3, 0, 0, 0, time.UTC))
	b := breaker.MustNew(breaker.Settings{
		Name:         "db",
		BreakJitter:  breaker.JitterNone, // for the same output on every run
		Clock:        mock,
		OnTransition: breakerslog.Transitions(slog.New(slog.NewJSONHandler(os.Stdout, nil))),
	})
	call := func(v breaker.Verdict) {
		attempt, err := b.TryAdmit(context.Background())
		if err == nil {
			attempt.Record(v, 30*time.Millisecond)
		}
	}

	for range 5 {
		call(breaker.Transient)
	}
	for range 1000 {
		call(breaker.OK) // refused, and no line
	}
	mock.Add(15 * time.Second)
	for range 2 {
		call(breaker.OK) // probes
	}
	// Output:
	// {"time":"2026-03-02T03:00:00Z","level":"WARN","msg":"breaker opened","breaker":{"name":"db","seq":1,"from":"closed","to":"open","cause":"consecutive-failures","break":15000000000,"calls":5,"failures":5,"slow":0,"run":5,"run_needed":5}}
	// {"time":"2026-03-02T03:00:15Z","level":"INFO","msg":"breaker half-open","breaker":{"name":"db","seq":2,"from":"open","to":"half-open","cause":"break-elapsed"}}
	// {"time":"2026-03-02T03:00:15Z","level":"INFO","msg":"breaker closed","breaker":{"name":"db","seq":3,"from":"half-open","to":"closed","cause":"probes-succeeded","calls":2,"failures":0,"slow":0}}
}

// A listener of one's own, beside the log.
func ExampleTransitions_chain() {
	log := breakerslog.Transitions(slog.New(slog.NewTextHandler(os.Stdout, withoutTime)))
	opens := 0
	b := breaker.MustNew(breaker.Settings{
		Name:                "db",
		ConsecutiveFailures: 1,
		BreakJitter:         breaker.JitterNone,
		OnTransition: func(ctx context.Context, t breaker.Transition) {
			log(ctx, t)
			if t.To == breaker.Open {
				opens++
			}
		},
	})
	_ = b.Do(context.Background(), func(context.Context) error { return errors.New("down") })
	fmt.Println(opens, "open")
	// Output:
	// level=WARN msg="breaker opened" breaker.name=db breaker.seq=1 breaker.from=closed breaker.to=open breaker.cause=consecutive-failures breaker.break=15s breaker.calls=1 breaker.failures=1 breaker.slow=0 breaker.run=1 breaker.run_needed=1
	// 1 open
}

// OnTransition is not told what an operator does. The lever that does it can log it, with
// who pulled it, from the history.
func ExampleTransitions_operator() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, withoutTime))
	b := breaker.MustNew(breaker.Settings{Name: "db", OnTransition: breakerslog.Transitions(logger)})

	// The lever.
	by := logger.With("operator", "night shift")
	b.Isolate()
	breakerslog.Transitions(by)(context.Background(), *b.Snapshot().Last)
	// Output:
	// level=WARN msg="breaker isolated" operator="night shift" breaker.name=db breaker.seq=1 breaker.from=closed breaker.to=isolated breaker.cause=isolated
}

// withoutTime leaves the time out, for the same output on every run.
var withoutTime = &slog.HandlerOptions{
	ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(groups) == 0 {
			return slog.Attr{}
		}
		return a
	},
}
