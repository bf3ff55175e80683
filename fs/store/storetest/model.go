package storetest

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// A model is what the contents of a file should be, with the file. Its methods
// do the same to both and compare.
type model struct {
	*tree
	f       store.FileWriter
	layout  store.Layout
	size    int64
	units   [][]byte // nil is a hole
	context []byte
}

func newModel(t *tree, f store.FileWriter) *model { return &model{tree: t, f: f} }

func (m *model) String() string {
	return fmt.Sprintf("a file of %d bytes in layout %d", m.size, m.layout)
}

func (m *model) setContext() {
	m.context = randomBytes(contextSize)
	m.f.SetContext(m.context)
}

func (m *model) writeInline(size int64) {
	m.Helper()
	was := m.String()
	ct := randomBytes(int(size+15) &^ 15)
	m.noError("WriteInline", m.f.WriteInline(bytes.Clone(ct), size))
	m.layout, m.size, m.units = store.LayoutInline, size, [][]byte{ct}
	m.check(m.f, fmt.Sprintf("WriteInline of %d bytes to %s", size, was))
}

func (m *model) writeUnits(first, n, size int64) {
	m.Helper()
	was := m.String()
	ct := randomBytes(int(n) * unitSize)
	kept := bytes.Clone(ct)
	if got, err := m.f.WriteUnits(ct, uint64(first), size); err != nil || int64(got) != n {
		m.Fatalf("WriteUnits of %d to %s gives %d and error %v", n, was, got, err)
	}
	if !bytes.Equal(ct, kept) {
		m.Errorf("WriteUnits to %s changes its argument", was)
	}
	if m.layout == store.LayoutInline {
		m.units = nil
	}
	m.layout, m.size = store.LayoutBlocks, max(size, m.size)
	for int64(len(m.units)) < first+n {
		m.units = append(m.units, nil)
	}
	for i := range n {
		m.units[first+i] = ct[i*unitSize : (i+1)*unitSize]
	}
	m.check(m.f, fmt.Sprintf("WriteUnits %d to %d, size %d, to %s", first, first+n, size, was))
}

func (m *model) truncate(size int64) {
	m.Helper()
	was := m.String()
	m.noError("Truncate", m.f.Truncate(size))
	m.layout, m.size = store.LayoutBlocks, size
	n := int(size+unitSize-1) / unitSize
	for len(m.units) < n {
		m.units = append(m.units, nil)
	}
	m.units = m.units[:n]
	if size == 0 {
		m.layout, m.context = store.LayoutEmpty, nil
	}
	m.check(m.f, fmt.Sprintf("Truncate to %d of %s", size, was))
}

func (m *model) punch(first, n int64) {
	m.Helper()
	m.noError("Punch", m.f.Punch(uint64(first), uint64(n)))
	for i := first; i < min(first+n, int64(len(m.units))); i++ {
		m.units[i] = nil
	}
	m.check(m.f, fmt.Sprintf("Punch of units %d to %d of %s", first, first+n, m))
}

// reopen opens the file again, checks it, and goes on with it.
func (m *model) reopen(n store.Node) {
	m.Helper()
	m.noError("Close", m.f.Close())
	r, err := m.w.Open(n, false)
	m.noError("Open", err)
	m.check(r, "Open for reading of "+m.String())
	m.noError("Close", r.Close())
	w, err := m.w.Open(n, true)
	m.noError("Open", err)
	m.f = w.(store.FileWriter)
	m.check(m.f, "Open for writing of "+m.String())
	if a := m.attr(n); a.Size != m.size {
		m.Errorf("Attr says size %d of %s", a.Size, m)
	}
}

// check compares a file with the model.
func (m *model) check(f store.File, after string) {
	m.Helper()
	if f.Size() != m.size || f.Layout() != m.layout {
		m.Fatalf("%s: size %d in layout %d, want %d in %d", after, f.Size(), f.Layout(), m.size, m.layout)
	}
	if a, err := f.Attr(); err != nil || a.Size != m.size {
		m.Fatalf("%s: Attr says size %d, error %v, want %d", after, a.Size, err, m.size)
	}
	if m.layout == store.LayoutEmpty {
		if f.Context() != nil {
			m.Fatalf("%s: an empty file with a context", after)
		}
	} else if !bytes.Equal(f.Context(), m.context) {
		m.Fatalf("%s: context\n got %x\nwant %x", after, f.Context(), m.context)
	}
	want := 0
	for _, u := range m.units {
		want += max(len(u), unitSize)
	}
	if m.layout == store.LayoutInline {
		want = len(m.units[0])
	}
	buf := bytes.Repeat([]byte{0xAA}, (len(m.units)+1)*unitSize)
	holes := make([]bool, len(m.units)+1)
	for i := range holes {
		holes[i] = i%2 == 0 // ReadUnits is to set and to clear them
	}
	n, err := f.ReadUnits(buf, 0, holes)
	if err != nil || n != want {
		m.Fatalf("%s: ReadUnits gives %d bytes and error %v, want %d", after, n, err, want)
	}
	for i, u := range m.units {
		switch {
		case holes[i] != (u == nil):
			m.Fatalf("%s: unit %d: hole is %v", after, i, holes[i])
		case u != nil && !bytes.Equal(buf[i*unitSize:i*unitSize+len(u)], u):
			m.Fatalf("%s: unit %d has other contents", after, i)
		}
	}
}

// checkSeek compares Seek from every interesting offset with the model. Finer
// is not asked for: a store may take what reads as zeros for data, but never
// data for a hole.
func (m *model) checkSeek(exact bool) {
	m.Helper()
	for off := int64(0); off < m.size; off += 1000 {
		data, err := m.f.Seek(off, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			data, err = m.size, nil
		}
		m.noError("SEEK_DATA", err)
		hole, err := m.f.Seek(off, unix.SEEK_HOLE)
		m.noError("SEEK_HOLE", err)
		wantData, wantHole := m.seek(off, false), m.seek(off, true)
		if data < off || data > wantData || hole < wantHole || hole > m.size ||
			exact && (data != wantData || hole != wantHole) {
			m.Errorf("Seek from %d in %s: data at %d and hole at %d, want %d and %d",
				off, m, data, hole, wantData, wantHole)
		}
	}
	for _, whence := range []int{unix.SEEK_DATA, unix.SEEK_HOLE} {
		for _, off := range []int64{-1, m.size, m.size + 1} {
			_, err := m.f.Seek(off, whence)
			m.wantError("Seek outside the file", err, unix.ENXIO)
		}
	}
}

// seek returns the first hole, or data, at or after off, the size if there is none.
func (m *model) seek(off int64, hole bool) int64 {
	for i := off / unitSize; i < int64(len(m.units)); i++ {
		if (m.units[i] == nil) == hole {
			return min(max(off, i*unitSize), m.size)
		}
	}
	return m.size
}
