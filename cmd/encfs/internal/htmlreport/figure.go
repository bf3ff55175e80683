package htmlreport

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A figure is a plot with all that a reader needs for it.
type figure struct {
	ID          int // within the page, from 1; Write sets it
	Title       string
	Description string // what the plot shows, for those who do not see it
	Plot        drawing
	Legend      []legendEntry
}

// A legendEntry is a sample of how something is drawn, and what that is.
type legendEntry struct {
	Sample drawing
	Name   string
}

// A drawing is what goes between the tags of an SVG element.
type drawing struct {
	Width, Height int // of its coordinates
	Body          template.HTML
}

// Plots are as wide as the screen of a phone, so that labels are readable there; pages
// have as many beside each other as there is room for.
const (
	plotWidth  = 360
	plotHeight = 240
	labelSize  = 11
)

// newPlot returns an empty plot with the axes and fonts that all have.
func newPlot(xLabel, yLabel string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil // that of the page
	p.X.Label.Text, p.Y.Label.Text = xLabel, yLabel
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color = inkText.color()
		a.Tick.Color = inkText.color()
		for _, s := range []*draw.TextStyle{&a.Label.TextStyle, &a.Tick.Label} {
			s.Font = sans
			s.Color = inkText.color()
		}
		a.Tick.Marker = roundTicks{6}
	}
	return p
}

var sans = font.Font{Typeface: "Liberation", Variant: "Sans", Size: labelSize}

// render draws what f draws on a canvas of this size.
func render(width, height int, f func(draw.Canvas)) drawing {
	c := vgsvg.New(vg.Points(float64(width)), vg.Points(float64(height)))
	f(draw.New(measuringCanvas{c}))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		panic("htmlreport: " + err.Error()) // a Buffer takes everything
	}
	// The element itself is the template's.
	_, svg, _ := strings.Cut(b.String(), "<svg")
	_, body, _ := strings.Cut(svg, ">")
	body, _, _ = strings.Cut(body, "</svg>")
	body = measuredText.ReplaceAllString(body, ` textLength="$2" lengthAdjust="spacingAndGlyphs">$1<`)
	// The library has escaped the text in it.
	return drawing{width, height, template.HTML(themed(strings.TrimSpace(body)))}
}

// A measuringCanvas puts the width of each text behind it, for measuredText to make an
// attribute of: plots are laid out with the widths of Liberation Sans, which the
// browser may have to replace by a wider font.
type measuringCanvas struct{ *vgsvg.Canvas }

// FillString implements [vg.Canvas].
func (c measuringCanvas) FillString(f font.Face, at vg.Point, text string) {
	text = strings.Map(withoutControls, text)
	c.Canvas.FillString(f, at, fmt.Sprintf("%s\x01%.1f", text, f.Width(text).Points()))
}

var measuredText = regexp.MustCompile(`>([^<>\x01]*)\x01([0-9.]+)<`)

func renderPlot(p *plot.Plot, height int) drawing {
	return render(plotWidth, height, func(c draw.Canvas) {
		p.Draw(draw.Crop(c, 1, -10, 1, -6)) // room for half of the last labels
	})
}

// drawable reports whether a value can be shown in a plot.
func drawable(v float64) bool { return math.Abs(v) < 1e12 } // NaN is not

// label returns a name as a plot can have it: on one line, and with most characters at
// most. Of what is too long the middle is left out, as the ends tell names apart.
func label(name string, most int) string {
	runes := []rune(strings.Join(strings.Fields(name), " "))
	if len(runes) <= most {
		return string(runes)
	}
	tail := most / 2
	return string(runes[:most-1-tail]) + "…" + string(runes[len(runes)-tail:])
}
