package bench

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"encfs/workqueue"
	"encfs/workqueue/simulate"
)

// A shape of CPUs that share a cache.
func flat(cpus int) simulate.Shape {
	return simulate.Shape{Caches: 1, CPUs: cpus, Threads: 1, Nodes: 1}
}

// modelTimes are service times with a cipher that takes d for a data unit.
func modelTimes(d time.Duration) ServiceTimes {
	t := TypicalTimes()
	t.Decrypt = map[string]time.Duration{"slow": d}
	return t
}

// A tar that reads a file does the same READ requests as through a kernel: windows that
// double up to 1 MiB, cut at the end of the file.
func TestReadAheadWindows(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pages int
		want  []int
	}{
		{"one page", 1, []int{1}},
		{"before the marker", 3, []int{3}},
		{"one window", 16, []int{16}},
		{"one more", 17, []int{16, 1}},
		{"second window", 48, []int{16, 32}},
		{"third", 49, []int{16, 32, 1}},
		{"large", 1024, []int{16, 32, 64, 128, 256, 256, 256, 16}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &tarModel{world: simulate.New(flat(1).Topology(), simulate.Costs{})}
			j := &modelTar{model: m}
			next := window{0, firstWindow, recordPages, nil}
			var got []int
			m.world.StartThread(func(self *simulate.Thread) {
				j.self = self
				for {
					w := j.readAhead(&next, tt.pages)
					if w == nil {
						break
					}
					got = append(got, w.to-w.from)
				}
			})
			m.world.Run()
			if !slices.Equal(got, tt.want) {
				t.Errorf("windows of %v pages, want %v", got, tt.want)
			}
		})
	}
}

// Where nothing else takes time, tars take what decryption takes, divided among CPUs that
// share it.
func TestModelDecryption(t *testing.T) {
	const unit = 10 * time.Microsecond
	var times ServiceTimes
	times.Machine.Slice = 20 * time.Microsecond // so that nobody waits long to ask for more
	times.Decrypt = map[string]time.Duration{"slow": unit}
	files := slices.Repeat([]TreeFile{{"large", 1 << 20}}, 64)
	const units = 64 << 20 / pageSize
	for _, tt := range []struct {
		name       string
		kind       workqueue.Kind
		cpus, jobs int
		completion []int
		parallel   int     // units that are decrypted at a time
		most       float64 // of the time that this takes
	}{
		{"one CPU, bound", workqueue.Bound, 1, 1, nil, 1, 1.1},
		{"one CPU, unbound", workqueue.Unbound, 1, 4, nil, 1, 1.1},
		{"one CPU, auto", workqueue.Auto, 1, 2, nil, 1, 1.1},
		{"all arrives on one CPU, bound", workqueue.Bound, 4, 4, []int{2}, 1, 1.1},
		{"all arrives on one CPU, unbound", workqueue.Unbound, 4, 4, []int{2}, 4, 1.1},
		{"on two CPUs, to which readers come as they are nearest, bound", workqueue.Bound, 4, 4, []int{0, 3}, 2, 1.5},
		{"a job for each CPU, inline", workqueue.Inline, 4, 4, nil, 4, 1.1},
		{"a job for each CPU, auto", workqueue.Auto, 4, 4, nil, 4, 1.1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			took, parts := times.Simulate(TarCell{
				Shape: flat(tt.cpus), Queue: workqueue.Attrs{Kind: tt.kind}, Driver: "slow", Completion: tt.completion,
				Parts: Divide(files, tt.jobs), Mounted: true,
			}, 1)
			want := units * unit / time.Duration(tt.parallel)
			if ratio := took.Seconds() / want.Seconds(); ratio < 0.99 || ratio > tt.most {
				t.Errorf("took %v, want %v", took, want)
			}
			if n := parts.Read.Count(); n != 64*5 {
				t.Errorf("%d READ requests, want 320", n)
			}
		})
	}
}

// The model takes at least what the parts of a request take, at every load, and no time
// gets lost: more CPUs are not slower, and without a cipher it is faster.
func TestModelOrder(t *testing.T) {
	times := modelTimes(5 * time.Microsecond)
	files := generatedTree(2 << 20)
	for _, kind := range []workqueue.Kind{workqueue.Bound, workqueue.Unbound, workqueue.Inline, workqueue.Auto} {
		run := func(driver string, cpus int, mounted, warm bool) time.Duration {
			took, _ := times.Simulate(TarCell{
				Shape: flat(cpus), Queue: workqueue.Attrs{Kind: kind}, Driver: driver, Parts: Divide(files, 4), Mounted: mounted, Warm: warm,
			}, 1)
			return took
		}
		order := []time.Duration{run("", 4, false, true), run("", 4, true, true), run("", 4, true, false), run("slow", 4, true, false), run("slow", 1, true, false)}
		if !slices.IsSorted(order) || order[0] <= 0 {
			t.Errorf("%v: lower tree, warm mount, mount without cipher, with one, on one CPU: %v", kind, order)
		}
	}
}

func TestModelIsDeterministic(t *testing.T) {
	times := modelTimes(5 * time.Microsecond)
	cell := TarCell{
		Shape: simulate.Shape{Caches: 4, CPUs: 4, Threads: 2, Nodes: 2}, Queue: workqueue.Attrs{Kind: workqueue.Unbound}, Driver: "slow",
		Completion: []int{3}, Parts: Divide(generatedTree(4<<20), 8), Mounted: true,
	}
	a, partsA := times.Simulate(cell, 7)
	b, partsB := times.Simulate(cell, 7)
	if a != b || !slices.Equal(partsA.Decrypt, partsB.Decrypt) {
		t.Errorf("took %v, then %v", a, b)
	}
	if c, _ := times.Simulate(cell, 8); c == a {
		t.Error("the seed changes nothing")
	}
}

// A server has as many readers as go-fuse gives it for its GOMAXPROCS.
func TestModelReaders(t *testing.T) {
	for _, tt := range []struct{ cpus, want int }{{1, 2}, {2, 4}, {7, 14}, {8, 16}, {9, 16}, {64, 16}} {
		var times ServiceTimes
		topology := flat(tt.cpus).Topology()
		m := &tarModel{times: times, topology: topology, world: simulate.New(topology, simulate.Costs{})}
		m.server.init(m, nil)
		if m.server.maxReaders != tt.want {
			t.Errorf("%d CPUs: %d readers, want %d", tt.cpus, m.server.maxReaders, tt.want)
		}
	}
}

func TestMeasuredCell(t *testing.T) {
	r := TarResult{Queue: "unbound", Scope: "numa", Cipher: "x", Driver: "slow", Jobs: 2, CPUs: []int{4, 6}, CompletionCPUs: []int{6}, Cache: "cold", Bytes: 3, Seconds: []float64{2}, MedianS: 2}
	c, err := MeasuredCell(r, []TreeFile{{"a", 1}, {"b", 2}}, flat(2))
	if err != nil {
		t.Fatal(err)
	}
	if c.Result.MeasuredInterval != nil {
		t.Errorf("an interval of one run: %v", c.Result.MeasuredInterval)
	}
	if q := c.Cell.Queue; q.Kind != workqueue.Unbound || q.Scope != workqueue.ScopeNUMA || !slices.Equal(c.Cell.Completion, []int{1}) || c.Result.Fitted || len(c.Cell.Parts) != 2 {
		t.Errorf("%+v", c)
	}
	got := SimulateCells(t.Context(), modelTimes(5), []SimulatedCell{c}, 1)[0]
	if !got.Simulated || got.MeasuredS != 2 || got.MedianS <= 0 || len(got.Seconds) != 1 {
		t.Errorf("%+v", got)
	}
	r.Seconds = []float64{3, 1, 4, 1.5, 9, 2, 6}
	if c, _ := MeasuredCell(r, nil, flat(2)); !slices.Equal(c.Result.MeasuredInterval, []float64{1, 9}) {
		t.Errorf("interval %v of %v", c.Result.MeasuredInterval, r.Seconds)
	}
	r.CompletionCPUs = []int{5}
	if _, err := MeasuredCell(r, nil, flat(2)); err == nil {
		t.Error("ciphertext may arrive on a CPU that is not used")
	}
	r.CompletionCPUs, r.Queue = nil, "lifo"
	if _, err := MeasuredCell(r, nil, flat(2)); err == nil {
		t.Error("there is a queue lifo")
	}
}

// What was begun is complete when nobody wants the rest any more.
func TestSimulateCellsGivesUp(t *testing.T) {
	cell := TarCell{
		Shape: flat(2), Queue: workqueue.Attrs{Kind: workqueue.Bound}, Driver: "slow",
		Parts: [][]TreeFile{{{"a", 1 << 20}}}, Mounted: true,
	}
	cells := slices.Repeat([]SimulatedCell{{Cell: cell}}, 10)
	ctx, cancel := context.WithCancel(t.Context())
	if got := SimulateCells(ctx, modelTimes(5), cells, 1); len(got) != len(cells) {
		t.Errorf("%d results, want %d", len(got), len(cells))
	}
	cancel()
	if got := SimulateCells(ctx, modelTimes(5), cells, 1); len(got) != 0 {
		t.Errorf("%d results of what nobody wants", len(got))
	}
}

func TestWriteReproduced(t *testing.T) {
	result := func(queue, cipher string, measured, simulated float64, interval ...float64) SimulatedResult {
		r := SimulatedResult{Topology: "1x2", MeasuredS: measured, MeasuredInterval: interval, TarResult: TarResult{Queue: queue, Cipher: cipher, Jobs: 1, CPUs: []int{0, 1}, MedianS: simulated}}
		r.Fitted = IsBaseline(r.TarResult)
		return r
	}
	var b bytes.Buffer
	if err := WriteReproduced(&b, []SimulatedResult{
		result("inline", NoCipher, 1, 1.2, 1, 2), result("bound", "x", 1, 1.099), result("inline", "x", 1, 1.101), result("auto", "x", 2, 1),
		result("bound", "y", 2, 1, 1, 3), result("inline", "y", 2, 1, 1.001, 3), result("auto", "y", 2, 3.1, 1, 3), result("unbound", "y", 1, 1.05, 1, 1.01),
	}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"+20.0 %  fitted", "+9.9 %  within 10 %", "+10.1 %          off", "-50.0 %          off",
		"bound  2.0000 s   1.0000 s     -50.0 %  within the spread", "inline  2.0000 s   1.0000 s     -50.0 %                off",
		"+55.0 %                off", "+5.0 %        within 10 %",
		"2 of 7 cells with a cipher are within 10 % of the median, and 1 more within the spread of what was measured, in which the true median is with a probability of 95 %. To the other 1,",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestWriteSimulated(t *testing.T) {
	result := func(queue string, jobs int, s float64) SimulatedResult {
		return SimulatedResult{Topology: "1x2", Claim: "1.5", TarResult: TarResult{
			Queue: queue, Cipher: "x", Driver: "d", Jobs: jobs, CPUs: []int{0, 1}, Bytes: 1e6, MedianS: s, Seconds: []float64{s}, CompletionCPUs: []int{0}, Cache: "cold",
		}}
	}
	results := []SimulatedResult{result("bound", 1, 1), result("unbound", 1, 0.5), result("auto", 1, 0.25), result("auto", 2, 0.1)}
	var b bytes.Buffer
	if err := WriteSimulated(&b, results); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 CPUs (1x2): x by d; ciphertext on CPU 0", "2.00       2.00", " - ", "Linux in 2018, measured by others: unbound/bound 1.5"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := WriteSimulatedBenchfmt(&b, results); err != nil {
		t.Fatal(err)
	}
	if want := "BenchmarkSimulate/topology=1x2/cipher=x/driver=d/completion=0/jobs=2/queue=auto/cache=cold 1 100000000 ns/op 10.00 MB/s\n"; !strings.Contains(b.String(), want) {
		t.Errorf("%q is not in\n%s", want, b.String())
	}
}

func TestModelTree(t *testing.T) {
	for _, tt := range []struct{ cpus, copies int }{{1, 1}, {16, 1}, {17, 2}, {128, 8}} {
		if got := TreeSize(ModelTree(tt.cpus)); got != int64(tt.copies)*32<<20 {
			t.Errorf("tree for %d CPUs has %d bytes, want %d copies of 32 MiB", tt.cpus, got, tt.copies)
		}
	}
}

// A table for 128 CPUs is not to be waited for.
func BenchmarkSimulate128(b *testing.B) {
	times := modelTimes(5 * time.Microsecond)
	cell := TarCell{
		Shape: simulate.Shape{Caches: 16, CPUs: 8, Threads: 2, Nodes: 2}, Queue: workqueue.Attrs{Kind: workqueue.Unbound}, Driver: "slow",
		Completion: []int{0}, Parts: Divide(ModelTree(128), 128), Mounted: true,
	}
	var reads uint64
	for b.Loop() {
		_, parts := times.Simulate(cell, 1)
		reads += parts.Read.Count()
	}
	b.ReportMetric(float64(reads)/b.Elapsed().Seconds(), "reads/s")
}
