package storetest

import (
	"bytes"
	"math/rand/v2"
	"sync"

	"encfs/fs/store"
)

// sizes are those around the edges of the layouts and of data units.
var sizes = []int64{0, 1, 15, 16, 17, 31, 32, 33, 3951, 3952, 3953, 4095, 4096, 4097, 8191, 8192, 8193, 12287, 12288}

// stepSizes are those of them between which testSizeSteps goes.
var stepSizes = []int64{0, 1, 15, 16, 17, 3951, 3952, 3953, 4095, 4096, 4097, 8192, 12287}

// begin gives the file of a model the first contents of the size, in a layout
// that it can have.
func (m *model) begin(size int64, inline bool) {
	m.Helper()
	if size == 0 {
		return
	}
	m.setContext()
	if inline {
		m.writeInline(size)
	} else {
		m.writeUnits(0, (size+unitSize-1)/unitSize, size)
	}
}

// testSizes writes a file of each size, in each layout, and opens it again.
func testSizes(t *tree) {
	for _, size := range sizes {
		for _, inline := range []bool{false, true} {
			n, f := t.open(t.root(), name("file"))
			if inline && size > f.InlineMax() {
				t.noError("Close", f.Close())
				t.noError("Unlink", t.w.Unlink(t.root(), name("file")))
				t.w.Release(n, 1)
				continue
			}
			m := newModel(t, f)
			m.begin(size, inline)
			m.reopen(n)
			t.noError("Sync", m.f.Sync(true))
			t.noError("Sync", m.f.Sync(false))
			t.noError("Reload", m.f.Reload())
			m.check(m.f, "Reload of "+m.String())
			t.noError("Close", m.f.Close())
			t.noError("Unlink", t.w.Unlink(t.root(), name("file")))
			t.w.Release(n, 1)
		}
	}
}

// testSizeSteps goes from each size to each other, in every way there is.
func testSizeSteps(t *tree) {
	for _, from := range stepSizes {
		for _, to := range stepSizes {
			for _, inline := range []bool{false, true} {
				for _, step := range []struct {
					name string
					f    func(m *model) bool // false if the step cannot be taken
				}{
					{"WriteInline", func(m *model) bool {
						if to == 0 || to > m.f.InlineMax() || m.layout == store.LayoutInline && to < from {
							return false
						}
						m.writeInline(to)
						return true
					}},
					{"Truncate", func(m *model) bool {
						if to > 0 && m.layout == store.LayoutInline {
							return false
						}
						m.truncate(to)
						return true
					}},
					{"rewrite", func(m *model) bool {
						if to < from || to == 0 {
							return false
						}
						m.writeUnits(0, (to+unitSize-1)/unitSize, to)
						return true
					}},
					{"last unit", func(m *model) bool {
						last := (to - 1) / unitSize
						if to < from || to == 0 || m.layout == store.LayoutInline && last > 0 {
							return false
						}
						m.writeUnits(last, 1, to)
						return true
					}},
				} {
					n, f := t.open(t.root(), name("file"))
					m := newModel(t, f)
					if !inline || from <= f.InlineMax() {
						m.begin(from, inline)
						if from == 0 && to > 0 {
							m.setContext()
						}
						if step.f(m) {
							m.reopen(n)
						}
						// What the step left behind must not come up now.
						if m.layout == store.LayoutBlocks {
							m.truncate(20000)
							m.truncate(1)
							m.truncate(30000)
							m.reopen(n)
						}
					}
					t.noError("Close", m.f.Close())
					t.noError("Unlink", t.w.Unlink(t.root(), name("file")))
					t.w.Release(n, 1)
					if t.Failed() {
						t.Fatalf("from %d to %d by %s, inline %v", from, to, step.name, inline)
					}
				}
			}
		}
	}
}

func testHoles(t *tree) {
	n, f := t.open(t.root(), name("file"))
	m := newModel(t, f)
	m.setContext()
	m.writeUnits(5, 1, 5*unitSize+100) // holes before
	m.writeUnits(2, 2, 0)              // in the midst, without growing
	m.punch(3, 1)
	m.punch(0, 100)
	m.writeUnits(0, 6, 6*unitSize)
	m.punch(4, 0)
	m.punch(6, 1)
	m.punch(1, 2)
	m.truncate(20*unitSize + 1)
	m.punch(20, 1)
	m.writeUnits(30, 2, 31*unitSize+7)
	m.reopen(n)
	m.truncate(30 * unitSize)
	m.reopen(n)
	t.noError("Close", m.f.Close())
	t.w.Release(n, 1)
}

func testSeek(t *tree) {
	n, f := t.open(t.root(), name("file"))
	m := newModel(t, f)
	m.setContext()
	m.writeInline(100)
	m.checkSeek(false)
	m.truncate(0)
	m.checkSeek(true)
	m.setContext()
	m.writeUnits(0, 1, 4000)
	m.checkSeek(false)
	m.writeUnits(10, 3, 12*unitSize+77)
	m.writeUnits(20, 1, 21*unitSize)
	m.punch(11, 1)
	m.truncate(30*unitSize + 5)
	m.checkSeek(false)
	m.punch(0, 30)
	m.checkSeek(false)
	t.noError("Close", m.f.Close())
	t.w.Release(n, 1)
}

// testContexts checks that each context stays with its file, until the file is
// empty again.
func testContexts(t *tree) {
	n, f := t.open(t.root(), name("file"))
	m := newModel(t, f)
	m.check(f, "Create")
	m.setContext()
	m.context = nil
	m.check(f, "SetContext, which stores nothing yet")
	m.reopen(n)
	m.setContext()
	m.setContext() // before the first write the last one counts
	m.writeInline(5)
	m.writeUnits(0, 2, 8000)
	m.truncate(5000)
	m.reopen(n)
	m.truncate(0)
	m.reopen(n)
	m.setContext()
	m.truncate(10000)
	m.reopen(n)
	m.truncate(0)
	m.setContext()
	m.writeUnits(3, 1, 13000)
	m.reopen(n)
	m.writeInline(10)
	m.reopen(n)
	t.noError("Close", m.f.Close())
	t.w.Release(n, 1)
}

func testAllocate(t *tree) {
	n, f := t.open(t.root(), name("file"))
	m := newModel(t, f)
	allocate := func(first, n uint64) {
		t.Helper()
		if err := m.f.Allocate(first, n); err != nil {
			t.noError("Close", m.f.Close())
			t.Skipf("the store cannot allocate: %v", err)
		}
		m.check(m.f, "Allocate in "+m.String())
	}
	allocate(0, 4)
	m.setContext()
	m.writeInline(77)
	allocate(0, 8)
	m.writeUnits(0, 1, 77)
	allocate(2, 3)
	if a := t.attr(n); a.Blocks < 4*unitSize/512 {
		t.Errorf("%d blocks after Allocate", a.Blocks)
	}
	m.truncate(4*unitSize + 1)
	m.writeUnits(3, 1, 0)
	m.reopen(n)
	allocate(0, 20)
	m.truncate(10)
	m.truncate(50000)
	m.reopen(n)
	t.noError("Close", m.f.Close())
	t.w.Release(n, 1)
}

// testRandom does random steps in files that stay small, so that the edges come
// up often. The seed is fixed: a failure can be repeated.
func testRandom(t *tree) {
	r := rand.New(rand.NewPCG(1, 2))
	near := func(n int64) int64 { return max(0, n+r.Int64N(5)-2) }
	edges := []int64{1, 16, 100, 3952, 4096, 8192, 12288, 40960}
	for file := range 20 {
		n, f := t.open(t.root(), name("file"))
		m := newModel(t, f)
		for range 100 {
			size := near(edges[r.IntN(len(edges))])
			first := r.Int64N(12)
			if m.layout == store.LayoutEmpty && size > 0 {
				m.setContext()
			}
			switch r.IntN(6) {
			case 0:
				if 0 < size && size <= f.InlineMax() && (m.layout != store.LayoutInline || size >= m.size) {
					m.writeInline(size)
				}
			case 1:
				if size == 0 || m.layout != store.LayoutInline {
					m.truncate(size)
				}
			case 2:
				if m.layout == store.LayoutBlocks {
					m.punch(first, 1+r.Int64N(3))
				}
			case 3:
				if m.layout == store.LayoutEmpty {
					m.context = nil
				}
				m.reopen(n)
			default:
				size = max(size, m.size)
				end := (size + unitSize - 1) / unitSize
				switch {
				case size == 0:
				case m.layout == store.LayoutInline:
					m.writeUnits(0, end, size)
				case size > m.size:
					first = min(first, end-1)
					m.writeUnits(first, end-first, size)
				case first < end:
					m.writeUnits(first, 1+r.Int64N(end-first), 0)
				}
			}
			if t.Failed() {
				t.Fatalf("in file %d", file)
			}
		}
		t.noError("Close", m.f.Close())
		t.noError("Unlink", t.w.Unlink(t.root(), name("file")))
		t.w.Release(n, 1)
	}
}

func testConcurrentReads(t *tree) {
	n, f := t.open(t.root(), name("file"))
	m := newModel(t, f)
	m.setContext()
	m.writeUnits(0, 64, 64*unitSize)
	m.punch(10, 5)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 0))
			buf, holes := make([]byte, 4*unitSize), make([]bool, 4)
			for range 500 {
				first := r.IntN(64)
				got, err := f.ReadUnits(buf, uint64(first), holes)
				if err != nil || got != min(4, 64-first)*unitSize {
					t.Errorf("ReadUnits: %d bytes, error %v", got, err)
					return
				}
				for i := range got / unitSize {
					u := m.units[first+i]
					if holes[i] != (u == nil) || u != nil && !bytes.Equal(u, buf[i*unitSize:(i+1)*unitSize]) {
						t.Errorf("ReadUnits: unit %d is wrong", first+i)
						return
					}
				}
				if _, err := t.w.Attr(n); err != nil {
					t.Errorf("Attr: %v", err)
				}
			}
		})
	}
	wg.Wait()
	t.noError("Close", f.Close())
	t.w.Release(n, 1)
}
