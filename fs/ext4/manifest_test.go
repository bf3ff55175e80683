package ext4_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/fs/ext4"
	"encfs/fs/ext4/ext4test"
	"encfs/fs/store"
	"encfs/keys"
)

// TestManifests compares everything that the kernel showed of each image with
// what the store says of it.
func TestManifests(t *testing.T) {
	for _, f := range ext4test.All(t) {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			m, img := f.Manifest(t), f.Image(t)
			if m.MayRefuse {
				_, err := ext4.Open(bytes.NewReader(img), int64(len(img)), ext4.Options{})
				if _, ok := errors.AsType[*ext4.UnsupportedError](err); !ok {
					t.Fatalf("Open: got %v, want an UnsupportedError", err)
				}
				return
			}
			w := &walker{T: t, s: openImage(t, img), m: m, ring: new(keys.Keyring), want: map[string]*ext4test.Entry{}}
			defer w.ring.Close()
			for _, k := range m.Keys {
				mk, err := keys.NewMasterKey(ext4test.Unhex(t, k.RawHex))
				if err != nil {
					t.Fatal(err)
				}
				w.ring.Add(mk)
			}
			for i := range m.Entries {
				e := &m.Entries[i]
				w.want[e.PlainPath(t)] = e
			}
			w.unlock()
			w.run()
		})
	}
}

// A walker goes through a store with the keys of its manifest.
type walker struct {
	*testing.T
	s    *ext4.Store
	m    *ext4test.Manifest
	ring *keys.Keyring
	want map[string]*ext4test.Entry // by path; found ones are removed
}

func (w *walker) run() {
	if got := fmt.Sprintf("%x", w.s.UUID()); got != w.m.FS.UUID {
		w.Errorf("UUID: got %s, want %s", got, w.m.FS.UUID)
	}
	if got := w.s.BlockSize(); got != w.m.FS.BlockSize {
		w.Errorf("block size: got %d, want %d", got, w.m.FS.BlockSize)
	}
	a, err := w.s.Attr(w.s.Root())
	if err != nil {
		w.Fatal(err)
	}
	mode, _ := strconv.ParseUint(w.m.Root.Mode, 8, 32)
	if a.Mode != store.ModeDir|uint32(mode) || a.Nlink != w.m.Root.Nlink || a.Mtime.Unix() != w.m.Root.Mtime[0] || int64(a.Mtime.Nanosecond()) != w.m.Root.Mtime[1] {
		w.Errorf("root: got %+v, want %+v", a, w.m.Root)
	}
	w.directory(w.s.Root(), "", "")
	var missing []string
	for path := range w.want {
		missing = append(missing, path)
	}
	sort.Strings(missing)
	for _, path := range missing {
		w.Errorf("%q: not found", path)
	}
}

// context returns the context of a node, nil if it is not encrypted, and
// derives its key for one of the modes.
func (w *walker) context(n store.Node, contents bool) (*keys.Context, *keys.FileKey) {
	raw, err := w.s.Context(n)
	if err != nil {
		w.Fatalf("%v: %v", n, err)
	}
	if raw == nil {
		return nil, nil
	}
	ctx, err := keys.ParseContext(raw)
	if err != nil {
		w.Fatalf("%v: %v", n, err)
	}
	mk, err := w.ring.Find(ctx.Policy)
	if err != nil {
		w.Fatalf("%v: %v", n, err)
	}
	mode := ctx.Filenames
	if contents {
		mode = ctx.Contents
	}
	k, err := mk.FileKey(ctx, mode, keys.Place{UUID: w.s.UUID(), Ino: w.s.Ino(n)})
	if err != nil {
		w.Fatalf("%v: %v", n, err)
	}
	return &ctx, k
}

// names returns the cipher of the names in a directory or of a target, nil if
// they are not encrypted.
func (w *walker) names(n store.Node) *decrypt.Names {
	ctx, k := w.context(n, false)
	if ctx == nil {
		return nil
	}
	d, err := decrypt.Lookup(ctx.Filenames.Algorithm(), cpufeat.Host())
	if err != nil {
		w.Fatal(err)
	}
	names, err := decrypt.NewNames(k, d, ctx.Padding())
	if err != nil {
		w.Fatal(err)
	}
	return names
}

func (w *walker) directory(dir store.Node, path, noKeyPath string) {
	names := w.names(dir)
	entries, err := w.s.ReadDir(dir)
	if err != nil {
		w.Errorf("%q: %v", path, err)
		return
	}
	for _, e := range entries {
		if e.Err != nil {
			w.Errorf("%q: %s: %v", path, e.Lower, e.Err)
			continue
		}
		name, noKey := string(e.Name), string(e.Name)
		if names != nil {
			plain, err := names.Decrypt(e.Name)
			if err != nil {
				w.Errorf("%q: %v", path, err)
				continue
			}
			name, noKey = string(plain), decrypt.NoKeyName(e.Hash, e.Minor, e.Name)
		}
		w.entry(dir, e, strings.TrimPrefix(path+"/"+name, "/"), strings.TrimPrefix(noKeyPath+"/"+noKey, "/"))
	}
}

func (w *walker) entry(dir store.Node, e store.Dirent, path, noKeyPath string) {
	want := w.want[path]
	if want == nil {
		w.Errorf("%q: found, but not in the manifest", path)
		return
	}
	delete(w.want, path)
	if got, want := noKeyPath, want.LockedPath(w); got != want {
		w.Errorf("%q without the key:\n got %q\nwant %q", path, got, want)
	}
	n, a, err := w.s.Lookup(dir, e.Name)
	if err != nil {
		w.Errorf("%q: %v", path, err)
		return
	}
	if byHash, _, err := w.s.LookupHash(dir, e.Hash, func(b []byte) bool { return bytes.Equal(b, e.Name) }); err != nil || byHash != n {
		w.Errorf("%q: LookupHash: got %v and error %v, want %v", path, byHash, err, n)
	}
	w.attr(path, want, e, n, a)
	w.xattrs(path, want, n)
	switch want.Type {
	case "dir":
		w.nonce(path, want, n)
		w.directory(n, path, noKeyPath)
	case "file":
		w.nonce(path, want, n)
		w.file(path, want, n)
	case "symlink": // whose nonce cannot be asked for
		w.symlink(path, want, n)
	}
}

func (w *walker) attr(path string, want *ext4test.Entry, e store.Dirent, n store.Node, a store.Attr) {
	mode, err := strconv.ParseUint(want.Mode, 8, 32)
	if err != nil {
		w.Fatal(err)
	}
	if got, want := a.Mode, want.Kind(w)|uint32(mode); got != want {
		w.Errorf("%q: mode %o, want %o", path, got, want)
	}
	if e.Type != 0 && e.Type != want.Kind(w) {
		w.Errorf("%q: type %o in the directory, want %o", path, e.Type, want.Kind(w))
	}
	if a.Ino != want.Ino || e.Ino != want.Ino || w.s.Ino(n) != want.Ino {
		w.Errorf("%q: inode %d, in the directory %d, want %d", path, a.Ino, e.Ino, want.Ino)
	}
	if got, want := a.Nlink, max(want.Nlink, 1); got != want {
		w.Errorf("%q: %d links, want %d", path, got, want)
	}
	if a.UID != want.UID || a.GID != want.GID {
		w.Errorf("%q: owner %d:%d, want %d:%d", path, a.UID, a.GID, want.UID, want.GID)
	}
	if got := [2]int64{a.Mtime.Unix(), int64(a.Mtime.Nanosecond())}; got != want.Mtime {
		w.Errorf("%q: modified at %v, want %v", path, got, want.Mtime)
	}
	if want.Type != "symlink" && a.Size != want.Size {
		w.Errorf("%q: size %d, want %d", path, a.Size, want.Size)
	}
	if want.Type == "chr" || want.Type == "blk" {
		if got := [2]uint32{unix.Major(a.Rdev), unix.Minor(a.Rdev)}; got != want.Rdev {
			w.Errorf("%q: device %v, want %v", path, got, want.Rdev)
		}
	}
}

func (w *walker) xattrs(path string, want *ext4test.Entry, n store.Node) {
	names, err := w.s.ListXattr(n)
	if err != nil {
		w.Errorf("%q: %v", path, err)
	}
	got := 0
	for _, name := range names {
		if strings.HasPrefix(name, "user.") {
			got++
		}
	}
	if got != len(want.Xattrs) {
		w.Errorf("%q: attributes %q, want %v", path, names, want.Xattrs)
	}
	for name, value := range want.Xattrs {
		if got, err := w.s.GetXattr(n, name); err != nil || hex.EncodeToString(got) != value {
			w.Errorf("%q: attribute %s: got %x and error %v, want %s", path, name, got, err, value)
		}
	}
	if _, err := w.s.GetXattr(n, "user.none"); !errors.Is(err, syscall.ENODATA) {
		w.Errorf("%q: an attribute that is not there: %v", path, err)
	}
}

func (w *walker) nonce(path string, want *ext4test.Entry, n store.Node) {
	ctx, _ := w.context(n, false)
	got := ""
	if ctx != nil {
		got = hex.EncodeToString(ctx.Nonce[:])
	}
	if got != want.Nonce {
		w.Errorf("%q: nonce %q, want %q", path, got, want.Nonce)
	}
}

func (w *walker) symlink(path string, want *ext4test.Entry, n store.Node) {
	stored, err := w.s.Readlink(n)
	if err != nil {
		w.Errorf("%q: %v", path, err)
		return
	}
	target, noKey := stored, ""
	if names := w.names(n); names != nil {
		noKey = decrypt.NoKeyName(0, 0, stored)
		if target, err = names.Decrypt(stored); err != nil {
			w.Errorf("%q: %v", path, err)
			return
		}
	}
	if wanted := want.PlainTarget(w); string(target) != wanted {
		w.Errorf("%q: target %q, want %q", path, target, wanted)
	}
	if noKey != want.NoKeyTarget {
		w.Errorf("%q: target without the key %q, want %q", path, noKey, want.NoKeyTarget)
	}
	if want.NoKeySize != nil && int64(len(noKey)) != *want.NoKeySize {
		w.Errorf("%q: target without the key of %d bytes, want %d", path, len(noKey), *want.NoKeySize)
	}
}

// file compares contents and holes. Data is read in portions that begin and end
// within extents.
func (w *walker) file(path string, want *ext4test.Entry, n store.Node) {
	unitSize := w.s.BlockSize()
	var contents *decrypt.Contents
	if ctx, k := w.context(n, true); ctx != nil {
		if ctx.Log2DataUnitSize != 0 {
			unitSize = 1 << ctx.Log2DataUnitSize
		}
		d, err := decrypt.Lookup(ctx.Contents.Algorithm(), cpufeat.Host())
		if err != nil {
			w.Fatal(err)
		}
		if contents, err = decrypt.NewContents(k, d, unitSize); err != nil {
			w.Fatal(err)
		}
	}
	f, err := w.s.OpenUnits(n, unitSize)
	if err != nil {
		w.Errorf("%q: %v", path, err)
		return
	}
	defer f.Close()
	segments := w.segments(path, f)
	if want.DataSegments != nil && fmt.Sprint(segments) != fmt.Sprint(want.DataSegments) {
		w.Errorf("%q: data in %v, want %v", path, segments, want.DataSegments)
	}
	if want.SHA256 != "" {
		segments, want.SegmentSHA256 = [][2]int64{{0, f.Size()}}, []string{want.SHA256}
	}
	if len(want.SegmentSHA256) != len(segments) {
		w.Errorf("%q: %d digests for %d segments", path, len(want.SegmentSHA256), len(segments))
		return
	}
	const portion = 7
	buf, holes := make([]byte, portion*unitSize), make([]bool, portion)
	for i, seg := range segments {
		h := sha256.New()
		for at := seg[0]; at < seg[1]; {
			first := uint64(at) / uint64(unitSize)
			got, err := f.ReadUnits(buf, first, holes)
			if err != nil || got == 0 {
				w.Errorf("%q: read %d bytes at %d: %v", path, got, at, err)
				return
			}
			for u := 0; contents != nil && u < got/unitSize; u++ {
				if part := buf[u*unitSize:][:unitSize]; !holes[u] {
					contents.DecryptUnits(part, part, first+uint64(u))
				}
			}
			part := buf[at-int64(first)*int64(unitSize) : got]
			part = part[:min(int64(len(part)), seg[1]-at)]
			h.Write(part)
			at += int64(len(part))
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != want.SegmentSHA256[i] {
			w.Errorf("%q: bytes %d to %d have digest %s, want %s", path, seg[0], seg[1], got, want.SegmentSHA256[i])
		}
	}
}

// segments returns where Seek finds data.
func (w *walker) segments(path string, f store.File) (segments [][2]int64) {
	for end := int64(0); ; {
		start, err := f.Seek(end, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return segments
		}
		if err == nil {
			end, err = f.Seek(start, unix.SEEK_HOLE)
		}
		if err != nil {
			w.Errorf("%q: Seek: %v", path, err)
			return segments
		}
		segments = append(segments, [2]int64{start, end})
	}
}
