package fs_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"encfs/decrypt"
	"encfs/fs"
	"encfs/fs/ext4"
	"encfs/fs/ext4/ext4test"
	"encfs/fs/store"
	"encfs/keys"
	"encfs/workqueue"
)

// openSystem opens an image with the given raw keys, in hexadecimal.
func openSystem(t testing.TB, img []byte, o fs.Options, rawKeys ...string) *fs.Volume {
	t.Helper()
	return newSystem(t, openStore(t, img), o, rawKeys...)
}

func openStore(t testing.TB, img []byte) *ext4.Store {
	t.Helper()
	st, err := ext4.Open(bytes.NewReader(img), int64(len(img)), ext4.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// newSystem is openSystem for a store.
func newSystem(t testing.TB, st store.FileSystem, o fs.Options, rawKeys ...string) *fs.Volume {
	t.Helper()
	ring := new(keys.Keyring)
	for _, raw := range rawKeys {
		k, err := keys.NewMasterKey(ext4test.Unhex(t, raw))
		if err != nil {
			t.Fatal(err)
		}
		ring.Add(k)
	}
	v, err := fs.NewVolume(st, ring, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

func rawKeys(m *ext4test.Manifest) (raw []string) {
	for _, k := range m.Keys {
		raw = append(raw, k.RawHex)
	}
	return raw
}

// TestSystems compares images with what the kernel showed of them, with the keys
// and without.
func TestSystems(t *testing.T) {
	for _, f := range ext4test.All(t) {
		m := f.Manifest(t)
		if m.MayRefuse {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			img := f.Image(t)
			t.Run("Locked", func(t *testing.T) { lockedSystem(t, openSystem(t, img, fs.Options{}), m) })
			if m.Tool != nil {
				return // whose keys only the metadata give
			}
			t.Run("Unlocked", func(t *testing.T) { unlockedSystem(t, openSystem(t, img, fs.Options{}, rawKeys(m)...), m) })
			t.Run("Queue", func(t *testing.T) {
				queue, err := workqueue.New(workqueue.Attrs{Name: t.Name(), Kind: workqueue.Unbound})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(queue.Close)
				unlockedSystem(t, openSystem(t, img, fs.Options{Queue: queue}, rawKeys(m)...), m)
			})
		})
	}
}

// sameNames compares the names in all directories with the paths of a manifest.
func sameNames(t *testing.T, v *fs.Volume, paths []string, isDir []bool) {
	t.Helper()
	want := map[string][]string{".": nil}
	for n, p := range paths {
		dir := path.Dir(p)
		want[dir] = append(want[dir], path.Base(p))
		if isDir[n] {
			want[p] = want[p][:len(want[p]):len(want[p])]
		}
	}
	for dir, names := range want {
		i, _, err := v.Walk(dir)
		if err != nil {
			t.Errorf("%q: %v", dir, err)
			continue
		}
		entries, err := v.ReadDir(i)
		if err != nil {
			t.Errorf("%q: %v", dir, err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name)
		}
		slices.Sort(got)
		slices.Sort(names)
		if !slices.Equal(got, names) {
			t.Errorf("%q:\n got %q\nwant %q", dir, got, names)
		}
		v.Release(i, 1)
	}
}

func unlockedSystem(t *testing.T, v *fs.Volume, m *ext4test.Manifest) {
	var paths []string
	var isDir []bool
	for n := range m.Entries {
		e := &m.Entries[n]
		p := e.PlainPath(t)
		paths, isDir = append(paths, p), append(isDir, e.Type == "dir")
		i, a, err := v.Walk(p)
		if err != nil {
			t.Errorf("%q: %v", p, err)
			continue
		}
		mode, err := strconv.ParseUint(e.Mode, 8, 32)
		if err != nil {
			t.Fatal(err)
		}
		if a.Mode != e.Kind(t)|uint32(mode) || a.Size != e.Size && e.Type != "symlink" || a.Ino != e.Ino || a.Mtime.Unix() != e.Mtime[0] {
			t.Errorf("%q: got %+v, want %+v", p, a, e)
		}
		for name, value := range e.Xattrs {
			if got, err := v.GetXattr(i, name); err != nil || hex.EncodeToString(got) != value {
				t.Errorf("%q: %s: got %x and error %v, want %s", p, name, got, err, value)
			}
		}
		if names, err := v.ListXattr(i); err != nil || len(names) < len(e.Xattrs) {
			t.Errorf("%q: attributes %q, error %v", p, names, err)
		}
		switch e.Type {
		case "file":
			if e.SHA256 == "" {
				break
			}
			h := sha256.New()
			if err := v.ReadFile(i, h); err != nil || hex.EncodeToString(h.Sum(nil)) != e.SHA256 {
				t.Errorf("%q: has other contents, or error %v", p, err)
			}
			oddReads(t, v, i, p, e.SHA256)
		case "symlink":
			want := e.PlainTarget(t)
			if got, err := v.Readlink(i); got != want || err != nil || a.Size != int64(len(want)) {
				t.Errorf("%q: target %q of %d bytes and error %v, want %q", p, got, a.Size, err, want)
			}
		}
		v.Release(i, 1)
	}
	sameNames(t, v, paths, isDir)
}

// oddReads reads a file in portions that fit no data units.
func oddReads(t *testing.T, v *fs.Volume, i *fs.Inode, p, want string) {
	t.Helper()
	if err := v.Open(i, false); err != nil {
		t.Fatal(err)
	}
	defer v.CloseFile(i)
	h := sha256.New()
	buf := make([]byte, 5001)
	for off := int64(0); ; {
		n, err := v.ReadAt(i, buf, off)
		if err != nil {
			t.Errorf("%q: %v", p, err)
		}
		if n == 0 {
			break
		}
		h.Write(buf[:n])
		off += int64(n)
	}
	if hex.EncodeToString(h.Sum(nil)) != want {
		t.Errorf("%q: has other contents in odd portions", p)
	}
}

func lockedSystem(t *testing.T, v *fs.Volume, m *ext4test.Manifest) {
	var paths []string
	var isDir []bool
	for n := range m.Entries {
		e := &m.Entries[n]
		p := e.LockedPath(t)
		paths, isDir = append(paths, p), append(isDir, e.Type == "dir")
		i, a, err := v.Walk(p)
		if err != nil {
			t.Errorf("%q: %v", p, err)
			continue
		}
		err = v.CheckKey(i)
		encrypted := e.Nonce != "" || e.NoKeyTarget != ""
		if errors.Is(err, keys.ErrNoKey) != encrypted || err != nil && !encrypted {
			t.Errorf("%q: CheckKey: got error %v, encrypted %v", p, err, encrypted)
		}
		switch {
		case e.Type == "symlink":
			want := e.PlainTarget(t)
			if e.NoKeyTarget != "" {
				want = e.NoKeyTarget
			}
			if got, err := v.Readlink(i); got != want || err != nil || a.Size != int64(len(want)) {
				t.Errorf("%q: target %q of %d bytes and error %v, want %q", p, got, a.Size, err, want)
			}
		case e.Type == "file":
			err := v.Open(i, false)
			if size := v.UnitSize(i); (size > 0) != (err == nil) {
				t.Errorf("%q: data units of %d bytes", p, size)
			}
			if err == nil {
				v.CloseFile(i)
			}
			want := syscall.Errno(0)
			if e.Nonce != "" {
				want = syscall.ENOKEY
			}
			if fs.Errno(err) != want {
				t.Errorf("%q: Open: %v, want %v", p, err, want)
			}
		}
		v.Release(i, 1)
	}
	sameNames(t, v, paths, isDir)
}

// TestSystemSomeKeys opens an image with one of its keys: what is under the
// others is locked and named in the log, once each.
func TestSystemSomeKeys(t *testing.T) {
	f := ext4test.Get("multi")
	m := f.Manifest(t)
	var log bytes.Buffer
	o := fs.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}
	v := openSystem(t, f.Image(t), o, m.Keys[0].RawHex)
	opened, locked := 0, 0
	for n := range m.Entries {
		e := &m.Entries[n]
		if e.Type != "file" || e.Nonce == "" {
			continue
		}
		if i, _, err := v.Walk(e.PlainPath(t)); err == nil {
			if err := v.ReadFile(i, new(bytes.Buffer)); err != nil {
				t.Errorf("%q: %v", e.Path, err)
			}
			v.Release(i, 1)
			opened++
		} else if i, _, err := v.Walk(e.LockedPath(t)); err == nil {
			if err := v.Open(i, false); !errors.Is(err, keys.ErrNoKey) {
				t.Errorf("%q: Open without a key: %v", e.Path, err)
			}
			v.Release(i, 1)
			locked++
		} else {
			t.Errorf("%q: %v", e.Path, err)
		}
	}
	if opened == 0 || locked == 0 {
		t.Errorf("%d opened, %d locked", opened, locked)
	}
	for _, k := range m.Keys[1:] {
		name := k.V2Identifier + k.V1Descriptor
		if got := strings.Count(log.String(), name); got != 1 {
			t.Errorf("the log names key %s %d times:\n%s", name, got, log.String())
		}
	}
}

// TestSystemReadOnly sees that nothing can be changed.
func TestSystemReadOnly(t *testing.T) {
	f := ext4test.Get("no-encryption")
	v := openSystem(t, f.Image(t), fs.Options{})
	if !v.ReadOnly() {
		t.Error("the volume can be written to")
	}
	for _, tt := range []struct {
		name string
		do   func() error
	}{
		{"Create", func() error { _, _, err := v.Create(v.Root(), "x", 0o644, fs.AnyOwner); return err }},
		{"Mkdir", func() error { _, _, err := v.Mkdir(v.Root(), "x", 0o755, fs.AnyOwner); return err }},
		{"Unlink", func() error { return v.Unlink(v.Root(), "x") }},
		{"SetXattr", func() error { return v.SetXattr(v.Root(), "user.x", nil, 0) }},
		{"RemoveXattr", func() error { return v.RemoveXattr(v.Root(), "user.x") }},
		{"SetAttr", func() error { return v.SetAttr(v.Root(), store.SetAttr{}) }},
	} {
		if err := tt.do(); fs.Errno(err) != syscall.EROFS {
			t.Errorf("%s: %v, want EROFS", tt.name, err)
		}
	}
}

// A strangeSystem gives the context of one directory to nothing, or to others, as
// only somebody who writes to the disk could.
type strangeSystem struct {
	store.FileSystem
	change func(n store.Node, context []byte) []byte
}

func (s *strangeSystem) Context(n store.Node) ([]byte, error) {
	c, err := s.FileSystem.Context(n)
	return s.change(n, c), err
}

// TestSystemInconsistent sees that an object in an encrypted directory that is not
// encrypted as the directory is an error and is logged.
func TestSystemInconsistent(t *testing.T) {
	f := ext4test.Get("v2-pad16-1k")
	m := f.Manifest(t)
	var dir, victim *ext4test.Entry
	for n := range m.Entries {
		switch e := &m.Entries[n]; {
		case dir == nil && e.Type == "dir" && e.Nonce != "":
			dir = e
		case dir != nil && victim == nil && path.Dir(e.Path) == dir.Path && e.Type == "file":
			victim = e
		}
	}
	for _, tt := range []struct {
		name   string
		change func(context []byte) []byte
		want   string
	}{
		{"not encrypted", func([]byte) []byte { return nil }, "is not encrypted in an encrypted directory"},
		{"another policy", func(c []byte) []byte { c[3] ^= 1; return c }, "has another encryption policy"},
		{"nonsense", func(c []byte) []byte { return c[:7] }, "context"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			img := f.Image(t)
			st, err := ext4.Open(bytes.NewReader(img), int64(len(img)), ext4.Options{})
			if err != nil {
				t.Fatal(err)
			}
			strange := &strangeSystem{st, func(n store.Node, c []byte) []byte {
				if st.Ino(n) == victim.Ino {
					return tt.change(c)
				}
				return c
			}}
			ring := new(keys.Keyring)
			k, err := keys.NewMasterKey(ext4test.Unhex(t, m.Keys[0].RawHex))
			if err != nil {
				t.Fatal(err)
			}
			ring.Add(k)
			var log bytes.Buffer
			v, err := fs.NewVolume(strange, ring, fs.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			_, _, err = v.Walk(victim.Path)
			if _, ok := errors.AsType[*store.DamagedError](err); !ok || fs.Errno(err) != syscall.EIO || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Walk: %v, want damage: %s", err, tt.want)
			}
			if !strings.Contains(log.String(), fmt.Sprintf("inode %d", victim.Ino)) {
				t.Errorf("the log says %q", log.String())
			}
		})
	}
}

// lockedPath returns what the path of an entry is without the keys.
func lockedPath(t *testing.T, m *ext4test.Manifest, plain string) string {
	for n := range m.Entries {
		if e := &m.Entries[n]; e.Path == plain {
			return e.LockedPath(t)
		}
	}
	t.Fatalf("there is no %q", plain)
	return ""
}

// TestSystemDamaged damages a block of a large directory: its names are gone, with
// one line in the log that says where, and all others are there.
func TestSystemDamaged(t *testing.T) {
	f := ext4test.Get("bigdir-1k")
	m := f.Manifest(t)
	img := f.Image(t)
	sound := openSystem(t, bytes.Clone(img), fs.Options{}, rawKeys(m)...)
	var dir string // the one with the most entries
	count := map[string]int{}
	for n := range m.Entries {
		parent := path.Dir(m.Entries[n].Path)
		if count[parent]++; count[parent] > count[dir] {
			dir = parent
		}
	}
	i, attr, err := sound.Walk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer sound.Release(i, 1)
	st, err := ext4.Open(bytes.NewReader(img), int64(len(img)), ext4.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var node store.Node = st.Root()
	for name := range strings.SplitSeq(lockedPath(t, m, dir), "/") {
		var stored []byte
		entries, err := st.ReadDir(node)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if string(e.Name) == name || len(e.Name) >= decrypt.MinNameSize && decrypt.NoKeyName(e.Hash, e.Minor, e.Name) == name {
				stored = e.Name
			}
		}
		if node, _, err = st.Lookup(node, stored); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := st.ReadDir(node)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(img, stored[len(stored)/2].Name)
	if at < 0 {
		t.Fatal("the name is not in the image")
	}
	img[at] ^= 1

	var log bytes.Buffer
	v := openSystem(t, img, fs.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, rawKeys(m)...)
	i, _, err = v.Walk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release(i, 1)
	entries, err := v.ReadDir(i)
	if lost := count[dir] - len(entries); err != nil || lost < 1 || lost > 100 {
		t.Errorf("ReadDir: %d of %d entries are missing, error %v", lost, count[dir], err)
	}
	found, damaged := 0, 0
	for n := range m.Entries {
		e := &m.Entries[n]
		if path.Dir(e.Path) != dir {
			continue
		}
		child, _, err := v.Walk(e.Path)
		switch {
		case err == nil:
			found++
			v.Release(child, 1)
		case fs.Errno(err) == syscall.EIO:
			damaged++
		default:
			t.Errorf("%q: %v", e.Path, err)
		}
	}
	if found != len(entries) || damaged != count[dir]-len(entries) {
		t.Errorf("%d found and %d damaged, of %d listed and %d in all", found, damaged, len(entries), count[dir])
	}
	want := fmt.Sprintf("lower=\"inode %d\" detail=\"directory block", attr.Ino)
	if got := strings.Count(log.String(), want); got != 1 {
		t.Errorf("the log has %q %d times:\n%s", want, got, log.String())
	}
}
