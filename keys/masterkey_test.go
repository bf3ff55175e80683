package keys

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
)

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error = %v, want %v", err, want)
	}
}

func mustPanic(t *testing.T, name string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		r := recover()
		if r == nil {
			t.Errorf("%s: no panic", name)
		} else if s, ok := r.(string); !ok || !strings.HasPrefix(s, "keys: ") {
			t.Errorf("%s: panic %v does not name the package", name, r)
		}
	}()
	f()
}

func TestMasterKeySizes(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 32, 63, 64, 65, 128} {
		k, err := NewMasterKey(pattern(n))
		if n < 16 || n > 64 {
			wantErr(t, err, ErrKeySize)
			continue
		}
		if err != nil {
			t.Errorf("%d bytes: %v", n, err)
			continue
		}
		raw, err := k.Raw()
		if err != nil {
			t.Fatal(err)
		}
		if k.Size() != n || !bytes.Equal(raw.Bytes(), pattern(n)) {
			t.Errorf("%d bytes: Size %d, Raw %x", n, k.Size(), raw.Bytes())
		}
		raw.Close()
		k.Close()
		k.Close()
	}
}

func TestKDFv1Vectors(t *testing.T) {
	type vector struct {
		Mode       Mode
		MasterKey  hexBytes `json:"master_key"`
		Nonce      hexBytes
		DerivedKey hexBytes `json:"derived_key"`
		Descriptor string
	}
	for i, v := range readVectors[vector](t, "fscrypt-kdf-v1.json") {
		t.Run(fmt.Sprintf("%d %v", i, v.Mode), func(t *testing.T) {
			k := newMasterKey(t, v.MasterKey)
			if got := k.Descriptor().String(); got != v.Descriptor {
				t.Errorf("Descriptor = %s, want %s", got, v.Descriptor)
			}
			got := make([]byte, v.Mode.KeySize())
			deriveV1(got, v.MasterKey, Nonce(v.Nonce))
			if !bytes.Equal(got, v.DerivedKey) {
				t.Errorf("derived key:\n got %x\nwant %x", got, []byte(v.DerivedKey))
			}

			p, _ := policyWith(v.Mode, 0)
			p.Version = 1
			f, err := k.FileKey(Context{Policy: p, Nonce: Nonce(v.Nonce)}, v.Mode, Place{})
			if need := max(p.Contents.KeySize(), p.Filenames.KeySize()); k.Size() < need {
				wantErr(t, err, ErrKeySize)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(f.Key(), v.DerivedKey) {
				t.Errorf("FileKey:\n got %x\nwant %x", f.Key(), []byte(v.DerivedKey))
			}
		})
	}
}

// A v1 policy with DIRECT_KEY uses the master key as it is.
func TestDirectKeyV1(t *testing.T) {
	p := Policy{Version: 1, Contents: Adiantum, Filenames: Adiantum, Flags: FlagDirectKey | FlagPad16}
	for _, n := range []int{16, 31, 32, 33, 64} {
		k := newMasterKey(t, pattern(n))
		f, err := k.FileKey(Context{Policy: p, Nonce: Nonce(pattern(16))}, Adiantum, Place{})
		if n < 32 {
			wantErr(t, err, ErrKeySize)
			continue
		}
		if err != nil {
			t.Errorf("%d bytes: %v", n, err)
			continue
		}
		if got, want := f.Key(), pattern(32); !bytes.Equal(got, want) {
			t.Errorf("%d bytes:\n got %x\nwant %x", n, got, want)
		}
	}
}

// How long a master key must be for each policy, as the kernel answers when a key is
// used for one.
func TestMasterKeyLeast(t *testing.T) {
	tests := []struct {
		version             uint8
		contents, filenames Mode
		least               int
	}{
		{1, AES256XTS, AES256CTS, 64},
		{1, AES128CBCESSIV, AES128CTS, 16},
		{1, Adiantum, Adiantum, 32},
		{2, AES256XTS, AES256CTS, 32},
		{2, AES256XTS, AES256HCTR2, 32},
		{2, AES128CBCESSIV, AES128CTS, 16},
		{2, SM4XTS, SM4CTS, 16},
		{2, Adiantum, Adiantum, 32},
	}
	for _, tt := range tests {
		ctx := Context{Policy: Policy{Version: tt.version, Contents: tt.contents, Filenames: tt.filenames}}
		t.Run(fmt.Sprintf("v%d %v %v", tt.version, tt.contents, tt.filenames), func(t *testing.T) {
			for n := 16; n <= 64; n++ {
				k := newMasterKey(t, pattern(n))
				for _, mode := range []Mode{tt.contents, tt.filenames} {
					_, err := k.FileKey(ctx, mode, Place{})
					if n < tt.least {
						wantErr(t, err, ErrKeySize)
					} else if err != nil {
						t.Errorf("%d bytes: %v", n, err)
					}
				}
			}
		})
	}
}

func TestFileKeyRefuses(t *testing.T) {
	k := newMasterKey(t, pattern(64))
	xts := Policy{Version: 2, Contents: AES256XTS, Filenames: AES256CTS}
	with := func(change func(*Policy)) Context {
		p := xts
		change(&p)
		return Context{Policy: p}
	}

	_, err := k.FileKey(with(func(p *Policy) { p.Version = 3 }), AES256XTS, Place{})
	wantErr(t, err, ErrUnsupportedPolicy)
	_, err = k.FileKey(with(func(p *Policy) { p.Flags = FlagDirectKey }), AES256XTS, Place{})
	wantErr(t, err, ErrUnsupportedPolicy)

	for _, flag := range []Flags{FlagIVInoLblk64, FlagIVInoLblk32} {
		ctx := with(func(p *Policy) { p.Flags = flag })
		if _, err := k.FileKey(ctx, AES256XTS, Place{Ino: math.MaxUint32}); err != nil {
			t.Errorf("flags %#x, largest inode number: %v", flag, err)
		}
		_, err = k.FileKey(ctx, AES256XTS, Place{Ino: math.MaxUint32 + 1})
		wantErr(t, err, ErrUnsupportedPolicy)
	}

	mustPanic(t, "mode of another policy", func() { k.FileKey(Context{Policy: xts}, Adiantum, Place{}) })

	k.Close()
	_, err = k.FileKey(Context{Policy: xts}, AES256XTS, Place{})
	wantErr(t, err, ErrNoKey)
	_, err = k.Raw()
	wantErr(t, err, ErrNoKey)
	if k.Locked() {
		t.Error("Locked after Close")
	}
}

// Close may come while others derive: they get their key or ErrNoKey.
func TestMasterKeyConcurrentClose(t *testing.T) {
	ctx := Context{Policy: Policy{Version: 2, Contents: AES256XTS, Filenames: AES256CTS}}
	k := newMasterKey(t, pattern(64))
	f, err := k.FileKey(ctx, AES256XTS, Place{})
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Clone(f.Key())

	var wg sync.WaitGroup
	var started sync.WaitGroup
	for range 4 {
		started.Add(1)
		wg.Go(func() {
			for i := 0; ; i++ {
				f, err := k.FileKey(ctx, AES256XTS, Place{})
				if i == 0 {
					started.Done()
				}
				if err != nil {
					wantErr(t, err, ErrNoKey)
					return
				}
				if !bytes.Equal(f.Key(), want) {
					t.Errorf("key %x, want %x", f.Key(), want)
					return
				}
			}
		})
	}
	started.Wait()
	k.Close()
	wg.Wait()
}

// No verb prints a key, whether the value stands alone or in another one, by
// reference or copied.
func TestNothingPrints(t *testing.T) {
	raw := pattern(64)
	k := newMasterKey(t, raw)
	secret, err := CopySecret(raw)
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	f, err := k.FileKey(Context{Policy: Policy{Version: 2, Contents: AES256XTS, Filenames: AES256CTS}}, AES256XTS, Place{})
	if err != nil {
		t.Fatal(err)
	}
	type exported struct {
		K *MasterKey
		S *Secret
		F *FileKey
		V FileKey
	}
	type unexported struct {
		k *MasterKey
		s *Secret
		f *FileKey
		v FileKey
	}
	type holder struct{ s Secret }
	values := []any{
		&holder{Secret{mem: secret.mem}},
		k, secret, f, *f,
		[]any{k, secret, f, *f},
		exported{k, secret, f, *f}, &exported{k, secret, f, *f},
		unexported{k, secret, f, *f}, &unexported{k, secret, f, *f},
		map[string]any{"k": k, "s": secret, "f": *f},
		(*MasterKey)(nil), (*Secret)(nil),
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%o", "%b", "%c", "%U", "%p"} {
		for _, v := range values {
			text := fmt.Sprintf(verb, v)
			for _, b := range [][]byte{raw, f.Key(), k.prk()} {
				// Four bytes in a row, in any notation that fmt has for them.
				for _, n := range []string{"%s", "%x", "%X", "% x", "% d", "%v", "%#v", "%o", "%b", "%c", "%U"} {
					if part := strings.Trim(fmt.Sprintf(n, b[4:8]), "[]"); strings.Contains(text, part) {
						t.Fatalf("%s of %T prints %q in %q", verb, v, part, text)
					}
				}
			}
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		for v, want := range map[any]string{
			k:      "master key " + k.Identifier().String(),
			secret: "secret of 64 bytes",
			f:      "AES-256-XTS file key",
		} {
			if got := fmt.Sprintf(verb, v); got != want {
				t.Errorf("%s: got %q, want %q", verb, got, want)
			}
		}
	}
}

func BenchmarkFileKey(b *testing.B) {
	k := newMasterKey(b, pattern(64))
	ctx := Context{Policy: Policy{Version: 2, Contents: AES256XTS, Filenames: AES256CTS}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.FileKey(ctx, AES256XTS, Place{}); err != nil {
			b.Fatal(err)
		}
	}
}
