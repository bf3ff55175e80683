package htmlreport

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"encfs/cmd/encfs/internal/bench"
)

// shownChanges is how many changes the plot has, the largest ones. The table has all.
const shownChanges = 30

// Verdicts on a change, each with its ink.
const (
	isBetter = "better"
	isWorse  = "worse"
	isNoise  = "no more than noise"
	isUnsure = "too few runs to tell"
)

var verdictInks = map[string]ink{isBetter: inkBlue, isWorse: inkVermillion, isNoise: inkGrey, isUnsure: inkOrange}

// verdict says what a change is.
func verdict(c bench.Change) string {
	switch {
	case !c.Decidable:
		return isUnsure
	case c.P >= bench.Significance || c.Worse == 0:
		return isNoise
	case c.Worse > 0:
		return isWorse
	}
	return isBetter
}

// changeSections shows what became of results, the largest changes as a plot.
func changeSections(c *Changes) []section {
	if c == nil {
		return nil
	}
	s := section{
		Title: "From " + c.Old + " to " + c.New,
		Notes: []string{"Medians of the runs. p is how likely such a change is where nothing has changed, by the U test of Mann and Whitney; below 0.05 it is taken for real. It takes four runs on either side to tell."},
	}
	for i, only := range [][]string{c.OnlyOld, c.OnlyNew} {
		if len(only) > 0 {
			s.Notes = append(s.Notes, "Only in "+[]string{c.Old, c.New}[i]+": "+strings.Join(only, ", ")+".")
		}
	}
	if f, ok := changeFigure(c.Changes); ok {
		s.Figures = []figure{f}
	}
	t := table{
		Caption: "Changes",
		Heads:   []string{"measured", "unit", c.Old, "± %", "change", c.New, "± %", "p", "verdict"},
	}
	for _, v := range c.Changes {
		p := missing
		if v.Decidable {
			p = fixed(v.P, 3)
		}
		t.add("", false, words(v.Name), words(v.Unit), digits(number(v.Old)), digits(fixed(v.OldSpread, 1)),
			digits(percent(float64(v.Percent))), digits(number(v.New)), digits(fixed(v.NewSpread, 1)), digits(p), words(verdict(v)))
	}
	s.Tables = []table{t}
	return []section{s}
}

func changeFigure(changes []bench.Change) (figure, bool) {
	largest := slices.Clone(changes)
	slices.SortStableFunc(largest, func(a, b bench.Change) int {
		return cmp.Compare(math.Abs(float64(b.Percent)), math.Abs(float64(a.Percent)))
	})
	chart := barChart{xLabel: "change in percent"}
	var all, verdicts []string
	for _, c := range largest[:min(len(largest), shownChanges)] {
		v := verdict(c)
		if !slices.Contains(verdicts, v) {
			verdicts = append(verdicts, v)
		}
		b := bar{name: c.Name + " " + c.Unit, parts: []barPart{{float64(c.Percent), verdictInks[v]}}, text: percent(float64(c.Percent))}
		chart.bars = append(chart.bars, b)
		all = append(all, b.name+": "+b.text+", "+v)
	}
	drawn, ok := chart.draw()
	if !ok {
		return figure{}, false
	}
	f := figure{Title: "The largest changes", Description: "Changes in percent. " + strings.Join(all, "; ") + ".", Plot: drawn}
	for _, v := range []string{isBetter, isWorse, isNoise, isUnsure} {
		if slices.Contains(verdicts, v) {
			f.Legend = append(f.Legend, legendEntry{barSample(verdictInks[v]), v})
		}
	}
	return f, true
}
