package fs_test

import (
	"bytes"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/fs/store"
	"encfs/keys"
)

// testPolicies are the pairs of modes that the directory format knows.
var testPolicies = []struct {
	name                string
	contents, filenames keys.Mode
}{
	{"aes-256-xts", keys.AES256XTS, keys.AES256CTS},
	{"aes-256-hctr2", keys.AES256XTS, keys.AES256HCTR2},
	{"sm4", keys.SM4XTS, keys.SM4CTS},
	{"adiantum", keys.Adiantum, keys.Adiantum},
	{"aes-128-cbc-essiv", keys.AES128CBCESSIV, keys.AES128CTS},
}

// testKey returns a master key that depends on a name only.
func testKey(t testing.TB, name string) *keys.MasterKey {
	t.Helper()
	raw := sha512.Sum512([]byte(name))
	k, err := keys.NewMasterKey(raw[:])
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// newTree makes a cipher directory with the given modes under the key "test".
func newTree(t testing.TB, contents, filenames keys.Mode) string {
	t.Helper()
	dir := t.TempDir()
	newTreeAt(t, dir, contents, filenames)
	return dir
}

// newTreeAt is newTree in an empty directory.
func newTreeAt(t testing.TB, dir string, contents, filenames keys.Mode) {
	t.Helper()
	k := testKey(t, "test")
	defer k.Close()
	ctx := keys.Context{Policy: keys.Policy{
		Version: 2, Contents: contents, Filenames: filenames,
		Flags: keys.FlagPad32, Log2DataUnitSize: 12, Identifier: k.Identifier(),
	}}
	copy(ctx.Nonce[:], "nonce of root...")
	if err := dirstore.Create(dir, ctx.Marshal(), fs.NewHeaderAuthenticator(k)); err != nil {
		t.Fatal(err)
	}
}

// openTree opens a cipher directory made by newTree. The volume is closed at the
// end of the test, or by the returned function.
func openTree(t testing.TB, dir string, o fs.Options, so dirstore.Options) (*fs.Volume, func()) {
	t.Helper()
	st, err := dirstore.Open(dir, so)
	if err != nil {
		t.Fatal(err)
	}
	k := testKey(t, "test")
	if err := st.Unlock(fs.NewHeaderAuthenticator(k)); err != nil {
		t.Fatal(err)
	}
	ring := new(keys.Keyring)
	ring.Add(k)
	v, err := fs.NewVolume(st, ring, o)
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	done := func() {
		if !closed {
			closed = true
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(done)
	return v, done
}

func newVolume(t testing.TB) *fs.Volume {
	t.Helper()
	v, _ := openTree(t, newTree(t, keys.AES256XTS, keys.AES256CTS), fs.Options{}, dirstore.Options{})
	return v
}

// create makes a file with contents and leaves it open.
func create(t testing.TB, v *fs.Volume, name string, data []byte) *fs.Inode {
	t.Helper()
	i, _, err := v.Create(v.Root(), name, 0o644, fs.AnyOwner)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := v.WriteAt(i, data, 0); n != len(data) || err != nil {
		t.Fatalf("WriteAt = %d, %v", n, err)
	}
	return i
}

func contents(t testing.TB, v *fs.Volume, i *fs.Inode) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := v.ReadFile(i, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pattern returns n bytes none of which is zero, that differ from place to
// place and by seed.
func pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 1 + byte((i*7+i>>8*13+int(seed)*31)%255)
	}
	return b
}

// edges are sizes around which the layout changes.
var edges = []int64{0, 1, 15, 16, 17, 32, 3936, 3951, 3952, 3953, 4080, 4095, 4096, 4097, 8191, 8192, 8193, 65536, 65537}

func TestSizesByWriteAndTruncate(t *testing.T) {
	for _, p := range testPolicies {
		t.Run(p.name, func(t *testing.T) {
			dir := newTree(t, p.contents, p.filenames)
			v, done := openTree(t, dir, fs.Options{}, dirstore.Options{})
			want := map[string][]byte{}
			for _, from := range edges {
				for _, to := range edges {
					name := strings.Join([]string{"f", hex.EncodeToString([]byte{byte(from >> 16), byte(from >> 8), byte(from), byte(to >> 16), byte(to >> 8), byte(to)})}, "")
					data := pattern(int(from), 1)
					i := create(t, v, name, data)
					if err := v.Truncate(i, to); err != nil {
						t.Fatalf("%d to %d: %v", from, to, err)
					}
					model := append(data[:min(from, to):min(from, to)], make([]byte, max(0, to-from))...)
					if got := contents(t, v, i); !bytes.Equal(got, model) {
						t.Fatalf("%d cut to %d: contents differ, %d bytes", from, to, len(got))
					}
					// And longer again: what was cut off must not come back.
					if err := v.Truncate(i, to+5000); err != nil {
						t.Fatal(err)
					}
					model = append(model, make([]byte, 5000)...)
					if got := contents(t, v, i); !bytes.Equal(got, model) {
						t.Fatalf("%d cut to %d and grown: contents differ", from, to)
					}
					if a, err := v.Attr(i); err != nil || a.Size != to+5000 {
						t.Fatalf("Attr = %d, %v, want size %d", a.Size, err, to+5000)
					}
					want[name] = model
					v.CloseFile(i)
					v.Release(i, 1)
				}
			}
			done()
			v, _ = openTree(t, dir, fs.Options{}, dirstore.Options{})
			for name, model := range want {
				i, a, err := v.Lookup(v.Root(), name)
				if err != nil {
					t.Fatal(err)
				}
				if got := contents(t, v, i); !bytes.Equal(got, model) || a.Size != int64(len(model)) {
					t.Errorf("%s: contents differ after opening again", name)
				}
				v.Release(i, 1)
			}
		})
	}
}

func TestLowerSizeIsTheFormats(t *testing.T) {
	dir := newTree(t, keys.AES256XTS, keys.AES256CTS)
	v, _ := openTree(t, dir, fs.Options{}, dirstore.Options{})
	for _, s := range edges {
		want := int64(0)
		switch {
		case s == 0:
		case s <= 3952:
			want = 128 + (s+15)/16*16 + s%16
		default:
			want = 4096 + (s+4095)/4096*4096 + s%4096
		}
		i := create(t, v, "f", pattern(int(s), 1))
		v.CloseFile(i)
		fi, err := os.Stat(filepath.Join(dir, i.String()))
		if err != nil {
			t.Fatal(err)
		}
		if fi.Size() != want {
			t.Errorf("size %d: lower size %d, want %d", s, fi.Size(), want)
		}
		v.Release(i, 1)
		if err := v.Unlink(v.Root(), "f"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOverwriteWithinFile(t *testing.T) {
	v := newVolume(t)
	for _, size := range []int64{100, 3952, 3953, 8192, 20000} {
		for _, off := range []int64{0, 1, 15, 16, 4095, 4096, 4097, size - 1, size, size + 1, size + 4096, size + 9000} {
			for _, n := range []int{1, 16, 17, 4096, 4097, 12288} {
				i := create(t, v, "f", pattern(int(size), 1))
				data := pattern(n, 2)
				if k, err := v.WriteAt(i, data, off); k != n || err != nil {
					t.Fatalf("WriteAt = %d, %v", k, err)
				}
				model := pattern(int(size), 1)
				if end := int(off) + n; end > len(model) {
					model = append(model, make([]byte, end-len(model))...)
				}
				copy(model[off:], data)
				if got := contents(t, v, i); !bytes.Equal(got, model) {
					t.Errorf("size %d, %d bytes at %d: contents differ", size, n, off)
				}
				v.CloseFile(i)
				v.Release(i, 1)
				if err := v.Unlink(v.Root(), "f"); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestForeignKeyIsEIOAndOneLogLine(t *testing.T) {
	dir := newTree(t, keys.AES256XTS, keys.AES256CTS)
	v, done := openTree(t, dir, fs.Options{}, dirstore.Options{})
	for _, name := range []string{"good", "bad"} {
		i := create(t, v, name, pattern(5000, 3))
		v.CloseFile(i)
		v.Release(i, 1)
	}
	bad, _, err := v.Lookup(v.Root(), "bad")
	if err != nil {
		t.Fatal(err)
	}
	lower := filepath.Join(dir, bad.String())
	v.Release(bad, 1)
	done()

	// A file of another tree under another key, in the place of this one.
	k := testKey(t, "other")
	defer k.Close()
	b, err := os.ReadFile(lower)
	if err != nil {
		t.Fatal(err)
	}
	id := k.Identifier()
	copy(b[16+8:], id[:])
	var tag [32]byte
	fs.NewHeaderAuthenticator(testKey(t, "test")).Tag(&tag, b[:64])
	copy(b[64:], tag[:])
	if err := os.WriteFile(lower, b, 0o644); err != nil {
		t.Fatal(err)
	}

	var log bytes.Buffer
	v, _ = openTree(t, dir, fs.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, dirstore.Options{})
	i, _, err := v.Lookup(v.Root(), "bad")
	if err != nil {
		t.Fatalf("Lookup: %v, want it to be shown", err)
	}
	for range 3 {
		err = v.Open(i, false)
		if _, ok := errors.AsType[*store.DamagedError](err); !ok || fs.Errno(err) != syscall.EIO {
			t.Errorf("Open = %v, want a DamagedError, EIO", err)
		}
	}
	v.Release(i, 1)
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), filepath.Base(lower)) {
		t.Errorf("log has %d lines, want one that names %s:\n%s", n, filepath.Base(lower), log.String())
	}
	i, _, err = v.Lookup(v.Root(), "good")
	if err != nil {
		t.Fatal(err)
	}
	if got := contents(t, v, i); !bytes.Equal(got, pattern(5000, 3)) {
		t.Error("its neighbour is not readable")
	}
	v.Release(i, 1)
}

func TestShowBad(t *testing.T) {
	dir := newTree(t, keys.AES256XTS, keys.AES256CTS)
	v, done := openTree(t, dir, fs.Options{}, dirstore.Options{})
	i := create(t, v, "file", pattern(100, 1))
	v.CloseFile(i)
	lower := i.String()
	v.Release(i, 1)
	done()
	// One name that is no encoding and one of a length that padding to 32 bytes
	// does not give, beside what was never ours.
	for _, name := range []string{"not base64!", strings.Repeat("A", 22), ".foreign"} {
		if err := os.Link(filepath.Join(dir, lower), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}

	v, done = openTree(t, dir, fs.Options{}, dirstore.Options{})
	if got := listing(t, v); got != "file" {
		t.Errorf("entries are %q, want only the good one", got)
	}
	if _, _, err := v.Lookup(v.Root(), "not base64! (undecodable)"); fs.Errno(err) != syscall.ENOENT {
		t.Errorf("Lookup of a bad name without ShowBad = %v, want ENOENT", err)
	}
	done()

	v, _ = openTree(t, dir, fs.Options{ShowBad: true}, dirstore.Options{})
	entries, errs, err := v.ReadDirAll(v.Root())
	if err != nil || len(entries) != 3 || len(errs) != 2 {
		t.Errorf("ReadDirAll: %d entries, bad are %v, error %v", len(entries), errs, err)
	}
	for _, err := range errs {
		if !strings.Contains(err.Error(), "not base64!") && !strings.Contains(err.Error(), strings.Repeat("A", 22)) {
			t.Errorf("ReadDirAll: bad is %v, without the lower name", err)
		}
	}
	for _, e := range entries {
		i, _, err := v.LookupEntry(v.Root(), e)
		if err != nil {
			t.Fatal(err)
		}
		v.Release(i, 1)
	}
	bad := []string{strings.Repeat("A", 22) + " (undecodable)", "not base64! (undecodable)"}
	if got, want := listing(t, v), strings.Join(append(bad[:1:1], "file", bad[1]), "|"); got != want {
		t.Errorf("entries are %q, want %q", got, want)
	}
	for _, name := range bad {
		i, _, err := v.Lookup(v.Root(), name)
		if err != nil {
			t.Fatal(err)
		}
		if got := contents(t, v, i); !bytes.Equal(got, pattern(100, 1)) {
			t.Errorf("%s: contents differ", name)
		}
		v.Release(i, 1)
		if err := v.Unlink(v.Root(), name); err != nil {
			t.Errorf("Unlink(%q) = %v", name, err)
		}
	}
	for _, name := range []string{".foreign", ".encfs-dir", "../" + filepath.Base(dir), "", "."} {
		if _, _, err := v.Lookup(v.Root(), name+" (undecodable)"); err == nil {
			t.Errorf("Lookup(%q) found something", name)
		}
	}
	if got := listing(t, v); got != "file" {
		t.Errorf("entries are %q after the bad ones were removed", got)
	}
}

func listing(t *testing.T, v *fs.Volume) string {
	t.Helper()
	entries, err := v.ReadDir(v.Root())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return strings.Join(names, "|")
}

// TestTruncateToSameSizeChangesTimes: ftruncate(2), and open(2) with O_TRUNC,
// which "> stamp" of a shell relies on.
func TestTruncateToSameSizeChangesTimes(t *testing.T) {
	v := newVolume(t)
	for _, size := range []int64{0, 100, 3952, 3953, 4096, 9000} {
		i := create(t, v, "f", pattern(int(size), 1))
		old := time.Unix(1e9, 0)
		if err := v.SetAttr(i, store.SetAttr{Mtime: &old}); err != nil {
			t.Fatal(err)
		}
		if err := v.Truncate(i, size); err != nil {
			t.Fatal(err)
		}
		a, err := v.Attr(i)
		if err != nil || a.Size != size || !a.Mtime.After(old) {
			t.Errorf("size %d: size %d, mtime %v, %v; want the size as it was and a new mtime", size, a.Size, a.Mtime, err)
		}
		if got := contents(t, v, i); !bytes.Equal(got, pattern(int(size), 1)) {
			t.Errorf("size %d: contents differ", size)
		}
		v.CloseFile(i)
		v.Release(i, 1)
		if err := v.Unlink(v.Root(), "f"); err != nil {
			t.Fatal(err)
		}
	}
}

// A lower file that is a header and nothing else is a file of size 0.
func TestHeaderAlone(t *testing.T) {
	for name, change := range map[string]func(v *fs.Volume, i *fs.Inode) error{
		"write":          func(v *fs.Volume, i *fs.Inode) error { _, err := v.WriteAt(i, pattern(10, 1), 0); return err },
		"write far away": func(v *fs.Volume, i *fs.Inode) error { _, err := v.WriteAt(i, pattern(10, 1), 9000); return err },
		"truncate":       func(v *fs.Volume, i *fs.Inode) error { return v.Truncate(i, 100) },
		"truncate far":   func(v *fs.Volume, i *fs.Inode) error { return v.Truncate(i, 10000) },
		"truncate to 0":  func(v *fs.Volume, i *fs.Inode) error { return v.Truncate(i, 0) },
		"allocate":       func(v *fs.Volume, i *fs.Inode) error { return v.Allocate(i, 0, 0, 5000) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := newTree(t, keys.AES256XTS, keys.AES256CTS)
			v, done := openTree(t, dir, fs.Options{}, dirstore.Options{})
			i := create(t, v, "f", pattern(100, 1))
			v.CloseFile(i)
			if err := os.Truncate(filepath.Join(dir, i.String()), 128); err != nil {
				t.Fatal(err)
			}
			v.Release(i, 1)
			done()
			v, _ = openTree(t, dir, fs.Options{}, dirstore.Options{})
			i, a, err := v.Lookup(v.Root(), "f")
			if err != nil || a.Size != 0 {
				t.Fatalf("Lookup: size %d, %v", a.Size, err)
			}
			defer v.Release(i, 1)
			if err := v.Open(i, true); err != nil {
				t.Fatal(err)
			}
			defer v.CloseFile(i)
			if err := change(v, i); err != nil {
				t.Error(err)
			}
			contents(t, v, i)
		})
	}
}
