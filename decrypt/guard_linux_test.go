package decrypt

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A guarded is memory between two pages that cannot be accessed.
type guarded []byte

// newGuarded returns guarded memory of at least size bytes.
func newGuarded(t testing.TB, size int) guarded {
	t.Helper()
	page := os.Getpagesize()
	size = (size + page - 1) / page * page
	m, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(m) })
	for _, guard := range [][]byte{m[:page], m[page+size:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return guarded(m[page : page+size])
}

// place returns n bytes after the first inaccessible page or before the second.
func (g guarded) place(n int, atEnd bool) []byte {
	if atEnd {
		return g[len(g)-n:]
	}
	return g[:n:n]
}

// put returns a copy of b placed as by place.
func (g guarded) put(b []byte, atEnd bool) []byte {
	p := g.place(len(b), atEnd)
	copy(p, b)
	return p
}

// noFault runs f and reports an access to a guard page as an error.
func noFault(t *testing.T, name string, f func()) {
	t.Helper()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		t.Helper()
		if r := recover(); r != nil {
			t.Errorf("%s: %v", name, r)
		}
	}()
	f()
}

// The guards are where place says, or the tests below would find nothing.
func TestGuards(t *testing.T) {
	g := newGuarded(t, 1)
	faults := func(p *byte) (faulted bool) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() { faulted = recover() != nil }()
		*p = 1
		return
	}
	for _, v := range []struct {
		name string
		p    unsafe.Pointer
		want bool
	}{
		{"before the first byte", unsafe.Add(unsafe.Pointer(&g.place(16, false)[0]), -1), true},
		{"first byte", unsafe.Pointer(&g.place(16, false)[0]), false},
		{"last byte", unsafe.Pointer(&g.place(16, true)[15]), false},
		{"after the last byte", unsafe.Add(unsafe.Pointer(&g.place(16, true)[15]), 1), true},
	} {
		if got := faults((*byte)(v.p)); got != v.want {
			t.Errorf("%s: fault %v, want %v", v.name, got, v.want)
		}
	}
}

// No driver accesses memory outside of its arguments, neither before nor after
// them: every one of them in turn lies at inaccessible pages.
func TestGuardPages(t *testing.T) {
	dstMemory, srcMemory, ivMemory := newGuarded(t, 5000), newGuarded(t, 5000), newGuarded(t, 1)
	forEachKeySize(t, func(t *testing.T, d Driver, s shape, key []byte) {
		r := testRand(10)
		c := newTestCipher(t, d, key)
		generic := newTestCipher(t, mustLookupGeneric(t, d.Algorithm), key)
		lengths := s.lengths()
		for n := 16; n <= 1100; n += 16 {
			lengths = append(lengths, n)
		}
		for _, n := range lengths {
			plain, iv := randBytes(r, n), randBytes(r, s.ivSize)
			cipher := make([]byte, n)
			generic.Encrypt(cipher, plain, iv)
			for _, atEnd := range []bool{false, true} {
				for _, inPlace := range []bool{false, true} {
					dst, src := dstMemory.place(n, atEnd), srcMemory.place(n, atEnd)
					if inPlace {
						src = dst
					}
					iv := ivMemory.put(iv, atEnd)
					name := fmt.Sprintf("of %d bytes, at end %v, in place %v", n, atEnd, inPlace)
					copy(src, plain)
					noFault(t, "Encrypt "+name, func() { c.Encrypt(dst, src, iv) })
					if !bytes.Equal(dst, cipher) {
						t.Errorf("Encrypt %s: wrong result", name)
					}
					copy(src, cipher)
					noFault(t, "Decrypt "+name, func() { c.Decrypt(dst, src, iv) })
					if !bytes.Equal(dst, plain) {
						t.Errorf("Decrypt %s: wrong result", name)
					}
				}
			}
		}
	})
}

// The same for several data units in a call, with the result of the portable driver
// for each of them.
func TestUnitsGuardPages(t *testing.T) {
	const size = 20000
	dstMemory, srcMemory, ivMemory := newGuarded(t, size), newGuarded(t, size), newGuarded(t, size)
	forEachKeySize(t, func(t *testing.T, d Driver, s shape, key []byte) {
		r := testRand(11)
		units := unitsOf(newTestCipher(t, d, key), s.ivSize)
		generic := unitByUnit{newTestCipher(t, mustLookupGeneric(t, d.Algorithm), key), s.ivSize}
		for _, unitSize := range []int{16, 32, 112, 128, 144, 240, 464, 480, 496, 512, 528, 1024, 2048, 4096} {
			for _, count := range []int{1, 2, 3, 4, 5, 8, 9, 16, 17, 33} {
				for _, short := range []int{0, 16, 256, unitSize - 16} {
					n := unitSize*count - short
					if n > size || short >= unitSize {
						continue
					}
					plain, ivs := randBytes(r, n), randBytes(r, count*s.ivSize)
					cipher := make([]byte, n)
					generic.EncryptUnits(cipher, plain, unitSize, ivs)
					for _, atEnd := range []bool{false, true} {
						dst, src := dstMemory.place(n, atEnd), srcMemory.put(plain, atEnd)
						placed := ivMemory.put(ivs, atEnd)
						name := fmt.Sprintf("of %d bytes in units of %d, at end %v", n, unitSize, atEnd)
						noFault(t, "EncryptUnits "+name, func() { units.EncryptUnits(dst, src, unitSize, placed) })
						if !bytes.Equal(dst, cipher) {
							t.Errorf("EncryptUnits %s: wrong result", name)
						}
						noFault(t, "DecryptUnits "+name, func() { units.DecryptUnits(dst, dst, unitSize, placed) })
						if !bytes.Equal(dst, plain) {
							t.Errorf("DecryptUnits %s: wrong result", name)
						}
						if !bytes.Equal(src, plain) || !bytes.Equal(placed, ivs) {
							t.Errorf("EncryptUnits %s changed src or the IVs", name)
						}
					}
				}
			}
		}
	})
}
