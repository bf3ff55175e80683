package htmlreport

import (
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// An ink is a colour by its use. What it looks like the style sheet says, for light and
// for dark pages: in the SVG that goes into a page, each is replaced by its variable.
type ink int

const (
	inkText ink = iota
	inkGrid
	inkVermillion
	inkBlue
	inkGreen
	inkPurple
	inkOrange
	inkSky
	inkGrey
	inkCount
)

// inks are the colours that plots are drawn with, before the style sheet has its say.
// Apart from the shades of grey they are those that M. Okabe and K. Ito chose to be
// told apart by everybody, "Color universal design" (2008).
var inks = [inkCount]struct {
	variable string
	rgb      color.RGBA
}{
	inkText:       {"--text", color.RGBA{0x1A, 0x1B, 0x1C, 0xFF}},
	inkGrid:       {"--grid", color.RGBA{0xD9, 0xDA, 0xDB, 0xFF}},
	inkVermillion: {"--vermillion", color.RGBA{0xD5, 0x5E, 0x00, 0xFF}},
	inkBlue:       {"--blue", color.RGBA{0x00, 0x72, 0xB2, 0xFF}},
	inkGreen:      {"--green", color.RGBA{0x00, 0x9E, 0x73, 0xFF}},
	inkPurple:     {"--purple", color.RGBA{0xCC, 0x79, 0xA7, 0xFF}},
	inkOrange:     {"--orange", color.RGBA{0xE6, 0x9F, 0x00, 0xFF}},
	inkSky:        {"--sky", color.RGBA{0x56, 0xB4, 0xE9, 0xFF}},
	inkGrey:       {"--grey", color.RGBA{0x76, 0x77, 0x78, 0xFF}},
}

func (i ink) color() color.Color { return inks[i].rgb }

// themed replaces the colours in the styles of an SVG by variables.
func themed(svg string) string {
	var pairs []string
	for _, i := range inks {
		for _, property := range []string{"fill:", "stroke:"} {
			hex := fmt.Sprintf("#%02X%02X%02X", i.rgb.R, i.rgb.G, i.rgb.B)
			pairs = append(pairs, property+hex, property+"var("+i.variable+")")
		}
	}
	return strings.NewReplacer(pairs...).Replace(svg)
}

// A look is how a series is drawn. Series differ in colour and in the shape of their
// marks, and what is simulated has dashed lines and is named so as well.
type look struct {
	ink    ink
	shape  draw.GlyphDrawer
	dashed bool
}

func (l look) line() draw.LineStyle {
	s := draw.LineStyle{Color: l.ink.color(), Width: vg.Points(1.6)}
	if l.dashed {
		s.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	return s
}

func (l look) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: l.ink.color(), Radius: vg.Points(3.2), Shape: l.shape}
}

// spareLooks are for series that have no look of their own.
var spareLooks = []look{
	{ink: inkSky, shape: draw.SquareGlyph{}},
	{ink: inkOrange, shape: draw.TriangleGlyph{}},
	{ink: inkText, shape: draw.CrossGlyph{}},
	{ink: inkPurple, shape: draw.PlusGlyph{}},
	{ink: inkGreen, shape: draw.RingGlyph{}},
	{ink: inkVermillion, shape: draw.BoxGlyph{}},
}
