package breakerhttp_test

import (
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

func TestBoardRefusesWhatCannotWork(t *testing.T) {
	require.PanicsWithValue(t, "breakerhttp: Board with a nil Source", func() { breakerhttp.Board(nil, nil) })
	require.PanicsWithValue(t, "breakerhttp: Board with a negative Interval: -1s", func() {
		breakerhttp.Board(breaker.List{}, &breakerhttp.BoardConfig{Interval: -time.Second})
	})
}

func TestBoardServesThePage(t *testing.T) {
	board := breakerhttp.Board(breaker.List{}, nil)
	types := map[string]string{
		"/":          "text/html; charset=utf-8",
		"/board.css": "text/css; charset=utf-8",
		"/board.js":  "text/javascript; charset=utf-8",
		"/tile.js":   "text/javascript; charset=utf-8",
		"/words.js":  "text/javascript; charset=utf-8",
		"/board.svg": "image/svg+xml",
	}
	for path, contentType := range types {
		w := ask(board, http.MethodGet, path)
		require.Equal(t, http.StatusOK, w.Code, path)
		require.Equal(t, contentType, w.Header().Get("Content-Type"), path)
		require.NotZero(t, w.Body.Len(), path)
		again := ask(board, http.MethodGet, path, "If-None-Match", w.Header().Get("ETag"))
		require.Equal(t, http.StatusNotModified, again.Code, path)
		head := ask(board, http.MethodHead, path)
		require.Equal(t, http.StatusOK, head.Code, path)
		require.Zero(t, head.Body.Len(), path)
		require.Equal(t, http.StatusMethodNotAllowed, ask(board, http.MethodPost, path).Code, path)
	}
	for _, path := range []string{"/snapshot", "/events", "/history/x"} {
		w := ask(board, http.MethodPost, path)
		require.Equal(t, http.StatusMethodNotAllowed, w.Code, path)
		require.Contains(t, w.Header().Get("Allow"), http.MethodGet, path)
	}
	for _, path := range []string{"/board.html", "/board", "//", "/../board.go", "/snapshot/", "/control/x/reset", "/history/x"} {
		require.Equal(t, http.StatusNotFound, ask(board, http.MethodGet, path).Code, path)
	}
}

func TestBoardSendsAStrictPolicy(t *testing.T) {
	board := breakerhttp.Board(breaker.List{named("db")}, nil)
	for _, path := range []string{"/", "/board.js", "/snapshot", "/history/x", "/nowhere"} {
		header := ask(board, http.MethodGet, path).Header()
		policy := strings.Split(header.Get("Content-Security-Policy"), "; ")
		for _, rule := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
			"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
		} {
			require.Contains(t, policy, rule, path)
		}
		require.NotContains(t, header.Get("Content-Security-Policy"), "unsafe", path)
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), path)
	}
}

// The page needs nothing from elsewhere, and has nothing that the policy would refuse.
func TestBoardPageIsItsOwn(t *testing.T) {
	board := breakerhttp.Board(breaker.List{}, nil)
	html := ask(board, http.MethodGet, "/").Body.String()
	require.NotRegexp(t, `(?i)<style|\sstyle=|\son[a-z]+=|<script(?:\s[^>]*)?>[^<]|javascript:`, html)
	loaded := regexp.MustCompile(`(?:src|href)="([^"#]+)"`).FindAllStringSubmatch(html, -1)
	require.NotEmpty(t, loaded)
	for _, match := range loaded {
		require.Equal(t, http.StatusOK, ask(board, http.MethodGet, "/"+match[1]).Code, match[1])
	}
	for _, script := range []string{"/board.js", "/tile.js", "/words.js"} {
		code := ask(board, http.MethodGet, script).Body.String()
		for _, match := range regexp.MustCompile(`from '\./([^']+)'`).FindAllStringSubmatch(code, -1) {
			require.Equal(t, http.StatusOK, ask(board, http.MethodGet, "/"+match[1]).Code, match[1])
		}
		require.NotRegexp(t, `innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function`, code, script)
		require.NotRegexp(t, `(?:fetch|EventSource|import)\(['"\x60](?:/|[a-z]+:)`, code, "%s: only relative URLs work under any path", script)
	}
	for _, path := range []string{"/", "/board.css", "/board.js", "/tile.js", "/words.js"} {
		text := strings.ReplaceAll(ask(board, http.MethodGet, path).Body.String(), "http://www.w3.org/2000/svg", "")
		require.NotRegexp(t, `https?://|url\(|@import`, text, path)
	}
}

func TestBoardUnderAPath(t *testing.T) {
	mux := http.NewServeMux()
	board := breakerhttp.Board(breaker.List{}, nil)
	mux.Handle("/deep/breakers/", http.StripPrefix("/deep/breakers", board))
	mux.Handle("/bare", http.StripPrefix("/bare", board))
	require.Equal(t, http.StatusOK, ask(mux, http.MethodGet, "/deep/breakers/").Code)
	require.Equal(t, http.StatusOK, ask(mux, http.MethodGet, "/deep/breakers/snapshot").Code)
	w := ask(mux, http.MethodGet, "/bare?x=/y")
	require.Equal(t, http.StatusTemporaryRedirect, w.Code)
	require.Equal(t, "./bare/", w.Header().Get("Location"))
}

func TestBoardShowsABreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, idle := named("db"), named("idle")
		start := time.Now()
		call(db, 7, breaker.OK)
		call(db, 1, breaker.Throttled)
		call(db, 2, breaker.Canceled)
		late, err := db.TryAdmit(t.Context())
		require.NoError(t, err)
		time.Sleep(time.Second)
		call(db, 3, breaker.Transient)
		late.Record(breaker.OK, time.Second)
		call(db, 4, breaker.OK) // refused

		board := breakerhttp.Board(breaker.List{db, idle, db}, nil)
		all := snapshotOf(t, board)
		require.False(t, all.Controls)
		require.Len(t, all.Breakers, 2, "one that is there twice has one tile")
		got := all.Breakers[0]
		for field, want := range map[string]any{
			"name": "db", "shadow": false, "state": "open", "data": true,
			"since": float64(start.Add(time.Second).UnixMilli()),
			"until": float64(start.Add(11 * time.Second).UnixMilli()),
			"break": 10.0, "opens": 1.0, "seq": 1.0, "run_needed": 3.0,
			"refused": 4.0, "canceled": 2.0, "throttled": 1.0, "late": 1.0, "transient": 3.0,
		} {
			require.Equal(t, want, got[field], field)
		}
		trip := got["trip"].(map[string]any)
		require.Equal(t, "consecutive-failures", trip["cause"])
		require.Equal(t, 3.0, trip["run"])
		require.Equal(t, trip, got["last"])

		got = all.Breakers[1]
		require.Equal(t, false, got["data"])
		require.Equal(t, "closed", got["state"])
		require.Nil(t, got["trip"])
		require.Nil(t, got["normal_rate"], "not known is not 0")

		time.Sleep(10 * time.Second) // the break is over
		over := snapshotOf(t, board).Breakers[0]
		require.Equal(t, "half-open", over["state"])
		require.Equal(t, float64(time.Now().UnixMilli()), over["since"])
		call(db, 1, breaker.Transient)
		time.Sleep(time.Second)
		again := snapshotOf(t, board).Breakers[0]
		require.Equal(t, 1.0, again["probes_failed"])
		require.Equal(t, trip, again["trip"], "it is still the same trouble")
		require.Equal(t, "probe-failed", again["last"].(map[string]any)["cause"])
	})
}

// A trouble can have more transitions than a breaker keeps.
func TestBoardRemembersWhyInALongOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := named("db")
		call(b, 3, breaker.Transient)
		board := breakerhttp.Board(b, nil)
		trip := snapshotOf(t, board).Breakers[0]["trip"]
		for range 40 {
			time.Sleep(3 * time.Minute)
			call(b, 1, breaker.Transient)
			snapshotOf(t, board)
		}
		require.NotEqual(t, breaker.CauseConsecutiveFailures, b.History()[0].Cause)
		got := snapshotOf(t, board).Breakers[0]
		require.Equal(t, trip, got["trip"])
		require.Equal(t, 40.0, got["probes_failed"])

		late := snapshotOf(t, breakerhttp.Board(b, nil)).Breakers[0]
		require.Equal(t, "probe-failed", late["trip"].(map[string]any)["cause"], "the oldest that is still known")

		b.Reset()
		call(b, 3, breaker.Transient)
		time.Sleep(time.Second)
		got = snapshotOf(t, board).Breakers[0]
		require.NotEqual(t, trip, got["trip"], "another trouble")
		require.Equal(t, 0.0, got["probes_failed"])
	})
}

func TestBoardMarksAShadow(t *testing.T) {
	b := breaker.MustNew(breaker.Settings{Name: "dry", Shadow: true, ConsecutiveFailures: 1})
	call(b, 1, breaker.Transient)
	call(b, 2, breaker.OK)
	got := snapshotOf(t, breakerhttp.Board(b, nil)).Breakers[0]
	require.Equal(t, true, got["shadow"])
	require.Equal(t, 2.0, got["would_refuse"])
	require.Equal(t, 0.0, got["refused"])
}

// Names come from callers. Whatever they are, they arrive as a text, and in one line.
func TestBoardTakesAnyName(t *testing.T) {
	names := []string{"<script>alert(1)</script>", "a\n\ndata: {}\n\n", `"}],"gone":[]}`, "\u2028", "", "\u202eolleh"}
	var list breaker.List
	for _, name := range append(names, "bad\xff") {
		list = append(list, named(name))
	}
	all := snapshotOf(t, breakerhttp.Board(list, nil))
	ids := map[any]bool{}
	for i, name := range append(names, "bad\ufffd") {
		require.Equal(t, name, all.Breakers[i]["name"])
		ids[all.Breakers[i]["id"]] = true
	}
	require.Len(t, ids, len(list))
}

func TestBoardTellsTheHistory(t *testing.T) {
	b := named("db")
	call(b, 3, breaker.Transient)
	b.Reset()
	board := breakerhttp.Board(breaker.List{b, named("db")}, nil)
	for i, want := range []string{"reset", ""} {
		id := snapshotOf(t, board).Breakers[i]["id"].(string)
		w := ask(board, http.MethodGet, path.Join("/history", id))
		require.Equal(t, http.StatusOK, w.Code)
		if want == "" {
			require.NotContains(t, w.Body.String(), "cause")
			continue
		}
		require.Contains(t, w.Body.String(), `"cause":"consecutive-failures"`)
		require.Contains(t, w.Body.String(), `"cause":"`+want+`"`)
	}
}
