package bench

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"encfs/cpufeat"
	"encfs/decrypt"
)

// wilcoxon are exact two-sided values of the table of critical values and of R's
// wilcox.test(a, b); those with equal values are counted by hand.
func TestMannWhitney(t *testing.T) {
	up := func(n int, from float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = from + float64(i)
		}
		return v
	}
	for _, tt := range []struct {
		name string
		a, b []float64
		want float64
	}{
		{"one each", []float64{1}, []float64{2}, 1},
		{"three each, apart", up(3, 1), up(3, 10), 2.0 / 20},
		{"four each, apart", up(4, 1), up(4, 10), 2.0 / 70},
		{"five each, apart", up(5, 10), up(5, 1), 2.0 / 252},
		{"three and two, apart", up(3, 1), up(2, 10), 2.0 / 10},
		{"interleaved", []float64{1, 3, 5}, []float64{2, 4, 6}, 14.0 / 20},
		{"all equal", []float64{7, 7, 7}, []float64{7, 7, 7}, 1},
		// Ranks 1.5 1.5 3 4: the sums 3 and 7 of the six are as far off as 3.
		{"equal values", []float64{1, 1}, []float64{2, 3}, 2.0 / 6},
		{"ten each, apart", up(10, 1), up(10, 100), 2.0 / 184756},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := mannWhitney(tt.a, tt.b); math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("p: got %v, want %v", got, tt.want)
			}
			if got := mannWhitney(tt.b, tt.a); math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("p the other way round: got %v, want %v", got, tt.want)
			}
		})
	}
	// Where the approximation takes over, it agrees with what is exact.
	a, b := up(50, 0), up(50, 7.5)
	exact := mannWhitney(a, b)
	approximate := mannWhitney(append(a, 25.25), b)
	if math.Abs(exact-approximate) > 0.01 {
		t.Errorf("p of 100 values is %v, of one more %v", exact, approximate)
	}
	same := make([]float64, 60)
	if got := mannWhitney(same, same); got != 1 {
		t.Errorf("p of 120 equal values: %v", got)
	}
}

func TestLeastP(t *testing.T) {
	for _, tt := range []struct {
		na, nb int
		want   float64
	}{{1, 1, 1}, {3, 3, 0.1}, {4, 4, 2.0 / 70}, {5, 1, 2.0 / 6}} {
		if got := leastP(tt.na, tt.nb); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("leastP(%d, %d) = %v, want %v", tt.na, tt.nb, got, tt.want)
		}
	}
}

func TestMedianAndSpread(t *testing.T) {
	for _, tt := range []struct {
		values         []float64
		median, spread float64
	}{
		{[]float64{3}, 3, 0},
		{[]float64{4, 2}, 3, 100 * math.Sqrt2 / 3},
		{[]float64{9, 1, 2}, 2, 100 * math.Sqrt(19) / 4},
	} {
		if got := median(tt.values); got != tt.median {
			t.Errorf("median(%v) = %v, want %v", tt.values, got, tt.median)
		}
		if got := spread(tt.values); math.Abs(got-tt.spread) > 1e-9 {
			t.Errorf("spread(%v) = %v, want %v", tt.values, got, tt.spread)
		}
	}
}

// The interval of a median begins with the value after as many as in any table of the
// sign test for two sides at 5 %.
func TestMedianInterval(t *testing.T) {
	for _, tt := range []struct{ n, critical int }{
		{0, -1}, {1, -1}, {5, -1}, {6, 0}, {7, 0}, {8, 0}, {9, 1}, {11, 1}, {12, 2}, {15, 3}, {20, 5}, {25, 7}, {50, 17}, {100, 39}, {5000, 2430},
	} {
		var values []float64
		for i := range tt.n { // 0 to n-1, in another order
			values = append(values, float64((i*7+3)%tt.n))
			if tt.n%7 == 0 {
				values[i] = float64(tt.n - 1 - i)
			}
		}
		low, high := medianInterval(values)
		if tt.critical < 0 {
			if !math.IsNaN(low) || !math.IsNaN(high) {
				t.Errorf("%d values: %v to %v, want none", tt.n, low, high)
			}
			continue
		}
		if low != float64(tt.critical) || high != float64(tt.n-1-tt.critical) {
			t.Errorf("%d values: %v to %v, want %d to %d", tt.n, low, high, tt.critical, tt.n-1-tt.critical)
		}
	}
}

func read(t *testing.T, text string) *Measurements {
	t.Helper()
	m, err := ReadMeasurements(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCompare(t *testing.T) {
	const fast = `[{"algorithm":"xts(aes)","driver":"d","direction":"decrypt","unit_bytes":4096,"cleared":[],"mb_per_s":100,"runs_mb_per_s":[99,100,101,102]}]`
	const slow = `[{"algorithm":"xts(aes)","driver":"d","direction":"decrypt","unit_bytes":4096,"mb_per_s":80,"runs_mb_per_s":[79,80,81,82]}]`
	for _, tt := range []struct {
		name     string
		old, new string
		series   string
		worse    float64
		regress  bool // by more than 5 %
	}{
		{"rate falls", fast, slow, "Cipher/driver=d/direction=decrypt/unit=4096 MB/s", 100 * 20.0 / 100.5, true},
		{"rate rises", slow, fast, "Cipher/driver=d/direction=decrypt/unit=4096 MB/s", -100 * 20.0 / 80.5, false},
		{"nothing", fast, fast, "Cipher/driver=d/direction=decrypt/unit=4096 MB/s", 0, false},
		{
			"noise",
			`[{"driver":"d","runs_mb_per_s":[50,100,150,160]}]`, `[{"driver":"d","runs_mb_per_s":[40,90,151,155]}]`,
			"Cipher/driver=d MB/s", 100 * 4.5 / 125, false,
		},
		{
			"noise beyond the threshold",
			`[{"driver":"d","runs_mb_per_s":[50,100,150,160]}]`, `[{"driver":"d","runs_mb_per_s":[40,50,151,155]}]`,
			"Cipher/driver=d MB/s", 100 * 24.5 / 125, false,
		},
		{"single samples", `[{"driver":"d","mb_per_s":100}]`, `[{"driver":"d","mb_per_s":90}]`, "Cipher/driver=d MB/s", 10, true},
		{"times", `[{"queue":"bound","jobs":2,"seconds":[1,1.1]}]`, `[{"queue":"bound","jobs":2,"seconds":[2,2.1]}]`, "Tar/jobs=2/queue=bound s", 100 / 1.05, true},
		// What was cleared is no part of the name where it is the same in a file: so
		// that what a feature costs can be seen.
		{"cleared features", `[{"driver":"d","cleared":[],"mb_per_s":2}]`, `[{"driver":"d","cleared":["avx","vaes"],"mb_per_s":1}]`, "Cipher/driver=d MB/s", 50, true},
		{"stress", `{"ops_per_s":10,"by_algorithm":{},"cleared":[]}`, `{"ops_per_s":9,"by_algorithm":{},"cleared":["osxsave"]}`, "Stress/total ops/s", 10, true},
		{"Go's format", "goos: linux\nBenchmarkX-2 1 5 ns/op\nBenchmarkX-2 1 7 ns/op\nPASS\n", "BenchmarkX-2 1 3 ns/op\n", "X-2 ns/op", -50, false},
		{"Go's format with a rate", "BenchmarkX 1 5 ns/op 10 MB/s\n", "BenchmarkX 1 5 ns/op 20 MB/s\n", "X MB/s", -100, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changes, onlyOld, onlyNew := Compare(read(t, tt.old), read(t, tt.new))
			if len(changes) != 1 || len(onlyOld) != 0 || len(onlyNew) != 0 {
				t.Fatalf("got %+v, only old %q, only new %q, want one change", changes, onlyOld, onlyNew)
			}
			c := changes[0]
			if got := c.Name + " " + c.Unit; got != tt.series {
				t.Errorf("series: got %q, want %q", got, tt.series)
			}
			if math.Abs(float64(c.Worse)-tt.worse) > 1e-9 {
				t.Errorf("worse by %v %%, want %v", c.Worse, tt.worse)
			}
			if got := c.Regressed(5); got != tt.regress {
				t.Errorf("regressed: %v, want %v: %+v", got, tt.regress, c)
			}
		})
	}
}

// What was 0 has grown beyond all bounds, and JSON has no number for that.
func TestCompareFromZero(t *testing.T) {
	const none, two = "BenchmarkX 1 0 allocs/op\n", "BenchmarkX 1 2 allocs/op\n"
	for _, tt := range []struct {
		name, old, new string
		json           string
		regress        bool
	}{
		{"from 0", none, two, `"percent":null`, true},
		{"to 0", two, none, `"percent":-100`, false},
		{"still 0", none, none, `"percent":0`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changes, _, _ := Compare(read(t, tt.old), read(t, tt.new))
			text, err := json.Marshal(changes)
			if err != nil || !strings.Contains(string(text), tt.json) {
				t.Errorf("JSON: got %s, %v, want %s", text, err, tt.json)
			}
			if got := changes[0].Regressed(5); got != tt.regress {
				t.Errorf("regressed: %v, want %v: %+v", got, tt.regress, changes[0])
			}
		})
	}
}

func TestCompareDifferentSets(t *testing.T) {
	changes, onlyOld, onlyNew := Compare(read(t, "BenchmarkA 1 5 ns/op\nBenchmarkB 1 5 ns/op\n"), read(t, "BenchmarkC 1 5 ns/op\nBenchmarkB 1 5 ns/op\n"))
	if len(changes) != 1 || changes[0].Name != "B" || strings.Join(onlyOld, " ") != "A" || strings.Join(onlyNew, " ") != "C" {
		t.Errorf("got %+v, %q, %q", changes, onlyOld, onlyNew)
	}
}

// Results have the same names in either form; with several sets of features in a file,
// these are in the names.
func TestNames(t *testing.T) {
	cipher := []CipherResult{
		{Algorithm: "x", Driver: "d", Direction: "decrypt", UnitBytes: 512, MBPerS: 2, Runs: []float64{2}},
		{Algorithm: "x", Driver: "d", Direction: "decrypt", UnitBytes: 512, MBPerS: 1, Runs: []float64{1}, Cleared: []string{"avx", "vaes"}},
	}
	stress := []StressResult{
		{OpsPerS: 2, ByAlgorithm: map[string]float64{"x y": 2}, Order: []string{"x y"}},
		{OpsPerS: 1, ByAlgorithm: map[string]float64{"x y": 1}, Order: []string{"x y"}, Cleared: []string{"avx", "vaes"}},
	}
	tar := []TarResult{
		{Queue: NoMount, Cipher: NoMount, Jobs: 1, Bytes: 1e6, Seconds: []float64{0.5}},
		{Queue: "bound", Cipher: "x", Driver: "d", Jobs: 1, Bytes: 1e6, Seconds: []float64{1, 2}},
		{Queue: "bound", Cipher: "x", Driver: "d", Jobs: 1, Bytes: 1e6, Seconds: []float64{2, 4}, Cleared: []string{"avx", "vaes"}},
	}
	var simulated []SimulatedResult
	for _, r := range tar {
		r.Simulated, r.Seconds, r.MedianS = true, r.Seconds[:1], r.Seconds[0]
		simulated = append(simulated, SimulatedResult{TarResult: r, Topology: "1x4"})
	}
	for _, tt := range []struct {
		name   string
		result any
		write  func(w io.Writer) error
		want   []string
	}{
		{"cipher", cipher, func(w io.Writer) error { return WriteCipherBenchfmt(w, cipher) }, []string{
			"Cipher/driver=d/direction=decrypt/unit=512/cleared=none", "Cipher/driver=d/direction=decrypt/unit=512/cleared=avx,vaes",
		}},
		{"stress", stress, func(w io.Writer) error { return WriteStressBenchfmt(w, stress) }, []string{
			"Stress/total/cleared=none", "Stress/x_y/cleared=none", "Stress/total/cleared=avx,vaes", "Stress/x_y/cleared=avx,vaes",
		}},
		{"tar", tar, func(w io.Writer) error { return WriteTarBenchfmt(w, tar) }, []string{
			"Tar/cipher=none/jobs=1/queue=none", "Tar/cipher=x/driver=d/cleared=none/jobs=1/queue=bound", "Tar/cipher=x/driver=d/cleared=avx,vaes/jobs=1/queue=bound",
		}},
		{"simulate", simulated, func(w io.Writer) error { return WriteSimulatedBenchfmt(w, simulated) }, []string{
			"Simulate/topology=1x4/cipher=none/jobs=1/queue=none", "Simulate/topology=1x4/cipher=x/driver=d/cleared=none/jobs=1/queue=bound",
			"Simulate/topology=1x4/cipher=x/driver=d/cleared=avx,vaes/jobs=1/queue=bound",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asBenchfmt, asJSON strings.Builder
			if err := errors.Join(tt.write(&asBenchfmt), json.NewEncoder(&asJSON).Encode(tt.result)); err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{asBenchfmt.String(), asJSON.String()} {
				var got []string
				for _, s := range read(t, text).order {
					got = append(got, s.name)
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("names:\n got %q\nwant %q\nof %s", got, tt.want, text)
				}
			}
			changes, onlyOld, onlyNew := Compare(read(t, asBenchfmt.String()), read(t, asJSON.String()))
			if len(changes) != len(tt.want) || len(onlyOld) != 0 || len(onlyNew) != 0 {
				t.Errorf("one form against the other: %+v, only old %q, only new %q", changes, onlyOld, onlyNew)
			}
			for _, c := range changes {
				if c.Percent != 0 {
					t.Errorf("one form against the other: %+v", c)
				}
			}
		})
	}
}

func TestReadMeasurementsErrors(t *testing.T) {
	for _, text := range []string{"", "hello", "[", "{}", "[]", "[1]", `{"ops_per_s":1}`, `[{"by_algorithm":1}]`, `[{"queue":"bound","seconds":[0]}]`, "BenchmarkX 1 fast ns/op", "BenchmarkX 1 NaN ns/op", "BenchmarkX 1 +Inf ns/op"} {
		if m, err := ReadMeasurements(strings.NewReader(text)); err == nil {
			t.Errorf("%q: got %+v", text, m)
		}
	}
	if _, err := ReadMeasurements(strings.NewReader("PASS\n")); !errors.Is(err, ErrNoResults) {
		t.Errorf("no results: %v", err)
	}
}

func TestWriteChanges(t *testing.T) {
	changes, _, _ := Compare(read(t, "BenchmarkX 1 12345 ops/s\n"), read(t, "BenchmarkX 1 8073 ops/s\n"))
	changes = append(changes, Change{Name: "y", Unit: "s", Old: 1.5, New: 2, Percent: 33.333, OldSpread: 2, NewSpread: 12.4, P: 0.008, Decidable: true})
	var b strings.Builder
	if err := WriteChanges(&b, changes, "old.json", "new.json"); err != nil {
		t.Fatal(err)
	}
	want := `old.json          new.json
----------------  --------------------------
         %stddev     %change         %stddev
             \          |                \
     12345            -34.6%       8073        X ops/s
      1.50 ±  2%      +33.3%       2.00 ± 12%  y s (p=0.008)
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What one writes the other reads.
func TestCipher(t *testing.T) {
	drivers := decrypt.Drivers()
	var runnable []decrypt.Driver
	for _, d := range drivers {
		if cpufeat.Host().Has(d.Needs) {
			runnable = append(runnable, d)
		}
	}
	results, err := Cipher(runnable, CipherOptions{Runs: 2, Time: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(results), 6*len(runnable); got != want {
		t.Errorf("%d results, want %d", got, want)
	}
	for _, r := range results {
		if len(r.Runs) != 2 || r.MBPerS <= 0 {
			t.Errorf("%+v", r)
		}
	}
	text, err := json.Marshal(results)
	if err != nil {
		t.Fatal(err)
	}
	var fmt strings.Builder
	if err := WriteCipherBenchfmt(&fmt, results); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(text), fmt.String()} {
		if m := read(t, text); len(m.order) != len(results) || len(m.values[m.order[0]]) != 2 {
			t.Errorf("read %d series: %+v", len(m.order), m)
		}
	}
	var table strings.Builder
	if err := WriteCipherTable(&table, results); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(table.String(), "\n"), 1+len(runnable); got != want {
		t.Errorf("%d lines, want %d:\n%s", got, want, &table)
	}
}

func TestStress(t *testing.T) {
	table, err := decrypt.NewTable(cpufeat.Host(), decrypt.SelfTestOff, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Stress(table, StressOptions{Duration: time.Millisecond, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if want := len(decrypt.Algorithms()) + 7; len(r.ByAlgorithm) != want || len(r.Order) != want {
		t.Errorf("%d algorithms in %d, want %d", len(r.ByAlgorithm), len(r.Order), want)
	}
	if len(r.Drivers) != len(decrypt.Algorithms()) {
		t.Errorf("drivers %v", r.Drivers)
	}
	for name, rate := range r.ByAlgorithm {
		if !(rate > 0) || math.IsInf(rate, 0) || !(r.OpsPerS > 0) {
			t.Errorf("%s: %v ops/s, %v in total", name, rate, r.OpsPerS)
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var fmt strings.Builder
	if err := WriteStressBenchfmt(&fmt, []StressResult{r}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(text), fmt.String()} {
		if m := read(t, text); len(m.order) != 1+len(r.Order) {
			t.Errorf("read %d series: %+v", len(m.order), m)
		}
	}
}
