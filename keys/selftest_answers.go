//go:build !noselftest

package keys

import (
	"encoding/hex"
	"fmt"
)

func knownAnswerTests() []KnownAnswerTest {
	return []KnownAnswerTest{
		{"hkdf(hmac(sha512))", testHKDF},
		{"ecb(aes) of policy version 1", testDeriveV1},
		{"siphash-2-4", testSipHash},
	}
}

// count returns the bytes 0, 1, 2, … n-1.
func count(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// testHKDF derives the key of an inode. The answer comes from hmac of Python 3.
func testHKDF() error {
	prk, out := make([]byte, prkSize), make([]byte, 64)
	hkdfExtract(prk, count(64))
	hkdfExpand(out, prk, infoFscrypt, hkdfPerFileKey, count(16)...)
	return compare("hkdf(hmac(sha512))", out,
		"4512b215533c25be04c7f0f1a77644bf4e9953a123ad626d9f78dd538f2cb6d2"+
			"ec4309f2c8cac5780dd3cc5998fe276d84c8fbf3e33e175fe6a3cc47352c5ba3")
}

// testDeriveV1 has key and first block of FIPS 197, appendix C.1. What follows comes
// from OpenSSL.
func testDeriveV1() error {
	master := make([]byte, 64)
	for i := range master {
		master[i] = byte(i * 0x11)
	}
	out := make([]byte, 64)
	deriveV1(out, master, Nonce(count(16)))
	return compare("ecb(aes) of policy version 1", out,
		"69c4e0d86a7b0430d8cdb78070b4c55a41c73eec27e5a1f85e2fde8d5309eb3e"+
			"7027c80768ea020fc2d218ba7e4f9869e201a9349ed1eabc147675269149b5ec")
}

// testSipHash is the example of the paper's appendix A.
func testSipHash() error {
	h := sipHash24((*[16]byte)(count(16)), count(15))
	return compare("siphash-2-4", le64(h), "e545be4961ca29a1")
}

// compare returns an error if got is not want, which is in hexadecimal.
func compare(name string, got []byte, want string) error {
	if hex.EncodeToString(got) != want {
		return fmt.Errorf("keys: %s: derived data differs from the known answer", name)
	}
	return nil
}
