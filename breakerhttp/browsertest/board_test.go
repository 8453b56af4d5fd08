package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

// named builds a breaker that opens after three failures, for a minute.
func named(name string) *breaker.Breaker {
	return breaker.MustNew(breaker.Settings{
		Name:                name,
		ConsecutiveFailures: 3,
		BreakDuration:       time.Minute,
		BreakJitter:         breaker.JitterNone,
	})
}

func call(b *breaker.Breaker, n int, v breaker.Verdict) {
	for range n {
		if attempt, err := b.TryAdmit(context.Background()); err == nil {
			attempt.Record(v, 10*time.Millisecond)
		}
	}
}

func anyone(*http.Request, string, *breaker.Breaker) (string, bool) { return "anyone", true }
func nobody(*http.Request, string, *breaker.Breaker) (string, bool) { return "anyone", false }

// tile is a JavaScript expression for the tile at a place, counted from 0.
func tile(place int) string {
	return fmt.Sprintf("document.querySelectorAll('#tiles > li')[%d]", place)
}

func textOf(place int, selector string) string {
	return fmt.Sprintf("%s.querySelector('%s').innerText", tile(place), selector)
}

func TestTilesAppearWorstFirst(t *testing.T) {
	unused, well, down, apart := named("unused"), named("well"), named("down"), named("apart")
	call(well, 200, breaker.OK)
	call(down, 3, breaker.Transient)
	call(down, 7, breaker.OK) // refused
	apart.Isolate()
	p := open(t, breaker.List{unused, well, down, apart}, breakerhttp.BoardConfig{})
	defer p.close()
	for place, want := range []struct{ name, state, text string }{
		{"down", "open", "3 failures in a row"},
		{"apart", "isolated", "Isolated by hand"},
		{"well", "closed", "trips at 5"},
		{"unused", "closed", "No calls yet"},
	} {
		p.wait(fmt.Sprintf("%s.querySelector('.body')", tile(place)))
		require.Equal(t, want.name, p.text(textOf(place, "h3")))
		require.Contains(t, p.text(textOf(place, ".badge")), want.state)
		require.Contains(t, p.text(tile(place)+".innerText"), want.text, want.name)
	}
	require.Equal(t, "7", p.text(textOf(0, ".counts dd")), "refused")
	require.Equal(t, "(2) Breakers", p.text("document.title"))
	require.Equal(t, "0", p.text("document.querySelectorAll('.foot button').length"), "nobody may press anything")
}

func TestAShadowIsMarked(t *testing.T) {
	dry := breaker.MustNew(breaker.Settings{Name: "dry", Shadow: true, ConsecutiveFailures: 3})
	call(dry, 3, breaker.Transient)
	call(dry, 7, breaker.OK)
	p := open(t, breaker.List{dry, named("wet")}, breakerhttp.BoardConfig{})
	defer p.close()
	p.wait(tile(0) + ".querySelector('.body')")
	require.Equal(t, "shadow", p.text(textOf(0, ".mark")))
	require.Equal(t, "false", p.text(tile(0)+".querySelector('.mark').hidden"))
	require.Contains(t, p.text(textOf(0, ".since")), "would be refused")
	require.Contains(t, p.text(textOf(0, ".counts")), "would refuse\n7")
	require.Equal(t, "true", p.text(tile(1)+".querySelector('.mark').hidden"))
}

// A page that hears nothing any more says so, rather than show what is old as if it were
// new.
func TestAPageThatHearsNothingSaysSo(t *testing.T) {
	p := open(t, named("db"), breakerhttp.BoardConfig{})
	p.board.Close()
	p.wait("document.querySelector('#live').textContent.startsWith('no news for')")
}

func TestSearchAndFilter(t *testing.T) {
	var list breaker.List
	for i := range 20 {
		list = append(list, named(fmt.Sprint("db-", i)))
	}
	call(list[7], 3, breaker.Transient)
	p := open(t, list, breakerhttp.BoardConfig{})
	defer p.close()
	const shown = "document.querySelectorAll('#tiles > li:not([hidden])').length"
	require.Equal(t, "20", p.text(shown))
	p.do(chromedp.SendKeys(chromedp.CSS("#search"), "DB-1"))
	p.wait(shown + " === 11")
	p.do(chromedp.SendKeys(chromedp.CSS("#search"), "9 no"))
	p.wait(shown + " === 0 && document.querySelector('#empty').innerText === 'No breaker is like that.'")
	eval[bool](p, "(document.querySelector('#search').value = '', document.querySelector('#search').dispatchEvent(new Event('input')))")
	p.do(chromedp.Click(chromedp.CSS("#filters [data-state=open]")))
	p.wait(shown + " === 1")
	p.do(chromedp.Click(chromedp.CSS("#filters [data-state=open]")))
	p.wait(shown + " === 20")
	p.do(chromedp.SetValue(chromedp.CSS("#sort"), "name"))
	eval[bool](p, "document.querySelector('#sort').dispatchEvent(new Event('change'))")
	p.wait(textOf(7, "h3") + " === 'db-7'")
}

// The promise is one about real time, so this is measured in it: from the trip to the
// moment the page has drawn it.
func TestATripShowsWithinTwoSeconds(t *testing.T) {
	b := named("db")
	call(b, 100, breaker.OK)
	p := open(t, b, breakerhttp.BoardConfig{})
	defer p.close()
	p.wait(tile(0) + ".querySelector('.body')")
	eval[*bool](p, `new MutationObserver(() => {
		if (`+textOf(0, ".badge")+`.includes('open')) window.drawn ||= Date.now();
	}).observe(document.querySelector('#tiles'), {subtree: true, childList: true, characterData: true, attributes: true}), null`)
	call(b, 3, breaker.Transient)
	tripped := time.Now()
	p.wait("window.drawn > 0")
	drawn := time.UnixMilli(eval[int64](p, "window.drawn"))
	t.Logf("drawn %v after the trip", drawn.Sub(tripped))
	require.Less(t, drawn.Sub(tripped), 2*time.Second)
	require.Contains(t, p.text(textOf(0, ".why")), "3 failures in a row")
	require.Equal(t, "db is open: 3 failures in a row: trips at 3 · 3 of 103 calls failed (2.9\u00a0%).", p.text("document.querySelector('#news').textContent"))
	require.Equal(t, "polite", p.text("document.querySelector('#news').ariaLive"))
}

func TestACountdownCounts(t *testing.T) {
	b := breaker.MustNew(breaker.Settings{
		ConsecutiveFailures: 3,
		BreakDuration:       59 * time.Second, // said in seconds
		BreakJitter:         breaker.JitterNone,
	})
	call(b, 3, breaker.Transient)
	p := open(t, b, breakerhttp.BoardConfig{})
	defer p.close()
	left := fmt.Sprintf("Number((%s || '').replace(/\\D/g, ''))", textOf(0, ".progress span"))
	p.wait(tile(0) + ".querySelector('.body')")
	first := eval[float64](p, left)
	require.LessOrEqual(t, first, 59.0)
	require.Greater(t, first, 20.0)
	p.wait(fmt.Sprintf("%s <= %v && %s > 0", left, first-2, left))
	share := eval[float64](p, tile(0)+".querySelector('progress').value")
	require.InDelta(t, 1-eval[float64](p, left)/59, share, 0.05)

	b.ProbeNow()
	p.wait(textOf(0, ".badge") + ".includes('half-open') && " + tile(0) + ".querySelector('.progress').hidden")
	require.Contains(t, p.text(textOf(0, ".probes")), "0 of 1 in flight, 2 in a row close it")
}

func TestAControlWorks(t *testing.T) {
	b := named("db")
	call(b, 10, breaker.OK)
	p := open(t, breaker.List{b, named("db")}, breakerhttp.BoardConfig{Authorize: anyone})
	defer p.close()
	p.do(chromedp.Click(chromedp.CSS("#tiles > li:first-child [data-control=isolate]")))
	require.Equal(t, "Isolate: db", p.text("document.querySelector('#ask-title').innerText"))
	require.Equal(t, breaker.Closed, b.State(), "it asks first")
	p.do(chromedp.Click(chromedp.CSS("#ask-yes")))
	p.wait(textOf(0, ".badge") + ".includes('isolated') && !document.querySelector('#ask').open")
	require.Equal(t, breaker.Isolated, b.State())

	p.do(chromedp.Click(chromedp.CSS("#tiles > li:first-child summary")))
	p.wait(tile(0) + ".querySelectorAll('tbody tr').length === 1")
	require.Contains(t, p.text(textOf(0, "tbody tr")), "Isolated by hand")
	p.do(chromedp.Click(chromedp.CSS("#tiles > li:first-child [data-control=reset]")))
	p.do(chromedp.Click(chromedp.CSS("#ask-yes")))
	p.wait(tile(0) + ".querySelectorAll('tbody tr').length === 2")
	require.Contains(t, p.text(textOf(0, "tbody tr")), "Reset by hand")
	require.Equal(t, breaker.Closed, b.State())
}

func TestAControlIsRefused(t *testing.T) {
	b := named("db")
	call(b, 10, breaker.OK)
	p := open(t, b, breakerhttp.BoardConfig{Authorize: nobody})
	p.do(chromedp.Click(chromedp.CSS("[data-control=isolate]")), chromedp.Click(chromedp.CSS("#ask-yes")))
	p.wait("document.querySelector('#ask-error').innerText === 'Refused: not allowed.'")
	require.Equal(t, breaker.Closed, b.State())
}

// A page of another origin, open in the same browser, can press nothing: neither by fetch
// nor by a form.
func TestAnotherOriginPressesNothing(t *testing.T) {
	var asked atomic.Int64
	b := named("db")
	p := open(t, b, breakerhttp.BoardConfig{
		Authorize: func(*http.Request, string, *breaker.Breaker) (string, bool) {
			asked.Add(1)
			return "", true
		},
	})
	id := p.text("(await fetch('snapshot').then((r) => r.json())).breakers[0].id")
	url := p.url + "control/" + id + "/isolate"
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<form method="post" action=%q></form>`, url)
	}))
	defer evil.Close()
	p.do(chromedp.Navigate(evil.URL))
	p.text("await fetch(" + strconv.Quote(url) + ", {method: 'POST', mode: 'no-cors'}).catch(() => 'kept from the page')")
	require.EqualValues(t, 1, p.posts.Load(), "it was sent")
	answer, err := chromedp.RunResponse(p.ctx, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := chromedp.Evaluate[*bool]("document.forms[0].submit(), null")(ctx, tab)
		return err
	}))
	require.NoError(t, err)
	require.EqualValues(t, http.StatusForbidden, answer.Status)
	require.Equal(t, breaker.Closed, b.State())
	require.Zero(t, asked.Load())
}

func TestANameDoesNoHarm(t *testing.T) {
	const script, image = "<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`
	first, second := named(script), named(image)
	call(first, 3, breaker.Transient)
	p := open(t, breaker.List{first, second}, breakerhttp.BoardConfig{Authorize: anyone})
	defer p.close()
	require.Equal(t, script, p.text(textOf(0, "h3")))
	require.Equal(t, image, p.text(textOf(1, "h3")))
	call(second, 3, breaker.Transient)
	p.wait("document.querySelector('#news').textContent.includes('onerror')")
	p.do(chromedp.Click(chromedp.CSS("#tiles > li:first-child [data-control=isolate]")))
	require.Contains(t, p.text("document.querySelector('#ask-title').innerText"), "alert(1)")
	p.do(chromedp.KeyEvent(kb.Escape))
	require.Equal(t, "0", p.text("document.querySelectorAll('body script, img').length"))
}

// Were a script to write markup all the same, the browser would refuse.
func TestThePolicyIsInForce(t *testing.T) {
	p := open(t, named("db"), breakerhttp.BoardConfig{})
	require.Equal(t, "TypeError", p.text("(() => { try { document.body.innerHTML = '<b>x</b>'; } catch (e) { return e.name; } })()"))
	eval[*bool](p, `(() => {
		const s = document.createElement('script');
		try { s.textContent = 'mishaps.push("ran")'; } catch { return null; }
		document.head.append(s);
	})(), null`)
	for _, mishap := range eval[[]string](p, "mishaps") {
		require.NotEqual(t, "ran", mishap)
	}
}
