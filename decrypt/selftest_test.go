//go:build !noselftest

package decrypt

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestSelfTest(t *testing.T) {
	forEachDriver(t, "", func(t *testing.T, d Driver) {
		for _, thorough := range []bool{false, true} {
			if err := d.SelfTest(thorough); err != nil {
				t.Errorf("thorough %v: %v", thorough, err)
			}
		}
	})
}

func TestKnownAnswersAreComplete(t *testing.T) {
	for _, a := range Algorithms() {
		var sizes []int
		for _, k := range knownAnswers {
			if k.algorithm == a.Name {
				sizes = append(sizes, k.keySize)
			}
		}
		if !slices.Equal(sizes, a.KeySizes) {
			t.Errorf("%s: known answers for keys of %v bytes, want %v", a.Name, sizes, a.KeySizes)
		}
	}
}

// A faultyCipher is a Cipher in whose output for one length of data a bit is wrong.
type faultyCipher struct {
	Cipher
	encryptFault, decryptFault int // lengths in bytes, 0 for none
}

func (c faultyCipher) Encrypt(dst, src, iv []byte) {
	c.Cipher.Encrypt(dst, src, iv)
	if len(dst) == c.encryptFault {
		dst[len(dst)-1] ^= 0x80
	}
}

func (c faultyCipher) Decrypt(dst, src, iv []byte) {
	c.Cipher.Decrypt(dst, src, iv)
	if len(dst) == c.decryptFault {
		dst[0] ^= 1
	}
}

// A faultyUnits has a wrong bit in several units at once.
type faultyUnits struct {
	Cipher
	encryptFault, decryptFault byte
}

func (c faultyUnits) EncryptUnits(dst, src []byte, unitSize int, ivs []byte) {
	c.eachUnit(c.Encrypt, dst, src, unitSize, ivs)
	dst[0] ^= c.encryptFault
}

func (c faultyUnits) DecryptUnits(dst, src []byte, unitSize int, ivs []byte) {
	c.eachUnit(c.Decrypt, dst, src, unitSize, ivs)
	dst[0] ^= c.decryptFault
}

func (c faultyUnits) eachUnit(transform func(dst, src, iv []byte), dst, src []byte, unitSize int, ivs []byte) {
	ivSize := len(ivs) * unitSize / ((len(src) + unitSize - 1) / unitSize * unitSize)
	for len(src) > 0 {
		n := min(len(src), unitSize)
		transform(dst[:n], src[:n], ivs[:ivSize])
		dst, src, ivs = dst[n:], src[n:], ivs[ivSize:]
	}
}

// with returns d with its Cipher wrapped.
func (d Driver) with(wrap func(Cipher) Cipher) Driver {
	inner := d.New
	d.New = func(key []byte) (Cipher, error) {
		c, err := inner(key)
		if err != nil {
			return nil, err
		}
		return wrap(c), nil
	}
	return d
}

func TestSelfTestFindsFaults(t *testing.T) {
	for _, d := range genericDrivers {
		for _, tt := range []struct {
			name string
			wrap func(Cipher) Cipher
			want string // "" if there is no fault
		}{
			{"none", func(c Cipher) Cipher { return faultyCipher{c, 0, 0} }, ""},
			{"none in several units", func(c Cipher) Cipher { return faultyUnits{c, 0, 0} }, ""},
			{"encryption of one block", func(c Cipher) Cipher { return faultyCipher{c, 16, 0} }, "not the same"},
			{"decryption of one block", func(c Cipher) Cipher { return faultyCipher{c, 0, 16} }, "not the same"},
			{"encryption of a data unit", func(c Cipher) Cipher { return faultyCipher{c, 512, 0} }, "not the same"},
			{"decryption of a data unit", func(c Cipher) Cipher { return faultyCipher{c, 0, 512} }, "not the same"},
			{"encryption of several", func(c Cipher) Cipher { return faultyUnits{c, 1, 0} }, "another ciphertext"},
			{"decryption of several", func(c Cipher) Cipher { return faultyUnits{c, 0, 1} }, "not the same"},
			{"another cipher", func(c Cipher) Cipher { return inverse{c} }, "SHA-256"},
		} {
			t.Run(d.Name+"/"+tt.name, func(t *testing.T) {
				for _, thorough := range []bool{false, true} {
					err := d.with(tt.wrap).SelfTest(thorough)
					if tt.want == "" {
						if err != nil {
							t.Errorf("thorough %v: %v", thorough, err)
						}
					} else if !errors.Is(err, ErrSelfTest) || !strings.Contains(err.Error(), tt.want) {
						t.Errorf("thorough %v: got %v, want an ErrSelfTest with %q", thorough, err, tt.want)
					}
				}
			})
		}
		refuses := d
		refuses.New = func([]byte) (Cipher, error) { return nil, ErrKeySize }
		if err := refuses.SelfTest(false); !errors.Is(err, ErrSelfTest) || !errors.Is(err, ErrKeySize) {
			t.Errorf("%s that takes no key: %v", d.Name, err)
		}
	}
	unknown := Driver{"rot13", "rot13-generic", 100, 0, newXTSGeneric}
	if err := unknown.SelfTest(false); !errors.Is(err, ErrSelfTest) {
		t.Errorf("driver without known answers: %v", err)
	}
}

// An inverse encrypts by decrypting: what it does can be undone, and is wrong.
type inverse struct{ c Cipher }

func (i inverse) Encrypt(dst, src, iv []byte) { i.c.Decrypt(dst, src, iv) }
func (i inverse) Decrypt(dst, src, iv []byte) { i.c.Encrypt(dst, src, iv) }

// BenchmarkSelfTests runs the fast self-tests of all drivers that the CPU can run.
func BenchmarkSelfTests(b *testing.B) {
	for b.Loop() {
		for _, d := range runnableDrivers() {
			if err := d.SelfTest(false); err != nil {
				b.Fatal(err)
			}
		}
	}
}
