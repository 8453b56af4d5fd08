package browsertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

// busy returns how long the main thread of the page has been busy, in its own CPU time, so
// that whatever else the machine does is not in it.
func (p *page) busy() time.Duration {
	p.t.Helper()
	metrics, err := chromedp.Call(p.ctx, performance.GetMetrics, cdp.Empty{})
	require.NoError(p.t, err)
	for _, metric := range metrics.Metrics {
		if metric.Name == "TaskDuration" {
			return time.Duration(metric.Value * float64(time.Second))
		}
	}
	require.Fail(p.t, "the browser does not tell")
	return 0
}

// A thousand breakers, each called three times a second, with one in twenty open. Only the
// tiles near the screen are drawn. The times are logged and not judged: they depend on the
// machine.
func TestAThousandBreakersStayUsable(t *testing.T) {
	var list breaker.List
	for i := range 1000 {
		b := named(fmt.Sprintf("dependency-%04d", i))
		call(b, 200, breaker.OK)
		if i%20 == 19 {
			call(b, 3, breaker.Transient)
		}
		list = append(list, b)
	}
	p := open(t, breaker.List{}, breakerhttp.BoardConfig{})
	_, err := chromedp.Call(p.ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	require.NoError(t, err)
	tab := p.ctx
	p = serve(t, list, breakerhttp.BoardConfig{Authorize: anyone})
	p.ctx = tab
	defer p.close()

	spent := func(what string) func() {
		before := p.busy()
		return func() { t.Logf("%s: %v of CPU in the page", what, (p.busy() - before).Round(time.Millisecond)) }
	}
	done := spent("loading, and drawing what is on the screen")
	p.load()
	p.wait(tile(0) + ".querySelector('.body')")
	done()
	require.Equal(t, "1000", p.text("document.querySelectorAll('#tiles > li').length"))
	require.Equal(t, "50 open", p.text("document.querySelector('#filters [data-state=open]').textContent"))

	const seconds = 4
	done = spent(fmt.Sprintf("%d s with 1,000 changes in each", seconds))
	before := eval[float64](p, "performance.now()")
	for second := range seconds {
		for _, b := range list {
			call(b, 3, breaker.OK)
		}
		p.wait(fmt.Sprintf("performance.now() > %v", before+float64(second+1)*1000))
	}
	done()
	drawn := eval[float64](p, "document.querySelectorAll('#tiles .body').length")
	require.Less(t, drawn, 200.0, "what nobody sees is not drawn")

	done = spent("a jump to the last")
	eval[*bool](p, tile(999)+".scrollIntoView(), null")
	p.wait(tile(999) + ".querySelector('.body')")
	done()

	done = spent("one of 1,000 found")
	eval[bool](p, `new Promise((painted) => {
		const search = document.querySelector('#search');
		search.value = '0777';
		search.dispatchEvent(new Event('input'));
		requestAnimationFrame(() => requestAnimationFrame(() => painted(true)));
	})`)
	done()
	require.Equal(t, "1", p.text("document.querySelectorAll('#tiles > li:not([hidden])').length"))
}
