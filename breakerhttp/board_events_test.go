package breakerhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

func TestBoardSamplesOnlyWhileSomeoneWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &counted{Source: named("db")}
		board := breakerhttp.Board(source, nil)
		time.Sleep(time.Hour)
		require.Zero(t, source.reads.Load(), "before anyone came")

		one := openPage(t, board, nil)
		synctest.Wait()
		require.EqualValues(t, 1, source.reads.Load(), "to begin with")
		time.Sleep(10*time.Second + time.Millisecond)
		require.EqualValues(t, 11, source.reads.Load(), "once a second")
		two := openPage(t, board, nil)
		time.Sleep(10 * time.Second)
		require.EqualValues(t, 21, source.reads.Load(), "two pages cost no more")
		one.leave()
		time.Sleep(10 * time.Second)
		require.EqualValues(t, 31, source.reads.Load(), "one is left")
		two.leave()
		<-two.ended
		time.Sleep(time.Hour)
		require.EqualValues(t, 31, source.reads.Load(), "nobody is left")

		three := openPage(t, board, nil)
		time.Sleep(10*time.Second + time.Millisecond)
		require.EqualValues(t, 42, source.reads.Load(), "it starts again")
		three.leave()
		<-three.ended // and the bubble does not end before the sampling has
	})
}

func TestBoardWatchSamplesAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &counted{Source: named("db")}
		board := breakerhttp.Board(source, &breakerhttp.BoardConfig{Interval: 5 * time.Second})
		ctx, stop := context.WithTimeout(t.Context(), time.Minute+time.Second)
		defer stop()
		board.Watch(ctx)
		require.EqualValues(t, 13, source.reads.Load())
		time.Sleep(time.Hour)
		require.EqualValues(t, 13, source.reads.Load())
	})
}

// However many ask, the breakers are read no more often than the interval allows.
func TestBoardSnapshotsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &counted{Source: named("db")}
		board := breakerhttp.Board(source, nil)
		for range 100 {
			snapshotOf(t, board)
		}
		require.EqualValues(t, 1, source.reads.Load())
		time.Sleep(time.Second)
		snapshotOf(t, board)
		require.EqualValues(t, 2, source.reads.Load())
	})
}

func TestBoardTellsWhatHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, idle := named("db"), named("idle")
		var sources breaker.Registry
		sources.Add(db, idle)
		board := breakerhttp.Board(&sources, nil)
		page := openPage(t, board, nil)
		defer page.leave()
		synctest.Wait()
		names, events := page.heard()
		require.Equal(t, []string{"all"}, names)
		require.Equal(t, "text/event-stream", page.header.Get("Content-Type"))
		id := events[0].Breakers[0]["id"]

		next := func() said {
			t.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			names, events := page.heard()
			require.Equal(t, []string{"some"}, names)
			require.Equal(t, time.Now().UnixMilli(), events[0].Now)
			return events[0]
		}
		require.Empty(t, next().Breakers, "nothing has happened")

		call(db, 2, breaker.OK)
		event := next()
		require.Len(t, event.Breakers, 1, "the other is as it was")
		require.Equal(t, map[string]any{
			"id": id, "data": true, "calls": 2.0, "ok": 2.0,
			"slot": []any{float64(event.Now / 60000), 2.0, 0.0, 0.0},
		}, event.Breakers[0])

		call(db, 3, breaker.Transient)
		event = next()
		require.Equal(t, "open", event.Breakers[0]["state"])
		require.NotContains(t, event.Breakers[0], "name")
		require.Empty(t, next().Breakers, "a countdown is no news")

		more := named("more")
		sources.Remove(db)
		sources.Add(more)
		event = next()
		require.Equal(t, []string{id.(string)}, event.Gone)
		require.Equal(t, "more", event.Breakers[0]["name"])
		sources.Add(db)
		require.NotEqual(t, id, next().Breakers[0]["id"], "one that comes back is another")
		page.leave()
		<-page.ended
	})
}

// What a page makes of the events is what a snapshot says.
func TestBoardEventsAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var list breaker.List
		for i := range 5 {
			list = append(list, named(fmt.Sprint(i)))
		}
		board := breakerhttp.Board(list, nil)
		page := openPage(t, board, nil)
		for second := range 90 {
			for i, b := range list {
				call(b, second%(i+2), breaker.Verdict((second*(i+3)/5)%5))
				if second%40 == 20+i {
					b.Isolate()
				}
				if second%40 == 30+i {
					b.Reset()
				}
			}
			time.Sleep(time.Second)
		}
		synctest.Wait()
		_, events := page.heard()
		require.Greater(t, len(events), 80)
		made := map[string]map[string]any{}
		for _, event := range events {
			for _, change := range event.Breakers {
				id := change["id"].(string)
				if made[id] == nil {
					made[id] = map[string]any{}
				}
				for field, value := range change {
					made[id][field] = value
				}
			}
		}
		for _, want := range snapshotOf(t, board).Breakers {
			got := made[want["id"].(string)]
			delete(want, "hour")
			delete(got, "hour")
			delete(got, "slot")
			require.True(t, reflect.DeepEqual(want, got), "%v\n%v", want, got)
		}
		page.leave()
		<-page.ended
	})
}

func TestBoardKeepsTheLastHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(30 * time.Second)
		b := named("db")
		call(b, 9, breaker.OK) // before anyone watched
		board := breakerhttp.Board(b, nil)
		minute := time.Now().Unix() / 60
		watch := func(d time.Duration) {
			ctx, stop := context.WithTimeout(t.Context(), d)
			defer stop()
			board.Watch(ctx)
		}
		hour := func() any { return snapshotOf(t, board).Breakers[0]["hour"] }
		slot := func(after int64, counts ...float64) any {
			return []any{float64(minute + after), counts[0], counts[1], counts[2]}
		}
		go func() {
			time.Sleep(10 * time.Second)
			call(b, 4, breaker.OK)
			time.Sleep(30 * time.Second)
			call(b, 3, breaker.Transient)
			call(b, 2, breaker.OK) // refused
		}()
		watch(65 * time.Second)
		require.Equal(t, []any{slot(0, 4, 0, 0), slot(1, 0, 3, 2)}, hour())

		time.Sleep(5 * time.Minute)
		b.Reset()
		call(b, 5, breaker.OK) // nobody watches
		watch(time.Second)
		require.Equal(t, []any{slot(0, 4, 0, 0), slot(1, 0, 3, 2), slot(6, 0, 0, 0)}, hour(), "nobody knows when those came")
		time.Sleep(55 * time.Minute)
		require.Equal(t, []any{slot(6, 0, 0, 0), slot(61, 0, 0, 0)}, hour(), "an hour, and no more")
	})
}

// A page that does not read is let go, and holds up nobody.
func TestBoardDropsThePageThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &counted{Source: named("db")}
		board := breakerhttp.Board(source, nil)
		stuck := make(chan struct{})
		page := openPage(t, board, stuck)
		time.Sleep(time.Hour)
		require.Less(t, source.reads.Load(), int64(30), "and nobody watches any more")
		close(stuck)
		<-page.ended
	})
}

func TestBoardCloseEndsThePages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &counted{Source: named("db")}
		board := breakerhttp.Board(source, nil)
		page := openPage(t, board, nil)
		watched := make(chan struct{})
		go func() {
			board.Watch(context.Background())
			close(watched)
		}()
		time.Sleep(time.Second)
		board.Close()
		board.Close()
		<-page.ended
		<-watched
		board.Watch(context.Background())
		late := openPage(t, board, nil)
		<-late.ended
		reads := source.reads.Load()
		time.Sleep(time.Hour)
		require.Equal(t, reads, source.reads.Load())
		require.Equal(t, http.StatusOK, ask(board, http.MethodGet, "/snapshot").Code)
	})
}

// bad is a source that panics from the second read on.
type bad struct{ reads int }

func (b *bad) Breakers() iter.Seq[*breaker.Breaker] {
	b.reads++
	if b.reads > 1 {
		panic("a bad source")
	}
	return breaker.List{}.Breakers()
}

func TestBoardOutlivesASourceThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		board := breakerhttp.Board(&bad{}, &breakerhttp.BoardConfig{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		page := openPage(t, board, nil)
		<-page.ended
		require.Contains(t, log.String(), "a bad source")
		require.PanicsWithValue(t, "a bad source", func() { ask(board, http.MethodGet, "/snapshot") }, "in a request it is the server's")
	})
}

// A stream that cannot be flushed would show nothing, so it ends.
func TestBoardNeedsAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		board := breakerhttp.Board(named("db"), nil)
		w := struct{ http.ResponseWriter }{&stream{header: http.Header{}}}
		r, err := http.NewRequest(http.MethodGet, "/events", nil)
		require.NoError(t, err)
		board.ServeHTTP(w, r)
	})
}

// A server cuts answers off that take too long. An open page is none.
func TestBoardOutlivesTheTimeoutsOfTheServer(t *testing.T) {
	const interval = 20 * time.Millisecond
	board := breakerhttp.Board(named("db"), &breakerhttp.BoardConfig{Interval: interval})
	server := httptest.NewUnstartedServer(board)
	server.Config.ReadTimeout = 5 * interval
	server.Config.WriteTimeout = 5 * interval
	server.Start()
	defer server.Close()
	defer board.Close()
	answer, err := http.Get(server.URL + "/events")
	require.NoError(t, err)
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for events := 0; events < 20; {
		require.True(t, lines.Scan(), "it ended after %d events: %v", events, lines.Err())
		if strings.HasPrefix(lines.Text(), "event: ") {
			events++
		}
	}
}
