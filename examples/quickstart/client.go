package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/normal-go/breaker"
)

// client calls a server of its own, and counts how the calls end.
type client struct {
	clock  *clock
	server *server
	http   *http.Client

	// do runs a call. Through a breaker it is [breaker.Breaker.Do].
	do func(context.Context, func(context.Context) error) error

	mu      sync.Mutex
	tallies [over]tally // by the phase in which the call began
	waiting int         // calls under way
}

// tally is how calls ended. Each ends in one of three ways, so that offered is the
// sum of served, failed and refused.
type tally struct {
	offered, served, failed, refused int

	waited time.Duration // by callers for the server
	paused time.Duration // by callers for a refusal
}

func newClient(clock *clock) (*client, error) {
	server, err := startServer(clock)
	if err != nil {
		return nil, err
	}
	return &client{
		clock:  clock,
		server: server,
		http:   &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}},
		do:     func(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) },
	}, nil
}

func (c *client) close() {
	c.http.CloseIdleConnections()
	c.server.close()
}

// call makes one call, within the timeout.
func (c *client) call(part phase) {
	ctx, cancel := context.WithTimeout(context.Background(), c.clock.real(timeout))
	defer cancel()
	c.begin(part)
	began := c.clock.elapsed()
	err := c.do(ctx, c.get)
	c.end(part, err, c.clock.elapsed()-began)
}

// get is what the breaker guards: an error is a failure, and the time that it takes
// is the latency.
func (c *client) get(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.server.address, nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode >= 500 {
		return fmt.Errorf("the server says %s", response.Status)
	}
	return nil
}

func (c *client) begin(part phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tallies[part].offered++
	c.waiting++
}

func (c *client) end(part phase, err error, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting--
	t := &c.tallies[part]
	switch {
	case errors.Is(err, breaker.ErrRejected):
		t.refused++
		t.paused += took
		return
	case err != nil:
		t.failed++
	default:
		t.served++
	}
	t.waited += took
}

// count returns the tallies so far, by phase, and how many calls are under way.
func (c *client) count() (tallies [over]tally, waiting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tallies, c.waiting
}

// sum adds up tallies.
func sum(tallies ...tally) (s tally) {
	for _, t := range tallies {
		s.offered += t.offered
		s.served += t.served
		s.failed += t.failed
		s.refused += t.refused
		s.waited += t.waited
		s.paused += t.paused
	}
	return s
}
