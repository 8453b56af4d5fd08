package browsertest

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

func (p *page) press(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		p.do(chromedp.KeyEvent(key))
	}
}

// focused describes what has the focus: its id, or its name.
func (p *page) focused() string {
	return p.text("document.activeElement.id || document.activeElement.textContent.trim()")
}

// Everything can be done without a mouse, in an order that makes sense.
func TestTheKeyboardIsEnough(t *testing.T) {
	down, well := named("down"), named("well")
	call(down, 3, breaker.Transient)
	call(well, 10, breaker.OK)
	p := open(t, breaker.List{well, down}, breakerhttp.BoardConfig{Authorize: anyone})
	defer p.close()
	p.wait("document.querySelectorAll('.foot').length === 2")

	for _, want := range []string{
		"Skip to the breakers", "1 open", "0 isolated", "0 half-open", "0 recovering", "1 closed", "search", "sort",
		"Details and history", "Probe now", "Reset", "Isolate", "Details and history", "Isolate",
	} {
		p.press(kb.Tab)
		require.Equal(t, want, p.focused())
		require.NotEqual(t, "none", p.text("getComputedStyle(document.activeElement).outlineStyle"), "the focus is seen at %s", want)
	}

	p.press(kb.Enter)
	require.Equal(t, "ask-no", p.focused(), "the dialog has it, at the harmless end")
	require.Equal(t, "Isolate: well", p.text("document.querySelector('#ask-title').innerText"))
	p.press(kb.Escape)
	p.wait("!document.querySelector('#ask').open")
	require.Equal(t, "Isolate", p.focused(), "it comes back")
	require.Equal(t, breaker.Closed, well.State())

	p.press(kb.Enter, kb.Tab, kb.Enter)
	p.wait("!document.querySelector('#ask').open")
	require.Equal(t, breaker.Isolated, well.State())
	require.Equal(t, "Details and history", p.focused(), "the button has gone, and the tile is still there")

	p.press(kb.Enter)
	p.wait("document.querySelector('details[open] tbody tr')")
	_, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeKeyDown, Key: "/", Text: "/", // in one, so that it can be prevented
	})
	require.NoError(t, err)
	require.Equal(t, "search", p.focused())
	require.Empty(t, p.text("document.querySelector('#search').value"))
	p.press("w", "e")
	p.wait("document.querySelectorAll('#tiles > li:not([hidden])').length === 1")
}

// A tile that moves takes the focus along.
func TestTheFocusMovesWithItsTile(t *testing.T) {
	one, two := named("one"), named("two")
	call(one, 10, breaker.OK)
	call(two, 10, breaker.OK)
	p := open(t, breaker.List{one, two}, breakerhttp.BoardConfig{Authorize: anyone})
	defer p.close()
	p.wait("document.querySelectorAll('.foot').length === 2")
	eval[*bool](p, tile(1)+".querySelector('[data-control=isolate]').focus(), null")
	call(two, 3, breaker.Transient)
	p.wait(textOf(0, "h3") + " === 'two'")
	require.Equal(t, "true", p.text(tile(0)+".contains(document.activeElement)"))
	require.Equal(t, "Isolate", p.focused())
}

// What a screen reader goes by: one main, headings, names for all that can be used.
func TestTheStructureIsSaid(t *testing.T) {
	b := named("db")
	call(b, 3, breaker.Transient)
	p := open(t, b, breakerhttp.BoardConfig{Authorize: anyone})
	defer p.close()
	p.wait("document.querySelector('.foot')")
	for expression, want := range map[string]string{
		"document.documentElement.lang":                                                             "en",
		"document.querySelectorAll('main').length":                                                  "1",
		"document.querySelectorAll('header.top [role=search]').length":                              "1",
		"[...document.querySelectorAll('h1, h2, h3')].map((h) => h.tagName).join(' ')":              "H1 H2 H3 H2",
		"document.querySelector('article').ariaLabelledByElements?.[0].innerText ?? 'db'":           "db",
		"[...document.querySelectorAll('input, select')].every((e) => e.labels.length)":             "true",
		"[...document.querySelectorAll('button')].every((e) => e.innerText || e.closest('dialog'))": "true",
		"[...document.querySelectorAll('svg')].every((e) => e.getAttribute('aria-label'))":          "true",
		"[...document.querySelectorAll('progress')].every((e) => e.getAttribute('aria-label'))":     "true",
		"document.querySelector('.filters').getAttribute('role')":                                   "group",
	} {
		require.Equal(t, want, p.text(expression), expression)
	}
}
