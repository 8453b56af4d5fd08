// Board serves the board of five breakers, before five dependencies of different temper:
// one is healthy, one slow at times, one fails three calls in ten, one is down, and one
// goes down and recovers, over and over. All of it stays on the loopback.
//
//	go run ./examples/board
//
// It prints where the board is, and runs until it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

// temper is how a dependency answers a call, so long after the start.
type temper struct {
	name   string
	answer func(since time.Duration) (status int, after time.Duration)
}

var tempers = []temper{
	{"healthy", func(time.Duration) (int, time.Duration) {
		return http.StatusOK, about(10 * time.Millisecond)
	}},
	{"slow", func(since time.Duration) (int, time.Duration) {
		if since%time.Minute > 25*time.Second { // 35 seconds of each minute
			return http.StatusOK, about(200 * time.Millisecond)
		}
		return http.StatusOK, about(20 * time.Millisecond)
	}},
	{"flaky", func(time.Duration) (int, time.Duration) {
		if rand.Float64() < 0.3 {
			return http.StatusInternalServerError, about(10 * time.Millisecond)
		}
		return http.StatusOK, about(10 * time.Millisecond)
	}},
	{"down", nil}, // nobody listens
	{"recovering", func(since time.Duration) (int, time.Duration) {
		if since%time.Minute > 15*time.Second && since%time.Minute < 30*time.Second {
			return http.StatusServiceUnavailable, about(5 * time.Millisecond)
		}
		return http.StatusOK, about(15 * time.Millisecond)
	}},
}

// about spreads a latency by half of it.
func about(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2)
}

// settings makes the breakers quick enough to be watched; the defaults are made for
// incidents of minutes.
func settings(name string) breaker.Settings {
	s := breaker.Settings{
		Name:                 name,
		TripWindow:           10 * time.Second,
		BreakDuration:        6 * time.Second,
		MaximumBreakDuration: 20 * time.Second,
	}
	if name == "recovering" {
		s.Recovery = breaker.RecoveryOver(2)
	}
	return s
}

const (
	workers   = 2 // for each dependency
	callEvery = 100 * time.Millisecond
	timeout   = time.Second
)

func main() {
	address := flag.String("addr", "localhost:0", "where to serve the board; with port 0, any free one")
	limit := flag.Duration("for", 0, "how long to run; 0 is until interrupted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *limit)
		defer cancel()
	}
	if err := run(ctx, os.Stdout, *address); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves the board until ctx ends.
func run(ctx context.Context, out io.Writer, address string) error {
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel()

	breakers := new(breaker.Registry)
	for _, t := range tempers {
		url, stop, err := serve(t)
		if err != nil {
			return err
		}
		defer stop()
		b := breaker.MustNew(settings(t.name))
		breakers.Add(b)
		for range workers {
			calls.Go(func() { callFrom(ctx, b, url) })
		}
	}

	board := breakerhttp.Board(breakers, &breakerhttp.BoardConfig{
		// Whoever reaches the loopback may press every button. A real service asks who
		// it is.
		Authorize: func(*http.Request, string, *breaker.Breaker) (string, bool) { return "whoever is here", true },
	})
	calls.Go(func() { board.Watch(ctx) }) // so that the last hour has no gaps

	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/breakers/", http.StripPrefix("/breakers", board))
	mux.Handle("/{$}", http.RedirectHandler("/breakers/", http.StatusSeeOther))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	server.RegisterOnShutdown(board.Close)
	fmt.Fprintf(out, "the board is at http://%s/breakers/\n", listener.Addr())

	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	patience, done := context.WithTimeout(context.Background(), 2*time.Second)
	defer done()
	return errors.Join(server.Shutdown(patience), ignoreClosed(<-served))
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// serve makes a dependency, and returns its address and what ends it.
func serve(t temper) (url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return "", nil, err
	}
	url = "http://" + listener.Addr().String()
	if t.answer == nil {
		return url, func() {}, listener.Close()
	}
	start := time.Now()
	server := &http.Server{
		ReadHeaderTimeout: timeout,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			status, after := t.answer(time.Since(start))
			select {
			case <-time.After(after):
				w.WriteHeader(status)
			case <-r.Context().Done():
			}
		}),
	}
	go func() { _ = server.Serve(listener) }() // until it is closed
	return url, func() { _ = server.Close() }, nil
}

// callFrom calls a dependency through its breaker, at a pace, until ctx ends.
func callFrom(ctx context.Context, b *breaker.Breaker, url string) {
	pace := time.NewTicker(callEvery)
	defer pace.Stop()
	for ctx.Err() == nil {
		_ = b.Do(ctx, func(ctx context.Context) error { return get(ctx, url) }) // the board tells
		select {
		case <-pace.C:
		case <-ctx.Done():
		}
	}
}

func get(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 500 {
		return errors.New(answer.Status)
	}
	return nil
}
