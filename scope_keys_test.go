package breaker_test

import (
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

func TestScopeKeysUnequalToThemselves(t *testing.T) {
	type point struct{ x, y float64 }
	unequal(t, math.NaN())
	unequal(t, point{1, math.NaN()})
	unequal(t, [2]float64{math.NaN(), 1})
	unequal[any](t, math.NaN())
	unequal[any](t, point{math.NaN(), 1})
	unequal(t, complex(1, math.NaN()))
}

func unequal[K comparable](t *testing.T, key K) {
	t.Helper()
	s := mustScope(t, 0, forEvery[K](plain))
	first, err := s.Get(key)
	require.NoError(t, err)
	require.NotSame(t, first, s.For(key))
	require.Equal(t, errDown, s.Do(bg, key, fails(errDown)))
	s.Delete(key)
	require.Zero(t, s.Len())
	require.Empty(t, slices.Collect(s.Breakers()))
}

func TestScopeKeysThatCannotBeHashed(t *testing.T) {
	asked := 0
	s := mustScope(t, 0, func(any) breaker.Settings { asked++; return plain })
	s.For("a")
	for _, key := range []any{
		[]int{1}, map[int]int{}, func() {}, struct{ s []int }{}, [1]any{[]int{}}, struct{ k any }{[]int{}},
	} {
		inAMap := panicOf(func() { _ = map[any]int{"a": 1}[key] })
		require.Implements(t, (*runtime.Error)(nil), inAMap)
		for name, call := range map[string]func(){
			"For":    func() { s.For(key) },
			"Get":    func() { _, _ = s.Get(key) },
			"Do":     func() { _ = s.Do(bg, key, succeed) },
			"Delete": func() { s.Delete(key) },
		} {
			got := panicOf(call)
			require.Implements(t, (*runtime.Error)(nil), got, "%s of %T", name, key)
			require.EqualError(t, got.(error), inAMap.(error).Error(), "%s of %T", name, key)
		}
	}
	require.Equal(t, 1, asked)
	require.Equal(t, 1, s.Len())
	s.Delete("a")
	require.Zero(t, s.Len())
}

func TestScopeKeysThatAreEqual(t *testing.T) {
	floats := mustScope(t, 0, forEvery[float64](plain))
	require.Same(t, floats.For(0), floats.For(math.Copysign(0, -1)))
	anys := mustScope(t, 0, forEvery[any](plain))
	require.NotSame(t, anys.For(int32(1)), anys.For(int64(1)))
	require.Same(t, anys.For(nil), anys.For(nil))
	one := mustScope(t, 0, forEvery[struct{}](plain))
	require.Same(t, one.For(struct{}{}), one.For(struct{}{}))
	require.Equal(t, 1, one.Len())
}

func TestScopeAllocations(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates for itself")
	}
	type route struct {
		tenant string
		shard  int
	}
	known(t, "tenant")
	known(t, 42)
	known(t, 4.2)
	known(t, route{"tenant", 42})
	known(t, [2]string{"tenant", "shard"})
	known(t, new(int))
	known(t, struct{ p *int }{new(int)})
	known[any](t, "tenant")
	known[any](t, route{"tenant", 42})
	known[error](t, errors.New("mine"))
}

func known[K comparable](t *testing.T, key K) {
	t.Helper()
	s := mustScope(t, 0, forEvery[K](breaker.Settings{Clock: stopped{}}))
	s.For(key)
	noAllocs(t, reflect.TypeFor[K]().String()+": For", func() { s.For(key) })
	noAllocs(t, reflect.TypeFor[K]().String()+": Get", func() { _, _ = s.Get(key) })
	noAllocs(t, reflect.TypeFor[K]().String()+": Do", func() { _ = s.Do(bg, key, succeed) })
	noAllocs(t, "Len", func() { s.Len() })
}
