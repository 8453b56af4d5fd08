package browsertest

import (
	"bytes"
	"context"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var (
	pictures   = flag.String("pictures", "", "a directory to write pictures of a board into, for the documentation")
	picturesOf = flag.String("of", "", "the URL of that board, such as the one that examples/board prints")
)

// The pictures are of a program that runs, because a last hour takes its time.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("no -pictures asked for")
	}
	if missing != "" {
		t.Skip(missing)
	}
	ctx, cancel := chromedp.NewContext(browser)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	p := &page{t: t, ctx: ctx, url: *picturesOf}
	for _, picture := range []struct {
		name, scheme  string
		width, height int64
	}{
		{"board-light.png", "light", 1180, 960},
		{"board-dark.png", "dark", 1180, 960},
		{"board-phone.png", "light", 390, 844},
	} {
		_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: picture.scheme}},
		})
		require.NoError(t, err)
		p.do(chromedp.EmulateViewport(picture.width, picture.height))
		p.load()
		// A moment at which there is something to see, and then all that moves at rest.
		for eval[bool](p, "!document.querySelector('[data-state=recovering] .progress')") {
			p.do(chromedp.Sleep(200 * time.Millisecond))
		}
		p.do(chromedp.Sleep(1500 * time.Millisecond))
		shot, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		require.NoError(t, err)
		shot = packed(t, shot)
		require.Less(t, len(shot), 200_000)
		require.NoError(t, os.WriteFile(filepath.Join(*pictures, picture.name), shot, 0o644))
	}
}

// packed makes a PNG as small as it gets.
func packed(t *testing.T, shot []byte) []byte {
	t.Helper()
	decoded, err := png.Decode(bytes.NewReader(shot))
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, decoded))
	return out.Bytes()
}
