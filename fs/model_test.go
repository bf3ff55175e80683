package fs_test

import (
	"bytes"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"encfs/fs"
	"encfs/fs/dirstore"
)

// TestFileModel compares a file with a slice of bytes through any sequence of
// changes, of sizes and places around the edges.
func TestFileModel(t *testing.T) {
	for _, p := range testPolicies {
		t.Run(p.name, func(t *testing.T) {
			dir := newTree(t, p.contents, p.filenames)
			rapid.Check(t, func(rt *rapid.T) { checkFileModel(t, rt, dir) })
		})
	}
}

// near draws a number at or around an edge.
func near(rt *rapid.T, label string) int {
	edge := rapid.SampledFrom([]int{0, 16, 128, 3952, 4096, 2 * 4096, 3 * 4096, 5 * 4096}).Draw(rt, label)
	return max(0, edge+rapid.IntRange(-18, 18).Draw(rt, label+"+"))
}

// A fileModel is an open file of a volume and what it should contain.
type fileModel struct {
	t    *testing.T
	dir  string
	v    *fs.Volume
	done func()
	i    *fs.Inode
	want []byte
	seed byte
}

func checkFileModel(t *testing.T, rt *rapid.T, dir string) {
	m := &fileModel{t: t, dir: dir}
	m.open(rt)
	defer func() {
		m.close()
	}()
	rt.Repeat(map[string]func(*rapid.T){
		"write":    m.write,
		"truncate": m.truncate,
		"reserve":  func(rt *rapid.T) { m.allocate(rt, 0) },
		"keep":     func(rt *rapid.T) { m.allocate(rt, unix.FALLOC_FL_KEEP_SIZE) },
		"punch":    func(rt *rapid.T) { m.allocate(rt, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE) },
		"zero":     func(rt *rapid.T) { m.allocate(rt, unix.FALLOC_FL_ZERO_RANGE) },
		"zeroKeep": func(rt *rapid.T) { m.allocate(rt, unix.FALLOC_FL_ZERO_RANGE|unix.FALLOC_FL_KEEP_SIZE) },
		"read":     m.read,
		"seek":     m.seek,
		"reopen": func(rt *rapid.T) {
			m.close()
			m.open(rt)
		},
		"": m.check,
	})
}

func (m *fileModel) open(rt *rapid.T) {
	m.v, m.done = openTree(m.t, m.dir, fs.Options{}, dirstore.Options{})
	i, _, err := m.v.Lookup(m.v.Root(), "f")
	if err == nil && m.want != nil {
		m.i, err = i, m.v.Open(i, true)
	} else {
		if err == nil {
			m.v.Release(i, 1)
			if err := m.v.Unlink(m.v.Root(), "f"); err != nil {
				rt.Fatal(err)
			}
		}
		m.want = []byte{}
		m.i, _, err = m.v.Create(m.v.Root(), "f", 0o600, fs.AnyOwner)
	}
	if err != nil {
		rt.Fatal(err)
	}
}

func (m *fileModel) close() {
	m.v.CloseFile(m.i)
	m.v.Release(m.i, 1)
	m.done()
}

// resize makes the model n bytes long.
func (m *fileModel) resize(n int) {
	m.want = append(m.want[:min(n, len(m.want))], make([]byte, max(0, n-len(m.want)))...)
}

func (m *fileModel) write(rt *rapid.T) {
	off, n := near(rt, "off"), near(rt, "n")
	m.seed++
	data := pattern(n, m.seed)
	if k, err := m.v.WriteAt(m.i, data, int64(off)); k != n || err != nil {
		rt.Fatalf("WriteAt = %d, %v", k, err)
	}
	if n > 0 {
		m.resize(max(len(m.want), off+n))
		copy(m.want[off:], data)
	}
}

func (m *fileModel) truncate(rt *rapid.T) {
	size := near(rt, "size")
	if err := m.v.Truncate(m.i, int64(size)); err != nil {
		rt.Fatal(err)
	}
	m.resize(size)
}

func (m *fileModel) allocate(rt *rapid.T, mode uint32) {
	off, n := near(rt, "off"), near(rt, "n")+1
	if err := m.v.Allocate(m.i, mode, int64(off), int64(n)); err != nil {
		rt.Fatal(err)
	}
	if mode&unix.FALLOC_FL_KEEP_SIZE == 0 {
		m.resize(max(len(m.want), off+n))
	}
	if mode&^unix.FALLOC_FL_KEEP_SIZE != 0 {
		clear(m.want[min(off, len(m.want)):min(off+n, len(m.want))])
	}
}

func (m *fileModel) read(rt *rapid.T) {
	off, n := near(rt, "off"), near(rt, "n")
	got := make([]byte, n)
	k, err := m.v.ReadAt(m.i, got, int64(off))
	want := m.want[min(off, len(m.want)):min(off+n, len(m.want))]
	if err != nil || !bytes.Equal(got[:k], want) {
		rt.Fatalf("ReadAt(%d at %d) = %d, %v, want %d bytes; %s", n, off, k, err, len(want), difference(got[:k], want))
	}
}

// seek checks that what is said to be a hole is zeros. What is data may be zeros
// too.
func (m *fileModel) seek(rt *rapid.T) {
	off := near(rt, "off")
	data, err := m.v.Seek(m.i, int64(off), unix.SEEK_DATA)
	switch {
	case fs.Errno(err) == unix.ENXIO:
		data = int64(len(m.want))
	case err != nil:
		rt.Fatal(err)
	case data < int64(off) || data >= int64(len(m.want)):
		rt.Fatalf("data after %d of %d is at %d", off, len(m.want), data)
	}
	if off < len(m.want) && len(bytes.Trim(m.want[off:data], "\x00")) > 0 {
		rt.Fatalf("there is data between %d and %d", off, data)
	}
}

// check compares size and contents.
func (m *fileModel) check(rt *rapid.T) {
	var got bytes.Buffer
	if err := m.v.ReadFile(m.i, &got); err != nil {
		rt.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), m.want) {
		rt.Fatal(difference(got.Bytes(), m.want))
	}
	if a, err := m.v.Attr(m.i); err != nil || a.Size != int64(len(m.want)) {
		rt.Fatalf("Attr says %d bytes, %v, want %d", a.Size, err, len(m.want))
	}
}

func difference(got, want []byte) string {
	for k := range min(len(got), len(want)) {
		if got[k] != want[k] {
			return fmt.Sprintf("byte %d of %d is %#x, want %#x", k, len(got), got[k], want[k])
		}
	}
	return fmt.Sprintf("%d bytes, want %d", len(got), len(want))
}
