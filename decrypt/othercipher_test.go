package decrypt

import (
	"bytes"
	"crypto/cipher"
	"slices"
	"testing"

	"github.com/emmansun/gmsm/sm4"
)

// TestBlockVectors checks the block ciphers that have no other use here.
func TestBlockVectors(t *testing.T) {
	newSM4 := func(key []byte) (cipher.Block, error) { return sm4.NewCipher(key) }
	newSpeck := func(key []byte) (cipher.Block, error) { return newSpeck(key), nil }
	for _, v := range []struct {
		name               string
		new                func(key []byte) (cipher.Block, error)
		key, plain, cipher string
	}{
		{
			name: "SM4, GB/T 32907-2016, appendix A.1", new: newSM4,
			key:    "0123456789abcdeffedcba9876543210",
			plain:  "0123456789abcdeffedcba9876543210",
			cipher: "681edf34d206965e86b3e94f536e4246",
		},
		{
			// The paper prints words, the left one of a pair first.
			name: "Speck128/256 of the paper, appendix C", new: newSpeck,
			key:    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
			plain:  "706f6f6e65722e20496e2074686f7365", // "pooner. In those"
			cipher: "438f189c8db4ee4e3ef5c00504010941",
		},
	} {
		t.Run(v.name, func(t *testing.T) {
			c, err := v.new(unhex(v.key))
			if err != nil {
				t.Fatal(err)
			}
			got := unhex(v.plain)
			c.Encrypt(got, got)
			if want := unhex(v.cipher); !bytes.Equal(got, want) {
				t.Errorf("Encrypt:\n got %x\nwant %x", got, want)
			}
			c.Decrypt(got, got)
			if want := unhex(v.plain); !bytes.Equal(got, want) {
				t.Errorf("Decrypt:\n got %x\nwant %x", got, want)
			}
		})
	}
}

func TestSM4Vectors(t *testing.T) {
	for _, v := range []struct{ name, algorithm, key, iv, plain, cipher string }{
		{
			// The first two blocks, before those that steal; with XTS of
			// GB/T 17964-2021 the second one would be 2c5c581bd6242fc51e08964fb4f60fdb.
			name:      "XTS of IEEE 1619, OpenSSL's evpciph_sm4.txt",
			algorithm: "xts(sm4)",
			key:       "2b7e151628aed2a6abf7158809cf4f3c000102030405060708090a0b0c0d0e0f",
			iv:        "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
			plain:     "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51",
			cipher:    "e9538251c71d7b80bbe4483fef497bd1b3db1a3e60408c575d63ff7db39f8326",
		},
		{
			name:      "CBC of one block, GB/T 17964-2021",
			algorithm: "cts(cbc(sm4))",
			key:       "2b7e151628aed2a6abf7158809cf4f3c",
			iv:        "000102030405060708090a0b0c0d0e0f",
			plain:     "6bc1bee22e409f96e93d7e117393172a",
			cipher:    "ac529af989a62fce9cddc5ffb84125ca",
		},
		{
			name:      "CBC of draft-ribose-cfrg-sm4-10, A.2.2.1, its blocks exchanged",
			algorithm: "cts(cbc(sm4))",
			key:       "0123456789abcdeffedcba9876543210",
			iv:        "000102030405060708090a0b0c0d0e0f",
			plain:     "aaaaaaaabbbbbbbbccccccccddddddddeeeeeeeeffffffffaaaaaaaabbbbbbbb",
			cipher:    "4cb7016951909226979b0d15dc6a8f6d78ebb11cc40b0a48312aaeb2040244cb",
		},
	} {
		forEachDriver(t, v.algorithm, func(t *testing.T, d Driver) {
			t.Run(v.name, func(t *testing.T) {
				checkVector(t, newTestCipher(t, d, unhex(v.key)), unhex(v.plain), unhex(v.cipher), unhex(v.iv))
			})
		})
	}
}

// XTS and CTS with other block ciphers than AES are compared with the modes as their
// standards describe them, put together from single blocks and from CBC of
// crypto/cipher.
func TestOtherCiphersAgainstComposition(t *testing.T) {
	newSM4 := func(key []byte) cipher.Block {
		b, err := sm4.NewCipher(key)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	newSpeck := func(key []byte) cipher.Block { return newSpeck(key) }
	for _, tt := range []struct {
		xts, cts string
		new      func(key []byte) cipher.Block
		keySize  int
	}{
		{"xts(sm4)", "cts(cbc(sm4))", newSM4, 16},
		{"xts(speck128)", "cts(cbc(speck128))", newSpeck, 32},
	} {
		r := testRand(7)
		forEachDriver(t, tt.xts, func(t *testing.T, d Driver) {
			key := randBytes(r, 2*tt.keySize)
			c := newTestCipher(t, d, key)
			for n := 16; n <= 1024; n += 16 {
				iv, plain, got := randBytes(r, 16), randBytes(r, n), make([]byte, n)
				c.Encrypt(got, plain, iv)
				if want := composeXTS(tt.new(key[:tt.keySize]), tt.new(key[tt.keySize:]), plain, iv); !bytes.Equal(got, want) {
					t.Errorf("%d bytes:\n got %x\nwant %x", n, got, want)
				}
			}
		})
		forEachDriver(t, tt.cts, func(t *testing.T, d Driver) {
			key := randBytes(r, tt.keySize)
			c := newTestCipher(t, d, key)
			for n := 17; n <= 300; n++ {
				iv, plain, got := randBytes(r, 16), randBytes(r, n), make([]byte, n)
				c.Encrypt(got, plain, iv)
				if want := composeCTS(tt.new(key), plain, iv); !bytes.Equal(got, want) {
					t.Errorf("%d bytes:\n got %x\nwant %x", n, got, want)
				}
			}
		})
	}
}

// composeXTS is XTS as IEEE 1619-2007, section 5.3, has it, byte by byte.
func composeXTS(data, tweak cipher.Block, plain, iv []byte) []byte {
	t := bytes.Clone(iv)
	tweak.Encrypt(t, t)
	out := bytes.Clone(plain)
	for i := 0; i < len(out); i += 16 {
		b := out[i : i+16]
		for j := range b {
			b[j] ^= t[j]
		}
		data.Encrypt(b, b)
		for j := range b {
			b[j] ^= t[j]
		}
		carry := byte(0)
		for j := range t {
			t[j], carry = t[j]<<1|carry, t[j]>>7
		}
		if carry != 0 {
			t[0] ^= 135
		}
	}
	return out
}

// composeCTS is CBC-CS3 as the addendum to NIST SP 800-38A has it: CBC of the data
// padded with zeros, its last two blocks exchanged, and cut to the data's length.
func composeCTS(b cipher.Block, plain, iv []byte) []byte {
	out := append(bytes.Clone(plain), make([]byte, -len(plain)&15)...)
	cipher.NewCBCEncrypter(b, iv).CryptBlocks(out, out)
	n := len(out)
	return slices.Concat(out[:n-32], out[n-16:], out[n-32:n-16])[:len(plain)]
}
