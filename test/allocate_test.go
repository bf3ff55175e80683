package test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAllocate gives fallocate ranges around the ends of data units and of the
// file, in each of its modes.
func TestAllocate(t *testing.T) {
	tr := mountedTree(t)
	const (
		keep  = unix.FALLOC_FL_KEEP_SIZE
		punch = unix.FALLOC_FL_PUNCH_HOLE | keep
		zero  = unix.FALLOC_FL_ZERO_RANGE
	)
	ranges := [][2]int{{0, 1}, {0, 4096}, {1, 4095}, {1, 4096}, {4095, 2}, {4096, 4096}, {100, 20000}, {5000, 1}, {4999, 2}, {12288, 1}, {20000, 5000}}
	for _, mode := range []uint32{0, keep, punch, zero, zero | keep} {
		for _, size := range []int{0, 1, 100, 3952, 3953, 4096, 5000, 12288, 20001} {
			for _, r := range ranges {
				what := fmt.Sprintf("mode %#x, %d bytes from %d, file of %d", mode, r[1], r[0], size)
				p := tr.plant("file", pattern(size, 1))
				err := withFile(p, func(fd int) error { return unix.Fallocate(fd, mode, int64(r[0]), int64(r[1])) })
				if errors.Is(err, unix.EOPNOTSUPP) && mode&punch != punch && mode&zero == 0 {
					t.Skip("no preallocation below")
				}
				wantErrno(t, what, err, 0)
				want := pattern(size, 1)
				if end := r[0] + r[1]; mode&keep == 0 && end > size {
					want = append(want, make([]byte, end-size)...)
				}
				if mode&^keep != 0 {
					clear(want[min(r[0], len(want)):min(r[0]+r[1], len(want))])
				}
				wantFile(t, p, want)
			}
		}
	}
	p := tr.plant("file", pattern(100, 1))
	for _, tt := range []struct {
		mode     uint32
		off, len int64
		want     syscall.Errno
	}{
		{0, 0, 0, unix.EINVAL},
		{0, -1, 10, unix.EINVAL},
		{0, 0, -1, unix.EINVAL},
		{0, 1<<63 - 1, 1, unix.EFBIG},
		{unix.FALLOC_FL_PUNCH_HOLE, 0, 10, unix.EOPNOTSUPP},
		{unix.FALLOC_FL_COLLAPSE_RANGE, 0, 4096, unix.EOPNOTSUPP},
		{unix.FALLOC_FL_INSERT_RANGE, 0, 4096, unix.EOPNOTSUPP},
		{unix.FALLOC_FL_UNSHARE_RANGE, 0, 4096, unix.EOPNOTSUPP},
	} {
		err := withFile(p, func(fd int) error { return unix.Fallocate(fd, tt.mode, tt.off, tt.len) })
		wantErrno(t, fmt.Sprintf("mode %#x, %d bytes from %d", tt.mode, tt.len, tt.off), err, tt.want)
	}
	wantFile(t, p, pattern(100, 1))
}

// TestHoles finds the holes of a file, which begin and end with data units.
func TestHoles(t *testing.T) {
	tr := mountedTree(t)
	p := tr.plant("file", nil)
	fd := openFile(t, p)
	// Data in the units 0 to 3 and 16 to 19, the rest holes.
	for _, off := range []int64{0, 16 * 4096} {
		if _, err := unix.Pwrite(fd, pattern(4*4096, 1), off); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Ftruncate(fd, 32*4096); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fsync(fd); err != nil {
		t.Fatal(err)
	}
	if hole, err := unix.Seek(fd, 0, unix.SEEK_HOLE); err == nil && hole == 32*4096 {
		t.Skip("the lower file system does not know holes")
	}
	for _, tt := range []struct {
		from   int64
		whence int
		want   int64 // -1: ENXIO
	}{
		{0, unix.SEEK_DATA, 0},
		{5000, unix.SEEK_DATA, 5000},
		{4 * 4096, unix.SEEK_DATA, 16 * 4096},
		{16*4096 - 1, unix.SEEK_DATA, 16 * 4096},
		{20*4096 - 1, unix.SEEK_DATA, 20*4096 - 1},
		{20 * 4096, unix.SEEK_DATA, -1},
		{0, unix.SEEK_HOLE, 4 * 4096},
		{4*4096 - 1, unix.SEEK_HOLE, 4 * 4096},
		{5*4096 + 7, unix.SEEK_HOLE, 5*4096 + 7},
		{16 * 4096, unix.SEEK_HOLE, 20 * 4096},
		{32*4096 - 1, unix.SEEK_HOLE, 32*4096 - 1},
		{32 * 4096, unix.SEEK_HOLE, -1},
		{32 * 4096, unix.SEEK_DATA, -1},
	} {
		got, err := unix.Seek(fd, tt.from, tt.whence)
		if tt.want < 0 {
			wantErrno(t, fmt.Sprintf("seek from %d, whence %d", tt.from, tt.whence), err, unix.ENXIO)
		} else if err != nil || got != tt.want {
			t.Errorf("seek from %d, whence %d: %d, %v, want %d", tt.from, tt.whence, got, err, tt.want)
		}
	}
}

// TestCopyFileRange copies inside the mount, also inside one file.
func TestCopyFileRange(t *testing.T) {
	tr := mountedTree(t)
	src := pattern(50000, 1)
	from := openFile(t, tr.plant("from", src))
	for _, r := range [][3]int{{0, 0, 50000}, {1, 0, 4096}, {4096, 4096, 8192}, {100, 5000, 30000}, {49999, 3, 10}, {50000, 0, 10}, {0, 70000, 100}} {
		what := fmt.Sprintf("%d bytes from %d to %d", r[2], r[0], r[1])
		want := pattern(20000, 2)
		to := openFile(t, tr.plant("to", want))
		in, out := int64(r[0]), int64(r[1])
		n := 0
		for n < r[2] {
			k, err := unix.CopyFileRange(from, &in, to, &out, r[2]-n, 0)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if k == 0 {
				break
			}
			n += k
		}
		part := src[r[0]:min(r[0]+r[2], len(src))]
		if n != len(part) {
			t.Errorf("%s: %d bytes were copied, want %d", what, n, len(part))
		}
		if end := r[1] + len(part); len(part) > 0 && end > len(want) {
			want = append(want, make([]byte, end-len(want))...)
		}
		copy(want[min(r[1], len(want)):], part)
		wantFile(t, tr.path("to"), want)
	}
	in, out := int64(0), int64(100)
	_, err := unix.CopyFileRange(from, &in, from, &out, 1000, 0)
	wantErrno(t, "ranges that overlap in one file", err, unix.EINVAL)
	in, out = 0, 40000
	if n, err := unix.CopyFileRange(from, &in, from, &out, 10000, 0); n != 10000 || err != nil {
		t.Errorf("inside a file: %d, %v", n, err)
	}
	copy(src[40000:], src[:10000])
	wantFile(t, tr.path("from"), src)
}

// TestDirect reads and writes around the cache, and with it in turn.
func TestDirect(t *testing.T) {
	tr := mountedTree(t)
	p := tr.plant("file", pattern(100000, 1))
	want := pattern(100000, 1)
	direct, err := unix.Open(p, unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(direct)
	cached := openFile(t, p)
	buf, err := unix.Mmap(-1, 0, 131072, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE) // aligned
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(buf)
	for k, r := range [][2]int{{0, 4096}, {4096, 65536}, {512, 512}, {98304, 4096}, {8192, 100}, {1, 4096}} {
		fill := pattern(r[1], byte(k+2))
		w, other := direct, cached
		if k%2 == 1 {
			w, other = cached, direct
		}
		copy(buf, fill)
		if n, err := unix.Pwrite(w, buf[:r[1]], int64(r[0])); n != r[1] {
			t.Fatalf("write of %d bytes to %d: %d, %v", r[1], r[0], n, err)
		}
		if end := r[0] + r[1]; end > len(want) {
			want = append(want, make([]byte, end-len(want))...)
		}
		copy(want[r[0]:], fill)
		n, err := preadFull(other, buf, 0)
		if err != nil {
			t.Fatal(err)
		}
		sameBytes(t, fmt.Sprintf("write %d, read the other way", k), buf[:n], want)
	}
	wantFile(t, p, want)
}

// TestAppend has processes append to one file: no record is torn or lost.
func TestAppend(t *testing.T) {
	tr := mountedTree(t)
	p := tr.plant("log", nil)
	const processes, records = 4, 100
	var group sync.WaitGroup
	for k := range processes {
		group.Go(func() {
			if out, err := helper("append", p, strconv.Itoa(k), strconv.Itoa(records)).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	group.Wait()
	data, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	next := make([]int, processes)
	for line := range strings.Lines(string(data)) {
		var k, n int
		if _, err := fmt.Sscanf(line, "%d %d ", &k, &n); err != nil || k >= processes || line != appendedLine(k, n) {
			t.Fatalf("a record is torn: %q", line)
		}
		if n != next[k] {
			t.Fatalf("process %d: record %d where %d is to come", k, n, next[k])
		}
		next[k]++
	}
	for k, n := range next {
		if n != records {
			t.Errorf("process %d: %d records, want %d", k, n, records)
		}
	}
}

// appendedLine is a line of which most cross no, and some do cross the end of a data
// unit.
func appendedLine(process, n int) string {
	return fmt.Sprintf("%d %d %s\n", process, n, strings.Repeat(string(rune('a'+process)), 60+n%50))
}

// appendHelper appends records to a file.
func appendHelper(args []string) error {
	f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	process, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	records, err := strconv.Atoi(args[2])
	for n := 0; n < records && err == nil; n++ {
		_, err = f.Write([]byte(appendedLine(process, n)))
	}
	return err
}
