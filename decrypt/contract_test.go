package decrypt

import (
	"bytes"
	"crypto/aes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	xcryptoxts "golang.org/x/crypto/xts"
)

// A shape is what the contract of Cipher leaves to the algorithm.
type shape struct {
	keySizes []int
	ivSize   int
	multiple int // of which data lengths are multiples
}

var shapes = map[string]shape{
	"xts(aes)":                {[]int{32, 64}, 16, 16},
	"essiv(cbc(aes),sha256)":  {[]int{16}, 16, 16},
	"cts(cbc(aes))":           {[]int{16, 32}, 16, 1},
	"hctr2(aes)":              {[]int{32}, 32, 1},
	"adiantum(xchacha12,aes)": {[]int{32}, 32, 1},
	"xts(sm4)":                {[]int{32}, 16, 16},
	"cts(cbc(sm4))":           {[]int{16}, 16, 1},
	"xts(speck128)":           {[]int{64}, 16, 16},
	"cts(cbc(speck128))":      {[]int{32}, 16, 1},
}

// lengths returns data lengths around the edges of blocks, of NH pieces and of
// data units.
func (s shape) lengths() []int {
	var all []int
	for _, edge := range []int{16, 32, 48, 64, 80, 128, 144, 256, 512, 1024, 1040, 1168, 2048, 2064, 4096} {
		for _, n := range []int{edge - 1, edge, edge + 1, edge + 15} {
			if n >= 16 && n%s.multiple == 0 {
				all = append(all, n)
			}
		}
	}
	return slices.Compact(all)
}

// testRand returns random bytes that are the same at each run.
func testRand(seed byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{seed}) }

func randBytes(r *rand.ChaCha8, n int) []byte {
	b := make([]byte, n)
	r.Read(b)
	return b
}

// forEachKeySize runs f for each driver, and each key size of its algorithm, with
// a random key.
func forEachKeySize(t *testing.T, f func(t *testing.T, d Driver, s shape, key []byte)) {
	forEachDriver(t, "", func(t *testing.T, d Driver) {
		s, ok := shapes[d.Algorithm]
		if !ok {
			t.Fatalf("no shape for %s", d.Algorithm)
		}
		for _, n := range s.keySizes {
			t.Run(fmt.Sprintf("key%d", n), func(t *testing.T) { f(t, d, s, randBytes(testRand(byte(n)), n)) })
		}
	})
}

// TestContract checks, for all lengths around edges and at odd addresses, that a
// Cipher inverts itself, writes dst alone, gives the same in place and out of
// place, and agrees with the portable driver.
func TestContract(t *testing.T) {
	const guard = 64
	forEachKeySize(t, func(t *testing.T, d Driver, s shape, key []byte) {
		r := testRand(1)
		reference := newTestCipher(t, mustLookupGeneric(t, d.Algorithm), key)
		c := newTestCipher(t, d, key)
		for _, n := range s.lengths() {
			iv := randBytes(r, s.ivSize)
			plain := randBytes(r, n)
			want := make([]byte, n)
			reference.Encrypt(want, plain, iv)

			// run applies transform between guards and returns what it wrote.
			run := func(name string, transform func(dst, src, iv []byte), in []byte, inPlace bool, shift int) []byte {
				memory := bytes.Repeat([]byte{0xA5}, shift+guard+n+guard)
				dst := memory[shift+guard : shift+guard+n : shift+guard+n]
				src, ivCopy := bytes.Clone(in), bytes.Clone(iv)
				if inPlace {
					copy(dst, in)
					src = dst
				}
				transform(dst, src, iv)
				if !inPlace && !bytes.Equal(src, in) {
					t.Errorf("%s of %d bytes changed src", name, n)
				}
				if !bytes.Equal(iv, ivCopy) {
					t.Errorf("%s of %d bytes changed the IV", name, n)
				}
				outside := slices.Concat(memory[:shift+guard], memory[shift+guard+n:])
				if len(bytes.Trim(outside, "\xA5")) != 0 {
					t.Errorf("%s of %d bytes wrote outside dst", name, n)
				}
				return dst
			}
			for _, inPlace := range []bool{false, true} {
				for _, shift := range []int{0, 1, 8} {
					if got := run("Encrypt", c.Encrypt, plain, inPlace, shift); !bytes.Equal(got, want) {
						t.Errorf("Encrypt of %d bytes (in place: %v, shift %d):\n got %x\nwant %x", n, inPlace, shift, got, want)
					}
					if got := run("Decrypt", c.Decrypt, want, inPlace, shift); !bytes.Equal(got, plain) {
						t.Errorf("Decrypt of %d bytes (in place: %v, shift %d):\n got %x\nwant %x", n, inPlace, shift, got, plain)
					}
				}
			}
		}
	})
}

// Every bit of the data and of the IV has a part in the result. CBC and XTS are
// not wide-block, so a change need not reach all of the ciphertext.
func TestEveryBitCounts(t *testing.T) {
	forEachKeySize(t, func(t *testing.T, d Driver, s shape, key []byte) {
		r := testRand(2)
		c := newTestCipher(t, d, key)
		n := 48 + 48%s.multiple
		plain, iv := randBytes(r, n), randBytes(r, s.ivSize)
		want := make([]byte, n)
		c.Encrypt(want, plain, iv)
		for _, input := range [][]byte{plain, iv} {
			for bit := range 8 * len(input) {
				input[bit/8] ^= 1 << (bit % 8)
				got := make([]byte, n)
				c.Encrypt(got, plain, iv)
				if bytes.Equal(got, want) {
					t.Errorf("bit %d of an input of %d bytes does not matter", bit, len(input))
				}
				input[bit/8] ^= 1 << (bit % 8)
			}
		}
	})
}

// One Cipher serves many goroutines at once.
func TestConcurrent(t *testing.T) {
	forEachKeySize(t, func(t *testing.T, d Driver, s shape, key []byte) {
		const goroutines, rounds = 8, 20
		r := testRand(3)
		c := newTestCipher(t, d, key)
		n := 1024 + 16
		var wg sync.WaitGroup
		for range goroutines {
			plain, iv := randBytes(r, n), randBytes(r, s.ivSize)
			want := make([]byte, n)
			c.Encrypt(want, plain, iv)
			wg.Go(func() {
				got := make([]byte, n)
				for range rounds {
					c.Encrypt(got, plain, iv)
					if !bytes.Equal(got, want) {
						t.Error("Encrypt gave another result beside other goroutines")
						return
					}
					c.Decrypt(got, got, iv)
					if !bytes.Equal(got, plain) {
						t.Error("Decrypt gave another result beside other goroutines")
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

func TestCipherAllocatesNothing(t *testing.T) {
	forEachKeySize(t, func(t *testing.T, d Driver, s shape, key []byte) {
		c := newTestCipher(t, d, key)
		iv := make([]byte, s.ivSize)
		for _, n := range s.lengths() {
			b := make([]byte, n)
			if got := testing.AllocsPerRun(10, func() { c.Encrypt(b, b, iv) }); got != 0 {
				t.Errorf("Encrypt of %d bytes: %v allocations", n, got)
			}
			if got := testing.AllocsPerRun(10, func() { c.Decrypt(b, b, iv) }); got != 0 {
				t.Errorf("Decrypt of %d bytes: %v allocations", n, got)
			}
		}
	})
}

func TestKeySizes(t *testing.T) {
	forEachDriver(t, "", func(t *testing.T, d Driver) {
		for n := range 130 {
			key := randBytes(testRand(4), n)
			c, err := d.New(key)
			if slices.Contains(shapes[d.Algorithm].keySizes, n) {
				if err != nil {
					t.Errorf("key of %d bytes: %v", n, err)
				}
			} else if !errors.Is(err, ErrKeySize) || c != nil {
				t.Errorf("key of %d bytes: got %v, %v, want ErrKeySize", n, c, err)
			}
		}
	})
}

// A Cipher does not depend on the key it came from: callers wipe it.
func TestKeyIsCopied(t *testing.T) {
	forEachKeySize(t, func(t *testing.T, d Driver, s shape, key []byte) {
		c := newTestCipher(t, d, key)
		iv := make([]byte, s.ivSize)
		want, got := make([]byte, 64), make([]byte, 64)
		c.Encrypt(want, make([]byte, 64), iv)
		clear(key)
		c.Encrypt(got, make([]byte, 64), iv)
		if !bytes.Equal(got, want) {
			t.Error("clearing the key changed the cipher")
		}
	})
}

// wantPanic checks that f panics with a message of this package.
func wantPanic(t *testing.T, name string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if s, ok := recover().(string); !ok || !strings.HasPrefix(s, "decrypt: ") {
			t.Errorf("%s: got panic %q, want one of this package", name, s)
		}
	}()
	f()
}

func TestMistakesPanic(t *testing.T) {
	forEachKeySize(t, func(t *testing.T, d Driver, s shape, key []byte) {
		c := newTestCipher(t, d, key)
		memory := make([]byte, 128)
		type mistake struct {
			name         string
			dst, src, iv []byte
		}
		iv := make([]byte, s.ivSize)
		mistakes := []mistake{
			{"no data", memory[:0], memory[:0], iv},
			{"less than a block", memory[:15], memory[:15], iv},
			{"short dst", memory[:32], memory[:48], iv},
			{"long dst", memory[:48], memory[:32], iv},
			{"overlap forwards", memory[16:48], memory[:32], iv},
			{"overlap backwards", memory[:32], memory[31:63], iv},
			{"no IV", memory[:32], memory[:32], nil},
			{"short IV", memory[:32], memory[:32], iv[1:]},
			{"long IV", memory[:32], memory[:32], append(iv, 0)},
		}
		if s.multiple > 1 {
			mistakes = append(mistakes,
				mistake{"block and a byte", memory[:17], memory[:17], iv},
				mistake{"a byte short of two blocks", memory[:31], memory[:31], iv})
		}
		for _, m := range mistakes {
			wantPanic(t, "Encrypt: "+m.name, func() { c.Encrypt(m.dst, m.src, m.iv) })
			wantPanic(t, "Decrypt: "+m.name, func() { c.Decrypt(m.dst, m.src, m.iv) })
		}
		if len(bytes.Trim(memory, "\x00")) != 0 {
			t.Error("a call that panicked wrote data")
		}
		// Neighbours that touch do not overlap.
		c.Encrypt(memory[32:64], memory[:32], iv)
		c.Decrypt(memory[:32], memory[32:64], iv)
	})
}

// XTS of golang.org/x/crypto is a second implementation, for the IVs that fit its
// 64-bit sector number.
func TestXTSAgainstXCrypto(t *testing.T) {
	forEachDriver(t, "xts(aes)", func(t *testing.T, d Driver) {
		r := testRand(5)
		for _, keySize := range []int{32, 64} {
			key := randBytes(r, keySize)
			reference, err := xcryptoxts.NewCipher(aes.NewCipher, key)
			if err != nil {
				t.Fatal(err)
			}
			c := newTestCipher(t, d, key)
			for n := 16; n <= 4096; n += 16 * (1 + n/128) {
				iv := append(randBytes(r, 8), make([]byte, 8)...)
				plain := randBytes(r, n)
				got, want := make([]byte, n), make([]byte, n)
				c.Encrypt(got, plain, iv)
				reference.Encrypt(want, plain, loadBlock(iv).lo)
				if !bytes.Equal(got, want) {
					t.Errorf("key of %d bytes, %d bytes of data:\n got %x\nwant %x", keySize, n, got, want)
				}
			}
		}
	})
}

// FuzzRoundTrip has any driver, chosen by the input, encrypt and decrypt: the
// result is the input, and in between what the portable driver has.
func FuzzRoundTrip(f *testing.F) {
	for i := range Drivers() {
		f.Add(uint8(i), uint8(0), []byte("a key"), []byte("an IV"), []byte("data of more than two blocks, with a part of one"))
	}
	f.Fuzz(func(t *testing.T, driver, keySize uint8, key, iv, data []byte) {
		runnable := runnableDrivers()
		d := runnable[int(driver)%len(runnable)]
		s := shapes[d.Algorithm]
		key = resize(key, s.keySizes[int(keySize)%len(s.keySizes)])
		iv = resize(iv, s.ivSize)
		data = data[:len(data)/s.multiple*s.multiple]
		if len(data) < 16 {
			data = resize(data, 16)
		}
		got, want := bytes.Clone(data), make([]byte, len(data))
		c := newTestCipher(t, d, key)
		c.Encrypt(got, got, iv)
		newTestCipher(t, mustLookupGeneric(t, d.Algorithm), key).Encrypt(want, data, iv)
		if !bytes.Equal(got, want) {
			t.Errorf("%s Encrypt:\n got %x\nwant %x", d.Name, got, want)
		}
		c.Decrypt(got, got, iv)
		if !bytes.Equal(got, data) {
			t.Errorf("%s Decrypt:\n got %x\nwant %x", d.Name, got, data)
		}
	})
}

func TestUnitsMistakes(t *testing.T) {
	forEachKeySize(t, func(t *testing.T, d Driver, s shape, key []byte) {
		c := unitsOf(newTestCipher(t, d, key), s.ivSize)
		memory, ivs := make([]byte, 256), make([]byte, 4*s.ivSize)
		type mistake struct {
			name     string
			dst, src []byte
			unitSize int
			ivs      []byte
		}
		mistakes := []mistake{
			{"no data", memory[:0], memory[:0], 32, nil},
			{"no data but an IV", memory[:0], memory[:0], 32, ivs[:s.ivSize]},
			{"units of no bytes", memory[:32], memory[:32], 0, ivs[:s.ivSize]},
			{"units of -32 bytes", memory[:32], memory[:32], -32, ivs[:s.ivSize]},
			{"units of 15 bytes", memory[:45], memory[:45], 15, ivs[:3*s.ivSize]},
			{"last unit of 8 bytes", memory[:40], memory[:40], 32, ivs[:2*s.ivSize]},
			{"an IV short", memory[:64], memory[:64], 32, ivs[:s.ivSize]},
			{"an IV too many", memory[:64], memory[:64], 32, ivs[:3*s.ivSize]},
			{"part of an IV", memory[:64], memory[:64], 32, ivs[:2*s.ivSize-1]},
			{"short dst", memory[:32], memory[:64], 32, ivs[:2*s.ivSize]},
			{"overlap by a unit", memory[32:96], memory[:64], 32, ivs[:2*s.ivSize]},
		}
		if _, ok := c.(unitByUnit); s.multiple > 1 && !ok {
			mistakes = append(mistakes,
				mistake{"units of 40 bytes", memory[:80], memory[:80], 40, ivs[:2*s.ivSize]},
				mistake{"last unit of 24 bytes", memory[:56], memory[:56], 32, ivs[:2*s.ivSize]})
		}
		for _, m := range mistakes {
			wantPanic(t, "EncryptUnits: "+m.name, func() { c.EncryptUnits(m.dst, m.src, m.unitSize, m.ivs) })
			wantPanic(t, "DecryptUnits: "+m.name, func() { c.DecryptUnits(m.dst, m.src, m.unitSize, m.ivs) })
		}
		if len(bytes.Trim(memory, "\x00")) != 0 {
			t.Error("a call that panicked wrote data")
		}
	})
}

func TestUnitsAllocateNothing(t *testing.T) {
	forEachKeySize(t, func(t *testing.T, d Driver, s shape, key []byte) {
		c := unitsOf(newTestCipher(t, d, key), s.ivSize)
		for _, units := range []int{1, 4} {
			data, ivs := make([]byte, (units-1)*512+16), make([]byte, units*s.ivSize)
			if got := testing.AllocsPerRun(10, func() { c.EncryptUnits(data, data, 512, ivs) }); got != 0 {
				t.Errorf("EncryptUnits of %d: %v allocations", units, got)
			}
			if got := testing.AllocsPerRun(10, func() { c.DecryptUnits(data, data, 512, ivs) }); got != 0 {
				t.Errorf("DecryptUnits of %d: %v allocations", units, got)
			}
		}
	})
}

// FuzzUnits has any driver process several data units in a call: the result is that
// of the portable driver for each of them.
func FuzzUnits(f *testing.F) {
	for i := range Drivers() {
		f.Add(uint8(i), uint8(0), uint8(1), []byte("a key"), []byte("IVs"), []byte("data of more than two units, each of which has two blocks, and one block in the last"))
	}
	f.Fuzz(func(t *testing.T, driver, keySize, unitBlocks uint8, key, ivs, data []byte) {
		runnable := runnableDrivers()
		d := runnable[int(driver)%len(runnable)]
		s := shapes[d.Algorithm]
		key = resize(key, s.keySizes[int(keySize)%len(s.keySizes)])
		data = resize(data, max(len(data)/16*16, 16))
		unitSize := 16 * (1 + int(unitBlocks))
		ivs = resize(ivs, (len(data)+unitSize-1)/unitSize*s.ivSize)
		got, want := make([]byte, len(data)), make([]byte, len(data))
		c := unitsOf(newTestCipher(t, d, key), s.ivSize)
		c.EncryptUnits(got, data, unitSize, ivs)
		unitByUnit{newTestCipher(t, mustLookupGeneric(t, d.Algorithm), key), s.ivSize}.EncryptUnits(want, data, unitSize, ivs)
		if !bytes.Equal(got, want) {
			t.Errorf("%s EncryptUnits:\n got %x\nwant %x", d.Name, got, want)
		}
		c.DecryptUnits(got, got, unitSize, ivs)
		if !bytes.Equal(got, data) {
			t.Errorf("%s DecryptUnits:\n got %x\nwant %x", d.Name, got, data)
		}
	})
}

// resize returns the first n bytes of b, with zeros after it if it is shorter.
func resize(b []byte, n int) []byte {
	r := make([]byte, n)
	copy(r, b)
	return r
}
