package breaker_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// together runs do in n goroutines, which start at once, and waits for them.
func together(n int, do func(i int)) {
	var ready, done sync.WaitGroup
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			do(i)
		})
	}
	done.Wait()
}

// Callers who race for a new key may each ask for its settings, and all get one breaker.
func TestScopeRaceForAKey(t *testing.T) {
	const callers = 8
	for range 200 {
		var asked atomic.Int32
		s := mustScope(t, 0, func(string) breaker.Settings { asked.Add(1); return plain })
		var got [callers]*breaker.Breaker
		together(callers, func(i int) { got[i] = s.For("a") })
		for _, b := range got {
			require.Same(t, got[0], b)
		}
		require.Same(t, got[0], s.For("a"))
		require.Equal(t, 1, s.Len())
		require.GreaterOrEqual(t, asked.Load(), int32(1))
	}
}

// Two callers are in the settings function for one key at the same time, which would not
// come to an end if a lock were held. The first to leave it wins.
func TestScopeAsksForSettingsWithoutALock(t *testing.T) {
	var inside sync.WaitGroup
	inside.Add(2)
	s := mustScope(t, 1, func(key string) breaker.Settings {
		if key == "a" {
			inside.Done()
			inside.Wait()
		}
		return plain
	})
	var got [2]*breaker.Breaker
	together(2, func(i int) { got[i] = s.For("a") })
	require.Same(t, got[0], got[1])
	require.Equal(t, 1, s.Len())
}

// The bound holds at all times, also for keys that come, go, are deleted and fail at once.
func TestScopeUnderLoad(t *testing.T) {
	const maximum, keys = 100, 300
	s := mustScope(t, maximum, func(key string) breaker.Settings {
		return breaker.Settings{Name: key, DisableAdaptive: true, Clock: stopped{}}
	})
	together(8, func(i int) {
		random := rand.New(rand.NewPCG(uint64(i), 1))
		for range 2000 {
			key := fmt.Sprint(random.IntN(keys))
			switch random.IntN(10) {
			case 0:
				s.Delete(key)
			case 1:
				s.For(key).Isolate()
			case 2:
				s.For(key).Reset()
			case 3:
				if n := s.Len(); n > maximum {
					t.Errorf("%d breakers", n)
				}
			case 4:
				seen := map[string]bool{}
				for key, b := range s.All() {
					if seen[key] || key != b.Name() {
						t.Errorf("%q was yielded twice, or with %q", key, b.Name())
					}
					seen[key] = true
				}
			case 5:
				attempt, err := s.For(key).TryAdmit(bg)
				if err == nil {
					attempt.Record(breaker.Transient, 0)
				}
			default:
				if b := s.For(key); b.Name() != key {
					t.Errorf("%q got %q", key, b.Name())
				}
			}
		}
	})
	require.LessOrEqual(t, s.Len(), maximum)
	require.Len(t, maps.Collect(s.All()), s.Len())
}

// A loop over a scope may do to it what it likes.
func TestScopeAllHoldsNoLock(t *testing.T) {
	s := mustScope(t, 100, func(int) breaker.Settings { return plain })
	for key := range 100 {
		s.For(key)
	}
	for key, b := range s.All() {
		s.For(key)
		s.For(-1 - key) // makes room by another
		s.Delete(key)
		require.LessOrEqual(t, s.Len(), 100)
		require.Equal(t, breaker.Closed, b.State())
		for range s.All() {
			break
		}
		for range s.Breakers() {
			break
		}
		done := make(chan struct{}) // nor is it held against another goroutine
		go func() {
			defer close(done)
			s.Delete(key)
		}()
		<-done
	}
}

// An iterator can be used again, and sees what is there then.
func TestScopeAllAgain(t *testing.T) {
	s := mustScope(t, 0, forEvery[string](plain))
	all, breakers := s.All(), s.Breakers()
	require.Empty(t, maps.Collect(all))
	a := s.For("a")
	for range 2 {
		require.Equal(t, map[string]*breaker.Breaker{"a": a}, maps.Collect(all))
		require.Equal(t, []*breaker.Breaker{a}, slices.Collect(breakers))
	}
}
