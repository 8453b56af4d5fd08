package breakerhttp

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/normal-go/breaker"
)

// BoardConfig configures a board. Its zero value is complete: a page to look at, with
// nothing to press.
type BoardConfig struct {
	// Authorize decides about every use of a control: of [ControlReset],
	// [ControlIsolate] or [ControlProbeNow] on b. It returns who asks, for the log,
	// and whether it is allowed. It is called for POST requests of the same origin
	// alone, and must be safe for concurrent use. Default nil: there are no controls,
	// neither on the page nor behind it.
	Authorize func(r *http.Request, control string, b *breaker.Breaker) (who string, allowed bool)

	// Logger is told of every use of a control, allowed or not, and of a source that
	// panics. Default
	// [slog.Default], as it is at the time.
	Logger *slog.Logger

	// Interval is how often the breakers are read while someone watches. Default 1 s.
	Interval time.Duration
}

// The controls of a board.
const (
	ControlReset    = "reset"     // [breaker.Breaker.Reset]
	ControlIsolate  = "isolate"   // [breaker.Breaker.Isolate]
	ControlProbeNow = "probe-now" // [breaker.Breaker.ProbeNow]
)

// BoardHandler serves a board; see [Board]. All methods are safe for concurrent use. It
// must not be copied.
type BoardHandler struct {
	source     breaker.Source
	config     BoardConfig
	protection *http.CrossOriginProtection
	ids        string // how they begin, so that one from another process names no breaker here

	// sampling is held by whoever reads the breakers, which runs functions of the
	// caller's: the source, and clocks. mu is taken inside it, never the other way round.
	sampling sync.Mutex

	mu       sync.Mutex
	tiles    map[*breaker.Breaker]*boardTile
	byID     map[string]*boardTile
	shown    []*boardTile // in the order of the source
	sampled  time.Time
	numbered uint64
	watchers map[*boardWatcher]struct{}
	stop     chan struct{} // ends the sampling goroutine; nil while there is none
	closed   bool
}

// Board returns a handler of one page with a tile for each breaker of source, the worst
// first: its state and why, the numbers behind it, and what happened in the last hour.
// The page follows the breakers by itself. It needs nothing from elsewhere, and works
// under any path that ends in a slash:
//
//	board := breakerhttp.Board(source, nil)
//	mux.Handle("/breakers/", http.StripPrefix("/breakers", board))
//
// A nil config is the zero one. Board panics if source is nil, and if the interval is
// negative. A breaker that source yields twice has one tile.
//
// The breakers are read by one goroutine, which runs only while someone watches; so the
// last hour shows gaps where nobody did. [BoardHandler.Watch] has it run always.
//
// Who may see the page is the program's business: wrap the handler, as any other. It
// gives away names and numbers, and costs a reading of all breakers each Interval. Who
// may press a button is for [BoardConfig.Authorize] to say. Requests from pages of other
// origins are refused before it is asked, by [http.CrossOriginProtection].
func Board(source breaker.Source, config *BoardConfig) *BoardHandler {
	if source == nil {
		panic("breakerhttp: Board with a nil Source")
	}
	b := &BoardHandler{
		source:     source,
		protection: http.NewCrossOriginProtection(),
		ids:        rand.Text()[:8],
		tiles:      map[*breaker.Breaker]*boardTile{},
		byID:       map[string]*boardTile{},
		watchers:   map[*boardWatcher]struct{}{},
	}
	if config != nil {
		b.config = *config
	}
	if b.config.Interval < 0 {
		panic(fmt.Sprintf("breakerhttp: Board with a negative Interval: %v", b.config.Interval))
	}
	if b.config.Interval == 0 {
		b.config.Interval = time.Second
	}
	return b
}

// ServeHTTP serves the page, what it is made of, and what it shows.
func (b *BoardHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", boardPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")

	control, isControl := strings.CutPrefix(r.URL.Path, "/control/")
	history, isHistory := strings.CutPrefix(r.URL.Path, "/history/")
	asset, isAsset := boardAssets[r.URL.Path]
	switch {
	case isControl && b.config.Authorize != nil:
		if allowMethods(w, r, http.MethodPost) {
			b.serveControl(w, r, control)
		}
	case r.URL.Path == "": // mounted without a slash: the page's relative URLs need one
		header.Set("Location", "./"+path.Base(requestPath(r))+"/")
		w.WriteHeader(http.StatusTemporaryRedirect)
	case isAsset:
		if allowMethods(w, r, http.MethodGet, http.MethodHead) {
			asset.serve(w, r)
		}
	case r.URL.Path == "/snapshot":
		if allowMethods(w, r, http.MethodGet, http.MethodHead) {
			serveJSON(w, b.snapshot())
		}
	case r.URL.Path == "/events":
		if allowMethods(w, r, http.MethodGet) {
			b.serveEvents(w, r)
		}
	case isHistory:
		if allowMethods(w, r, http.MethodGet, http.MethodHead) {
			b.serveHistory(w, r, history)
		}
	default:
		http.NotFound(w, r)
	}
}

// requestPath is the path as the client sent it, which a StripPrefix leaves alone.
func requestPath(r *http.Request) string {
	sent, _, _ := strings.Cut(r.RequestURI, "?")
	return sent
}

func allowMethods(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	for _, method := range methods {
		if r.Method == method {
			return true
		}
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	return false
}

func serveJSON(w http.ResponseWriter, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(text) // a client that has gone needs no answer
}

func (b *BoardHandler) serveHistory(w http.ResponseWriter, r *http.Request, id string) {
	one := b.find(id)
	if one == nil {
		http.Error(w, "no such breaker", http.StatusNotFound)
		return
	}
	text, err := json.Marshal(one.History())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	serveJSON(w, text)
}

var controls = map[string]func(*breaker.Breaker){
	ControlReset:    (*breaker.Breaker).Reset,
	ControlIsolate:  (*breaker.Breaker).Isolate,
	ControlProbeNow: (*breaker.Breaker).ProbeNow,
}

// serveControl moves one breaker. The path is that of an id, which only the board gives
// away, because names may be shared.
func (b *BoardHandler) serveControl(w http.ResponseWriter, r *http.Request, path string) {
	id, control, _ := strings.Cut(path, "/")
	move, one := controls[control], b.find(id)
	if move == nil || one == nil {
		http.Error(w, "no such breaker or control", http.StatusNotFound)
		return
	}
	who, refusal := b.mayControl(r, control, one)
	before := one.State()
	level, what := slog.LevelInfo, "breaker control"
	if refusal == nil {
		move(one)
	} else {
		level, what = slog.LevelWarn, "breaker control refused: "+refusal.Error()
	}
	b.logger().LogAttrs(r.Context(), level, what,
		slog.String("control", control),
		slog.String("breaker", one.Name()),
		slog.String("id", id),
		slog.String("by", who),
		slog.String("remote", r.RemoteAddr),
		slog.String("from", before.String()),
		slog.String("to", one.State().String()))
	if refusal != nil {
		http.Error(w, refusal.Error(), http.StatusForbidden)
		return
	}
	b.sample() // whoever pressed it wants to see it
	w.WriteHeader(http.StatusNoContent)
}

// mayControl returns who asks, and why they may not.
func (b *BoardHandler) mayControl(r *http.Request, control string, one *breaker.Breaker) (who string, err error) {
	if err := b.protection.Check(r); err != nil {
		return "", err
	}
	who, allowed := b.config.Authorize(r, control, one)
	if !allowed {
		return who, errNotAllowed
	}
	return who, nil
}

var errNotAllowed = errors.New("not allowed")

func (b *BoardHandler) logger() *slog.Logger {
	if b.config.Logger != nil {
		return b.config.Logger
	}
	return slog.Default()
}

// find returns the breaker of an id, or nil.
func (b *BoardHandler) find(id string) *breaker.Breaker {
	b.mu.Lock()
	defer b.mu.Unlock()
	if tile := b.byID[id]; tile != nil {
		return tile.breaker
	}
	return nil
}

// The page may load what comes with it, ask where it came from, and nothing else. Trusted
// types make the browser refuse every way to turn a text into markup.
const boardPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

//go:embed board
var boardFiles embed.FS

type boardAsset struct {
	name, tag string
	content   []byte
}

var boardAssets = map[string]boardAsset{
	"/":          readBoardAsset("board.html"),
	"/board.css": readBoardAsset("board.css"),
	"/board.js":  readBoardAsset("board.js"),
	"/words.js":  readBoardAsset("words.js"),
	"/tile.js":   readBoardAsset("tile.js"),
	"/board.svg": readBoardAsset("board.svg"),
}

func readBoardAsset(name string) boardAsset {
	content, err := boardFiles.ReadFile("board/" + name)
	if err != nil {
		panic(err) // a file that was not built in
	}
	return boardAsset{name, fmt.Sprintf(`"%x"`, sha256.Sum256(content))[:17] + `"`, content}
}

var boardTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

func (a boardAsset) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", boardTypes[path.Ext(a.name)]) // not what the machine's tables say
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", a.tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.content))
}
