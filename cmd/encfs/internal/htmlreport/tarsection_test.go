package htmlreport

import (
	"slices"
	"strings"
	"testing"

	"encfs/cmd/encfs/internal/bench"
)

// timed returns a cell with runs around a median.
func timed(queue, scope string, jobs int, median float64) bench.TarResult {
	r := bench.TarResult{Queue: queue, Scope: scope, Cipher: "adiantum", Driver: "d", Jobs: jobs, CPUs: []int{0, 1}, Cache: "cold", Bytes: 1e9, MedianS: median}
	for _, f := range []float64{0.98, 0.99, 1, 1.01, 1.02} {
		r.Seconds = append(r.Seconds, median*f)
	}
	return r
}

func TestGainTable(t *testing.T) {
	simulated := timed("unbound", "cache", 1, 3)
	simulated.Simulated = true
	warm := timed("auto", "cache", 1, 5)
	warm.Cache = "warm"
	for _, tt := range []struct {
		name  string
		cells []bench.TarResult
		want  [][]string
	}{
		{"unbound is faster", []bench.TarResult{timed("bound", "", 1, 3), timed("unbound", "cache", 1, 2), timed("auto", "cache", 1, 2)},
			[][]string{{"1", "measured, scope cache", "1.500", "1.456 … 1.545", "unbound", "1.000", "0.9706 … 1.030"}}},
		{"bound is faster", []bench.TarResult{timed("bound", "", 1, 1), timed("unbound", "", 1, 2)},
			[][]string{{"1", "measured", "0.5000", "0.4853 … 0.5152", "bound", missing, missing}}},
		{"of each scope", []bench.TarResult{timed("bound", "", 1, 2), timed("unbound", "cpu", 1, 2), timed("unbound", "system", 1, 1)},
			[][]string{
				{"1", "measured, scope cpu", "1.000", "0.9706 … 1.030", "unbound, system", missing, missing},
				{"1", "measured, scope system", "2.000", "1.941 … 2.061", "unbound, system", missing, missing},
			}},
		{"of each number of jobs", []bench.TarResult{timed("bound", "", 2, 2), timed("bound", "", 1, 2), timed("unbound", "", 2, 2)},
			[][]string{
				{"1", "measured", missing, missing, "bound", missing, missing},
				{"2", "measured", "1.000", "0.9706 … 1.030", "bound", missing, missing},
			}},
		{"simulated cells are compared with their like", []bench.TarResult{timed("bound", "", 1, 3), simulated},
			[][]string{
				{"1", "measured", missing, missing, "bound", missing, missing},
				{"1", "simulated", missing, missing, "unbound (simulated)", missing, missing},
			}},
		{"other caches are others", []bench.TarResult{timed("bound", "", 1, 3), warm},
			[][]string{{"1", "measured", missing, missing, "bound", missing, missing}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, text := parsed(t, Page{Tar: tt.cells})
			checkDocument(t, root, text)
			got := root.tableOf(t, gainCaption)
			if !slices.EqualFunc(got, tt.want, slices.Equal[[]string]) {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestModelTable(t *testing.T) {
	model := timed("bound", "", 1, 2.2)
	model.Simulated = true
	other := timed("bound", "", 2, 1)
	other.Simulated = true
	root, _ := parsed(t, Page{Tar: []bench.TarResult{timed("bound", "", 1, 2), model, other}})
	want := [][]string{{"bound", "1", "500.0", "454.5", "−9.1 %"}}
	if got := root.tableOf(t, modelCaption); !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func TestReadTable(t *testing.T) {
	r := timed("bound", "", 1, 2)
	r.Time = bench.ReadTime{LowerRead: 10, QueueWait: 3, Decrypt: 8, Reply: 1}
	r.Latency = bench.Latency{P50: 20, P95: 30, P99: 40, Dist: []bench.LatencyBucket{{Us: 10, Count: 1}, {Us: 20, Count: 2}}}
	root, _ := parsed(t, Page{Tar: []bench.TarResult{r}})
	want := []string{"measured", "adiantum", "d", "", "bound", "", "1", "0-1", "any", "cold", "10.00", "3.000", "8.000", "1.000", "20.00", "30.00", "40.00", "3"}
	if got := root.tableOf(t, readCaption); len(got) != 1 || !slices.Equal(got[0], want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func TestCumulative(t *testing.T) {
	xy := func(points []point) [][2]float64 {
		var pairs [][2]float64
		for _, p := range points {
			pairs = append(pairs, [2]float64{p.x, p.y})
		}
		return pairs
	}
	for _, tt := range []struct {
		name         string
		dist         []bench.LatencyBucket
		steps, marks [][2]float64
	}{
		{"nothing", nil, nil, nil},
		{"counts of 0", []bench.LatencyBucket{{Us: 1, Count: 0}}, nil, nil},
		{"one", []bench.LatencyBucket{{Us: 7, Count: 3}}, [][2]float64{{7, 0}, {7, 100}}, [][2]float64{{7, 50}, {7, 95}, {7, 99}}},
		{"two, and an empty one", []bench.LatencyBucket{{Us: 1, Count: 1}, {Us: 2, Count: 0}, {Us: 3, Count: 1}},
			[][2]float64{{1, 0}, {1, 50}, {3, 50}, {3, 100}}, [][2]float64{{1, 50}, {3, 95}, {3, 99}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			steps, marks := cumulative(tt.dist)
			if got := xy(steps); !slices.Equal(got, tt.steps) {
				t.Errorf("steps: got %v, want %v", got, tt.steps)
			}
			if got := xy(marks); !slices.Equal(got, tt.marks) {
				t.Errorf("marks: got %v, want %v", got, tt.marks)
			}
		})
	}
}

func TestTimeParts(t *testing.T) {
	for _, tt := range []struct {
		name string
		time bench.ReadTime
		want [len(timeNames)]float64
	}{
		{"nothing", bench.ReadTime{}, [len(timeNames)]float64{}},
		{"no wait", bench.ReadTime{LowerRead: 4, Decrypt: 3, Reply: 2}, [...]float64{4, 0, 3, 2}},
		{"wait", bench.ReadTime{LowerRead: 4, QueueWait: 1, Decrypt: 3, Reply: 2}, [...]float64{4, 1, 2, 2}},
		{"wait meanwhile", bench.ReadTime{LowerRead: 4, QueueWait: 9, Decrypt: 3, Reply: 2}, [...]float64{4, 3, 0, 2}},
	} {
		if got := timeParts(tt.time); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// What decrypts nothing stands beside what does under the same conditions.
func TestReferences(t *testing.T) {
	group := timed("bound", "", 1, 1)
	group.CompletionCPUs = []int{0}
	reference := func(change func(r *bench.TarResult)) bench.TarResult {
		r := timed("inline", "", 1, 1)
		r.Cipher, r.CompletionCPUs = bench.NoCipher, []int{0}
		change(&r)
		return r
	}
	for _, tt := range []struct {
		name string
		cell bench.TarResult
		want string // name in the legend
	}{
		{"mount", reference(func(*bench.TarResult) {}), "mount without decryption, inline"},
		{"lower tree", reference(func(r *bench.TarResult) { r.Cipher, r.CompletionCPUs, r.Cache = bench.NoMount, nil, "warm" }), "lower tree, no mount"},
		{"arriving elsewhere", reference(func(r *bench.TarResult) { r.CompletionCPUs = nil }), ""},
		{"other cache", reference(func(r *bench.TarResult) { r.Cache = "warm" }), ""},
		{"other CPUs", reference(func(r *bench.TarResult) { r.CPUs = []int{0} }), ""},
		{"simulated", reference(func(r *bench.TarResult) { r.Simulated = true }), "mount without decryption, inline (simulated)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			groups := groupTar([]bench.TarResult{tt.cell, group})
			if len(groups) != 1 {
				t.Fatalf("got %d groups", len(groups))
			}
			got := ""
			for _, s := range groups[0].references {
				got += s.name
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// The lower tree is in the plot of speeds unless all else would be flat beside it.
func TestOffScale(t *testing.T) {
	for _, tt := range []struct {
		name    string
		seconds float64 // of the lower tree; the mounts take 1 and 2
		want    string
	}{
		{"slower", 3, ""},
		{"twice as fast", 0.5, ""},
		{"faster", 0.25, "Too fast for the plot: lower tree, no mount, up to 4000 MB/s."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lower := timed("none", "", 1, tt.seconds)
			lower.Cipher = bench.NoMount
			g := groupTar([]bench.TarResult{lower, timed("bound", "", 1, 1), timed("unbound", "cache", 1, 2)})[0]
			if got := strings.Join(g.offScale(), " "); got != tt.want {
				t.Errorf("notes: got %q, want %q", got, tt.want)
			}
			f, ok := g.speedFigure()
			if drawn := strings.Contains(f.Description, "lower tree"); !ok || drawn != (tt.want == "") {
				t.Errorf("the plot has %q", f.Description)
			}
		})
	}
}
