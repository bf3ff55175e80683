package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Measurements are the samples in a file of results.
type Measurements struct {
	order  []series
	values map[series][]float64
}

// A series is what several samples are of.
type series struct {
	name string
	unit string
}

// moreIsBetter reports whether larger values are the better ones: rates are, times
// and amounts are not.
func (s series) moreIsBetter() bool { return strings.HasSuffix(s.unit, "/s") }

func (m *Measurements) add(name, unit string, values ...float64) {
	if m.values == nil {
		m.values = map[series][]float64{}
	}
	s := series{name, unit}
	if _, ok := m.values[s]; !ok {
		m.order = append(m.order, s)
	}
	m.values[s] = append(m.values[s], values...)
}

// ErrNoResults means that a file has no results of benchmarks in it.
var ErrNoResults = errors.New("no results of benchmarks")

// ReadMeasurements reads a file of results, of which it finds out the format: JSON of
// encfs bench, or Go's benchmark format. Results with the same name are samples of
// the same thing.
func ReadMeasurements(r io.Reader) (*Measurements, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	m := new(Measurements)
	switch start := bytes.TrimSpace(text); {
	case bytes.HasPrefix(start, []byte("[")), bytes.HasPrefix(start, []byte("{")):
		err = m.readJSON(text)
	default:
		err = m.readBenchfmt(text)
	}
	if err != nil {
		return nil, err
	}
	if len(m.order) == 0 {
		return nil, fmt.Errorf("bench: %w", ErrNoResults)
	}
	return m, nil
}

// readJSON reads one result, or an array of them, of any command.
func (m *Measurements) readJSON(text []byte) error {
	var texts []json.RawMessage
	if err := json.Unmarshal(text, &texts); err != nil {
		texts = []json.RawMessage{text}
	}
	sets := clearedSets{}
	results := make([]result, len(texts))
	for i, text := range texts {
		var err error
		if results[i], err = parseResult(text); err != nil {
			return fmt.Errorf("bench: result %d: %w", i, err)
		}
		results[i].addCleared(sets)
	}
	for i, r := range results {
		if err := r.addSamples(m, sets); err != nil {
			return fmt.Errorf("bench: result %d: %w", i, err)
		}
	}
	return nil
}

// A result is what JSON has of a command.
type result interface {
	addCleared(clearedSets)
	addSamples(*Measurements, clearedSets) error
}

// parseResult returns a result of the command that its fields are of.
func parseResult(text json.RawMessage) (result, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoResults, err)
	}
	for _, kind := range []struct {
		field string
		r     result
	}{
		{"by_algorithm", new(StressResult)}, {"topology", new(SimulatedResult)}, {"seconds", new(TarResult)}, {"median_s", new(TarResult)},
		{"mb_per_s", new(CipherResult)}, {"runs_mb_per_s", new(CipherResult)},
	} {
		if fields[kind.field] != nil {
			return kind.r, json.Unmarshal(text, kind.r)
		}
	}
	return nil, ErrNoResults
}

func (r *CipherResult) addCleared(sets clearedSets) { sets.add(r.Cleared) }

func (r *CipherResult) addSamples(m *Measurements, sets clearedSets) error {
	runs := r.Runs
	if len(runs) == 0 {
		runs = []float64{r.MBPerS}
	}
	m.add(r.name(sets), "MB/s", runs...)
	return nil
}

func (r *StressResult) addCleared(sets clearedSets) { sets.add(r.Cleared) }

func (r *StressResult) addSamples(m *Measurements, sets clearedSets) error {
	m.add(r.name(stressTotal, sets), "ops/s", r.OpsPerS)
	for _, a := range slices.Sorted(maps.Keys(r.ByAlgorithm)) {
		m.add(r.name(a, sets), "ops/s", r.ByAlgorithm[a])
	}
	return nil
}

// addCleared leaves out results that have no use for CPU features.
func (r *TarResult) addCleared(sets clearedSets) {
	if !IsBaseline(*r) {
		sets.add(r.Cleared)
	}
}

func (r *TarResult) addSamples(m *Measurements, sets clearedSets) error {
	return r.addRuns(m, r.name(sets))
}

func (r *SimulatedResult) addSamples(m *Measurements, sets clearedSets) error {
	return r.addRuns(m, r.name(sets))
}

// addRuns adds the speeds of the runs, or their times if it is not said of how much.
func (r *TarResult) addRuns(m *Measurements, name string) error {
	seconds := r.Seconds
	if len(seconds) == 0 {
		seconds = []float64{r.MedianS}
	}
	for _, s := range seconds {
		switch {
		case s <= 0:
			return fmt.Errorf("%g s is not a measurement", s)
		case r.Bytes == 0:
			m.add(name, "s", s)
		default:
			m.add(name, "MB/s", r.rate(s))
		}
	}
	return nil
}

// readBenchfmt reads the lines that begin with "Benchmark": a name, the number of
// iterations, and pairs of a value and its unit. Where a rate is given the time of an
// operation is left out, which says the same.
//
// https://go.googlesource.com/proposal/+/master/design/14313-benchmark-format.md
// defines the format.
func (m *Measurements) readBenchfmt(text []byte) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		f := strings.Fields(lines.Text())
		if len(f) < 4 || len(f)%2 != 0 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(f[0], "Benchmark")
		rate := slices.Contains(f, "MB/s")
		for i := 2; i < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
				err = fmt.Errorf("%s is not a measurement", f[i])
			}
			if err != nil {
				return fmt.Errorf("bench: line %d: %w", n, err)
			}
			if f[i+1] != "ns/op" || !rate {
				m.add(name, f[i+1], v)
			}
		}
	}
	return lines.Err()
}
