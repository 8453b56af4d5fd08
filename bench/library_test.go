package bench

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// All breakers trip alike as far as their libraries let them: at half of at least twenty
// calls failed, within ten seconds. And they stay open for longer than any benchmark.
const (
	tripCalls   = 20
	tripRatio   = 0.5
	tripWindow  = 10 * time.Second
	tripBuckets = 10
	breakLength = time.Hour
)

// library is one way to call one library.
type library struct {
	name string

	// create returns a closed breaker, and nothing around it.
	create func() any

	// guard returns the ways to call through a breaker that create returned.
	guard func(any) guard

	// halfOpen returns a half-open breaker that so many successes close. It is nil where
	// the library has no such state, or none that outlasts one call.
	halfOpen func(successes int) guard

	// crowds tells that a half-open breaker refuses what it has no room for.
	crowds bool

	// throttles tells that calls are refused by chance, ever more of them.
	throttles bool

	// forgets tells that a closed breaker does not record a success.
	forgets bool

	// lacks names the cases that the library cannot run, or where another adapter does the
	// same. README.md says why.
	lacks []string
}

// guard is how calls go through one breaker.
type guard struct {
	call  func(*work) error
	value func(*work) (int, error)
	try   func(*work) error // like call, for a caller who does not want to wait at a refusal

	isHalfOpen func() bool // known to what halfOpen returns
}

// adapt describes a library whose breakers have the type B.
func adapt[B any](name string, create func() B, through func(B) guard) library {
	return library{
		name:   name,
		create: func() any { return create() },
		guard: func(b any) guard {
			g := through(b.(B))
			if g.try == nil {
				g.try = g.call
			}
			return g
		},
	}
}

func (l library) without(cases ...string) library {
	l.lacks = cases
	return l
}

func (l library) has(name string) bool {
	switch name {
	case "HalfOpen":
		if l.halfOpen == nil {
			return false
		}
	case "HalfOpenRefused":
		if !l.crowds {
			return false
		}
	}
	return !slices.Contains(l.lacks, name)
}

func (l library) new() guard { return l.guard(l.create()) }

func (l library) probing(b any, isHalfOpen func() bool) guard {
	g := l.guard(b)
	g.isHalfOpen = isHalfOpen
	return g
}

// bare calls without a breaker.
var bare = library{
	name:   "bare",
	create: func() any { return nil },
	guard: func(any) guard {
		call := func(w *work) error { return w.plain() }
		return guard{call: call, try: call, value: func(w *work) (int, error) { return w.value() }}
	},
}.without("Refused", "Create", "Held")

// open makes calls fail until the breaker refuses, which takes those a while that refuse by
// chance, and those that count in another goroutine.
func open(tb testing.TB, g guard) (failures int) {
	tb.Helper()
	refusals := 0
	for calls := 0; refusals < 200; calls++ {
		if calls == 1_000_000 {
			tb.Fatal("a million failures did not open it")
		}
		if g.try(&fail) == errDown {
			failures++
			refusals = 0
			runtime.Gosched()
		} else {
			refusals++
		}
	}
	return failures
}

// crowd keeps a call under way until leave is called.
func crowd(tb testing.TB, g guard) (leave func()) {
	tb.Helper()
	inside, done := make(chan struct{}), make(chan struct{})
	refused := make(chan error, 1)
	go func() {
		refused <- g.try(workOf(func() error {
			close(inside)
			<-done
			return nil
		}))
	}()
	select {
	case <-inside:
	case err := <-refused:
		tb.Fatal("the call that was to stay came back: ", err)
	}
	return func() { close(done) }
}

// each runs a case for every library that has it.
func each(b *testing.B, name string, run func(*testing.B, library)) {
	for _, l := range append([]library{bare}, libraries...) {
		if l.has(name) {
			b.Run(l.name, func(b *testing.B) { run(b, l) })
		}
	}
}
