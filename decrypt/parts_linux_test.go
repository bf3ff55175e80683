package decrypt

import (
	"fmt"
	"testing"
)

// TestPartsGuardPages has the parts of Adiantum and HCTR2 work next to guard pages.
// Calls of the Cipher would not show all that they access, as the message is but a
// part of the data.
func TestPartsGuardPages(t *testing.T) {
	const longest = 4200
	dst, src := newGuarded(t, longest), newGuarded(t, longest)
	scratch := make([]byte, blockSize)
	check := func(t *testing.T, hash func(message []byte), stream func(dst, src []byte)) {
		for n := range longest {
			for _, atEnd := range []bool{false, true} {
				name := fmt.Sprintf("%d bytes, at end %v", n, atEnd)
				noFault(t, "hash of "+name, func() { hash(src.place(n, atEnd)) })
				noFault(t, "stream of "+name, func() { stream(dst.place(n, atEnd), src.place(n, atEnd)) })
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
