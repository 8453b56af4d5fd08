package breaker

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sound asserts that the maps, the queues and the count of a scope agree.
func sound[K comparable](t *testing.T, s *Scope[K]) {
	t.Helper()
	queued := map[K]*entry[K]{}
	for q := range s.queues {
		hand := s.queues[q].hand
		handThere := hand == nil
		for element := s.queues[q].Front(); element != nil; element = element.Next() {
			e := element.Value.(*entry[K])
			if e.queue != q || e.element != element || queued[e.key] != nil {
				t.Fatalf("%v does not know that it is in queue %d", e.key, q)
			}
			queued[e.key] = e
			handThere = handThere || hand == element
		}
		require.True(t, handThere, "the hand points out of queue %d", q)
	}
	require.Len(t, queued, s.length)
	require.LessOrEqual(t, s.length, s.maximum)
	stored := 0
	for i := range s.buckets {
		for e := s.buckets[i].Load(); e != nil; e = e.next.Load() {
			stored++
			if queued[e.key] != e || s.bucketOf(e.key) != &s.buckets[i] {
				t.Fatalf("%v is stored and not queued, or in the wrong bucket", e.key)
			}
		}
	}
	require.Equal(t, s.length, stored)
}

// handClock is a clock that is moved by hand, in one goroutine.
type handClock struct {
	now  time.Time
	read func() // at each reading
}

func (c *handClock) Now() time.Time {
	c.read()
	return c.now
}

func (c *handClock) After(time.Duration) <-chan time.Time {
	c.read()
	over := make(chan time.Time)
	close(over)
	return over
}

// windowed is settings whose breakers are not clean for ten seconds from a failure on.
func windowed(clock Clock) Settings {
	return Settings{
		DisableAdaptive: true, FailureRatio: 1, MinimumCalls: 1000, TripWindow: 10 * time.Second,
		BreakDuration: time.Minute, BreakJitter: JitterNone, Clock: clock,
	}
}

func record(b *Breaker, v Verdict) {
	if attempt, err := b.TryAdmit(context.Background()); err == nil {
		attempt.Record(v, 0)
	}
}

// Whatever happens, the parts of a scope agree, and one that is not clean goes only if
// nothing that has not been found in trouble is better.
func TestScopeAtRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	went := [scopeQueues]int{}
	for range 20 {
		clock := &handClock{read: func() {}}
		s, err := NewScope(1+random.IntN(20), func(int) Settings { return windowed(clock) })
		require.NoError(t, err)
		calm := random.IntN(3)
		for range 500 {
			clock.now = clock.now.Add(time.Duration(random.IntN(2000)) * time.Millisecond)
			key := random.IntN(30)
			before := s.places(clock.now)
			b := s.For(key)
			if _, known := before[key]; !known {
				for other, was := range before {
					if find(s.bucketOf(other), other) != nil {
						continue
					}
					went[was.place]++
					for _, better := range before {
						if better.place < was.place && better.queue < was.place {
							t.Fatalf("a breaker of place %d went before one of place %d in queue %d", was.place, better.place, better.queue)
						}
					}
				}
			}
			switch random.IntN(6 + 10*calm) {
			case 0:
				b.Isolate()
			case 1:
				b.Reset()
			case 2:
				s.Delete(key)
			case 3:
				record(b, Transient)
			case 4:
				for range 5 {
					record(b, Transient)
				}
			default:
				record(b, OK)
			}
			sound(t, s)
		}
	}
	for place, n := range went {
		require.NotZero(t, n, "none of place %d went", place)
	}
}

type standing struct{ place, queue int }

// places returns where each entry belongs, and where it is.
func (s *Scope[K]) places(now time.Time) map[K]standing {
	found := map[K]standing{}
	for key := range s.All() {
		e := find(s.bucketOf(key), key)
		found[key] = standing{e.place(now), e.queue}
	}
	return found
}

// countingWindow counts the looks at a breaker that is closed and without a run.
type countingWindow struct {
	tripWindow
	looks *int
}

func (w countingWindow) at(now time.Duration) counts {
	*w.looks++
	return w.tripWindow.at(now)
}

// A new key costs a few looks at other breakers on average, whatever state they are in. Of
// those whose place is a later queue there are never more than there are moves to earlier
// ones: two for the new key, one or two for each look at a held one. With these looks and the
// one at the entry that goes, that is 13.
func TestScopeCostOfANewKey(t *testing.T) {
	const mostLooks = 13
	for name, fails := range map[string]func(i int) bool{
		"none fails":      func(int) bool { return false },
		"all fail":        func(int) bool { return true },
		"one in two":      func(i int) bool { return i%2 == 0 },
		"one in ten":      func(i int) bool { return i%10 == 0 },
		"in long periods": func(i int) bool { return i/1000%2 == 0 },
	} {
		for _, maximum := range []int{1, 10, 1000} {
			clock := &handClock{read: func() {}}
			s, err := NewScope(maximum, func(int) Settings { return windowed(clock) })
			require.NoError(t, err)
			looks := 0
			const keys = 6_000
			for key := range keys {
				before := looks
				b := s.For(key)
				if looks-before > maximum+mostLooks {
					t.Fatalf("%s: %d looks for one new key", name, looks-before)
				}
				b.window = countingWindow{b.window, &looks}
				if fails(key) {
					before := looks
					record(b, Transient)
					record(b, OK)
					looks = before
				}
				clock.now = clock.now.Add(5 * time.Millisecond)
			}
			require.NotZero(t, looks)
			require.LessOrEqual(t, looks, mostLooks*keys, "%s, a maximum of %d", name, maximum)
			require.Equal(t, maximum, s.Len())
			sound(t, s)
		}
	}
}

// However many were used, a new key lets off so many of them and no more.
func TestScopeSecondChancesAreBounded(t *testing.T) {
	s, err := NewScope(100, func(int) Settings { return Settings{} })
	require.NoError(t, err)
	for range 2 {
		for key := range 100 {
			s.For(key)
		}
	}
	for _, goes := range []int{secondChances, 2*secondChances + 1} {
		s.For(100 + goes)
		for key := range 100 {
			gone := key == secondChances || key == goes
			require.Equal(t, gone, find(s.bucketOf(key), key) == nil, "key %d", key)
		}
	}
	sound(t, s)
}

// unlocked asserts that nobody holds the lock of the scope.
func unlocked[K comparable](t *testing.T, s *Scope[K]) {
	if s == nil {
		return // being built
	}
	if !s.mu.TryLock() {
		t.Error("the lock is held")
		return
	}
	s.mu.Unlock()
}

// Nothing of the user's runs under the lock of the scope, and the clock of no other breaker
// is read for a new key.
func TestScopeCallsNothingUnderItsLock(t *testing.T) {
	var s *Scope[int]
	readings := 0
	clock := &handClock{read: func() { readings++; unlocked(t, s) }}
	classified := 0
	s, err := NewScope(3, func(int) Settings {
		unlocked(t, s)
		settings := windowed(clock)
		settings.BreakJitter = JitterEqual
		settings.Random = func() float64 { unlocked(t, s); return 0.5 }
		settings.OnTransition = func(context.Context, Transition) { unlocked(t, s) }
		settings.Classify = func(error) Verdict { classified++; unlocked(t, s); return Transient }
		return settings
	})
	require.NoError(t, err)
	for key := range 20 {
		before := readings
		b := s.For(key)
		require.Equal(t, 1, readings-before, "for its own birth")
		require.Same(t, b, s.For(key))
		s.Len()
		require.Equal(t, 1, readings-before)
		for range key % 7 {
			_ = s.Do(context.Background(), key, func(context.Context) error {
				unlocked(t, s)
				return context.DeadlineExceeded
			})
		}
		for range s.All() {
			unlocked(t, s)
		}
		for range s.Breakers() {
			unlocked(t, s)
		}
		if key%5 == 4 {
			before := readings
			s.Delete(key)
			require.Equal(t, before, readings)
		}
	}
	require.NotZero(t, classified)
}

func TestScopeBuckets(t *testing.T) {
	for maximum, want := range map[int]int{
		0: 1024, 1: 1, 2: 2, 3: 4, 1000: 1024, 1024: 1024, 1025: 2048,
		100_000: 1 << 17, 1 << 17: 1 << 17, 1<<17 + 1: 1 << 17, math.MaxInt: 1 << 17,
	} {
		s, err := NewScope(maximum, func(int) Settings { return Settings{} })
		require.NoError(t, err)
		require.Len(t, s.buckets, want, "a maximum of %d", maximum)
	}
	s, err := NewScope(0, func(int) Settings { return Settings{} })
	require.NoError(t, err)
	used := map[any]bool{}
	for key := range 1024 {
		used[s.bucketOf(key)] = true
	}
	require.Greater(t, len(used), 512, "keys are spread")
}

// What stays is found at all times, and is in every loop once, while its neighbours in the
// chain come and go.
func TestScopeChainsWhileTheyChange(t *testing.T) {
	s, err := NewScope(100, func(int) Settings { return Settings{DisableAdaptive: true} })
	require.NoError(t, err)
	s.buckets = s.buckets[:1] // one chain
	stays := map[int]*Breaker{}
	for key := range 20 {
		s.For(100 + key)
		stays[key] = s.For(key)
	}
	var writers, readers sync.WaitGroup
	var over atomic.Bool
	for i := range 2 {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			for range 5000 {
				s.Delete(100 + random.IntN(40))
				s.For(100 + random.IntN(40))
			}
		})
		readers.Go(func() {
			for !over.Load() {
				for key, b := range stays {
					if s.For(key) != b {
						t.Errorf("another breaker for %d", key)
					}
				}
				seen := map[int]int{}
				for key := range s.All() {
					seen[key]++
				}
				for key := range stays {
					if seen[key] != 1 {
						t.Errorf("%d was yielded %d times", key, seen[key])
					}
				}
			}
		})
	}
	writers.Wait()
	over.Store(true)
	readers.Wait()
	sound(t, s)
}

// What standing says is what the reads say.
func TestStanding(t *testing.T) {
	clock := &handClock{read: func() {}}
	settings := windowed(clock)
	settings.Recovery = Recovery{Fraction: 1, MaximumDuration: time.Hour}
	b := MustNew(settings)
	at := func(d time.Duration) time.Time { return time.Time{}.Add(d) }
	for i, step := range []struct {
		at            time.Duration
		do            func()
		clean, closed bool
	}{
		{0, func() {}, true, true},
		{0, func() { record(b, OK) }, true, true},
		{0, func() { record(b, Transient) }, false, true},
		{0, func() { record(b, OK) }, false, true},
		{10*time.Second - 1, func() {}, false, true},
		{10 * time.Second, func() {}, true, true},
		{-time.Hour, func() {}, false, true}, // not before what it knows
		{0, b.Isolate, false, false},
		{1 << 62, func() {}, false, false},
		{0, b.Reset, true, true},
		{0, func() {
			for range 5 {
				record(b, Transient)
			}
		}, false, false},
		{time.Minute, func() {}, false, false},
		{time.Minute, func() {
			clock.now = at(time.Minute)
			record(b, OK)
			record(b, OK)
		}, false, false},
		{2*time.Minute - time.Second, func() {}, false, false},
		{2 * time.Minute, func() {}, true, true},
		{math.MaxInt64, func() {}, true, true},
		{math.MaxInt64, func() { // of a ramp that began before the breaker's birth
			clock.now = at(-time.Hour)
			b.Reset()
			for range 5 {
				record(b, Transient)
			}
			clock.now = at(time.Minute - time.Hour)
			record(b, OK)
			record(b, OK)
			require.Equal(t, Recovering, b.State())
		}, true, true},
	} {
		step.do()
		before := b.Snapshot()
		clean, closed := b.standing(at(step.at))
		require.Equal(t, [2]bool{step.clean, step.closed}, [2]bool{clean, closed}, "step %d", i)
		require.Equal(t, before, b.Snapshot(), "step %d moved something", i)
	}
}
