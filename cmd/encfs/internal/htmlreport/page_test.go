package htmlreport

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"encfs/cmd/encfs/internal/bench"
)

const (
	timesCaption = "Times"
	readCaption  = "READ requests: means of the parts and percentiles of the whole, in µs"
	gainCaption  = "Speed of unbound and auto queues; intervals are of 95 %"
	modelCaption = "The model against measurements"
)

func TestPage(t *testing.T) {
	p := samplePage()
	root, text := parsed(t, p)
	checkDocument(t, root, text)
	for caption, want := range map[string]int{
		timesCaption: len(p.Tar), readCaption: len(p.Tar),
		gainCaption:                          2 * 3 * 2, // ciphers, numbers of jobs, measured and simulated
		modelCaption:                         2 * 3 * 3, // ciphers, numbers of jobs, queues that are simulated
		"Speed of cipher drivers":            len(p.Cipher),
		"Operations in a second of CPU time": 2 * 3, // features, algorithms and the total
		"Changes":                            len(p.Changes.Changes),
	} {
		if got := len(root.tableOf(t, caption)); got != want {
			t.Errorf("%s: got %d rows, want %d", caption, got, want)
		}
	}
	var titles []string
	for _, f := range root.all("figcaption") {
		titles = append(titles, f.text)
	}
	perGroup := []string{
		"Speed by jobs", "Unbound against bound", "Where the time of a read goes",
		"Time of READ requests, jobs: 4", "Time of READ requests, jobs: 1", "Time of READ requests, jobs: 2",
	}
	want := slices.Concat(perGroup, perGroup, []string{
		"xts(aes), decrypting", "adiantum(xchacha12,aes), decrypting", "xts(aes), encrypting", "adiantum(xchacha12,aes), encrypting",
		"In total", "By algorithm", "The largest changes",
	})
	if !slices.Equal(titles, want) {
		t.Errorf("figures:\n got %q\nwant %q", titles, want)
	}
	var legend []string
	for _, l := range root.all("figure")[0].all("li") {
		legend = append(legend, strings.TrimSpace(l.text))
	}
	if want := []string{
		"bound", "bound (simulated)", "unbound", "unbound (simulated)", "inline", "auto", "auto (simulated)",
		"lower tree, no mount", "mount without decryption",
	}; !slices.Equal(legend, want) {
		t.Errorf("legend:\n got %q\nwant %q", legend, want)
	}
	if got := root.all("time")[0].text; got != "2026-03-04 04:06:07 UTC" {
		t.Errorf("date: got %s", got)
	}
	if got := root.all("pre")[0].text; got != p.Command {
		t.Errorf("command: got %s", got)
	}
	if got := root.all("dd")[0].text; got != "Example <1>" {
		t.Errorf("machine: got %s", got)
	}
}

// What is simulated has dashes, and nothing else has.
func TestPageDashes(t *testing.T) {
	dashes := func(p Page) int {
		_, text := parsed(t, p)
		return strings.Count(text, "stroke-dasharray")
	}
	p := samplePage()
	if dashes(p) == 0 {
		t.Error("nothing has dashes")
	}
	p.Tar = slices.DeleteFunc(p.Tar, func(r bench.TarResult) bool { return r.Simulated })
	if n := dashes(p); n != 0 {
		t.Errorf("%d have dashes, and nothing is simulated", n)
	}
}

func TestPageSameBytes(t *testing.T) {
	p := samplePage()
	_, first := parsed(t, p)
	for range 5 {
		if _, again := parsed(t, p); again != first {
			t.Fatal("the same page was written in two ways")
		}
	}
}

// Every colour of the plots is defined for light and for dark pages.
func TestPageColours(t *testing.T) {
	light, dark, _ := strings.Cut(styleSheet, "prefers-color-scheme: dark")
	_, text := parsed(t, samplePage())
	used := regexp.MustCompile(`var\((--[a-z]+)\)`).FindAllStringSubmatch(text, -1)
	if len(used) == 0 {
		t.Fatal("no colours")
	}
	for _, u := range used {
		for name, sheet := range map[string]string{"light": light, "dark": dark} {
			if !strings.Contains(sheet, u[1]+":") {
				t.Errorf("%s has no colour for %s pages", u[1], name)
			}
		}
	}
}

func TestPageOfOddities(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	cell := sampleCell("unbound", 1, 2)
	cell.Cipher = "adiantum"
	edit := func(change func(r *bench.TarResult)) Page {
		r := cell
		change(&r)
		bound := r
		bound.Queue = "bound"
		return Page{Tar: []bench.TarResult{r, bound}}
	}
	long := strings.Repeat("long name ", 50)
	for _, tt := range []struct {
		name string
		page Page
	}{
		{"nothing", Page{}},
		{"empty results", Page{Tar: []bench.TarResult{{}}, Cipher: []bench.CipherResult{{}}, Stress: []bench.StressResult{{}}, Changes: &Changes{Changes: []bench.Change{{}}}}},
		{"no changes", Page{Changes: &Changes{Old: "a", New: "b"}}},
		{"one cell", Page{Tar: []bench.TarResult{cell}}},
		{"one run", edit(func(r *bench.TarResult) { r.Seconds = r.Seconds[:1] })},
		{"no runs", edit(func(r *bench.TarResult) { r.Seconds, r.MedianS = nil, nan })},
		{"times of 0", edit(func(r *bench.TarResult) { r.Seconds, r.MedianS = []float64{0, 0, 0, 0, 0}, 0 })},
		{"times not a number", edit(func(r *bench.TarResult) { r.Seconds, r.MedianS = []float64{nan, nan}, nan })},
		{"one time not a number", edit(func(r *bench.TarResult) { r.Seconds = []float64{nan, 1, 2, 3, 4} })},
		{"infinite times", edit(func(r *bench.TarResult) { r.Seconds, r.MedianS = []float64{inf, inf}, inf })},
		{"negative times", edit(func(r *bench.TarResult) { r.Seconds, r.MedianS = []float64{-1, -1}, -1 })},
		{"tiny times", edit(func(r *bench.TarResult) { r.Seconds, r.MedianS = []float64{1e-300, 1e-300}, 1e-300 })},
		{"long times", edit(func(r *bench.TarResult) { r.Seconds, r.MedianS = []float64{1e300, 1e300}, 1e300 })},
		{"no bytes", edit(func(r *bench.TarResult) { r.Bytes = 0 })},
		{"no distribution", edit(func(r *bench.TarResult) { r.Latency.Dist = nil })},
		{"distribution of nothing", edit(func(r *bench.TarResult) { r.Latency.Dist = []bench.LatencyBucket{{Us: 1}} })},
		{"distribution at 0", edit(func(r *bench.TarResult) { r.Latency.Dist = []bench.LatencyBucket{{Us: 0, Count: 5}, {Us: 1, Count: 1}} })},
		{"distribution at one place", edit(func(r *bench.TarResult) { r.Latency.Dist = []bench.LatencyBucket{{Us: 100, Count: 1}} })},
		{"odd distribution", edit(func(r *bench.TarResult) {
			r.Latency.Dist = []bench.LatencyBucket{{Us: nan, Count: 1}, {Us: -1, Count: 1}, {Us: inf, Count: 1}, {Us: 1e300, Count: 1}, {Us: 1e-300, Count: math.MaxUint64 / 8}}
		})},
		{"parts not a number", edit(func(r *bench.TarResult) {
			r.Time = bench.ReadTime{LowerRead: nan, QueueWait: inf, Decrypt: -1, Reply: 2}
		})},
		{"no parts", edit(func(r *bench.TarResult) { r.Time = bench.ReadTime{} })},
		{"references alone", edit(func(r *bench.TarResult) { r.Cipher, r.Queue = bench.NoMount, bench.NoMount })},
		{"unknown queue", edit(func(r *bench.TarResult) { r.Queue = "fair" })},
		{"no jobs", edit(func(r *bench.TarResult) { r.Jobs = 0 })},
		{"no CPUs", edit(func(r *bench.TarResult) { r.CPUs = nil })},
		{"long names", edit(func(r *bench.TarResult) {
			r.Cipher, r.Driver, r.Queue, r.Scope, r.Cleared = long, long, long, long, []string{long, long}
		})},
		{"long driver", Page{Cipher: []bench.CipherResult{{Algorithm: long, Driver: long, Direction: "decrypt", UnitBytes: 1, MBPerS: 1}}}},
		{"odd speeds", Page{Cipher: []bench.CipherResult{
			{Driver: "a", Direction: "decrypt", MBPerS: nan, Runs: []float64{nan}}, {Driver: "b", Direction: "decrypt", MBPerS: inf}, {Driver: "c", Direction: "decrypt", MBPerS: 5},
		}}},
		{"odd operations", Page{Stress: []bench.StressResult{
			{OpsPerS: 0, ByAlgorithm: map[string]float64{"b": 1, "a": nan}}, {OpsPerS: nan, ByAlgorithm: map[string]float64{"c": inf}},
		}}},
		{"odd changes", Page{Changes: &Changes{Old: long, New: "", OnlyNew: []string{long}, Changes: []bench.Change{
			{Name: long, Percent: bench.Percent(nan)}, {Percent: bench.Percent(-inf), P: nan, Decidable: true}, {Percent: 1e9}, {Percent: -1e-9},
		}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, text := parsed(t, tt.page)
			checkDocument(t, root, text)
			if strings.Contains(root.text, "NaN") || strings.Contains(root.text, "Inf") {
				t.Error("a number is shown as Go has it")
			}
			if len(tt.page.Tar) > 0 {
				if got := len(root.tableOf(t, timesCaption)); got != len(tt.page.Tar) {
					t.Errorf("got %d rows for %d cells", got, len(tt.page.Tar))
				}
			}
		})
	}
}

// Text is text wherever it is from.
func TestPageEscapes(t *testing.T) {
	const evil = `</title></style></svg><script>alert("x")</script><img src=x onerror='y'>&amp;`
	p := samplePage()
	p.Title, p.Command, p.Machine = evil, evil, []Fact{{evil, evil}}
	for i := range p.Tar {
		p.Tar[i].Driver, p.Tar[i].Scope, p.Tar[i].Cache, p.Tar[i].Cleared = evil, evil, evil, []string{evil}
		if i%3 == 0 {
			p.Tar[i].Queue = evil
		}
	}
	for i := range p.Cipher {
		p.Cipher[i].Algorithm, p.Cipher[i].Driver = evil, evil
	}
	p.Stress[0].ByAlgorithm, p.Stress[0].Order, p.Stress[0].Drivers = map[string]float64{evil: 1}, []string{evil}, map[string]string{evil: evil}
	p.Changes.Old, p.Changes.OnlyNew, p.Changes.Changes[0].Name, p.Changes.Changes[0].Unit = evil, []string{evil}, evil, evil
	root, _ := parsed(t, p)
	for _, name := range []string{"script", "img"} {
		if n := len(root.all(name)); n > 0 {
			t.Errorf("page has %d elements %s", n, name)
		}
	}
	if got := root.all("h1")[0].text; got != evil {
		t.Errorf("title: got %q", got)
	}
	for _, row := range root.tableOf(t, "Speed of cipher drivers") {
		if row[0] != evil || row[1] != evil {
			t.Errorf("row: got %q", row)
		}
	}
}

// What no page may have in it is replaced.
func TestPageReplacesControls(t *testing.T) {
	const controls = "a\x00b\x01c\x1b[31md\x7fe\u0085f\u202eg\xffh\uffff"
	p := samplePage()
	p.Title = controls
	for i := range p.Cipher {
		p.Cipher[i].Driver = controls
	}
	root, text := parsed(t, p)
	checkDocument(t, root, text)
	if want := "a\ufffdb\ufffdc\ufffd[31md\ufffde\ufffdf\ufffdg\ufffdh\ufffd"; root.all("h1")[0].text != want {
		t.Errorf("got %q, want %q", root.all("h1")[0].text, want)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }); i >= 0 {
		t.Errorf("page has %q", text[i])
	}
}

// A failingWriter fails after some bytes.
type failingWriter struct{ room int }

func (w *failingWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.room)
	w.room -= n
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func TestPageWriteErrors(t *testing.T) {
	var b bytes.Buffer
	p := Page{Title: "x", Date: time.Unix(0, 0)}
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	for _, room := range []int{0, 1, b.Len() - 1} {
		if err := Write(&failingWriter{room}, p); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("room for %d bytes: got %v, want ENOSPC", room, err)
		}
	}
	if err := Write(&failingWriter{b.Len()}, p); err != nil {
		t.Error(err)
	}
}
