// Package browsertest tests the board in a real browser. It is a module of its own, so that
// no program that uses breakers needs what drives the browser.
package browsertest

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

// One browser serves all tests, each in a tab of its own.
var (
	browser context.Context
	missing string // why there is none
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	path := find("chromium", "chromium-browser", "google-chrome", "chrome")
	if path == "" {
		missing = "no chromium in the PATH; on Debian: apt-get install chromium"
		return m.Run()
	}
	profile, err := os.MkdirTemp("", "board-browser-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(profile)
	ctx, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path),
		chromedp.UserDataDir(profile),
		chromedp.Flag("headless", true),
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true))
	defer stop()
	browser, stop = chromedp.NewContext(ctx)
	defer stop()
	if err := chromedp.Do(browser); err != nil {
		fmt.Fprintf(os.Stderr, "%s does not start: %v\n", path, err)
		return 1
	}
	return m.Run()
}

func find(names ...string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// page is a board that is open in a tab.
type page struct {
	t     *testing.T
	ctx   context.Context
	url   string
	board *breakerhttp.BoardHandler
	posts atomic.Int64 // requests that reached the server
}

// watchful runs in the page before everything else, and keeps what must not happen.
const watchful = `
	window.mishaps = [];
	window.alert = (text) => mishaps.push('alert ' + text);
	addEventListener('error', (e) => mishaps.push('error ' + e.message), true);
	addEventListener('unhandledrejection', (e) => mishaps.push('rejection ' + e.reason));
	addEventListener('securitypolicyviolation', (e) => mishaps.push('violation ' + e.violatedDirective));
`

// open serves a board and opens it, in a tab of its own.
func open(t *testing.T, source breaker.Source, config breakerhttp.BoardConfig) *page {
	t.Helper()
	if missing != "" {
		t.Skip(missing)
	}
	p := serve(t, source, config)
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	p.ctx = ctx
	p.do(chromedp.EmulateViewport(1200, 900))
	_, err := chromedp.Call(ctx, cdppage.AddScriptToEvaluateOnNewDocument,
		cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: watchful})
	require.NoError(t, err)
	p.load()
	return p
}

// serve serves a board under a path, as a program would.
func serve(t *testing.T, source breaker.Source, config breakerhttp.BoardConfig) *page {
	t.Helper()
	config.Logger = slog.New(slog.DiscardHandler)
	board := breakerhttp.Board(source, &config)
	p := &page{t: t, board: board}
	mux := http.NewServeMux()
	mux.Handle("/deep/breakers/", http.StripPrefix("/deep/breakers", board))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			p.posts.Add(1)
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		board.Close()
		server.Close()
	})
	p.url = server.URL + "/deep/breakers/"
	return p
}

func (p *page) load() {
	p.t.Helper()
	p.do(chromedp.Navigate(p.url))
	p.wait(`document.querySelector('#live').textContent === 'live'`)
}

// close checks that nothing happened that must not.
func (p *page) close() {
	p.t.Helper()
	require.Empty(p.t, eval[[]string](p, "mishaps"))
}

func (p *page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, actions...))
}

// wait waits until a condition holds in the page.
func (p *page) wait(condition string) {
	p.t.Helper()
	_, err := chromedp.Run(p.ctx, chromedp.Poll[bool]("Boolean("+condition+")",
		chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(20*time.Second)))
	require.NoError(p.t, err, condition)
}

func (p *page) text(expression string) string {
	p.t.Helper()
	return eval[string](p, "(async () => String("+expression+"))()")
}

func eval[T any](p *page, expression string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, expression)
	return value
}
