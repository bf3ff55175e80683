package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"encfs/fs"
	"encfs/histogram"
	"encfs/workqueue"
)

// testStats are counters with percentiles that are known.
func testStats() fs.Stats {
	snapshot := func(d time.Duration) (s histogram.Snapshot) {
		var h histogram.Histogram
		h.Record(d)
		h.AddTo(&s)
		return s
	}
	return fs.Stats{
		Requests:  map[string]uint64{"READ": 3, "LOOKUP": 1},
		BytesRead: 123456, BytesWritten: 999,
		Latency:   map[string]histogram.Snapshot{"READ": snapshot(8 * time.Nanosecond), "LOOKUP": {}},
		LowerRead: snapshot(12 * time.Nanosecond), Decrypt: snapshot(15 * time.Nanosecond),
		Queue: workqueue.Stats{
			Executed: 7, Stolen: 2, Inline: 1, Wait: snapshot(9 * time.Nanosecond),
			ByCPU: []workqueue.CPUStats{{CPU: 0, Executed: 4, Inline: 1}, {CPU: 5, Executed: 3, Stolen: 2}},
		},
	}
}

func TestStatsJSON(t *testing.T) {
	r := newStatsReport(testStats(), false)
	if r.RSS < 1<<20 || r.OpenFDs < 3 {
		t.Errorf("%d bytes of memory and %d descriptors", r.RSS, r.OpenFDs)
	}
	r.RSS, r.OpenFDs = 4096, 5
	var got bytes.Buffer
	if err := r.printJSON(&got, false); err != nil {
		t.Fatal(err)
	}
	const want = `{"requests":{"LOOKUP":1,"READ":3},"bytes_read":123456,"bytes_written":999,"files_stored":0,"bytes_stored":0,` +
		`"work":{"executed":7,"stolen":2,"inline":1,"by_cpu":[{"cpu":0,"executed":4,"stolen":0,"inline":1},{"cpu":5,"executed":3,"stolen":2,"inline":0}]},` +
		`"latency_us":{"decrypt":{"p50":0.015,"p95":0.015,"p99":0.015,"timed":1},"lower_read":{"p50":0.012,"p95":0.012,"p99":0.012,"timed":1},` +
		`"queue_wait":{"p50":0.009,"p95":0.009,"p99":0.009,"timed":1},"read":{"p50":0.008,"p95":0.008,"p99":0.008,"timed":1}},` +
		`"rss_bytes":4096,"open_fds":5}` + "\n"
	if got.String() != want {
		t.Errorf("JSON:\n got %s\nwant %s", got.String(), want)
	}
}

// A mount that has done nothing has empty objects and lists, not null.
func TestStatsJSONOfNothing(t *testing.T) {
	r := newStatsReport(fs.Stats{Requests: map[string]uint64{}}, false)
	r.RSS, r.OpenFDs = 0, 0
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"requests":{},"bytes_read":0,"bytes_written":0,"files_stored":0,"bytes_stored":0,"work":{"executed":0,"stolen":0,"inline":0,"by_cpu":[]},"latency_us":{},"rss_bytes":0,"open_fds":0}`
	if string(got) != want {
		t.Errorf("JSON:\n got %s\nwant %s", got, want)
	}
}

func TestStatsText(t *testing.T) {
	r := newStatsReport(testStats(), false)
	r.RSS, r.OpenFDs = 4096, 5
	r.Requests["\x1b[2J"] = 1 // nothing that a server says reaches the terminal as it is
	var got bytes.Buffer
	if err := r.printText(&got); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(got.Bytes(), []byte{0x1b}) {
		t.Error("a control character is printed")
	}
	for _, want := range []string{
		`(?m)^read     123\.5 kB$`, `(?m)^written  999 B$`, `(?m)^memory   4\.1 kB, 5 open files$`,
		`(?m)^work     7 items, 1 inline, 2 stolen$`, `(?m)^  CPU 5  3 items, 0 inline, 2 stolen$`,
		`(?m)^ *READ +3 +0\.0 +0\.0 +0\.0$`, `(?m)^ *queue wait +0\.0 `,
	} {
		if !regexp.MustCompile(want).Match(got.Bytes()) {
			t.Errorf("no match for %s in\n%s", want, got.String())
		}
	}
}

// The lines are those of the text format: comments, and samples of the families
// that were announced.
func TestStatsPrometheus(t *testing.T) {
	r := newStatsReport(testStats(), false)
	var got bytes.Buffer
	if err := r.printPrometheus(&got); err != nil {
		t.Fatal(err)
	}
	help := regexp.MustCompile(`^# HELP encfs_[a-z_]+ .+\.$`)
	kind := regexp.MustCompile(`^# TYPE (encfs_[a-z_]+) (?:counter|gauge|summary)$`)
	sample := regexp.MustCompile(`^(encfs_[a-z_]+?)(?:_count)?(\{[a-z]+="[^"\\]*"(?:,[a-z]+="[^"\\]*")*\})? [0-9.e+-]+$`)
	families := map[string]int{}
	family := ""
	for line := range bytes.Lines(got.Bytes()) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if help.Match(line) {
			continue
		}
		if m := kind.FindSubmatch(line); m != nil {
			family = string(m[1])
			families[family] = 0
			continue
		}
		m := sample.FindSubmatch(line)
		if m == nil || string(m[1]) != family {
			t.Errorf("line %q in the family %s", line, family)
			continue
		}
		families[family]++
	}
	want := map[string]int{
		"encfs_requests_total": 2, "encfs_read_bytes_total": 1, "encfs_written_bytes_total": 1, "encfs_stored_files_total": 1, "encfs_stored_bytes_total": 1,
		"encfs_work_items_total": 1, "encfs_work_items_stolen_total": 1, "encfs_work_items_inline_total": 1,
		"encfs_cpu_work_items_total": 2, "encfs_latency_seconds": 16, "encfs_resident_bytes": 1, "encfs_open_fds": 1,
	}
	if !maps.Equal(families, want) {
		t.Errorf("families and their samples:\n got %v\nwant %v", families, want)
	}
	for _, line := range []string{
		`encfs_requests_total{opcode="READ"} 3`, `encfs_cpu_work_items_total{cpu="5"} 3`,
		`encfs_latency_seconds{of="decrypt",quantile="0.99"} 1.5e-08`, `encfs_latency_seconds_count{of="read"} 1`,
	} {
		if !slices.Contains(regexp.MustCompile(`\n`).Split(got.String(), -1), line) {
			t.Errorf("no line %s in\n%s", line, got.String())
		}
	}
}

func TestFormatBytes(t *testing.T) {
	for _, tt := range []struct {
		n    uint64
		want string
	}{
		{0, "0 B"}, {999, "999 B"}, {1000, "1.0 kB"}, {1499, "1.5 kB"}, {999_949, "999.9 kB"}, {999_950, "1.0 MB"},
		{5_000_000_000, "5.0 GB"}, {1<<64 - 1, "18.4 EB"},
	} {
		if got := formatBytes(tt.n); got != tt.want {
			t.Errorf("formatBytes(%d) = %q, want %q", tt.n, got, tt.want)
		}
	}
}

// What percentiles are of is told where it was asked for.
func TestStatsDistributions(t *testing.T) {
	for name, times := range newStatsReport(testStats(), true).Latency {
		if got := times.Dist.Count(); got != times.Timed {
			t.Errorf("%s: %d of %d", name, got, times.Timed)
		}
		if got := times.Dist.Quantile(0.95); got != times.P95 {
			t.Errorf("%s: the 95th percentile is %v, want %v", name, got, times.P95)
		}
	}
	for name, times := range newStatsReport(testStats(), false).Latency {
		if times.Dist != nil {
			t.Errorf("%s: %v", name, times.Dist)
		}
	}
}
