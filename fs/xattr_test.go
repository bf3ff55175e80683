package fs_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/fs/store"
	"encfs/keys"
)

// needXattrs skips a test where the lower file system has no user attributes.
func needXattrs(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Setxattr(dir, "user.test", nil, 0); err != nil {
		t.Skip("no extended attributes in ", dir, ": ", err)
	}
	unix.Removexattr(dir, "user.test")
}

func TestXattrRoundTrip(t *testing.T) {
	for _, p := range testPolicies {
		t.Run(p.name, func(t *testing.T) {
			dir := newTree(t, p.contents, p.filenames)
			needXattrs(t, dir)
			v, done := openTree(t, dir, fs.Options{}, dirstore.Options{})
			want := map[string][]byte{}
			for _, n := range []int{1, 2, 15, 16, 17, 31, 32, 33, 160, 161, 182, 183} {
				name := "user." + strings.Repeat("n", n)
				want[name] = pattern(n%7, byte(n)) // some are empty
				if err := v.SetXattr(v.Root(), name, want[name], 0); err != nil {
					t.Fatalf("SetXattr of a name of %d bytes: %v", n, err)
				}
			}
			done()
			v, _ = openTree(t, dir, fs.Options{}, dirstore.Options{})
			names, err := v.ListXattr(v.Root())
			if err != nil || len(names) != len(want) {
				t.Errorf("ListXattr = %d names, %v, want %d", len(names), err, len(want))
			}
			for _, name := range names {
				got, err := v.GetXattr(v.Root(), name)
				if w, ok := want[name]; !ok || err != nil || !bytes.Equal(got, w) {
					t.Errorf("GetXattr(%q) = %x, %v, want %x", name, got, err, w)
				}
			}
		})
	}
}

func TestXattrErrno(t *testing.T) {
	dir := newTree(t, keys.AES256XTS, keys.AES256CTS)
	needXattrs(t, dir)
	v, _ := openTree(t, dir, fs.Options{}, dirstore.Options{})
	i := create(t, v, "f", nil)
	defer v.Release(i, 1)
	defer v.CloseFile(i)
	link, _, err := v.Symlink(v.Root(), "link", "f", fs.AnyOwner)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release(link, 1)
	if err := v.SetXattr(i, "user.there", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	get := func(i *fs.Inode, name string) error { _, err := v.GetXattr(i, name); return err }
	long := "user." + strings.Repeat("n", 184)
	for _, tt := range []struct {
		name string
		err  error
		want syscall.Errno
	}{
		{"get what is not there", get(i, "user.none"), syscall.ENODATA},
		{"remove what is not there", v.RemoveXattr(i, "user.none"), syscall.ENODATA},
		{"create what is there", v.SetXattr(i, "user.there", nil, unix.XATTR_CREATE), syscall.EEXIST},
		{"replace what is not there", v.SetXattr(i, "user.none", nil, unix.XATTR_REPLACE), syscall.ENODATA},
		// ERANGE from getxattr(2) would say that the buffer is too small.
		{"get a name that is too long", get(i, long), syscall.ENODATA},
		{"remove a name that is too long", v.RemoveXattr(i, long), syscall.ENODATA},
		{"set a name that is too long", v.SetXattr(i, long, nil, 0), syscall.ERANGE},
		{"set no name", v.SetXattr(i, "user.", nil, 0), syscall.EINVAL},
		{"set a value that is too long", v.SetXattr(i, "user.big", make([]byte, 65536-39), 0), syscall.E2BIG},
		{"set without a namespace", v.SetXattr(i, "name", nil, 0), syscall.EOPNOTSUPP},
		{"set in a namespace that there is not", v.SetXattr(i, "users.name", nil, 0), syscall.EOPNOTSUPP},
		{"set an ACL of another kind", v.SetXattr(i, "system.nfs4_acl", nil, 0), syscall.EOPNOTSUPP},
		{"get an ACL of another kind", get(i, "system.nfs4_acl"), syscall.EOPNOTSUPP},
		{"set on a link", v.SetXattr(link, "user.name", nil, 0), syscall.EPERM},
		{"get from a link", get(link, "user.name"), syscall.ENODATA},
		{"remove", v.RemoveXattr(i, "user.there"), 0},
		{"get what was removed", get(i, "user.there"), syscall.ENODATA},
	} {
		if got := fs.Errno(tt.err); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, tt.err, tt.want)
		}
	}
}

// TestXattrTampering changes what lies in the store: each value is refused, and
// no name hides the others.
func TestXattrTampering(t *testing.T) {
	dir := newTree(t, keys.AES256XTS, keys.AES256CTS)
	needXattrs(t, dir)
	v, _ := openTree(t, dir, fs.Options{}, dirstore.Options{})
	i := create(t, v, "f", nil)
	defer v.Release(i, 1)
	defer v.CloseFile(i)
	lower := filepath.Join(dir, i.String())
	stored := map[string][]byte{}
	storedName := map[string]string{}
	for _, name := range []string{"user.a", "user.b"} {
		if err := v.SetXattr(i, name, []byte("value of "+name), 0); err != nil {
			t.Fatal(err)
		}
		list := make([]byte, 1000)
		n, err := unix.Llistxattr(lower, list)
		if err != nil {
			t.Fatal(err)
		}
		for l := range strings.SplitSeq(strings.TrimSuffix(string(list[:n]), "\x00"), "\x00") {
			if strings.HasPrefix(l, "user.encfs.") && stored[l] == nil {
				value := make([]byte, 1000)
				n, err := unix.Lgetxattr(lower, l, value)
				if err != nil {
					t.Fatal(err)
				}
				stored[l], storedName[name] = value[:n], l
			}
		}
	}
	a := stored[storedName["user.a"]]
	flip := func(k int) []byte {
		b := bytes.Clone(a)
		b[k] ^= 1
		return b
	}
	for _, tt := range []struct {
		name  string
		value []byte
	}{
		{"the nonce", flip(0)},
		{"the value", flip(24)},
		{"the tag", flip(len(a) - 1)},
		{"cut", a[:len(a)-1]},
		{"cut to nonce and tag", a[:40]},
		{"cut to less", a[:39]},
		{"nothing", nil},
		{"that of another name", stored[storedName["user.b"]]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := unix.Lsetxattr(lower, storedName["user.a"], tt.value, 0); err != nil {
				t.Fatal(err)
			}
			got, err := v.GetXattr(i, "user.a")
			if _, ok := errors.AsType[*store.DamagedError](err); !ok || fs.Errno(err) != syscall.EIO {
				t.Errorf("GetXattr = %q, %v, want a DamagedError", got, err)
			}
		})
	}
	if got, err := v.GetXattr(i, "user.b"); err != nil || string(got) != "value of user.b" {
		t.Errorf("the other attribute is %q, %v", got, err)
	}
	for _, name := range []string{"user.encfs.", "user.encfs.AAAA", "user.encfs.not base64", "user.foreign",
		"user.encfs." + strings.Repeat("A", 22)} {
		if err := unix.Lsetxattr(lower, name, []byte("x"), 0); err != nil {
			t.Fatal(err)
		}
	}
	names, err := v.ListXattr(i)
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, "user.") })
	if slices.Sort(names); err != nil || !slices.Equal(names, []string{"user.a", "user.b"}) {
		t.Errorf("ListXattr = %q, %v", names, err)
	}
}

// TestListXattrOfTrusted: only root sees the names of trusted attributes, as on
// other file systems.
func TestListXattrOfTrusted(t *testing.T) {
	dir := newTree(t, keys.AES256XTS, keys.AES256CTS)
	if err := unix.Setxattr(dir, "trusted.test", []byte("x"), 0); err != nil {
		t.Skip("cannot set a trusted attribute: ", err)
	}
	v, _ := openTree(t, dir, fs.Options{}, dirstore.Options{})
	f, err := fs.NewFS(v)
	if err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[uint32]bool{0: true, 1000: false} {
		h := in(fuse.FUSE_ROOT_ID)
		h.Uid = uid
		buf := make([]byte, 1000)
		n, status := f.ListXAttr(nil, &h, buf)
		if got := bytes.Contains(buf[:n], []byte("trusted.test\x00")); !status.Ok() || got != want {
			t.Errorf("user %d: ListXAttr = %q, %v", uid, buf[:n], status)
		}
	}
}
