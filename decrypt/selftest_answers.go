//go:build !noselftest

package decrypt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

const haveSelfTests = true

// A knownAnswer is the SHA-256 of the ciphertexts that encrypt makes of data of each
// of some lengths, one after the other.
type knownAnswer struct {
	algorithm      string
	keySize        int
	fast, thorough string
}

// knownAnswers are what the portable drivers gave when they had passed the vectors
// in testdata.
var knownAnswers = []knownAnswer{
	{"xts(aes)", 32,
		"cbf6ca3f146e7de2116675f2dec81ec2a781d3e1494a6bdf2c4e125b9fe2075f",
		"d2da73595f6ce19942a66c5f742ea8a0b7e3ce7f700b993d65240192e540070b"},
	{"xts(aes)", 64,
		"f64bc1b6a0087e9f8624822c432ae75c357e213accbec80a8d3d4de90078b213",
		"b082f0a71902426af01ecf998f0b6c21d2eec9c74540571ab0823ec18070ff42"},
	{"essiv(cbc(aes),sha256)", 16,
		"57e5ce0017572deb96bc24c550832d67d42b781b165f414453a24e502e11cdb3",
		"99af84e4f01a3a7bf507b7d32b553b3aba75dd0b948d617db92e5177847c3da2"},
	{"cts(cbc(aes))", 16,
		"4600355a23c3a8950ce3a856a217f3302256ce875cf733e82347fdbf4ecba213",
		"b3a6d106a9521e63455ae21a99f22e0d7fc9fd679965db30342a9d13b90ea7b4"},
	{"cts(cbc(aes))", 32,
		"fb45b1e4a08a80b09447a29994edadcd4a4c9795cf28a5294befb7abe11d918a",
		"2f16af513dcb40d77b1b8cf9b20cc71b91e289ff8d66cbb5c1171d3853723edd"},
	{"hctr2(aes)", 32,
		"25d2baedfce4c10d568f732ece2ad07b75a89340c2c4480844ed811f879e4d28",
		"cf5dfe990bd46a6f11ab97004500a558ee0d389dddf9d05e978863274fe19c1e"},
	{"adiantum(xchacha12,aes)", 32,
		"d329f9d4ce0c2ef9e351601282c03be689c2a3cb2a40db2b2171118ddab3f806",
		"f0048c62e49460a8f6f877e83fd528ae7b993c2e58c8f840a0b1e01718ae9be4"},
	{"xts(sm4)", 32,
		"c3ca900703fb3e15d4d6630be8b037fd3da91a3c0e82f536718f3ec99406efc1",
		"097ce3b2331a6feaed7697e909f34f72c37cbe521467a1efa23e223d532d8b3f"},
	{"cts(cbc(sm4))", 16,
		"411bfba01a8c27bd71941b8875eba58d15f22c13ee583d4569cd273839e5da8e",
		"3754e9f4855fd69bf5d48957ac280fcb962087d97230668998ae38bd8e040f3f"},
	{"xts(speck128)", 64,
		"b4596377f45ed41b5a3682a6462cfc1e30b19ec5b3002dd22a9a7ab44e8f4d73",
		"7eb4475d3b75c00ea600b2991c6db829bdd1b5c14f5703a9c9149af2c62e7b16"},
	{"cts(cbc(speck128))", 32,
		"adaded8c5861eebc05f26f332403596648ecc089841b295d5b317bed8e2d6444",
		"21be64066237732d23dd93cfbf7cdaab4e302c52a07ba11734552d50af78387a"},
}

// fastLengths are in bytes. With them the widest loops, of 32 blocks or 1024 bytes, run
// several times and not at all, and each narrower one has a turn. Algorithms of
// whole blocks leave out what is more than those.
var fastLengths = []int{16, 31, 48, 127, 255, 511, 512, 2100}

// fastUnits are sizes of data units, in bytes, that are given to drivers several at a
// time: one that is what the widest loop takes, and one with some bytes more than
// Adiantum's hash takes at once.
var fastUnits = []int{512, 1040}

var thoroughUnits = []int{16, 512, 1040, 4096}

// thoroughLengths returns all lengths up to 1056 bytes, and some that are larger.
func thoroughLengths() []int {
	var all []int
	for n := blockSize; n <= 1056; n++ {
		all = append(all, n)
	}
	return append(all, 2047, 4096, 4111, 65536, 65551)
}

func selfTest(d Driver, thorough bool) error {
	tested := false
	for _, a := range knownAnswers {
		if a.algorithm != d.Algorithm {
			continue
		}
		tested = true
		if err := a.check(d, thorough); err != nil {
			return fmt.Errorf("decrypt: %s: %w: key of %d bytes: %w", d.Name, ErrSelfTest, a.keySize, err)
		}
	}
	if !tested {
		return fmt.Errorf("decrypt: %s: %w: no known answer for %s", d.Name, ErrSelfTest, d.Algorithm)
	}
	return nil
}

// check returns an error if the driver's ciphertexts are not the answer, or it does
// not decrypt them.
func (a knownAnswer) check(d Driver, thorough bool) error {
	lengths, units, shift, want := fastLengths, fastUnits, 0, a.fast
	if thorough {
		lengths, units, shift, want = thoroughLengths(), thoroughUnits, 1, a.thorough
	}
	got, err := a.digest(d, lengths, units, shift)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("ciphertext has SHA-256 %s, not %s", got, want)
	}
	return nil
}

// digest returns the SHA-256 of the ciphertexts of some lengths, which lie shift bytes
// into their memory. Data units of some sizes it checks several at a time.
func (a knownAnswer) digest(d Driver, lengths, units []int, shift int) (string, error) {
	alg := algorithmOf(a.algorithm)
	key := make([]byte, a.keySize)
	fillPattern(key, 1)
	c, err := d.New(key)
	if err != nil {
		return "", err
	}
	longest := lengths[len(lengths)-1]
	plain, iv := make([]byte, longest), make([]byte, alg.IVSize)
	fillPattern(plain, 2)
	fillPattern(iv, 3)
	buf := make([]byte, shift+longest)[shift:]
	h := sha256.New()
	last := 0
	for _, n := range lengths {
		n -= n % alg.Multiple
		if n == last {
			continue
		}
		last = n
		if err := roundTrip(h, buf[:n], plain[:n], func(b []byte) { c.Encrypt(b, b, iv) }, func(b []byte) { c.Decrypt(b, b, iv) }); err != nil {
			return "", err
		}
	}
	for _, size := range units {
		if err := checkSeveral(c, buf[:last], plain[:last], size, alg); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// roundTrip has plain encrypted in buf, writes the ciphertext to h and has it
// decrypted again.
func roundTrip(h hash.Hash, buf, plain []byte, encrypt, decrypt func([]byte)) error {
	copy(buf, plain)
	encrypt(buf)
	h.Write(buf)
	decrypt(buf)
	if !bytes.Equal(buf, plain) {
		return fmt.Errorf("%d bytes are not the same when decrypted", len(plain))
	}
	return nil
}

// checkSeveral checks a cipher that takes several data units at once: it must give
// what it gives for one after the other. buf is as long as plain.
func checkSeveral(c Cipher, buf, plain []byte, unitSize int, alg Algorithm) error {
	several, ok := c.(UnitsCipher)
	if !ok {
		return nil
	}
	plain = plain[:len(plain)/blockSize*blockSize]
	buf = buf[:len(plain)]
	ivs := make([]byte, (len(plain)+unitSize-1)/unitSize*alg.IVSize)
	fillPattern(ivs, 4)
	want := bytes.Clone(plain)
	for i, rest := 0, want; len(rest) > 0; i++ {
		unit := rest[:min(unitSize, len(rest))]
		c.Encrypt(unit, unit, ivs[i*alg.IVSize:(i+1)*alg.IVSize])
		rest = rest[len(unit):]
	}
	copy(buf, plain)
	several.EncryptUnits(buf, buf, unitSize, ivs)
	if !bytes.Equal(buf, want) {
		return fmt.Errorf("several data units at once give another ciphertext than one by one: %d bytes each", unitSize)
	}
	several.DecryptUnits(buf, buf, unitSize, ivs)
	if !bytes.Equal(buf, plain) {
		return fmt.Errorf("several data units are not the same when decrypted at once: %d bytes each", unitSize)
	}
	return nil
}

func algorithmOf(name string) Algorithm {
	for _, a := range algorithms {
		if a.Name == name {
			return a
		}
	}
	panic("decrypt: known answer for the unknown algorithm " + name)
}

// fillPattern fills b with bytes that look random and are the same each time: the
// high bytes of a linear congruential generator.
func fillPattern(b []byte, seed uint32) {
	for i := range b {
		seed = seed*1664525 + 1013904223
		b[i] = byte(seed >> 24)
	}
}
