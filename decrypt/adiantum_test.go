package decrypt

import (
	"bytes"
	"math"
	"testing"

	"encfs/decrypt/internal/nh"
	"encfs/decrypt/internal/poly1305"
	"encfs/decrypt/internal/xchacha"
)

// partsOf returns the parts of a new Cipher of d.
func partsOf(t testing.TB, d Driver) adiantumParts {
	t.Helper()
	return newTestCipher(t, d, make([]byte, adiantumKeySize)).(adiantumParts)
}

// TestAdiantumParts compares the parts of each driver, on their own and for all
// lengths, with those of the portable one: a fault that the two hashes and the stream
// around it would blur is found where it is.
func TestAdiantumParts(t *testing.T) {
	forEachDriver(t, "adiantum(xchacha12,aes)", func(t *testing.T, d Driver) {
		parts, want := partsOf(t, d), new(adiantumGeneric)
		r := testRand(7)
		keys := new(adiantumKeys)
		keys.stream.SetBytes(randBytes(r, xchacha.KeySize))
		keys.tweak.SetBytes(randBytes(r, poly1305.KeySize))
		keys.message.SetBytes(randBytes(r, poly1305.KeySize))
		keys.nh.SetBytes(randBytes(r, nh.KeySize))
		parts.setKeys(keys)
		want.setKeys(keys)
		for n := 0; n <= 4*nh.PieceSize+70; n++ {
			if n > 2*nh.PieceSize+70 {
				n += 60
			}
			message := randBytes(r, n+1)[1:] // at an odd address
			if got, want := parts.hashMessage(message), want.hashMessage(message); got != want {
				t.Errorf("hash of %d bytes: got %x, want %x", n, got, want)
			}
			iv := randBytes(r, adiantumIVSize+1)[1:]
			if got, want := parts.hashTweak(iv, n), want.hashTweak(iv, n); got != want {
				t.Errorf("hash of tweak %x and length %d: got %x, want %x", iv, n, got, want)
			}
			cm := loadBlock(randBytes(r, blockSize))
			got, stream := make([]byte, n), make([]byte, n)
			want.xorKeyStream(stream, message, cm)
			parts.xorKeyStream(got, message, cm)
			if !bytes.Equal(got, stream) {
				t.Errorf("stream of %d bytes:\n got %x\nwant %x", n, got, stream)
			}
			parts.xorKeyStream(message, message, cm)
			if !bytes.Equal(message, stream) {
				t.Errorf("stream of %d bytes, in place:\n got %x\nwant %x", n, message, stream)
			}
		}
	})
}

// Sums and products of the hash at their greatest, where a carry may be lost.
func TestAdiantumHashOfOnes(t *testing.T) {
	forEachDriver(t, "adiantum(xchacha12,aes)", func(t *testing.T, d Driver) {
		parts, want := partsOf(t, d), new(adiantumGeneric)
		ones := bytes.Repeat([]byte{0xFF}, 4*nh.PieceSize+1)
		for _, word := range []uint32{0, 1, math.MaxUint32} { // sums of 2^32-1, 0 and 2^32-2
			keys := new(adiantumKeys)
			keys.tweak.SetBytes(ones[:poly1305.KeySize])
			keys.message.SetBytes(ones[:poly1305.KeySize])
			for i := range keys.nh {
				keys.nh[i] = word
			}
			parts.setKeys(keys)
			want.setKeys(keys)
			iv := ones[:adiantumIVSize]
			if got, want := parts.hashTweak(iv, 1<<60), want.hashTweak(iv, 1<<60); got != want {
				t.Errorf("hash of tweak: got %x, want %x", got, want)
			}
			for n := range ones {
				if got, want := parts.hashMessage(ones[:n]), want.hashMessage(ones[:n]); got != want {
					t.Errorf("hash of %d bytes with key words of %#x: got %x, want %x", n, word, got, want)
				}
			}
		}
	})
}

// FuzzAdiantumParts compares the parts of any driver, chosen by the input, with
// those of the portable one.
func FuzzAdiantumParts(f *testing.F) {
	f.Add(uint8(0), []byte("keys"), []byte("nonce"), []byte("a message"))
	f.Fuzz(func(t *testing.T, driver uint8, key, nonce, message []byte) {
		var drivers []Driver
		for _, d := range runnableDrivers() {
			if d.Algorithm == "adiantum(xchacha12,aes)" {
				drivers = append(drivers, d)
			}
		}
		d := drivers[int(driver)%len(drivers)]
		parts, want := partsOf(t, d), new(adiantumGeneric)
		key = resize(key, xchacha.KeySize+poly1305.KeySize+nh.KeySize)
		keys := new(adiantumKeys)
		keys.stream.SetBytes(key[:32])
		keys.message.SetBytes(key[32:48])
		keys.nh.SetBytes(key[48:])
		parts.setKeys(keys)
		want.setKeys(keys)
		if got, want := parts.hashMessage(message), want.hashMessage(message); got != want {
			t.Errorf("%s: hash: got %x, want %x", d.Name, got, want)
		}
		cm := loadBlock(resize(nonce, blockSize))
		stream := make([]byte, len(message))
		want.xorKeyStream(stream, message, cm)
		parts.xorKeyStream(message, message, cm)
		if !bytes.Equal(message, stream) {
			t.Errorf("%s: stream:\n got %x\nwant %x", d.Name, message, stream)
		}
	})
}
