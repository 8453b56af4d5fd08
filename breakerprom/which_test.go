package breakerprom_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerprom"
)

// Which breakers have series.

func named(names ...string) breaker.List {
	var list breaker.List
	for _, name := range names {
		list = append(list, breaker.MustNew(settings(name, newHandClock())))
	}
	return list
}

func dropped(series map[string]string) map[string]string {
	return map[string]string{
		"limit":          series[`breaker_collector_dropped_breakers{reason="limit"}`],
		"duplicate_name": series[`breaker_collector_dropped_breakers{reason="duplicate_name"}`],
	}
}

func TestNames(t *testing.T) {
	each := 48 // series of a breaker of which nothing is known
	for name, c := range map[string]struct {
		names     []string
		want      map[string]int
		duplicate string
	}{
		"none":                 {nil, map[string]int{}, "0"},
		"two":                  {[]string{"a", "b"}, map[string]int{"a": each, "b": each}, "0"},
		"one name three times": {[]string{"a", "b", "a", "a"}, map[string]int{"a": each, "b": each}, "2"},
		"without a name":       {[]string{"", "a", ""}, map[string]int{"": each, "a": each}, "1"},
		"not UTF-8":            {[]string{"a\xff\xfeb", "a\xc3"}, map[string]int{"a\uFFFDb": each, "a\uFFFD": each}, "0"},
		"equal once mended":    {[]string{"a\xff", "a\uFFFD"}, map[string]int{"a\uFFFD": each}, "1"},
		"to be escaped":        {[]string{"a\"b\\c\nd"}, map[string]int{`a\"b\\c\nd`: each}, "0"},
		"other writing":        {[]string{"数据库", "a b/c:d"}, map[string]int{"数据库": each, "a b/c:d": each}, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			series := scrape(t, endpoint(t, registry(t, named(c.names...), nil)))
			require.Equal(t, c.want, shown(series))
			require.Equal(t, map[string]string{"limit": "0", "duplicate_name": c.duplicate}, dropped(series))
			require.Equal(t, strconv.Itoa(len(c.names)), series[`breaker_collector_breakers{state="closed"}`])
		})
	}
}

// A breaker that belongs to two sources is one breaker.
func TestOneBreakerTwice(t *testing.T) {
	list := named("a")
	var both breaker.Registry
	both.Add(list[0], &list)
	series := scrape(t, endpoint(t, registry(t, &both, nil)))
	require.Equal(t, map[string]string{"limit": "0", "duplicate_name": "0"}, dropped(series))
	require.Equal(t, "1", series[`breaker_collector_breakers{state="closed"}`])
}

// Of two breakers of one name, the one that was there keeps its series, wherever the source
// has it now: its counters must not become those of the other.
func TestNameStaysWithItsBreaker(t *testing.T) {
	list := named("a", "a")
	call(t, list[0], 100, breaker.OK, 0)
	call(t, list[1], 7, breaker.OK, 0)
	url := endpoint(t, registry(t, sourceFunc(func() []*breaker.Breaker { return list }), nil))
	ok := func() string { return scrape(t, url)[`breaker_calls_total{breaker="a",verdict="ok"}`] }
	require.Equal(t, "100", ok())
	slices.Reverse(list)
	require.Equal(t, "100", ok())
	list = list[:1]
	require.Equal(t, "7", ok(), "it is gone")
}

// A new name moves the series, and takes none from another.
func TestRename(t *testing.T) {
	list := named("a", "b")
	call(t, list[0], 3, breaker.OK, 0)
	url := endpoint(t, registry(t, list, nil))
	rename := func(b *breaker.Breaker, name string) {
		s := b.Settings()
		s.Name = name
		require.NoError(t, b.Update(s))
	}
	require.Len(t, shown(scrape(t, url)), 2)
	rename(list[0], "c")
	series := scrape(t, url)
	require.Equal(t, map[string]int{"b": 48, "c": 48}, shown(series))
	require.Equal(t, "3", series[`breaker_calls_total{breaker="c",verdict="ok"}`])
	rename(list[1], "c")
	series = scrape(t, url)
	require.Equal(t, map[string]int{"c": 48}, shown(series))
	require.Equal(t, "1", dropped(series)["duplicate_name"])
}

func TestLimit(t *testing.T) {
	list := named("a", "b", "c", "d", "e")
	list[4].Isolate()
	r := registry(t, sourceFunc(func() []*breaker.Breaker { return list }), &breakerprom.Options{MaximumBreakers: 2})
	url := endpoint(t, r)

	series := scrape(t, url)
	require.Equal(t, map[string]int{"a": 48, "b": 48}, shown(series))
	require.Equal(t, map[string]string{"limit": "3", "duplicate_name": "0"}, dropped(series))
	require.Equal(t, "4", series[`breaker_collector_breakers{state="closed"}`])
	require.Equal(t, "1", series[`breaker_collector_breakers{state="isolated"}`], "the one that has no series is counted too")

	slices.Reverse(list)
	require.Equal(t, map[string]int{"a": 48, "b": 48}, shown(scrape(t, url)), "what has series keeps them")

	list = slices.DeleteFunc(list, func(b *breaker.Breaker) bool { return b.Name() == "a" })
	series = scrape(t, url)
	require.Equal(t, []string{"b", "e"}, slices.Sorted(maps.Keys(shown(series))), "the next in the order of the source")
	require.Equal(t, "2", dropped(series)["limit"])
}

// A duplicate takes no place from those that have a name of their own.
func TestLimitCountsThoseThatAreShown(t *testing.T) {
	series := scrape(t, endpoint(t, registry(t, named("a", "a", "a", "b", "c"), &breakerprom.Options{MaximumBreakers: 2})))
	require.Equal(t, map[string]int{"a": 48, "b": 48}, shown(series))
	require.Equal(t, map[string]string{"limit": "1", "duplicate_name": "2"}, dropped(series))
}

func TestDefaultLimit(t *testing.T) {
	var names []string
	for i := range 201 {
		names = append(names, fmt.Sprint(i))
	}
	for _, options := range []*breakerprom.Options{nil, {}} {
		series := scrape(t, endpoint(t, registry(t, named(names...), options)))
		require.Len(t, shown(series), 200)
		require.Equal(t, "1", dropped(series)["limit"])
	}
}

// The series of a key that has gone disappear, and those of one that comes back begin anew.
func TestEvictedKey(t *testing.T) {
	clock := newHandClock()
	scope, err := breaker.NewScope(2, func(key string) breaker.Settings { return settings("tenant/"+key, clock) })
	require.NoError(t, err)
	url := endpoint(t, registry(t, scope, nil))
	call(t, scope.For("x"), 5, breaker.OK, 0)
	open(t, scope.For("y"))
	require.Equal(t, []string{"tenant/x", "tenant/y"}, slices.Sorted(maps.Keys(shown(scrape(t, url)))))

	scope.For("z")
	require.Equal(t, []string{"tenant/y", "tenant/z"}, slices.Sorted(maps.Keys(shown(scrape(t, url)))))

	call(t, scope.For("x"), 1, breaker.OK, 0)
	require.Equal(t, "1", scrape(t, url)[`breaker_calls_total{breaker="tenant/x",verdict="ok"}`])
}

// The collector may be asked by several scrapes while breakers come, go and are in use.
func TestScrapesAtTheSameTime(t *testing.T) {
	scope, err := breaker.NewScope(16, func(key int) breaker.Settings {
		return breaker.Settings{Name: strconv.Itoa(key), BreakDuration: time.Millisecond}
	})
	require.NoError(t, err)
	r := registry(t, scope, &breakerprom.Options{MaximumBreakers: 8})
	var all sync.WaitGroup
	for worker := range 2 {
		all.Go(func() {
			for i := range 5000 {
				attempt, err := scope.For((i + worker) % 40).TryAdmit(t.Context())
				if err == nil {
					attempt.Record(breaker.Verdict(i/64%2), 0)
				}
			}
		})
	}
	for range 3 {
		all.Go(func() {
			for range 20 {
				if _, err := r.Gather(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// Two collectors in one registry need a label that tells them apart.
func TestTwoCollectors(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	first, second := breakerprom.NewCollector(named("a"), nil), breakerprom.NewCollector(named("a"), nil)
	require.NoError(t, r.Register(first))
	require.Equal(t, prometheus.AlreadyRegisteredError{ExistingCollector: first, NewCollector: second}, r.Register(second))
	r = prometheus.NewPedanticRegistry()
	for of, c := range map[string]prometheus.Collector{"orders": first, "users": second} {
		require.NoError(t, prometheus.WrapRegistererWith(prometheus.Labels{"part": of}, r).Register(c))
	}
	series := scrape(t, endpoint(t, r))
	require.Contains(t, series, `breaker_shadow{breaker="a",part="orders"}`)
	require.Contains(t, series, `breaker_shadow{breaker="a",part="users"}`)
}
