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

// identity are the fields of JSON results that together tell one from the others, in the
// order in which they make its name, with what is put before their values there. Those
// that are empty or false are left out.
var identity = []struct{ field, label string }{
	{"cipher", ""}, {"algorithm", ""}, {"driver", ""}, {"direction", ""}, {"unit_bytes", ""},
	{"cpus", "cpus="}, {"completion_cpus", "completion="}, {"jobs", "jobs="}, {"queue", ""}, {"scope", ""},
	{"cache", ""}, {"topology", ""}, {"simulated", "simulated="},
}

// readJSON reads one result, or an array of them. Which CPU features were cleared is part
// of the names only if that differs between the results: otherwise two files with and
// without a feature could not be compared.
func (m *Measurements) readJSON(text []byte) error {
	var results []map[string]json.RawMessage
	if err := json.Unmarshal(text, &results); err != nil {
		var one map[string]json.RawMessage
		if json.Unmarshal(text, &one) != nil {
			return fmt.Errorf("bench: %w: %w", ErrNoResults, err)
		}
		results = append(results, one)
	}
	cells := map[string]bool{}
	for _, fields := range results {
		if cipher := joinJSON(fields["cipher"]); cipher != NoMount && cipher != NoCipher { // they have no use for features
			cells[joinJSON(fields["cleared"])] = true
		}
	}
	for i, fields := range results {
		var parts []string
		for _, f := range identity {
			if text := joinJSON(fields[f.field]); text != "" && text != "false" {
				parts = append(parts, f.label+text)
			}
		}
		if len(cells) > 1 {
			parts = append(parts, "without "+joinJSON(fields["cleared"]))
		}
		if err := m.addJSON(strings.Join(parts, "/"), fields); err != nil {
			return fmt.Errorf("bench: result %d: %w", i, err)
		}
	}
	return nil
}

// joinJSON returns a string or number as it is, the elements of an array with commas
// between them, and "" for what is not there.
func joinJSON(text json.RawMessage) string {
	var list []any
	if json.Unmarshal(text, &list) == nil {
		words := make([]string, len(list))
		for i, v := range list {
			words[i] = fmt.Sprint(v)
		}
		return strings.Join(words, ",")
	}
	var v any
	if json.Unmarshal(text, &v) != nil {
		return ""
	}
	return fmt.Sprint(v)
}

// addJSON adds the values of a result.
func (m *Measurements) addJSON(name string, fields map[string]json.RawMessage) error {
	for _, metric := range []struct{ field, single, unit string }{
		{"runs_mb_per_s", "mb_per_s", "MB/s"},
		{"seconds", "median_s", "s"},
	} {
		var runs []float64
		if json.Unmarshal(fields[metric.field], &runs) == nil && len(runs) > 0 {
			m.add(name, metric.unit, runs...)
			return nil
		}
		var single float64
		if json.Unmarshal(fields[metric.single], &single) == nil {
			m.add(name, metric.unit, single)
			return nil
		}
	}
	var total float64
	if json.Unmarshal(fields["ops_per_s"], &total) != nil {
		return ErrNoResults
	}
	m.add(strings.TrimPrefix(name+"/total", "/"), "ops/s", total)
	var byAlgorithm map[string]float64
	if err := json.Unmarshal(fields["by_algorithm"], &byAlgorithm); err != nil {
		return err
	}
	for _, a := range slices.Sorted(maps.Keys(byAlgorithm)) {
		m.add(strings.TrimPrefix(name+"/"+a, "/"), "ops/s", byAlgorithm[a])
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
