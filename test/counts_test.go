package test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a mount costs, in counts, which are the same on each machine and under each
// load. They shall not become more.

// TestRequestsPerEntry counts the requests that a tar of a tree makes.
func TestRequestsPerEntry(t *testing.T) {
	needTool(t, "tar")
	f := newForest(t, 90, 10) // about as many files in a directory as trees of sources have
	entries := 1 + 1 + 3 + f.dirs + f.dirs*f.files
	for _, tt := range []struct {
		name         string
		flags        []string
		first, again float64 // requests per entry at most, when the kernel knows nothing yet, and then
	}{
		{"with all shortcuts", nil, 1.0, 0.5},
		{"without reading ahead", []string{"--without", "store-ahead"}, 2.5, 0.5}, // 2.41 where large files are read by 128 KiB
		{"without any", []string{"--without", "no-open,store-ahead,kill-priv,read-ahead"}, 4.3, 2.3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.remount(tt.flags...)
			for _, most := range []float64{tt.first, tt.again} {
				before := f.counters().Requests
				if err := f.scan(); err != nil {
					t.Fatal(err)
				}
				n, by := 0, map[string]int{}
				for op, count := range f.counters().Requests {
					if by[op] = count - before[op]; by[op] == 0 {
						delete(by, op)
					}
					n += by[op]
				}
				per := float64(n) / float64(entries)
				t.Logf("%.2f requests", per)
				if per > most {
					t.Errorf("%.2f requests for each of %d entries, want at most %.2f: %v", per, entries, most, by)
				}
			}
		})
	}
}

// TestCallsPerRead counts what the server reads and writes for each READ: the request,
// the data units, and the reply.
func TestCallsPerRead(t *testing.T) {
	tr := mountedTree(t)
	p := tr.plant("file", pattern(32<<20, 1))
	tr.remount()
	calls := func() (reads, writes int) {
		data, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(tr.server.cmd.Process.Pid), "io"))
		if err != nil {
			t.Skip("/proc does not tell: ", err)
		}
		for line := range strings.Lines(string(data)) {
			fmt.Sscanf(line, "syscr: %d", &reads)
			fmt.Sscanf(line, "syscw: %d", &writes)
		}
		return reads, writes
	}
	os.ReadFile(tr.plant("other", pattern(10, 1)))
	tr.counters() // so that what the first costs more is over
	n := tr.counters().Requests["READ"]
	reads, writes := calls()
	data, err := os.ReadFile(p)
	if err != nil || !bytes.Equal(data, pattern(32<<20, 1)) {
		t.Fatal("other contents, or ", err)
	}
	readsThen, writesThen := calls()
	n = tr.counters().Requests["READ"] - n
	if n == 0 {
		t.Fatal("no READ")
	}
	const beside = 12 // other requests, the header, and asking for counters
	if got, most := readsThen-reads, 2*n+beside; got > most {
		t.Errorf("%d calls that read for %d READ, want at most %d", got, n, most)
	}
	if got, most := writesThen-writes, n+beside; got > most {
		t.Errorf("%d calls that write for %d READ, want at most %d", got, n, most)
	}
	if most := 32 + beside; n > most && os.Geteuid() == 0 {
		t.Errorf("%d READ for 32 MiB, want at most %d", n, most)
	}
}

// TestRequestsPerWrite: a write is one request, but for the first ones.
func TestRequestsPerWrite(t *testing.T) {
	const writes, beside = 200, 8
	for _, tt := range []struct {
		name  string
		flags []string
		most  int
	}{
		{"with all shortcuts", nil, writes + beside},
		{"without kill-priv", []string{"--without", "kill-priv"}, 2*writes + beside},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := mountedTree(t, tt.flags...)
			f, err := os.OpenFile(tr.plant("file", pattern(1<<20, 1)), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			count := func() (n int) {
				for _, k := range tr.counters().Requests {
					n += k
				}
				return n
			}
			before := count()
			for k := range writes {
				if _, err := f.WriteAt(pattern(4096, 2), int64(k%256)*4096); err != nil {
					t.Fatal(err)
				}
			}
			if n := count() - before; n > tt.most {
				t.Errorf("%d requests for %d writes, want at most %d", n, writes, tt.most)
			}
		})
	}
}
