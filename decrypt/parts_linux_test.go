package decrypt

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"
)

// enclosed returns a function that gives n bytes, at most 8192, that begin after or, if
// atEnd, end before a page that cannot be accessed. All calls give parts of the same
// memory.
func enclosed(t *testing.T) func(n int, atEnd bool) []byte {
	t.Helper()
	page := os.Getpagesize()
	size := (8192 + page - 1) / page * page
	m, err := unix.Mmap(-1, 0, page+size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(m) })
	for _, guard := range [][]byte{m[:page], m[page+size:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return func(n int, atEnd bool) []byte {
		if atEnd {
			return m[page+size-n : page+size]
		}
		return m[page : page+n]
	}
}

// TestPartsStayInside has the parts of Adiantum and HCTR2 work next to pages that
// cannot be accessed. Calls of the Cipher would not show all that they access, as the
// message is but a part of the data.
func TestPartsStayInside(t *testing.T) {
	dst, src := enclosed(t), enclosed(t)
	scratch := make([]byte, blockSize)
	check := func(t *testing.T, hash func(message []byte), stream func(dst, src []byte)) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		what := ""
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("%s: %v", what, r)
			}
		}()
		for n := 0; n <= 4200; n++ {
			for _, atEnd := range []bool{false, true} {
				what = fmt.Sprintf("hash of %d bytes, at end: %v", n, atEnd)
				hash(src(n, atEnd))
				what = fmt.Sprintf("stream of %d bytes, at end: %v", n, atEnd)
				stream(dst(n, atEnd), src(n, atEnd))
			}
		}
	}
	forEachDriver(t, "adiantum(xchacha12,aes)", func(t *testing.T, d Driver) {
		parts := partsOf(t, d)
		check(t,
			func(message []byte) { parts.hashMessage(message) },
			func(dst, src []byte) { parts.xorKeyStream(dst, src, block{1, 2}) })
	})
	forEachDriver(t, "hctr2(aes)", func(t *testing.T, d Driver) {
		c := newTestCipher(t, d, make([]byte, hctr2KeySize)).(*hctr2)
		check(t,
			func(message []byte) { c.sum(c.whole, message) },
			func(dst, src []byte) { c.xctr(dst, src, block{1, 2}, scratch) })
	})
}
