package breaker_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
)

// named returns a breaker of that name, and namesOf those of what a source yields.
func named(name string) *breaker.Breaker {
	return breaker.MustNew(breaker.Settings{Name: name, DisableAdaptive: true})
}

func namesOf(source breaker.Source) string {
	var names []string
	for b := range source.Breakers() {
		names = append(names, b.Name())
	}
	return strings.Join(names, " ")
}

func TestSources(t *testing.T) {
	a, b, c := named("a"), named("b"), named("c")
	keyed := mustScope(t, 0, func(key string) breaker.Settings {
		return breaker.Settings{Name: "tenant/" + key}
	})
	var registry breaker.Registry
	registry.Add(b, breaker.List{a, a})
	for want, source := range map[string]breaker.Source{
		"a":        a,
		"a b c":    breaker.List{a, b, c},
		"b":        &breaker.List{b},
		"":         breaker.List(nil),
		"tenant/1": keyed,
		"b a a":    &registry,
	} {
		breakers := source.Breakers()
		keyed.For("1")
		for range 2 {
			require.Equal(t, want, namesOf(source))
			require.Len(t, slices.Collect(breakers), len(strings.Fields(want)), "%T again", source)
		}
		for range source.Breakers() {
			break // as any loop may
		}
	}
	require.Empty(t, namesOf(new(breaker.Registry)))
	require.Equal(t, "breaker: nil *Breaker; build one with New, MustNew or Of", panicOf(func() {
		_ = slices.Collect(breaker.List{a, nil}.Breakers())
	}))
}

// function is a source that cannot be compared, and pair one whose type can be, and whose
// values cannot.
type function func() iter.Seq[*breaker.Breaker]

func (f function) Breakers() iter.Seq[*breaker.Breaker] { return f() }

type pair struct{ first, second breaker.Source }

func (p pair) Breakers() iter.Seq[*breaker.Breaker] {
	return breaker.List{slices.Collect(p.first.Breakers())[0], slices.Collect(p.second.Breakers())[0]}.Breakers()
}

func TestRegistry(t *testing.T) {
	a, b, c := named("a"), named("b"), named("c")
	again := named("a")
	list := breaker.List{b, c}
	scope := mustScope(t, 0, func(key string) breaker.Settings { return breaker.Settings{Name: key} })
	scope.For("s")
	var inner breaker.Registry
	inner.Add(c)

	r := new(breaker.Registry)
	add := func(sources ...breaker.Source) func() { return func() { r.Add(sources...) } }
	remove := func(source breaker.Source) func() { return func() { r.Remove(source) } }
	for i, step := range []struct {
		do   func()
		want string
	}{
		{add(), ""},
		{remove(a), ""},
		{add(c, a, b), "c a b"},
		{add(a, b), "c a b"},
		{add(again, again), "c a b a"}, // another breaker of the name
		{remove(a), "c b a"},
		{add(a), "c b a a"},
		{remove(nil), "c b a a"},
		{remove((*breaker.Breaker)(nil)), "c b a a"},
		{func() { remove(c)(); remove(a)(); remove(again)() }, "b"},
		{add(scope, scope), "b s"},
		{func() { scope.For("s"); scope.Delete("s") }, "b"},
		{func() { scope.For("s") }, "b s"},
		{remove(scope), "b"},
		{add(&inner), "b c"},
		{func() { inner.Remove(c) }, "b"},
		{remove(&inner), "b"},
		// What cannot be compared is another each time, and not found.
		{add(list, list), "b b c b c"},
		{remove(list), "b b c b c"},
		{add(a), "b b c b c a"},
		{func() { r = new(breaker.Registry) }, ""},
		{add(&list, &list), "b c"},
		{remove(&list), ""},
		{add(pair{a, list}), "a b"},
		{add(pair{a, list}), "a b a b"},
		{remove(pair{a, list}), "a b a b"},
		{add(pair{a, b}, pair{a, b}), "a b a b a b"},
		{remove(pair{a, b}), "a b a b"},
		{add(function(c.Breakers)), "a b a b c"},
		{remove(function(c.Breakers)), "a b a b c"},
	} {
		step.do()
		require.Equal(t, step.want, namesOf(r), "step %d", i)
	}
}

func TestRegistryMistakes(t *testing.T) {
	a := named("a")
	var r breaker.Registry
	var none *breaker.Registry
	for name, c := range map[string]struct {
		do   func()
		want string
	}{
		"nil":                  {func() { r.Add(a, nil) }, "breaker: nil Source"},
		"a nil breaker":        {func() { r.Add(a, (*breaker.Breaker)(nil)) }, "breaker: nil Source"},
		"a nil scope":          {func() { r.Add(a, (*breaker.Scope[string])(nil)) }, "breaker: nil Source"},
		"a nil registry":       {func() { r.Add(a, none) }, "breaker: nil Source"},
		"itself":               {func() { r.Add(a, &r) }, "breaker: a Registry in itself"},
		"add to none":          {func() { none.Add(a) }, "breaker: nil *Registry"},
		"remove from none":     {func() { none.Remove(a) }, "breaker: nil *Registry"},
		"the breakers of none": {func() { none.Breakers() }, "breaker: nil *Registry"},
	} {
		require.Equal(t, c.want, panicOf(c.do), name)
		require.Empty(t, namesOf(&r), "%s: none is added", name)
	}
	r.Add(breaker.List(nil)) // empty, and no mistake
}

// A loop over a registry sees the sources of its beginning, and may change it.
func TestRegistryHoldsNoLock(t *testing.T) {
	var r breaker.Registry
	a, b, c := named("a"), named("b"), named("c")
	r.Add(a, b)
	breakers := r.Breakers()
	r.Add(c)
	var seen []string
	for b := range breakers {
		seen = append(seen, b.Name())
		r.Remove(b)
		r.Add(named("new"))
		require.NotEmpty(t, namesOf(&r))
	}
	require.Equal(t, []string{"a", "b", "c"}, seen)
	require.Equal(t, "new new new", namesOf(&r))
}

func TestRegistryUnderLoad(t *testing.T) {
	var r breaker.Registry
	standing := named("standing")
	r.Add(standing)
	together(8, func(i int) {
		for n := range 200 {
			b := named(fmt.Sprint(i, n))
			r.Add(b, standing)
			found := 0
			for other := range r.Breakers() {
				if other == b || other == standing {
					found++
				}
			}
			if found != 2 {
				t.Errorf("found %d of 2", found)
			}
			r.Remove(b)
		}
	})
	require.Equal(t, "standing", namesOf(&r))
}
