package decrypt

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestNoKeyVectors(t *testing.T) {
	for _, v := range loadVectors[struct {
		Ciphertext, Hash hexBytes
		Minor            hexBytes `json:"minor_hash"`
		NoKeyName        string   `json:"nokey_name"`
	}](t, "nokey-names.json") {
		t.Run(fmt.Sprintf("%dbytes", len(v.Ciphertext)), func(t *testing.T) {
			hash, minor := binary.BigEndian.Uint32(v.Hash), binary.BigEndian.Uint32(v.Minor)
			if got := NoKeyName(hash, minor, v.Ciphertext); got != v.NoKeyName {
				t.Errorf("NoKeyName:\n got %s\nwant %s", got, v.NoKeyName)
			}
			k, err := ParseNoKeyName(v.NoKeyName)
			if err != nil {
				t.Fatal(err)
			}
			if k.Hash != hash || k.Minor != minor {
				t.Errorf("hashes: got %#x, %#x, want %#x, %#x", k.Hash, k.Minor, hash, minor)
			}
			if !k.Matches(v.Ciphertext) {
				t.Error("does not match its own ciphertext")
			}
		})
	}
}

// A no-key name matches its ciphertext and no other one, however alike.
func TestNoKeyMatches(t *testing.T) {
	r := testRand(10)
	for _, n := range []int{1, 15, 16, 17, 147, 148, 149, 150, 151, 180, 181, 182, 255, 4093} {
		ciphertext := randBytes(r, n)
		name := NoKeyName(1, 2, ciphertext)
		if len(name) > 252 {
			t.Errorf("%d bytes: the name has %d characters", n, len(name))
		}
		k, err := ParseNoKeyName(name)
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if (k.Digest != nil) != (n > 149) || len(k.Ciphertext) != min(n, 149) {
			t.Errorf("%d bytes: %d of ciphertext, %d of digest", n, len(k.Ciphertext), len(k.Digest))
		}
		if !k.Matches(ciphertext) {
			t.Errorf("%d bytes: no match", n)
		}
		if k.Matches(ciphertext[:n-1]) || k.Matches(append(bytes.Clone(ciphertext), 0)) {
			t.Errorf("%d bytes: match with another length", n)
		}
		for _, i := range []int{0, n / 2, n - 1} {
			other := bytes.Clone(ciphertext)
			other[i] ^= 1
			if k.Matches(other) {
				t.Errorf("%d bytes: match with byte %d changed", n, i)
			}
		}
		if n > 149 && k.Matches(append(bytes.Clone(ciphertext[:149]), k.Digest...)) {
			t.Errorf("%d bytes: match with the digest in place of what it is of", n)
		}
	}
}

// A digest of nothing stands in no name that NoKeyName makes, and for no file.
func TestNoKeyDigestOfNothing(t *testing.T) {
	ciphertext := make([]byte, 149)
	digest := sha256.Sum256(nil)
	b := append(append(make([]byte, 8), ciphertext...), digest[:]...)
	k, err := ParseNoKeyName(base64.RawURLEncoding.EncodeToString(b))
	if err != nil {
		t.Fatal(err)
	}
	if k.Matches(ciphertext) {
		t.Error("a second name matches a ciphertext of 149 bytes")
	}
}

func TestParseNoKeyNameErrors(t *testing.T) {
	encode := func(n int) string { return base64.RawURLEncoding.EncodeToString(make([]byte, n)) }
	for _, n := range []int{9, 10, 24, 156, 157, 189} {
		if _, err := ParseNoKeyName(encode(n)); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	ten := encode(10) // 14 characters, 4 bits to spare
	for _, v := range []struct{ what, name string }{
		{"empty", ""},
		{"a usual name", "report.txt"},
		{"no ciphertext", encode(8)},
		{"more than the prefix without a digest", encode(158)},
		{"a byte short of a digest", encode(188)},
		{"a byte too much", encode(190)},
		{"padding", ten + "=="},
		{"a digit too much", ten + "AAA"},
		{"a bit set that does not count", ten[:13] + "B"},
		{"the highest of them", ten[:13] + "I"},
		{"standard alphabet, plus", "+" + ten[1:]},
		{"standard alphabet, slash", "/" + ten[1:]},
		{"the alphabet of older kernels", "," + ten[1:]},
		{"newline inside", ten[:4] + "\n" + ten[4:]},
		{"newline at the end", ten + "\n"},
		{"carriage return", ten + "\r"},
		{"space", " " + ten},
		{"NUL", ten + "\x00"},
		{"not ASCII", "é" + ten},
		{"very long", strings.Repeat("A", 1<<16)},
	} {
		if k, err := ParseNoKeyName(v.name); !errors.Is(err, ErrNoKeyName) {
			t.Errorf("%s: got %+v, %v, want ErrNoKeyName", v.what, k, err)
		}
	}
	wantPanic(t, "empty ciphertext", func() { NoKeyName(0, 0, nil) })
}

// FuzzParseNoKeyName: what is taken has one spelling only, which can be made from
// the result.
func FuzzParseNoKeyName(f *testing.F) {
	for _, n := range []int{1, 16, 149, 150, 255} {
		f.Add(NoKeyName(1, 2, make([]byte, n)))
	}
	f.Add("AAAAAAAAAAAAAB")
	f.Add("AAAA\nAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, s string) {
		k, err := ParseNoKeyName(s)
		if err != nil {
			if !errors.Is(err, ErrNoKeyName) {
				t.Errorf("%q: %v is not an ErrNoKeyName", s, err)
			}
			return
		}
		if k.Digest == nil {
			if got := NoKeyName(k.Hash, k.Minor, k.Ciphertext); got != s {
				t.Errorf("%q is also spelled %q", s, got)
			}
			if !k.Matches(k.Ciphertext) {
				t.Errorf("%q does not match its own ciphertext", s)
			}
			return
		}
		b := binary.LittleEndian.AppendUint32(nil, k.Hash)
		b = binary.LittleEndian.AppendUint32(b, k.Minor)
		b = append(append(b, k.Ciphertext...), k.Digest...)
		if got := base64.RawURLEncoding.EncodeToString(b); got != s {
			t.Errorf("%q is also spelled %q", s, got)
		}
	})
}
