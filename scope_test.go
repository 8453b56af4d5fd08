package breaker_test

import (
	"context"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// mustScope is NewScope for arguments that it takes.
func mustScope[K comparable](t testing.TB, maximum int, settings func(K) breaker.Settings) *breaker.Scope[K] {
	t.Helper()
	s, err := breaker.NewScope(maximum, settings)
	require.NoError(t, err)
	return s
}

// forEvery gives every key the same settings.
func forEvery[K comparable](s breaker.Settings) func(K) breaker.Settings {
	return func(K) breaker.Settings { return s }
}

// keysOf returns the keys of a scope, sorted and in one string.
func keysOf(s *breaker.Scope[string]) string {
	return strings.Join(slices.Sorted(maps.Keys(maps.Collect(s.All()))), "")
}

func TestScopeKeepsOneBreakerAKey(t *testing.T) {
	asked := map[string]int{}
	s := mustScope(t, 0, func(key string) breaker.Settings {
		asked[key]++
		return breaker.Settings{Name: "orders/" + key}
	})
	require.Empty(t, asked, "NewScope calls settings for no key")
	require.Zero(t, s.Len())

	a, b := s.For("a"), s.For("b")
	require.NotSame(t, a, b)
	require.Equal(t, "orders/a", a.Name())
	require.Equal(t, "orders/b", b.Name())
	tripNow(a)
	require.Equal(t, breaker.Closed, s.For("b").State())
	require.Same(t, a, s.For("a"))
	got, err := s.Get("a")
	require.NoError(t, err)
	require.Same(t, a, got)
	require.Equal(t, map[string]int{"a": 1, "b": 1}, asked)
	require.Equal(t, 2, s.Len())
	require.Equal(t, map[string]*breaker.Breaker{"a": a, "b": b}, maps.Collect(s.All()))
	require.ElementsMatch(t, []*breaker.Breaker{a, b}, slices.Collect(s.Breakers()))
}

func TestScopeDefaultMaximum(t *testing.T) {
	s := mustScope(t, 0, forEvery[int](plain))
	for key := range 1025 {
		s.For(key)
		require.Equal(t, min(key+1, 1024), s.Len())
	}
}

func TestNewScopeRefuses(t *testing.T) {
	for _, c := range []struct {
		maximum  int
		settings func(string) breaker.Settings
		want     []string
	}{
		{-1, forEvery[string](plain), []string{"maximumKeys must not be negative, got -1"}},
		{1, nil, []string{"settings must not be nil"}},
		{-7, nil, []string{"maximumKeys must not be negative, got -7", "settings must not be nil"}},
	} {
		s, err := breaker.NewScope(c.maximum, c.settings)
		var refused *breaker.SettingsError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, c.want, refused.Problems)
		require.Nil(t, s)
	}
}

func TestNilAndZeroScope(t *testing.T) {
	for _, s := range []*breaker.Scope[string]{nil, {}} {
		methods := map[string]func(){
			"All":      func() { s.All() },
			"Breakers": func() { s.Breakers() },
			"Delete":   func() { s.Delete("a") },
			"Do":       func() { _ = s.Do(bg, "a", succeed) },
			"For":      func() { s.For("a") },
			"Get":      func() { _, _ = s.Get("a") },
			"Len":      func() { s.Len() },
		}
		for i := range reflect.TypeOf(s).NumMethod() {
			require.Contains(t, methods, reflect.TypeOf(s).Method(i).Name)
		}
		for name, call := range methods {
			require.Equal(t, "breaker: nil or zero Scope; build one with NewScope", panicOf(call), name)
		}
	}
}

// scopeRig is a scope of a few keys on a mock clock. A breaker is kept aside when it is
// first asked for, so that what happens to it later does not count as use.
type scopeRig struct {
	*breaker.Scope[string]
	t     *testing.T
	clock *clock.Mock
	kept  map[string]*breaker.Breaker
}

type scopeStep struct {
	do   []func(*scopeRig)
	want string // the keys
}

func ask(keys string) func(*scopeRig) {
	return func(r *scopeRig) {
		for _, key := range strings.Split(keys, "") {
			r.kept[key] = r.For(key)
		}
	}
}

// failing makes n calls fail on each of the breakers, and succeeding makes n succeed.
func failing(keys string, n int) func(*scopeRig)    { return ending(keys, n, breaker.Transient) }
func succeeding(keys string, n int) func(*scopeRig) { return ending(keys, n, breaker.OK) }

func ending(keys string, n int, v breaker.Verdict) func(*scopeRig) {
	return func(r *scopeRig) {
		for _, key := range strings.Split(keys, "") {
			for range n {
				attempt, err := r.kept[key].TryAdmit(bg)
				require.NoError(r.t, err)
				attempt.Record(v, time.Millisecond)
			}
		}
	}
}

func isolating(keys string) func(*scopeRig) {
	return func(r *scopeRig) {
		for _, key := range strings.Split(keys, "") {
			r.kept[key].Isolate()
		}
	}
}

func deleting(key string) func(*scopeRig)     { return func(r *scopeRig) { r.Delete(key) } }
func waiting(d time.Duration) func(*scopeRig) { return func(r *scopeRig) { r.clock.Add(d) } }

func looking(r *scopeRig) {
	for range r.All() {
		continue
	}
}

func TestScopeEviction(t *testing.T) {
	windowed := breaker.Settings{DisableAdaptive: true, FailureRatio: 0.9, TripWindow: 10 * sec}
	ramped := breaker.Settings{DisableAdaptive: true, Recovery: breaker.Recovery{Fraction: 1}}
	do := func(do ...func(*scopeRig)) []func(*scopeRig) { return do }
	for name, c := range map[string]struct {
		maximum  int
		settings breaker.Settings
		steps    []scopeStep
	}{
		"the oldest goes": {3, plain, []scopeStep{
			{do(ask("abc")), "abc"},
			{do(ask("d")), "bcd"},
			{do(ask("ef")), "def"},
		}},
		"one that was used has a second chance, and no third": {3, plain, []scopeStep{
			{do(ask("abca"), ask("d")), "acd"},
			{do(ask("e")), "ade"},
			{do(ask("f")), "def"},
		}},
		"all were used": {3, plain, []scopeStep{
			{do(ask("abcabc"), ask("d")), "bcd"},
		}},
		"to be looked at is not to be used": {3, plain, []scopeStep{
			{do(ask("abc"), looking, ask("d")), "bcd"},
		}},
		"a maximum of one": {1, plain, []scopeStep{
			{do(ask("a")), "a"},
			{do(ask("b")), "b"},
			{do(isolating("b"), ask("c")), "c"},
			{do(ask("c"), ask("d")), "d"},
		}},
		"one failure in a row": {3, plain, []scopeStep{
			{do(ask("abc"), failing("a", 1)), "abc"},
			{do(ask("defghi")), "ahi"},
		}},
		"until a success": {3, plain, []scopeStep{
			{do(ask("abc"), failing("a", 1), ask("d")), "acd"},
			{do(succeeding("a", 1), ask("efg")), "efg"},
		}},
		"a success does not clear the trip window": {3, windowed, []scopeStep{
			{do(ask("abc"), failing("a", 1), succeeding("a", 1), ask("defghi")), "ahi"},
		}},
		"time does": {3, windowed, []scopeStep{
			{do(ask("abc"), failing("a", 1), succeeding("a", 1), ask("d")), "acd"},
			{do(waiting(10*sec), ask("efg")), "efg"},
		}},
		"but not a run": {3, windowed, []scopeStep{
			{do(ask("abc"), failing("a", 1), waiting(year), ask("defghi")), "ahi"},
		}},
		"slow calls do not hold": {3, breaker.Settings{SlowCallThreshold: 1}, []scopeStep{
			{do(ask("abc"), succeeding("a", 9), ask("d")), "bcd"},
		}},
		"open": {3, plain, []scopeStep{
			{do(ask("abc"), failing("a", 5), ask("defghi")), "ahi"},
		}},
		"open, and the break over": {3, plain, []scopeStep{
			{do(ask("abc"), failing("a", 5), waiting(year), ask("defghi")), "ahi"},
		}},
		"open, until it has healed": {3, plain, []scopeStep{
			{do(ask("abc"), failing("a", 5), ask("d")), "acd"},
			{do(waiting(15*sec), succeeding("a", 2), ask("efg")), "efg"},
		}},
		"in a ramp": {3, ramped, []scopeStep{
			{do(ask("abc"), failing("a", 5), waiting(15*sec), succeeding("a", 2), ask("defg")), "afg"},
		}},
		"in a ramp, until that has run out": {3, ramped, []scopeStep{
			{do(ask("abc"), failing("a", 5), waiting(15*sec), succeeding("a", 2), ask("d")), "acd"},
			{do(waiting(15*sec), ask("efg")), "efg"},
		}},
		"isolated": {3, plain, []scopeStep{
			{do(ask("abc"), isolating("a"), waiting(year), ask("defghi")), "ahi"},
		}},
		"no clean one left: the closed one goes": {3, plain, []scopeStep{
			{do(ask("abc"), isolating("a"), failing("b", 4), failing("c", 5), ask("d")), "acd"},
		}},
		"the new one is no better": {3, plain, []scopeStep{
			{do(ask("abc"), isolating("a"), failing("c", 5), ask("d"), failing("d", 1), ask("e")), "ace"},
		}},
		"no closed one left: the oldest goes": {3, plain, []scopeStep{
			{do(ask("abc"), isolating("a"), failing("b", 5), isolating("c"), ask("d")), "bcd"},
			{do(isolating("d"), ask("e")), "cde"},
		}},
		"a second chance for those not clean": {3, plain, []scopeStep{
			{do(ask("abca"), failing("abc", 1), ask("d")), "acd"},
		}},
		// Two are looked at again for each new key: first a and b, then c.
		"held behind others, until it has healed": {5, plain, []scopeStep{
			{do(ask("abcde"), isolating("ab"), failing("c", 5), ask("f")), "abcef"},
			{do(waiting(15*sec), succeeding("c", 2), ask("ghij")), "abhij"},
		}},
		"held as closed, and open since": {3, plain, []scopeStep{
			{do(ask("abc"), failing("a", 1), ask("d")), "acd"},
			{do(failing("a", 4), failing("cd", 1), ask("e")), "ade"},
		}},
		// b and c are looked at again anyway, and d when its turn to go has come.
		"held as closed, several, and open since": {5, plain, []scopeStep{
			{do(ask("abcde"), failing("abcde", 1), ask("f")), "bcdef"},
			{do(failing("f", 1), failing("bcd", 4), ask("g")), "bcdfg"},
		}},
		"deleted": {3, plain, []scopeStep{
			{do(ask("abc"), isolating("a"), deleting("a")), "bc"},
			{do(deleting("a"), deleting("x")), "bc"},
			{do(ask("d")), "bcd"},
			{do(ask("e")), "cde"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &scopeRig{t: t, clock: clock.NewMock(), kept: map[string]*breaker.Breaker{}}
			c.settings.Clock, c.settings.BreakJitter = r.clock, breaker.JitterNone
			r.Scope = mustScope(t, c.maximum, forEvery[string](c.settings))
			for i, step := range c.steps {
				for _, do := range step.do {
					do(r)
				}
				require.Equal(t, step.want, keysOf(r.Scope), "step %d", i)
				require.Equal(t, len(step.want), r.Len(), "step %d", i)
			}
		})
	}
}

// What is in trouble stays, whatever the flood, and the memory is bounded.
func TestScopeUnderAFlood(t *testing.T) {
	flood := 1_000_000
	if underRace {
		flood = 20_000
	}
	cheap := breaker.Settings{DisableAdaptive: true, Clock: stopped{}}
	s := mustScope(t, 0, func(key int) breaker.Settings {
		settings := cheap
		if key == -4 {
			settings.FailureRatio = 0.9
		}
		return settings
	})
	trouble := map[int]func(r *breaker.Breaker){
		-1: tripNow,
		-2: (*breaker.Breaker).Isolate,
		-3: func(b *breaker.Breaker) { // four failures into five
			for range 4 {
				_ = b.Do(bg, fails(errDown))
			}
		},
		-4: func(b *breaker.Breaker) { // a failure in the window alone
			_ = b.Do(bg, fails(errDown))
			_ = b.Do(bg, succeed)
		},
	}
	troubled, before := map[int]*breaker.Breaker{}, map[int]breaker.Snapshot{}
	for key, get := range trouble {
		troubled[key] = s.For(key)
		get(troubled[key])
		before[key] = troubled[key].Snapshot()
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for key := range 1024 {
		s.For(key)
	}
	full := heap()
	for key := range flood {
		s.For(key)
	}
	require.Less(t, heap(), full+full/2)
	require.Equal(t, 1024, s.Len())
	now := maps.Collect(s.All())
	require.Len(t, now, 1024)
	for key, b := range troubled {
		require.Same(t, b, now[key])
		require.Equal(t, before[key], s.For(key).Snapshot())
	}
	for _, key := range []int{-1, -2} {
		_, err := s.For(key).TryAdmit(bg)
		require.ErrorIs(t, err, breaker.ErrRejected)
	}
	_ = s.Do(bg, -3, fails(errDown))
	require.Equal(t, breaker.Open, s.For(-3).State(), "the fifth failure")
	runtime.KeepAlive(s)
}

func TestScopeDelete(t *testing.T) {
	settings := breaker.Settings{Name: "old"}
	s := mustScope(t, 2, func(string) breaker.Settings { return settings })
	a := s.For("a")
	attempt, err := a.TryAdmit(bg)
	require.NoError(t, err)

	settings.Name = "new"
	require.Equal(t, "old", s.For("a").Name(), "other settings change no breaker that exists")

	s.Delete("a")
	require.Zero(t, s.Len())
	require.Empty(t, maps.Collect(s.All()))
	attempt.Done(nil)
	require.EqualValues(t, 1, a.Snapshot().Totals.OK)
	require.NotSame(t, a, s.For("a"))
	require.Equal(t, "new", s.For("a").Name())
}

func TestScopeDo(t *testing.T) {
	s := mustScope(t, 0, func(key string) breaker.Settings {
		if key == "bad" {
			return breaker.Settings{FailureRatio: 2, TripWindow: -1}
		}
		return plain
	})
	never := func(context.Context) error { t.Error("the function ran"); return nil }

	require.NoError(t, s.Do(bg, "a", succeed))
	require.Equal(t, errDown, s.Do(bg, "a", fails(errDown)))
	totals := s.For("a").Snapshot().Totals
	require.EqualValues(t, 1, totals.OK)
	require.EqualValues(t, 1, totals.Transient)
	s.For("a").Isolate()
	ctx, cancel := context.WithTimeout(bg, time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Do(ctx, "a", never), breaker.ErrRejected)

	// Neither a mistake nor a caller who is gone builds a breaker.
	var none context.Context
	gone, cancel := context.WithCancel(bg)
	cancel()
	require.Equal(t, context.Canceled, s.Do(gone, "b", never))
	require.Equal(t, "breaker: nil context", panicOf(func() { _ = s.Do(none, "b", never) }))
	require.Equal(t, "breaker: Do with a nil function", panicOf(func() { _ = s.Do(bg, "b", nil) }))
	require.Equal(t, "a", keysOf(s))

	// Nor do settings that cannot work, however often they are tried.
	for range 2 {
		var refused *breaker.SettingsError
		require.ErrorAs(t, s.Do(bg, "bad", never), &refused)
		require.Len(t, refused.Problems, 2)
		b, err := s.Get("bad")
		require.Equal(t, refused, err)
		require.Nil(t, b)
		require.Equal(t, refused, panicOf(func() { s.For("bad") }))
	}
	require.Equal(t, "a", keysOf(s))
}

func TestScopeSettingsFunctionLeaves(t *testing.T) {
	for name, leaving := range leavings {
		t.Run(name, func(t *testing.T) {
			leave, left := leaving(t)
			var s *breaker.Scope[string]
			leaves := false
			s = mustScope(t, 2, func(key string) breaker.Settings {
				if key == "uses the scope" {
					tripNow(s.For("a"))
				}
				if leaves {
					leave()
				}
				return breaker.Settings{Name: key}
			})
			a := s.For("a")
			s.For("b")
			leaves = true
			left(func() { s.For("c") })
			left(func() { _, _ = s.Get("c") })
			left(func() { _ = s.Do(bg, "c", succeed) })
			require.Equal(t, "ab", keysOf(s))
			require.Same(t, a, s.For("a"))
			leaves = false
			require.Equal(t, "c", s.For("c").Name())
			s.For("uses the scope")
			require.Equal(t, breaker.Open, a.State())
		})
	}
}
