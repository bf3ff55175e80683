package htmlreport

import (
	"math"

	"gonum.org/v1/plot"
)

// roundTicks are ticks at round numbers, all with a label, at about so many places.
type roundTicks struct{ most float64 }

// Ticks implements [plot.Ticker].
func (t roundTicks) Ticks(low, high float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/t.most)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if (high-low)/(factor*step) <= t.most {
			step *= factor
			break
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+1e-9*step; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: plainNumber(i * step)})
	}
	return ticks
}

// decadeTicks are those of a logarithmic axis, with labels at powers of 10.
type decadeTicks struct{}

// Ticks implements [plot.Ticker].
func (decadeTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.LogTicks{}.Ticks(low, high)
	for i := range ticks {
		if !ticks[i].IsMinor() {
			ticks[i].Label = plainNumber(ticks[i].Value)
		}
	}
	return ticks
}
