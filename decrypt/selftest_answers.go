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
		"eefbba9d06c118cfffd244c20e948b2c768c3f496076243229ecf397ada4f6d8",
		"d2da73595f6ce19942a66c5f742ea8a0b7e3ce7f700b993d65240192e540070b"},
	{"xts(aes)", 64,
		"6e2c6b27332d7d196275b42b059c6af1bbf2d732f1f85281bef7759f0e3b946f",
		"b082f0a71902426af01ecf998f0b6c21d2eec9c74540571ab0823ec18070ff42"},
	{"essiv(cbc(aes),sha256)", 16,
		"7f941312afd037a98e06b78f973ee72dcdbdd72932fdbd51a5196e0035107760",
		"99af84e4f01a3a7bf507b7d32b553b3aba75dd0b948d617db92e5177847c3da2"},
	{"cts(cbc(aes))", 16,
		"0e3ea20aa7ae5fa270b714aefe7e4072766f4ed4c63e609c7cdfac388dcca47d",
		"b3a6d106a9521e63455ae21a99f22e0d7fc9fd679965db30342a9d13b90ea7b4"},
	{"cts(cbc(aes))", 32,
		"e054857681d4884b6f80d632462d6f123cc9bca819fbbf54a012577bfcbfd9bd",
		"2f16af513dcb40d77b1b8cf9b20cc71b91e289ff8d66cbb5c1171d3853723edd"},
	{"hctr2(aes)", 32,
		"25be35def08f13140a05d6e1295f2651b080c15918a5aa6613cc249e2e6af259",
		"cf5dfe990bd46a6f11ab97004500a558ee0d389dddf9d05e978863274fe19c1e"},
	{"adiantum(xchacha12,aes)", 32,
		"55d79c37a3d17108b22d2ef647b9da196ee0ee30405b9ed1eb693eecc3b80803",
		"f0048c62e49460a8f6f877e83fd528ae7b993c2e58c8f840a0b1e01718ae9be4"},
	{"xts(sm4)", 32,
		"33baf1790da7606dfe7328071b8c5a8034f81c3f7f3ceef964c314aeddee3a3a",
		"097ce3b2331a6feaed7697e909f34f72c37cbe521467a1efa23e223d532d8b3f"},
	{"cts(cbc(sm4))", 16,
		"79d9a8b845d574c0c07f0a7ceeba3ad8a1d05a78798378c6fe20010e826a27d4",
		"3754e9f4855fd69bf5d48957ac280fcb962087d97230668998ae38bd8e040f3f"},
	{"xts(speck128)", 64,
		"977c84146fccc98aefd3acef7c0f1eddb417fa78320b20a0e8566cfbff25eeaa",
		"7eb4475d3b75c00ea600b2991c6db829bdd1b5c14f5703a9c9149af2c62e7b16"},
	{"cts(cbc(speck128))", 32,
		"15304828738692c76525dad3cd41ac71ee2e9bbdbccd3ea2bbe5ba4371b8a141",
		"21be64066237732d23dd93cfbf7cdaab4e302c52a07ba11734552d50af78387a"},
}

// fastLengths are in bytes. With them the widest loops, of 32 blocks or 1024 bytes, run
// several times and not at all, and each narrower one has a turn. Algorithms of
// whole blocks leave out what is more than those.
var fastLengths = []int{16, 31, 48, 127, 255, 512, 2100}

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
	lengths, shift, want := fastLengths, 0, a.fast
	if thorough {
		lengths, shift, want = thoroughLengths(), 1, a.thorough
	}
	got, err := a.digest(d, lengths, shift)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("ciphertext has SHA-256 %s, not %s", got, want)
	}
	return nil
}

// digest returns the SHA-256 of the ciphertexts of some lengths, which lie shift bytes
// into their memory.
func (a knownAnswer) digest(d Driver, lengths []int, shift int) (string, error) {
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
	return hex.EncodeToString(h.Sum(nil)), checkSeveral(c, buf[:last], plain[:last], alg)
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
// what it gives for one after the other.
func checkSeveral(c Cipher, buf, plain []byte, alg Algorithm) error {
	several, ok := c.(UnitsCipher)
	if !ok {
		return nil
	}
	const unitSize = 512
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
		return fmt.Errorf("several data units at once give another ciphertext")
	}
	several.DecryptUnits(buf, buf, unitSize, ivs)
	if !bytes.Equal(buf, plain) {
		return fmt.Errorf("several data units are not the same when decrypted at once")
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
