package decrypt

import (
	"bytes"
	"math"
	"testing"

	"encfs/decrypt/internal/polyval"
)

// TestHCTR2Parts compares the parts of each driver, on their own and for all lengths,
// with those of the portable one: a fault that the two hashes and the stream around it
// would blur is found where it is.
func TestHCTR2Parts(t *testing.T) {
	forEachDriver(t, "hctr2(aes)", func(t *testing.T, d Driver) {
		r := testRand(9)
		key := randBytes(r, hctr2KeySize)
		parts := newTestCipher(t, d, key).(*hctr2).hctr2Parts
		want := newTestCipher(t, mustLookupName(t, "hctr2-generic"), key).(*hctr2).hctr2Parts
		scratch := make([]byte, blockSize)
		ones := polyval.Element{Lo: math.MaxUint64, Hi: math.MaxUint64}
		for _, h := range []polyval.Element{{}, {Lo: 1}, {Hi: 1 << 63}, ones, polyval.Load(randBytes(r, 16))} {
			parts.setHashKey(h)
			want.setHashKey(h)
			for n := 0; n <= 320; n++ {
				data, s := randBytes(r, n+1)[1:], polyval.Load(randBytes(r, 16)) // at an odd address
				if n%blockSize == 0 {
					if got, want := parts.update(s, data), want.update(s, data); got != want {
						t.Errorf("hash of %d bytes with key %x: got %x, want %x", n, h, got, want)
					}
				}
				x := loadBlock(randBytes(r, blockSize))
				if got, want := parts.updateBlock(s, x), want.updateBlock(s, x); got != want {
					t.Errorf("hash of block %x with key %x: got %x, want %x", x, h, got, want)
				}
				if got, want := parts.encryptBlock(x, scratch), want.encryptBlock(x, scratch); got != want {
					t.Errorf("encrypted block %x: got %x, want %x", x, got, want)
				}
				if got, want := parts.decryptBlock(x, scratch), want.decryptBlock(x, scratch); got != want {
					t.Errorf("decrypted block %x: got %x, want %x", x, got, want)
				}
				got, stream := make([]byte, n), make([]byte, n)
				want.xctr(stream, data, x, scratch)
				parts.xctr(got, data, x, scratch)
				if !bytes.Equal(got, stream) {
					t.Errorf("stream of %d bytes:\n got %x\nwant %x", n, got, stream)
				}
				parts.xctr(data, data, x, scratch)
				if !bytes.Equal(data, stream) {
					t.Errorf("stream of %d bytes, in place:\n got %x\nwant %x", n, data, stream)
				}
			}
		}
	})
}
