package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"encfs/cmd/encfs/internal/bench"
	"encfs/fs"
	"encfs/histogram"
)

// A statsReport is what a mount tells about itself, in the form of its JSON.
type statsReport struct {
	Requests     map[string]uint64       `json:"requests"` // by opcode
	BytesRead    uint64                  `json:"bytes_read"`
	BytesWritten uint64                  `json:"bytes_written"`
	FilesStored  uint64                  `json:"files_stored"` // read ahead
	BytesStored  uint64                  `json:"bytes_stored"`
	Work         workReport              `json:"work"`
	Latency      map[string]latencyTimes `json:"latency_us"`
	RSS          uint64                  `json:"rss_bytes"`
	OpenFDs      int                     `json:"open_fds"`
}

type workReport struct {
	Executed uint64          `json:"executed"`
	Stolen   uint64          `json:"stolen"`
	Inline   uint64          `json:"inline"`
	ByCPU    []cpuWorkReport `json:"by_cpu"`
}

type cpuWorkReport struct {
	CPU      int    `json:"cpu"`
	Executed uint64 `json:"executed"`
	Stolen   uint64 `json:"stolen"`
	Inline   uint64 `json:"inline"`
}

// latencyTimes are percentiles in microseconds.
type latencyTimes struct {
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Timed uint64  `json:"timed"` // how many they are of

	// Dist is what they are of, where that was asked for.
	Dist bench.Distribution `json:"distribution,omitempty"`
}

// Names in latency_us beside those of opcodes, which are in lower case too.
const (
	latencyQueueWait = "queue_wait"
	latencyLowerRead = "lower_read"
	latencyDecrypt   = "decrypt"
)

// newStatsReport reports on a volume and on this process, its server.
func newStatsReport(s fs.Stats, distributions bool) statsReport {
	r := statsReport{
		Requests: s.Requests, BytesRead: s.BytesRead, BytesWritten: s.BytesWritten,
		FilesStored: s.FilesStored, BytesStored: s.BytesStored,
		Work: workReport{
			Executed: s.Queue.Executed, Stolen: s.Queue.Stolen, Inline: s.Queue.Inline,
			ByCPU: []cpuWorkReport{},
		},
		Latency: map[string]latencyTimes{},
		RSS:     residentBytes(), OpenFDs: openFDs(),
	}
	for _, c := range s.Queue.ByCPU {
		r.Work.ByCPU = append(r.Work.ByCPU, cpuWorkReport(c))
	}
	add := func(name string, h histogram.Snapshot) {
		if h.Count() > 0 {
			us := func(q float64) float64 { return float64(h.Quantile(q).Nanoseconds()) / 1000 }
			times := latencyTimes{P50: us(0.5), P95: us(0.95), P99: us(0.99), Timed: h.Count()}
			if distributions {
				for d, n := range h.All() {
					times.Dist = append(times.Dist, bench.LatencyBucket{Us: float64(d.Nanoseconds()) / 1000, Count: n})
				}
			}
			r.Latency[name] = times
		}
	}
	for op, h := range s.Latency {
		add(strings.ToLower(op), h)
	}
	add(latencyQueueWait, s.Queue.Wait)
	add(latencyLowerRead, s.LowerRead)
	add(latencyDecrypt, s.Decrypt)
	return r
}

// residentBytes returns the memory that the process has, 0 if /proc does not tell.
func residentBytes() uint64 {
	statm, _ := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(fields[1], 10, 64)
	return pages * uint64(os.Getpagesize())
}

// openFDs returns how many descriptors the process has open, 0 if /proc does not
// tell.
func openFDs() int {
	fds, _ := os.ReadDir("/proc/self/fd")
	return max(0, len(fds)-1) // without that of the directory itself
}

// printText prints the report for people.
func (r *statsReport) printText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "read     %s\nwritten  %s\nahead    %s, %d files\nmemory   %s, %d open files\n",
		formatBytes(r.BytesRead), formatBytes(r.BytesWritten), formatBytes(r.BytesStored), r.FilesStored, formatBytes(r.RSS), r.OpenFDs)
	fmt.Fprintf(&b, "work     %d items, %d inline, %d stolen\n", r.Work.Executed, r.Work.Inline, r.Work.Stolen)
	for _, c := range r.Work.ByCPU {
		fmt.Fprintf(&b, "  CPU %d  %d items, %d inline, %d stolen\n", c.CPU, c.Executed, c.Inline, c.Stolen)
	}
	b.WriteByte('\n')
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "request\tcount\tp50 µs\tp95 µs\tp99 µs\t\n")
	row := func(name, count string, l latencyTimes) {
		fmt.Fprintf(t, "%s\t%s\t%.1f\t%.1f\t%.1f\t\n", printable(name), count, l.P50, l.P95, l.P99)
	}
	for _, op := range slices.Sorted(maps.Keys(r.Requests)) {
		row(op, fmt.Sprint(r.Requests[op]), r.Latency[strings.ToLower(op)])
	}
	for _, name := range []string{latencyLowerRead, latencyQueueWait, latencyDecrypt} {
		if l, ok := r.Latency[name]; ok {
			row(strings.ReplaceAll(name, "_", " "), "", l)
		}
	}
	t.Flush()
	_, err := w.Write(b.Bytes())
	return err
}

// formatBytes writes a number of bytes with a unit of 1000s.
func formatBytes(n uint64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	const units = "kMGTPE"
	v := float64(n) / 1000
	i := 0
	for ; v >= 999.95 && i < len(units)-1; i++ {
		v /= 1000
	}
	return fmt.Sprintf("%.1f %cB", v, units[i])
}

// printPrometheus prints the report in the text format of Prometheus, version
// 0.0.4.
func (r *statsReport) printPrometheus(w io.Writer) error {
	var b bytes.Buffer
	family := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	one := func(name, kind, help string, value uint64) {
		family(name, kind, help)
		fmt.Fprintf(&b, "%s %d\n", name, value)
	}
	family("encfs_requests_total", "counter", "Requests of the kernel by opcode.")
	for _, op := range slices.Sorted(maps.Keys(r.Requests)) {
		fmt.Fprintf(&b, "encfs_requests_total{opcode=%q} %d\n", op, r.Requests[op])
	}
	one("encfs_read_bytes_total", "counter", "Plain bytes that were read.", r.BytesRead)
	one("encfs_written_bytes_total", "counter", "Plain bytes that were written.", r.BytesWritten)
	one("encfs_stored_files_total", "counter", "Files that were read ahead into the kernel's cache.", r.FilesStored)
	one("encfs_stored_bytes_total", "counter", "Plain bytes of them.", r.BytesStored)
	one("encfs_work_items_total", "counter", "Work items that were started.", r.Work.Executed)
	one("encfs_work_items_stolen_total", "counter", "Work items run outside their affinity scope.", r.Work.Stolen)
	one("encfs_work_items_inline_total", "counter", "Work items run by the request itself.", r.Work.Inline)
	family("encfs_cpu_work_items_total", "counter", "Work items that were started, by CPU.")
	for _, c := range r.Work.ByCPU {
		fmt.Fprintf(&b, "encfs_cpu_work_items_total{cpu=\"%d\"} %d\n", c.CPU, c.Executed)
	}
	family("encfs_latency_seconds", "summary", "How long requests and parts of a read take.")
	for _, name := range slices.Sorted(maps.Keys(r.Latency)) {
		l := r.Latency[name]
		for _, q := range []struct {
			quantile string
			us       float64
		}{{"0.5", l.P50}, {"0.95", l.P95}, {"0.99", l.P99}} {
			fmt.Fprintf(&b, "encfs_latency_seconds{of=%q,quantile=%q} %g\n", name, q.quantile, q.us*time.Microsecond.Seconds())
		}
		fmt.Fprintf(&b, "encfs_latency_seconds_count{of=%q} %d\n", name, l.Timed)
	}
	one("encfs_resident_bytes", "gauge", "Memory of the server.", r.RSS)
	one("encfs_open_fds", "gauge", "Open descriptors of the server.", uint64(r.OpenFDs))
	_, err := w.Write(b.Bytes())
	return err
}
