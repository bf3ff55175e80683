package htmlreport

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A lineChart is lines over one axis. Points that cannot be drawn, such as those that
// are not a number, are left out.
type lineChart struct {
	xLabel, yLabel string
	categories     []string // at 0, 1, …; nil if x is a logarithmic axis of values above 0
	low, high      float64  // of y at least, both NaN for what the points need
	even           bool     // there is a line at 1, where things are equal
	lines          []line
}

// A line is a series of points.
type line struct {
	name   string
	look   look
	points []point
	marks  []point // where there are marks; nil for at each point
}

// A point has y with what it ranges over, which is NaN where that is not known.
type point struct{ x, y, low, high float64 }

// at returns a point without a range.
func at(x, y float64) point { return point{x, y, math.NaN(), math.NaN()} }

// draw returns the plot, and false if there is nothing in it.
func (l lineChart) draw() (drawing, []legendEntry, bool) {
	p := newPlot(l.xLabel, l.yLabel)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = nil, inkGrid.color()
	p.Add(grid)
	if l.even {
		p.Add(evenLine{})
	}
	var legend []legendEntry
	least, most := math.Inf(1), math.Inf(-1) // of x
	for i, s := range l.lines {
		marks := s.marks
		if marks == nil {
			marks = s.points
		}
		points, marks := l.plotted(s.points, i), l.plotted(marks, i)
		if len(points) == 0 {
			continue
		}
		for _, q := range points {
			least, most = min(least, q.x), max(most, q.x)
		}
		for _, q := range points { // to the end of the range
			for _, y := range []float64{q.y, q.low, q.high} {
				if drawable(y) {
					p.Y.Min, p.Y.Max = min(p.Y.Min, y), max(p.Y.Max, y)
				}
			}
		}
		p.Add(curve{s.look, points, marks})
		legend = append(legend, legendEntry{s.look.sample(), s.name})
	}
	if len(legend) == 0 {
		return drawing{}, nil, false
	}
	if l.categories != nil {
		p.X.Min, p.X.Max = -0.5, float64(len(l.categories))-0.5
		var ticks plot.ConstantTicks
		for i, c := range l.categories {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: c})
		}
		p.X.Tick.Marker = ticks
	} else {
		p.X.Scale = plot.LogScale{}
		p.X.Tick.Marker = decadeTicks{}
		p.X.Min, p.X.Max = math.Pow(10, math.Floor(math.Log10(least))), math.Pow(10, math.Ceil(math.Log10(most)))
		if p.X.Min == p.X.Max {
			p.X.Max *= 10
		}
	}
	if drawable(l.low) {
		p.Y.Min = min(p.Y.Min, l.low)
	}
	if drawable(l.high) {
		p.Y.Max = max(p.Y.Max, l.high)
	}
	if p.Y.Min == p.Y.Max {
		p.Y.Max++
	}
	return renderPlot(p, plotHeight), legend, true
}

// plotted returns the points of line number i that can be drawn. Over categories, lines
// are a little beside each other, so that none hides another with its range.
func (l lineChart) plotted(points []point, i int) []point {
	var kept []point
	for _, q := range points {
		switch {
		case !drawable(q.x) || !drawable(q.y):
			continue
		case l.categories != nil && len(l.lines) > 1:
			q.x += 0.3 * (float64(i)/float64(len(l.lines)-1) - 0.5)
		case l.categories == nil && q.x < 1e-3:
			continue
		}
		kept = append(kept, q)
	}
	return kept
}

// A curve draws the points of a line, its marks, and the ranges.
type curve struct {
	look   look
	points []point
	marks  []point
}

// Plot implements [plot.Plotter].
func (v curve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var path []vg.Point
	for _, q := range v.points {
		path = append(path, vg.Point{X: x(q.x), Y: y(q.y)})
	}
	c.StrokeLines(v.look.line(), path)
	const cap = vg.Length(2.5)
	thin := draw.LineStyle{Color: v.look.ink.color(), Width: vg.Points(0.9)}
	for _, q := range v.marks {
		c.DrawGlyph(v.look.glyph(), vg.Point{X: x(q.x), Y: y(q.y)})
		if !drawable(q.low) || !drawable(q.high) {
			continue
		}
		at, low, high := x(q.x), y(q.low), y(q.high)
		c.StrokeLine2(thin, at, low, at, high)
		c.StrokeLine2(thin, at-cap, low, at+cap, low)
		c.StrokeLine2(thin, at-cap, high, at+cap, high)
	}
}

// An evenLine is a line at 1.
type evenLine struct{}

// Plot implements [plot.Plotter].
func (evenLine) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: inkText.color(), Width: vg.Points(0.8)}, c.Min.X, y(1), c.Max.X, y(1))
}

// sample returns how a line looks, for a legend.
func (l look) sample() drawing {
	return render(30, 12, func(c draw.Canvas) {
		middle := c.Center()
		c.StrokeLine2(l.line(), c.Min.X+1, middle.Y, c.Max.X-1, middle.Y)
		c.DrawGlyph(l.glyph(), middle)
	})
}
