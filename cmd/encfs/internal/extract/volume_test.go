package extract

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/fs/ext4"
	"encfs/fs/ext4/ext4test"
	"encfs/fs/store"
	"encfs/keys"
)

// newVolume makes a cipher directory and opens it.
func newVolume(t testing.TB) *fs.Volume {
	t.Helper()
	raw := sha512.Sum512([]byte("test"))
	k, err := keys.NewMasterKey(raw[:])
	if err != nil {
		t.Fatal(err)
	}
	ctx := keys.Context{Policy: keys.Policy{
		Version: 2, Contents: keys.AES256XTS, Filenames: keys.AES256CTS,
		Flags: keys.FlagPad32, Log2DataUnitSize: 12, Identifier: k.Identifier(),
	}}
	dir := t.TempDir()
	writable(t, dir)
	auth := fs.NewHeaderAuthenticator(k)
	if err := dirstore.Create(dir, ctx.Marshal(), auth); err != nil {
		t.Fatal(err)
	}
	st, err := dirstore.Open(dir, dirstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Unlock(auth); err != nil {
		t.Fatal(err)
	}
	return openVolume(t, st, fs.Options{}, k)
}

func openVolume(t testing.TB, st store.Store, o fs.Options, ks ...*keys.MasterKey) *fs.Volume {
	t.Helper()
	ring := new(keys.Keyring)
	for _, k := range ks {
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

// openImage opens an image, with all keys of the manifest or with none.
func openImage(t testing.TB, img []byte, m *ext4test.Manifest) *fs.Volume {
	t.Helper()
	st, err := ext4.Open(bytes.NewReader(img), int64(len(img)), ext4.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var ks []*keys.MasterKey
	if m != nil {
		for _, k := range m.Keys {
			mk, err := keys.NewMasterKey(ext4test.Unhex(t, k.RawHex))
			if err != nil {
				t.Fatal(err)
			}
			ks = append(ks, mk)
		}
	}
	return openVolume(t, st, fs.Options{}, ks...)
}

// A builder makes objects in a volume.
type builder struct {
	testing.TB
	v *fs.Volume
}

// at calls f with the directory that a path is in, and its name.
func (b builder) at(p string, f func(dir *fs.Inode, name string) (*fs.Inode, fs.Attr, error)) *fs.Inode {
	b.Helper()
	dir, _, err := b.v.Walk(path.Dir(p))
	if err != nil {
		b.Fatal(err)
	}
	defer b.v.Release(dir, 1)
	i, _, err := f(dir, path.Base(p))
	if err != nil {
		b.Fatalf("%s: %v", p, err)
	}
	return i
}

func (b builder) dir(p string) {
	b.v.Release(b.at(p, func(dir *fs.Inode, name string) (*fs.Inode, fs.Attr, error) {
		return b.v.Mkdir(dir, name, 0o755, fs.AnyOwner)
	}), 1)
}

// file makes a file of a size, with data at offsets and holes elsewhere.
func (b builder) file(p string, size int64, data map[int64][]byte) {
	i := b.at(p, func(dir *fs.Inode, name string) (*fs.Inode, fs.Attr, error) {
		return b.v.Create(dir, name, 0o644, fs.AnyOwner)
	})
	defer b.v.Release(i, 1)
	defer b.v.CloseFile(i)
	if err := b.v.Truncate(i, size); err != nil {
		b.Fatal(err)
	}
	for _, off := range slices.Sorted(maps.Keys(data)) {
		if _, err := b.v.WriteAt(i, data[off], off); err != nil {
			b.Fatal(err)
		}
	}
}

func (b builder) symlink(p, target string) {
	b.v.Release(b.at(p, func(dir *fs.Inode, name string) (*fs.Inode, fs.Attr, error) {
		return b.v.Symlink(dir, name, target, fs.AnyOwner)
	}), 1)
}

func (b builder) node(p string, mode uint32, rdev uint64) {
	b.v.Release(b.at(p, func(dir *fs.Inode, name string) (*fs.Inode, fs.Attr, error) {
		return b.v.Mknod(dir, name, mode, rdev, fs.AnyOwner)
	}), 1)
}

// with calls f with the object at a path.
func (b builder) with(p string, f func(i *fs.Inode) error) {
	b.Helper()
	i, _, err := b.v.Walk(p)
	if err != nil {
		b.Fatal(err)
	}
	defer b.v.Release(i, 1)
	if err := f(i); err != nil {
		b.Fatalf("%s: %v", p, err)
	}
}

func (b builder) link(p, other string) {
	b.with(p, func(i *fs.Inode) error {
		b.at(other, func(dir *fs.Inode, name string) (*fs.Inode, fs.Attr, error) {
			a, err := b.v.Link(i, dir, name)
			if err == nil {
				b.v.Release(i, 1)
			}
			return nil, a, err
		})
		return nil
	})
}

func (b builder) set(p string, set store.SetAttr) {
	b.Helper()
	b.with(p, func(i *fs.Inode) error { return b.v.SetAttr(i, set) })
}

func (b builder) xattr(p, name, value string) {
	b.Helper()
	b.with(p, func(i *fs.Inode) error { return b.v.SetXattr(i, name, []byte(value), 0) })
}

func (b builder) xattrIfPossible(p, name, value string) {
	b.with(p, func(i *fs.Inode) error {
		if err := b.v.SetXattr(i, name, []byte(value), 0); err != nil {
			b.Logf("%s is not tried: %v", name, err)
		}
		return nil
	})
}

// acl returns an ACL as getxattr(2) does, with the permissions of the owner, of user
// 1000, of the group, the mask and the others.
func acl(owner, user, group, mask, other uint16) string {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, permissions uint16
		id               uint32
	}{{1, owner, 1<<32 - 1}, {2, user, 1000}, {4, group, 1<<32 - 1}, {0x10, mask, 1<<32 - 1}, {0x20, other, 1<<32 - 1}} {
		b = le.AppendUint16(b, e.tag)
		b = le.AppendUint16(b, e.permissions)
		b = le.AppendUint32(b, e.id)
	}
	return string(b)
}

// random returns n bytes that depend on n only.
func random(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16)}).Read(b)
	return b
}

// buildTree makes a tree with all that can be kept.
func buildTree(t testing.TB, v *fs.Volume) {
	b := builder{t, v}
	b.dir("/a")
	b.dir("/a/b")
	b.dir("/a/empty")
	for _, n := range []int{0, 1, 15, 16, 4095, 4096, 4097, partSize - 1, partSize, partSize + 1, 5*partSize + 7} {
		b.file(fmt.Sprintf("/a/size-%d", n), int64(n), map[int64][]byte{0: random(n)})
	}
	b.file("/a/b/holes", 9<<20+5, map[int64][]byte{1 << 20: random(4096), 3<<20 + 4096: random(3 * partSize)})
	b.file("/a/b/hole at the end", 1<<30, map[int64][]byte{0: random(10)})
	b.file("/a/b/only a hole", 1<<40, nil)
	b.symlink("/a/link", "../../etc/passwd")
	b.symlink("/a/dangling", "/none/of\xff this")
	b.node("/a/fifo", store.ModeFIFO|0o640, 0)
	b.node("/a/socket", store.ModeSocket|0o755, 0)
	b.link("/a/size-4097", "/a/b/second")
	b.link("/a/size-4097", "/third")
	b.link("/a/fifo", "/fifo too")
	b.file("/"+strings.Repeat("n", 255), 3, map[int64][]byte{0: []byte("abc")})
	b.file("/new\nline \xff", 3, map[int64][]byte{0: []byte("abc")})
	b.xattr("/a/b", "user.dir", "of a directory")
	b.xattr("/a/size-1", "user.one", "")
	b.xattr("/a/size-1", "user.two", string(random(200)))
	mode := func(m uint32) *uint32 { return &m }
	b.set("/a/size-1", store.SetAttr{Mode: mode(0o444)})
	unreadable := uint32(0)
	if os.Geteuid() != 0 {
		unreadable = 0o400 // so that the test can read it
	}
	b.set("/a/size-0", store.SetAttr{Mode: &unreadable})
	b.set("/a/size-15", store.SetAttr{Mode: mode(0o4711)})
	b.set("/a/size-16", store.SetAttr{Mode: mode(0o2755)})
	b.set("/a/empty", store.SetAttr{Mode: mode(0o1777)})
	b.set("/a/b", store.SetAttr{Mode: mode(0o555)})
	// Where the lower file system has ACLs, and for root capabilities, which a later
	// write or a new owner would take away.
	b.xattrIfPossible("/a/size-4095", accessACL, acl(0o6, 0o4, 0o0, 0o4, 0o0))
	b.xattrIfPossible("/a/b", defaultACL, acl(0o7, 0o5, 0o5, 0o5, 0o1))
	b.xattrIfPossible("/a/size-4096", "security.capability", "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	at := time.Date(1999, 12, 31, 23, 59, 59, 123456789, time.UTC)
	for n, p := range []string{"/a/size-1", "/a/size-4097", "/a/link", "/a/fifo", "/a/b", "/a/empty", "/a", "/"} {
		mtime := at.Add(time.Duration(n) * time.Hour)
		b.set(p, store.SetAttr{Mtime: &mtime, Atime: &at})
	}
}

// problems collects what is reported.
type problems []string

func (p *problems) add(path string, err error) { *p = append(*p, path+": "+err.Error()) }

// mustExtract extracts without any problem.
func mustExtract(t testing.TB, v *fs.Volume, paths []string, dest string, o Options) Account {
	t.Helper()
	var told problems
	o.Report = told.add
	a, err := Extract(context.Background(), v, paths, dest, o)
	if err != nil || len(told) > 0 || a.Failed+a.Incomplete > 0 {
		t.Fatalf("got error %v, account %+v and\n%s", err, a, strings.Join(told, "\n"))
	}
	noPartials(t, dest)
	return a
}

// noPartials checks that no folder for unfinished files is left.
func noPartials(t testing.TB, dest string) {
	t.Helper()
	for _, dir := range []string{dest, filepath.Dir(dest)} {
		left, err := filepath.Glob(filepath.Join(dir, stagingName+"*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left: %q, %v", left, err)
		}
	}
}

// writable makes directories removable at the end of a test.
func writable(t testing.TB, dir string) {
	t.Cleanup(func() {
		filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if d != nil && d.IsDir() {
				os.Chmod(p, 0o700)
			}
			return nil
		})
	})
}
