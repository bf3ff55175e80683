package htmlreport

import (
	"slices"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A barChart is horizontal bars, one below the other, each with its name beside it, or
// above it if there are long names, and its value behind it. What is not a number has
// no bar.
type barChart struct {
	xLabel string
	bars   []bar
}

// A bar is made of parts, from left to right. Those of negative values go to the left.
type bar struct {
	name   string // "" goes on with the group
	parts  []barPart
	text   string // behind the bar
	dashed bool   // it is simulated
	first  bool   // of a group, which stands apart from what is above
}

type barPart struct {
	value float64
	ink   ink
}

// Heights of a bar, of the space between groups, and of all else.
const (
	barStep    = 15
	groupSpace = 6
	barMargin  = 42
)

// Characters of a name that fit beside and above a bar.
const (
	maxBeside = 30
	maxAbove  = 58
)

// draw returns the plot, and false if there is nothing in it.
func (b barChart) draw() (drawing, bool) {
	p := newPlot(b.xLabel, "")
	rows := barRows{value: p.X.Tick.Label, name: p.X.Tick.Label}
	rows.value.YAlign, rows.name.YAlign = draw.YCenter, draw.YCenter
	rows.name.XAlign = draw.XLeft
	rows.above = slices.ContainsFunc(b.bars, func(r bar) bool { return utf8.RuneCountInString(r.name) > maxBeside })
	ticks := plot.ConstantTicks{}
	y, something := 0.0, false
	for _, r := range b.bars {
		if r.first && len(rows.rows) > 0 {
			y -= groupSpace
		}
		left, right := 0.0, 0.0
		var kept []barPart
		for _, part := range r.parts {
			if !drawable(part.value) {
				continue
			}
			kept = append(kept, part)
			left, right = left+min(part.value, 0), right+max(part.value, 0)
		}
		something = something || left < 0 || right > 0
		p.X.Min, p.X.Max = min(p.X.Min, left), max(p.X.Max, right)
		r.parts = kept
		row := barRow{r, y}
		switch {
		case !rows.above:
			ticks = append(ticks, plot.Tick{Value: y, Label: label(r.name, maxBeside)})
		case r.name != "":
			if len(rows.rows) > 0 && !r.first {
				y -= groupSpace / 2
			}
			y -= barStep - 2
			row.y = y
		}
		rows.rows = append(rows.rows, row)
		y -= barStep
	}
	if !something {
		return drawing{}, false
	}
	// Room for the text behind the longest bars.
	const room = 0.24
	width := max(p.X.Max, 0) - min(p.X.Min, 0)
	p.X.Max = max(p.X.Max, 0) + room*width
	if p.X.Min = min(p.X.Min, 0); p.X.Min < 0 {
		p.X.Min -= room * width
	}
	p.Y.Min, p.Y.Max = y+barStep/2, barStep/2
	p.Y.Tick.Marker = ticks
	p.Y.Tick.Length, p.Y.LineStyle.Width = 0, 0
	p.X.Tick.Marker = roundTicks{5}
	p.Add(rows)
	return renderPlot(p, int(barMargin-y)), true
}

type barRow struct {
	bar
	y float64
}

// barRows draws the bars.
type barRows struct {
	rows        []barRow
	above       bool // names are above the bars
	value, name draw.TextStyle
}

// Plot implements [plot.Plotter].
func (b barRows) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	const half = vg.Length(0.36 * barStep)
	zero := draw.LineStyle{Color: inkText.color(), Width: vg.Points(0.8)}
	if !b.above {
		c.StrokeLine2(zero, x(0), c.Min.Y, x(0), c.Max.Y)
	}
	for _, r := range b.rows {
		middle, left, right := y(r.y), 0.0, 0.0
		if b.above {
			c.FillText(b.name, vg.Point{X: c.Min.X, Y: y(r.y + barStep - 2)}, label(r.name, maxAbove))
			c.StrokeLine2(zero, x(0), middle-half-1, x(0), middle+half+1) // not through names
		}
		for _, part := range r.parts {
			from, to := right, right+part.value
			if part.value < 0 {
				from, to = left+part.value, left
				left = from
			} else {
				right = to
			}
			corners := []vg.Point{
				{X: x(from), Y: middle - half}, {X: x(to), Y: middle - half},
				{X: x(to), Y: middle + half}, {X: x(from), Y: middle + half},
			}
			if !r.dashed {
				c.FillPolygon(part.ink.color(), corners)
				continue
			}
			outline := look{ink: part.ink, dashed: true}.line()
			outline.Width = vg.Points(1.2)
			c.StrokeLines(outline, append(corners, corners[0]))
		}
		style, end := b.value, x(right)+3
		style.XAlign = draw.XLeft
		if left < 0 {
			style.XAlign, end = draw.XRight, x(left)-3
		}
		c.FillText(style, vg.Point{X: end, Y: middle + style.FontExtents().Descent/2}, r.text)
	}
}

// barSample returns how a part of a bar looks, for a legend.
func barSample(i ink) drawing {
	return render(30, 12, func(c draw.Canvas) {
		c.FillPolygon(i.color(), []vg.Point{{X: 8, Y: 1}, {X: 22, Y: 1}, {X: 22, Y: 11}, {X: 8, Y: 11}})
	})
}

// dashedSample returns how simulated bars look, for a legend.
func dashedSample() drawing {
	return render(30, 12, func(c draw.Canvas) {
		style := look{ink: inkText, dashed: true}.line()
		style.Width = vg.Points(1.2)
		c.StrokeLines(style, []vg.Point{{X: 8, Y: 1}, {X: 22, Y: 1}, {X: 22, Y: 11}, {X: 8, Y: 11}, {X: 8, Y: 1}})
	})
}
