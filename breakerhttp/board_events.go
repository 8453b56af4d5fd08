package breakerhttp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/normal-go/breaker"
)

// boardWatcher is one open page, or one call of Watch.
type boardWatcher struct {
	// events are ready to be written. It is closed when the watcher must go: it is too
	// slow, or the board is closed.
	events chan []byte
}

const (
	// A page that is so many events behind gets none any more. It comes back by itself,
	// and begins with all that there is.
	boardBacklog = 16

	boardWriteTimeout = 10 * time.Second
)

// Watch keeps the breakers being read until ctx ends, whether or not a page is open, so
// that the last hour has no gaps. It returns when ctx has ended or the board is closed:
//
//	go board.Watch(ctx)
func (b *BoardHandler) Watch(ctx context.Context) {
	w := b.join(false)
	defer b.leave(w)
	select {
	case <-ctx.Done():
	case <-w.events:
	}
}

// Close ends the event streams of all open pages, and every Watch; later ones end at
// once. [http.Server.Shutdown] waits for streams but does not end them, so a program
// that shuts down wants
//
//	server.RegisterOnShutdown(board.Close)
func (b *BoardHandler) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for w := range b.watchers {
		b.dismissLocked(w)
	}
}

func (b *BoardHandler) serveEvents(w http.ResponseWriter, r *http.Request) {
	stream := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that collects events makes them late
	watcher := b.join(true)
	defer b.leave(watcher)
	for {
		select {
		case <-r.Context().Done():
			return
		case event, ok := <-watcher.events:
			if !ok {
				return
			}
			// The server's own timeout is for answers that end. Where it cannot be
			// changed, it stands.
			_ = stream.SetWriteDeadline(time.Now().Add(boardWriteTimeout))
			if _, err := w.Write(event); err != nil {
				return
			}
			if stream.Flush() != nil {
				return
			}
			_ = stream.SetWriteDeadline(time.Time{})
		}
	}
}

// join adds a watcher, and starts the sampling if it is the first. A page begins with all
// that there is.
func (b *BoardHandler) join(page bool) *boardWatcher {
	b.refresh()
	w := &boardWatcher{events: make(chan []byte, boardBacklog)}
	if !page {
		w.events = make(chan []byte) // takes none
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		close(w.events)
		return w
	}
	if page {
		w.events <- boardEvent("all", b.allLocked())
	}
	b.watchers[w] = struct{}{}
	if b.stop == nil {
		b.stop = make(chan struct{})
		go b.keepSampling(b.stop)
	}
	return w
}

func (b *BoardHandler) leave(w *boardWatcher) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dismissLocked(w)
}

// dismissLocked lets a watcher go, unless it has gone, and ends the sampling with the last.
func (b *BoardHandler) dismissLocked(w *boardWatcher) {
	if _, ok := b.watchers[w]; !ok {
		return
	}
	delete(b.watchers, w)
	close(w.events)
	if len(b.watchers) == 0 {
		close(b.stop)
		b.stop = nil
	}
}

func (b *BoardHandler) keepSampling(stop <-chan struct{}) {
	defer b.endOnPanic()
	ticker := time.NewTicker(b.config.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			b.sample()
		}
	}
}

// endOnPanic keeps a source that panics from ending the program. The pages come back, and
// then it panics in a request, where the server deals with it.
func (b *BoardHandler) endOnPanic() {
	cause := recover()
	if cause == nil {
		return
	}
	b.logger().LogAttrs(context.Background(), slog.LevelError, "breaker board: panic while reading the breakers",
		slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))
	b.mu.Lock()
	defer b.mu.Unlock()
	for w := range b.watchers {
		b.dismissLocked(w)
	}
}

// refresh samples unless that was done a moment ago, so that no number of requests makes
// more than the interval allows.
func (b *BoardHandler) refresh() {
	b.mu.Lock()
	fresh := time.Since(b.sampled) < b.config.Interval
	b.mu.Unlock()
	if !fresh {
		b.sample()
	}
}

// sample reads every breaker, and tells the pages what has changed.
func (b *BoardHandler) sample() {
	b.sampling.Lock()
	defer b.sampling.Unlock()
	var cuts []boardCut
	seen := map[*breaker.Breaker]bool{}
	for one := range b.source.Breakers() {
		if !seen[one] {
			seen[one] = true
			cuts = append(cuts, b.cut(one))
		}
	}
	now := time.Now()

	b.mu.Lock()
	defer b.mu.Unlock()
	gap := now.Sub(b.sampled) > max(3*b.config.Interval, boardSlot/6)
	b.sampled = now
	changes := newBoardChanges(now)
	b.shown = b.shown[:0]
	for _, c := range cuts {
		tile := b.tiles[c.breaker]
		if tile == nil {
			b.numbered++
			tile = &boardTile{breaker: c.breaker, id: fmt.Sprintf("%s-%d", b.ids, b.numbered)}
			b.tiles[c.breaker], b.byID[tile.id] = tile, tile
		}
		changes.add(tile, tile.update(c, now, gap))
		b.shown = append(b.shown, tile)
	}
	for one, tile := range b.tiles {
		if !seen[one] {
			delete(b.tiles, one)
			delete(b.byID, tile.id)
			changes.remove(tile)
		}
	}
	event := boardEvent("some", changes.end())
	for w := range b.watchers {
		if cap(w.events) == 0 {
			continue
		}
		select {
		case w.events <- event:
		default:
			b.dismissLocked(w)
		}
	}
}

// snapshot returns all that there is, at most an interval old.
func (b *BoardHandler) snapshot() []byte {
	b.refresh()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.allLocked()
}

// boardEvent frames a text without line breaks, as JSON has none.
func boardEvent(name string, text []byte) []byte {
	event := make([]byte, 0, len(text)+len(name)+32)
	event = append(event, "event: "...)
	event = append(event, name...)
	event = append(event, "\ndata: "...)
	event = append(event, text...)
	return append(event, "\n\n"...)
}
