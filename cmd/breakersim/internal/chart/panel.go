package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// panel is a rectangle with two axes.
type panel struct {
	draw.Canvas // the place for the data

	x0, x1 float64 // seconds
	y0, y1 float64
	log    bool
}

// tick is a place on an axis, and its name.
type tick struct {
	at   float64
	name string
}

// x and y return where a value lies. What is beyond an axis lies at its end.
func (p *panel) x(v float64) vg.Length {
	return p.X(min(max((v-p.x0)/(p.x1-p.x0), 0), 1))
}

func (p *panel) y(v float64) vg.Length {
	low, high := p.y0, p.y1
	if p.log {
		v, low, high = math.Log(max(v, low)), math.Log(low), math.Log(high)
	}
	return p.Y(min(max((v-low)/(high-low), 0), 1))
}

func (p *panel) at(x, y float64) vg.Point { return vg.Point{X: p.x(x), Y: p.y(y)} }

// fill paints a rectangle over the whole height.
func (p *panel) fill(from, to float64, c color.Color) {
	left, right := p.x(from), p.x(to)
	p.FillPolygon(c, []vg.Point{
		{X: left, Y: p.Min.Y}, {X: left, Y: p.Max.Y}, {X: right, Y: p.Max.Y}, {X: right, Y: p.Min.Y},
	})
}

// area paints what lies below a step for each bin, from one step to the next. Nothing is
// painted where it is 0.
func (p *panel) area(edges, heights []float64, c color.Color) {
	for i := 0; i < len(heights); i++ {
		if heights[i] == 0 {
			continue
		}
		first, top := i, []vg.Point(nil)
		for ; i < len(heights) && heights[i] > 0; i++ {
			top = p.level(top, edges[i], edges[i+1], heights[i])
		}
		base := []vg.Point{{X: p.x(edges[i]), Y: p.Min.Y}, {X: p.x(edges[first]), Y: p.Min.Y}}
		p.FillPolygon(c, append(top, base...))
	}
}

// stack paints areas upon each other, the first at the bottom.
func (p *panel) stack(edges []float64, layers ...layer) {
	sum := make([]float64, len(edges)-1)
	tops := make([][]float64, len(layers))
	for n, l := range layers {
		for i, v := range l.heights {
			sum[i] += v
		}
		tops[n] = append([]float64(nil), sum...)
	}
	for n := len(layers) - 1; n >= 0; n-- { // each over the one above it, or seams would show
		p.area(edges, tops[n], layers[n].color)
	}
}

type layer struct {
	heights []float64
	color   color.Color
}

// steps draws a line that is level in each bin. A NaN is a gap.
func (p *panel) steps(edges, values []float64, s draw.LineStyle) {
	var run []vg.Point
	for i, v := range values {
		if math.IsNaN(v) {
			p.StrokeLines(s, run)
			run = nil
			continue
		}
		run = p.level(run, edges[i], edges[i+1], v)
	}
	p.StrokeLines(s, run)
}

// level adds a step to a line, or makes the last longer.
func (p *panel) level(line []vg.Point, from, to, v float64) []vg.Point {
	next := p.at(to, v)
	if n := len(line); n > 0 && line[n-1].Y == next.Y {
		line[n-1].X = next.X
		return line
	}
	return append(line, p.at(from, v), next)
}

// curve draws a line through the middle of each bin. A NaN is a gap.
func (p *panel) curve(edges, values []float64, s draw.LineStyle) {
	var run []vg.Point
	flush := func() {
		if len(run) == 1 { // a value between two gaps, to be seen all the same
			run = []vg.Point{{X: run[0].X - 1, Y: run[0].Y}, {X: run[0].X + 1, Y: run[0].Y}}
		}
		p.StrokeLines(s, run)
		run = nil
	}
	for i, v := range values {
		if math.IsNaN(v) {
			flush()
			continue
		}
		run = append(run, p.at((edges[i]+edges[i+1])/2, v))
	}
	flush()
}

// dot draws a mark that can be seen on everything.
func (p *panel) dot(at vg.Point) {
	for _, d := range []struct {
		radius vg.Length
		color  color.Color
	}{{4, paper}, {3, ink}} {
		p.DrawGlyphNoClip(draw.GlyphStyle{Color: d.color, Radius: d.radius, Shape: draw.CircleGlyph{}}, at)
	}
}

// backdrop is what lies behind the data.
func (p *panel) backdrop(xs, ys []tick, incidents []span) {
	p.fill(p.x0, p.x1, paper)
	for _, i := range incidents {
		p.fill(i.from, i.to, shade)
	}
	line := stroke(0.5, grid)
	for _, t := range xs {
		p.StrokeLine2(line, p.x(t.at), p.Min.Y, p.x(t.at), p.Max.Y)
	}
	for _, t := range ys {
		p.StrokeLine2(line, p.Min.X, p.y(t.at), p.Max.X, p.y(t.at))
	}
}

// frame is what lies over it: the edges of the incidents, the axes and their names.
func (p *panel) frame(title string, xs, ys []tick, incidents []span, named bool) {
	edge := stroke(0.8, stain, 3, 2)
	for _, i := range incidents {
		for _, x := range []float64{i.from, i.to} {
			if x > p.x0 && x < p.x1 {
				p.StrokeLine2(edge, p.x(x), p.Min.Y, p.x(x), p.Max.Y)
			}
		}
	}
	axis := stroke(0.7, faint)
	p.StrokeLines(axis, []vg.Point{{X: p.Min.X, Y: p.Max.Y}, p.Min, {X: p.Max.X, Y: p.Min.Y}})
	small := style(8, ink)
	for _, t := range xs {
		p.StrokeLine2(axis, p.x(t.at), p.Min.Y-3, p.x(t.at), p.Min.Y)
		if named {
			small.XAlign, small.YAlign = draw.XCenter, draw.YTop
			p.FillText(small, vg.Point{X: p.x(t.at), Y: p.Min.Y - 4}, t.name)
		}
	}
	for _, t := range ys {
		p.StrokeLine2(axis, p.Min.X-3, p.y(t.at), p.Min.X, p.y(t.at))
		small.XAlign, small.YAlign = draw.XRight, draw.YCenter
		p.FillText(small, vg.Point{X: p.Min.X - 5, Y: p.y(t.at)}, t.name)
	}
	p.FillText(bold(style(8.5, ink)), vg.Point{X: p.Min.X, Y: p.Max.Y + 4}, title)
}

// label writes over whatever is there.
func (p *panel) label(at vg.Point, words string) {
	text := style(8, ink)
	size := text.Rectangle(words).Size()
	p.FillPolygon(color.NRGBA{R: 0xFF, G: 0xFF, B: 0xFF, A: 0xD8}, []vg.Point{
		{X: at.X - 1.5, Y: at.Y - 2.5}, {X: at.X + size.X + 1.5, Y: at.Y - 2.5},
		{X: at.X + size.X + 1.5, Y: at.Y + size.Y - 1}, {X: at.X - 1.5, Y: at.Y + size.Y - 1},
	})
	p.FillText(text, at, words)
}

// note says why there is nothing to see.
func (p *panel) note(words string) {
	p.label(vg.Point{X: p.Min.X + 6, Y: p.Center().Y - 3}, words)
}

// span is an incident on the axis of time.
type span struct {
	from, to float64
	name     string
}
