package chart

import (
	"image/color"

	weight "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The colours differ for all common kinds of colour vision, and those that share a panel
// differ in lightness as well, for a print in grey.
var (
	ink   = rgb(0x1F2933)
	faint = rgb(0x66727F)
	grid  = rgb(0xDDE2E7)
	paper = rgb(0xFFFFFF)
	shade = rgb(0xF3EAD8) // of an incident
	stain = rgb(0xB98B12) // its edges
	bar   = rgb(0xEACB72) // with its name

	served    = rgb(0xBFDCEF)
	refused   = rgb(0xE69F00)
	canceled  = rgb(0x9AA5B1)
	throttled = rgb(0x7E57A8)
	failed    = rgb(0x9B1B30)

	closed     = rgb(0xE3EAEF)
	halfOpen   = rgb(0xF4C95D)
	recovering = rgb(0x4C9BD3)
	open       = rgb(0x8A2B3C)

	blue   = rgb(0x0B6BB0)
	orange = rgb(0xD55E00)
)

func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xFF}
}

var plain = text.Plain{Fonts: font.NewCache(liberation.Collection())}

func style(size vg.Length, c color.Color) draw.TextStyle {
	return draw.TextStyle{
		Color:   c,
		Font:    font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
		Handler: plain,
	}
}

func bold(s draw.TextStyle) draw.TextStyle {
	s.Font.Weight = weight.WeightBold
	return s
}

func stroke(width vg.Length, c color.Color, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width, Dashes: dashes}
}
