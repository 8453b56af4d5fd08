package main

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// server is a real HTTP server that acts a part.
//
// It has two workers. A warm one is done with a call in 20 ms, so they could do 100
// calls a second, twice what is offered. After the restart a call takes 300 ms, seven
// a second, and each call that is finished brings the next down by 7 %: a cache that
// fills by being used. The others wait in line until their callers give up, and a call
// whose caller has given up is work for nobody, which warms nothing.
type server struct {
	clock   *clock
	http    *http.Server
	address string
	workers chan struct{}

	mu     sync.Mutex
	part   phase
	takes  time.Duration // what a worker needs for a call
	inside int           // calls that have come and not gone
	most   int           // the highest that inside has been
	sick   int           // calls that came after the trouble began
}

const (
	warmCall = 20 * time.Millisecond
	slowCall = 10 * warmCall
	coldCall = 15 * warmCall
	warming  = 0.93
	workers  = 2
)

// startServer serves on a free port of the loopback.
func startServer(clock *clock) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{clock: clock, address: listener.Addr().String(), workers: make(chan struct{}, workers), takes: warmCall}
	s.http = &http.Server{Handler: s}
	go func() { _ = s.http.Serve(listener) }() // until close
	return s, nil
}

func (s *server) close() { _ = s.http.Close() }

// enter begins a phase of the script.
func (s *server) enter(part phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part = part
	if part == restarted {
		s.takes = coldCall
	}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	part := s.arrive()
	defer s.leave()
	switch part {
	case slow: // something behind it is: a lock, a disk. The workers are not what is short
		s.sleep(r.Context(), slowCall)
	case failing:
		http.Error(w, "broken", http.StatusInternalServerError)
	default:
		s.work(r.Context())
	}
}

// work waits for a worker and has it do one call, unless the caller gives up.
func (s *server) work(ctx context.Context) {
	select {
	case s.workers <- struct{}{}:
		defer func() { <-s.workers }()
	case <-ctx.Done():
		return
	}
	if s.sleep(ctx, s.callTakes()) {
		s.warm()
	}
}

// sleep takes its time, and reports whether the caller was still there at the end.
func (s *server) sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-s.clock.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *server) arrive() phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside++
	s.most = max(s.most, s.inside)
	if s.part != healthy {
		s.sick++
	}
	return s.part
}

func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside--
}

func (s *server) warm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes = max(warmCall, time.Duration(warming*float64(s.takes)))
}

func (s *server) callTakes() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.part {
	case slow:
		return slowCall
	case failing:
		return 0
	}
	return s.takes
}

// load returns how many calls it had to take since the trouble began, and how many
// it had inside at the worst moment.
func (s *server) load() (sick, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sick, s.most
}
