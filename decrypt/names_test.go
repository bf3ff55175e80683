package decrypt

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"encfs/keys"
)

func testNames(t testing.TB, d Driver, mode keys.Mode, padding int) *Names {
	t.Helper()
	n, err := NewNames(testFileKey(t, mode), d, padding)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPaddedSize(t *testing.T) {
	for _, v := range []struct{ padding, size, limit, want int }{
		{4, 1, 255, 16},
		{4, 16, 255, 16},
		{4, 17, 255, 20},
		{4, 20, 255, 20},
		{4, 21, 255, 24},
		{4, 252, 255, 252},
		{4, 253, 255, 255}, // the limit beats the rounding
		{4, 255, 255, 255},
		{8, 16, 255, 16},
		{8, 17, 255, 24},
		{8, 248, 255, 248},
		{8, 249, 255, 255},
		{16, 1, 255, 16},
		{16, 17, 255, 32},
		{16, 240, 255, 240},
		{16, 241, 255, 255},
		{32, 1, 255, 32}, // more than the least size
		{32, 32, 255, 32},
		{32, 33, 255, 64},
		{32, 224, 255, 224},
		{32, 225, 255, 255},
		{32, 4065, 4093, 4093}, // targets, 4096-byte blocks
		{32, 4064, 4093, 4064},
		{32, 4093, 4093, 4093},
		{32, 1, 16, 16},
	} {
		n := &Names{padding: v.padding}
		if got := n.PaddedSize(v.size, v.limit); got != v.want {
			t.Errorf("padding %d, %d bytes of at most %d: got %d, want %d", v.padding, v.size, v.limit, got, v.want)
		}
	}
}

// Names of every length come back, and their ciphertext has the length that the
// padding demands and is that of the padded name.
func TestNames(t *testing.T) {
	forEachMode(t, namesModes, func(t *testing.T, d Driver, mode keys.Mode) {
		for _, padding := range []int{4, 8, 16, 32} {
			n := testNames(t, d, mode, padding)
			for size := 1; size <= 255; size++ {
				name := bytes.Repeat([]byte{byte(size), 0xFF}, 128)[:size]
				got, err := n.Encrypt(name, 255)
				if err != nil {
					t.Fatalf("padding %d, %d bytes: %v", padding, size, err)
				}
				want := make([]byte, n.PaddedSize(size, 255))
				copy(want, name)
				n.cipher.Encrypt(want, want, n.iv)
				if !bytes.Equal(got, want) {
					t.Errorf("padding %d, %d bytes:\n got %x\nwant %x", padding, size, got, want)
				}
				back, err := n.Decrypt(got)
				if err != nil || !bytes.Equal(back, name) {
					t.Errorf("padding %d, %d bytes: decrypted to %x, %v, want %x", padding, size, back, err, name)
				}
				if !bytes.Equal(got, want) {
					t.Error("Decrypt changed its argument")
				}
			}
		}
	})
}

func TestNamesErrors(t *testing.T) {
	forEachMode(t, namesModes, func(t *testing.T, d Driver, mode keys.Mode) {
		n := testNames(t, d, mode, 4)
		for _, v := range []struct {
			what  string
			name  []byte
			limit int
			want  error
		}{
			{"one byte too long", bytes.Repeat([]byte("n"), 256), 255, ErrNameTooLong},
			{"target one byte too long", bytes.Repeat([]byte("n"), 4094), 4093, ErrNameTooLong},
			{"empty", nil, 255, ErrInvalidName},
			{"NUL at the start", []byte("\x00a"), 255, ErrInvalidName},
			{"NUL at the end", []byte("a\x00"), 255, ErrInvalidName},
		} {
			if b, err := n.Encrypt(v.name, v.limit); b != nil || !errors.Is(err, v.want) {
				t.Errorf("Encrypt, %s: got %x, %v, want %v", v.what, b, err, v.want)
			}
		}
		for _, size := range []int{0, 1, 15} {
			if b, err := n.Decrypt(make([]byte, size)); b != nil || !errors.Is(err, ErrInvalidName) {
				t.Errorf("Decrypt of %d bytes: got %x, %v, want ErrInvalidName", size, b, err)
			}
		}
		empty := make([]byte, 32) // starts with a NUL once decrypted
		n.cipher.Encrypt(empty, empty, n.iv)
		if b, err := n.Decrypt(empty); b != nil || !errors.Is(err, ErrInvalidName) {
			t.Errorf("Decrypt to nothing: got %x, %v, want ErrInvalidName", b, err)
		}
	})
}

// What follows the first NUL is not looked at, as in the kernel, which treats the
// name as a C string.
func TestNamesCutAtFirstNUL(t *testing.T) {
	forEachMode(t, namesModes, func(t *testing.T, d Driver, mode keys.Mode) {
		n := testNames(t, d, mode, 4)
		b := []byte("name\x00not padding\x00\x00\x00")
		n.cipher.Encrypt(b, b, n.iv)
		if got, err := n.Decrypt(b); err != nil || string(got) != "name" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestNamesMistakes(t *testing.T) {
	k, d := testFileKey(t, keys.AES256CTS), mustLookupName(t, "cts-cbc-aes-generic")
	for _, padding := range []int{-4, 0, 1, 5, 64} {
		wantPanic(t, fmt.Sprintf("padding %d", padding), func() { NewNames(k, d, padding) })
	}
	n := testNames(t, d, keys.AES256CTS, 4)
	for _, limit := range []int{-1, 0, 15} {
		wantPanic(t, fmt.Sprintf("limit %d", limit), func() { n.Encrypt([]byte("a"), limit) })
	}
}

func TestValidName(t *testing.T) {
	for _, name := range []string{"a", " ", "...", "..a", ".a", "a.", "a\\b", "\xFF\xFE", "é", "\n", "-x"} {
		if err := ValidName([]byte(name)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", ".", "..", "/", "a/b", "a/", "/a", "a\x00b", "\x00"} {
		if err := ValidName([]byte(name)); !errors.Is(err, ErrInvalidName) {
			t.Errorf("%q: got %v, want ErrInvalidName", name, err)
		}
	}
}

// FuzzNames encrypts any name under any padding and limit: it comes back, or there
// is the error that its length or a NUL in it calls for.
func FuzzNames(f *testing.F) {
	f.Add([]byte("name"), uint8(0), uint16(255))
	f.Add([]byte("\x00"), uint8(3), uint16(4093))
	f.Add(bytes.Repeat([]byte("n"), 253), uint8(2), uint16(253))
	f.Fuzz(func(t *testing.T, name []byte, padding uint8, limit uint16) {
		limit = max(limit, MinNameSize)
		n := testNames(t, mustLookupName(t, "cts-cbc-aes-generic"), keys.AES256CTS, 4<<(padding%4))
		b, err := n.Encrypt(name, int(limit))
		if err != nil {
			tooLong := len(name) > int(limit)
			invalid := len(name) == 0 || bytes.IndexByte(name, 0) >= 0
			if !(tooLong && errors.Is(err, ErrNameTooLong) || invalid && errors.Is(err, ErrInvalidName)) {
				t.Errorf("%x: %v", name, err)
			}
			return
		}
		if len(b) > int(limit) || len(b) < len(name) {
			t.Errorf("%d bytes become %d, at most %d fit", len(name), len(b), limit)
		}
		if got, err := n.Decrypt(b); err != nil || !bytes.Equal(got, name) {
			t.Errorf("got %x, %v, want %x", got, err, name)
		}
	})
}
