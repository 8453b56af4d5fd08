package chart

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// entry is a line of a legend: an area, a line, or a dot.
type entry struct {
	name string
	area color.Color
	line draw.LineStyle
	dot  bool
}

// legend draws entries from a corner down.
func legend(c draw.Canvas, entries []entry, corner vg.Point) {
	const width, height = 16, 12.5
	text := style(8, ink)
	text.YAlign = draw.YCenter
	for _, e := range entries {
		box := panel{Canvas: c, x1: 1, y1: 1}
		box.Min = vg.Point{X: corner.X, Y: corner.Y - height + 2}
		box.Max = vg.Point{X: corner.X + width, Y: corner.Y - 1}
		middle := box.Center()
		if e.area != nil {
			box.fill(0, 1, e.area)
		}
		if e.line.Width > 0 {
			box.StrokeLine2(e.line, box.Min.X, middle.Y, box.Max.X, middle.Y)
		}
		if e.dot {
			box.dot(middle)
		}
		c.FillText(text, vg.Point{X: box.Max.X + 5, Y: middle.Y}, e.name)
		corner.Y -= height
	}
}
