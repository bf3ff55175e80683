package htmlreport

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"encfs/cmd/encfs/internal/bench"
)

// unitInks are for sizes of data units, in the order in which they occur.
var unitInks = []ink{inkSky, inkBlue, inkVermillion, inkGreen, inkPurple, inkOrange, inkGrey}

// cipherSections shows the speed of cipher drivers: two plots for each algorithm, of
// which that for encryption is shown on demand, and all results.
func cipherSections(results []bench.CipherResult) []section {
	if len(results) == 0 {
		return nil
	}
	s := section{
		Title: "Cipher drivers",
		Notes: []string{"MB/s are 10⁶ bytes in a second of CPU time on one CPU, in place: the median of the runs."},
	}
	var algorithms []string
	for _, r := range results {
		if !slices.Contains(algorithms, r.Algorithm) {
			algorithms = append(algorithms, r.Algorithm)
		}
	}
	for _, a := range algorithms {
		of := slices.DeleteFunc(slices.Clone(results), func(r bench.CipherResult) bool { return r.Algorithm != a })
		if f, ok := cipherFigure(of, "decrypt", a+", decrypting"); ok {
			s.Figures = append(s.Figures, f)
		}
		if f, ok := cipherFigure(of, "encrypt", a+", encrypting"); ok {
			s.More = append(s.More, f)
		}
	}
	t := table{
		Caption: "Speed of cipher drivers",
		Heads:   []string{"algorithm", "driver", "without", "direction", "data unit, bytes", "runs", "MB/s", "least", "most", "self-test, µs"},
	}
	for _, r := range results {
		least, most := math.NaN(), math.NaN()
		if len(r.Runs) > 0 {
			least, most = slices.Min(r.Runs), slices.Max(r.Runs)
		}
		t.add("", false, words(r.Algorithm), words(r.Driver), words(strings.Join(r.Cleared, ",")), words(r.Direction),
			digits(strconv.Itoa(r.UnitBytes)), digits(strconv.Itoa(len(r.Runs))), digits(number(r.MBPerS)),
			digits(number(least)), digits(number(most)), digits(number(r.SelfTest)))
	}
	s.Tables = []table{t}
	return []section{s}
}

// cipherFigure has a bar for each driver, or for each with the features that were
// cleared, and size of data units.
func cipherFigure(results []bench.CipherResult, direction, title string) (figure, bool) {
	c := barChart{xLabel: "MB/s"}
	var sizes []int
	var all []string
	previous := ""
	for _, r := range results {
		if r.Direction != direction {
			continue
		}
		i := slices.Index(sizes, r.UnitBytes)
		if i < 0 {
			i = len(sizes)
			sizes = append(sizes, r.UnitBytes)
		}
		name := r.Driver
		if len(r.Cleared) > 0 {
			name += " without " + strings.Join(r.Cleared, ",")
		}
		b := bar{parts: []barPart{{r.MBPerS, unitInks[i%len(unitInks)]}}, text: number(r.MBPerS)}
		all = append(all, name+", "+strconv.Itoa(r.UnitBytes)+" bytes: "+b.text)
		if name != previous {
			b.name, b.first = name, true
		}
		previous = name
		c.bars = append(c.bars, b)
	}
	drawn, ok := c.draw()
	if !ok {
		return figure{}, false
	}
	f := figure{Title: title, Description: "Speed in MB/s by driver and size of data units. " + strings.Join(all, "; ") + ".", Plot: drawn}
	for i, size := range sizes {
		f.Legend = append(f.Legend, legendEntry{barSample(unitInks[i%len(unitInks)]), "data units of " + strconv.Itoa(size) + " bytes"})
	}
	return f, true
}
