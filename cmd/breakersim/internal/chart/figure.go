package chart

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/normal-go/breaker/simulation"
)

// Lengths are in points, a 72nd of an inch.
const (
	margin      = 12
	axisWidth   = 46 // for the names on the vertical axes
	legendWidth = 128
	titleHeight = 34
	rowHeight   = 13 // of a row of incidents
	gap         = 22 // above a panel, for its title
	axisHeight  = 32 // below the last

	aloneWidth  = 590 // of the data
	besideWidth = 330 // where there are several series

	dotsPerInch = 144
)

// Formats are what [Draw] can write.
func Formats() []string { return []string{"png", "svg"} }

// Draw writes the series beside each other, with the same axes.
func Draw(w io.Writer, format string, series ...*Series) error {
	if len(series) == 0 {
		return errNothing
	}
	return newFigure(series, kindsFor(series)).write(w, format)
}

// DrawProbes writes the probes a second of each series, one below the other, with the same
// axes. Title, subtitle and incidents are those of the first, and each of them has its
// Title above its own.
func DrawProbes(w io.Writer, format string, title, subtitle string, series ...*Series) error {
	if len(series) == 0 {
		return errNothing
	}
	head := *series[0]
	head.Title, head.Subtitle = title, subtitle
	return newFigure([]*Series{&head}, probesOf(series)).write(w, format)
}

var errNothing = errors.New("chart: there is nothing to draw")

func (f *figure) write(w io.Writer, format string) error {
	for _, s := range f.series {
		if len(s.bins) == 0 {
			return errNothing
		}
	}
	switch format {
	case "png":
		c := vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(dotsPerInch))
		f.draw(draw.New(c))
		_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
		return err
	case "svg":
		c := vgsvg.New(f.width, f.height)
		f.draw(draw.New(c))
		var text bytes.Buffer
		if _, err := c.WriteTo(&text); err != nil {
			return err
		}
		// Arial and Helvetica are as wide, where there is no Liberation.
		_, err := io.WriteString(w, strings.ReplaceAll(text.String(),
			"font-family:Liberation Sans;", "font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
		return err
	}
	return fmt.Errorf("chart: format must be one of %s, got %q", strings.Join(Formats(), ", "), format)
}

type figure struct {
	series        []*Series
	panels        []kind
	rows          int // of incidents
	width, height vg.Length
	dataWidth     vg.Length
	seconds       float64
}

func newFigure(series []*Series, panels []kind) *figure {
	f := &figure{series: series, panels: panels, dataWidth: aloneWidth}
	if len(series) > 1 {
		f.dataWidth = besideWidth
	}
	for _, s := range series {
		f.seconds = max(f.seconds, s.length())
		_, rows := f.spans(s)
		f.rows = max(f.rows, rows)
	}
	f.width = 2*margin + vg.Length(len(series))*(axisWidth+f.dataWidth+margin) + legendWidth
	f.height = 2*margin + titleHeight + vg.Length(f.rows)*rowHeight + axisHeight
	for _, k := range f.panels {
		f.height += gap + k.height
	}
	return f
}

func (f *figure) draw(c draw.Canvas) {
	c.FillPolygon(paper, []vg.Point{{}, {Y: f.height}, {X: f.width, Y: f.height}, {X: f.width}})
	left := vg.Length(margin)
	for _, s := range f.series {
		f.column(c, s, left+axisWidth)
		left += axisWidth + f.dataWidth + margin
	}
	top := f.height - margin - titleHeight - vg.Length(f.rows)*rowHeight
	for _, k := range f.panels {
		top -= gap
		legend(c, k.legend, vg.Point{X: left + 4, Y: top})
		top -= k.height
	}
}

func (f *figure) column(c draw.Canvas, s *Series, left vg.Length) {
	top := f.height - margin
	title := bold(style(12, ink))
	title.YAlign = draw.YTop
	c.FillText(title, vg.Point{X: left, Y: top}, s.Title)
	subtitle := style(9, faint)
	subtitle.YAlign = draw.YTop
	c.FillText(subtitle, vg.Point{X: left, Y: top - 16}, s.Subtitle)
	top -= titleHeight

	spans, rows := f.spans(s)
	strip := f.at(c, left, top-vg.Length(rows)*rowHeight, vg.Length(rows)*rowHeight)
	f.strip(strip, spans)
	top -= vg.Length(f.rows) * rowHeight

	most := 10
	if len(f.series) > 1 {
		most = 6
	}
	xs, axis := timeTicks(f.seconds, s.Start, most)
	var incidents []span
	for _, row := range spans {
		incidents = append(incidents, row...)
	}
	for i, k := range f.panels {
		top -= gap + k.height
		p := f.at(c, left, top, k.height)
		p.y0, p.y1, p.log = k.low, k.high, k.log
		p.backdrop(xs, k.ticks, incidents)
		k.plot(p, s)
		p.frame(k.title, xs, k.ticks, incidents, i == len(f.panels)-1)
		if k.marks != nil {
			k.marks(p, s)
		}
	}
	name := style(8.5, faint)
	name.XAlign, name.YAlign = draw.XCenter, draw.YTop
	c.FillText(name, vg.Point{X: left + f.dataWidth/2, Y: top - 16}, axis)
}

func (f *figure) at(c draw.Canvas, left, bottom, height vg.Length) *panel {
	return &panel{
		Canvas: draw.Canvas{
			Canvas: c.Canvas,
			Rectangle: vg.Rectangle{
				Min: vg.Point{X: left, Y: bottom},
				Max: vg.Point{X: left + f.dataWidth, Y: bottom + height},
			},
		},
		x1: f.seconds,
		y1: 1,
	}
}

// spans returns the incidents in rows, so that none covers another.
func (f *figure) spans(s *Series) (rows [][]span, n int) {
	incidents := slices.Clone(s.Incidents)
	slices.SortStableFunc(incidents, func(a, b simulation.Incident) int { return cmp.Compare(a.Start, b.Start) })
	text := style(8, ink)
	for _, i := range incidents {
		to := s.length()
		if i.Duration > 0 {
			to = min(to, (i.Start + i.Duration).Seconds())
		}
		added := span{from: i.Start.Seconds(), to: to, name: nameOf(i)}
		if added.from >= s.length() {
			continue
		}
		row := 0
		for ; row < len(rows); row++ {
			last := rows[row][len(rows[row])-1]
			words := f.seconds * float64((text.Width(last.name)+8)/f.dataWidth)
			if added.from >= max(last.to, last.from+words) {
				break
			}
		}
		if row == len(rows) {
			rows = append(rows, nil)
		}
		rows[row] = append(rows[row], added)
	}
	return rows, len(rows)
}

// nameOf returns the first words of an incident: what it is, not when.
func nameOf(i simulation.Incident) string {
	words := strings.Split(i.String(), ", ")
	return strings.Join(words[:len(words)-1], ", ")
}

// strip draws a bar for each incident, with its name.
func (f *figure) strip(p *panel, rows [][]span) {
	text := style(8, ink)
	text.YAlign = draw.YCenter
	for n, row := range rows {
		top := p.Max.Y - vg.Length(n)*rowHeight
		line := panel{Canvas: p.Canvas, x0: p.x0, x1: p.x1}
		line.Max.Y, line.Min.Y = top-1, top-rowHeight+1
		for _, s := range row {
			line.fill(s.from, s.to, bar)
			left, width := line.x(s.from)+3, text.Width(s.name)
			if left+width > line.x(s.to) { // beside the bar, on either side
				left = line.x(s.to) + 3
				if left+width > line.Max.X {
					left = line.x(s.from) - width - 3
				}
			}
			line.FillText(text, vg.Point{X: left, Y: line.Center().Y}, s.name)
		}
	}
}
