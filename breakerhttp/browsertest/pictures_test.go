package browsertest

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/normal-go/breaker"
	"github.com/normal-go/breaker/breakerhttp"
)

// storyClock is a clock that can be set back, so that a story of an hour can be told in a
// moment and end now.
type storyClock struct{ behind time.Duration }

func (c *storyClock) Now() time.Time                         { return time.Now().Add(-c.behind) }
func (c *storyClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// The pictures in docs/images are of breakers that lived through some minutes: the calls
// and what became of them are those of the library.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("no -pictures")
	}
	random := rand.New(rand.NewPCG(1, 2))
	build := func(name string, s breaker.Settings) (*breaker.Breaker, *storyClock) {
		clock := &storyClock{behind: 10 * time.Minute}
		s.Name, s.Clock = name, clock
		s.Random = random.Float64
		return breaker.MustNew(s), clock
	}
	// live calls ten times a second, for so long.
	live := func(b *breaker.Breaker, clock *storyClock, d time.Duration, failing, slow float64) {
		for range d / (100 * time.Millisecond) {
			latency := time.Duration((0.5 + random.Float64()) * float64(20*time.Millisecond))
			verdict := breaker.OK
			switch {
			case random.Float64() < failing:
				verdict = breaker.Transient
			case random.Float64() < slow:
				latency *= 12
			case random.Float64() < 0.002:
				verdict = breaker.Canceled
			case random.Float64() < 0.002:
				verdict = breaker.Throttled
			}
			if attempt, err := b.TryAdmit(context.Background()); err == nil {
				attempt.Record(verdict, latency)
			}
			clock.behind -= 100 * time.Millisecond
		}
	}
	ramp := breaker.RecoveryOver(4)
	payments, paymentsClock := build("payments", breaker.Settings{})
	search, searchClock := build("search", breaker.Settings{})
	mail, mailClock := build("mail", breaker.Settings{Recovery: ramp})
	geo, geoClock := build("geo", breaker.Settings{})
	users, usersClock := build("users", breaker.Settings{})
	stock, stockClock := build("stock", breaker.Settings{Shadow: true})
	reports, _ := build("reports", breaker.Settings{})
	legacy, legacyClock := build("legacy-erp", breaker.Settings{})

	list := breaker.List{users, stock, reports, geo, mail, payments, search, legacy}
	board := map[*breaker.Breaker]*storyClock{payments: paymentsClock, search: searchClock, mail: mailClock, geo: geoClock, users: usersClock, stock: stockClock, legacy: legacyClock}
	for b, clock := range board {
		failing := map[*breaker.Breaker]float64{geo: 0.3, payments: 0.004, stock: 0.01}[b]
		live(b, clock, 8*time.Minute, failing, 0.01)
	}
	live(payments, paymentsClock, 110*time.Second, 0.3, 0.02)
	live(search, searchClock, 105*time.Second, 0.001, 0.02)
	live(search, searchClock, 15*time.Second, 0.001, 0.95)
	live(mail, mailClock, 60*time.Second, 0, 0.01)
	live(mail, mailClock, 15*time.Second, 1, 0)
	live(mail, mailClock, 35*time.Second, 0, 0)
	live(geo, geoClock, 2*time.Minute, 0.32, 0.01)
	live(users, usersClock, 2*time.Minute, 0.002, 0.02)
	live(stock, stockClock, 110*time.Second, 0.01, 0.02)
	live(stock, stockClock, 5*time.Second, 0.4, 0.02)
	live(legacy, legacyClock, 110*time.Second, 0, 0.02)
	legacy.Isolate()
	for _, clock := range board {
		clock.behind = 0
	}

	p := open(t, list, breakerhttp.BoardConfig{Authorize: anyone})
	defer p.close()
	p.wait("document.querySelectorAll('.foot').length >= 4")
	picture := func(name, scheme string, width, height int64) {
		_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		})
		require.NoError(t, err)
		p.do(chromedp.EmulateViewport(width, height))
		p.wait("new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => painted(true), 300))))")
		png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		require.NoError(t, err)
		require.Less(t, len(png), 900_000)
		require.NoError(t, os.WriteFile(filepath.Join(*pictures, name), png, 0o644))
	}
	picture("board-light.png", "light", 1200, 1500)
	picture("board-dark.png", "dark", 1200, 1500)
	picture("board-phone.png", "light", 390, 844)
}
