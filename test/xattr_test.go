package test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// listXattrs returns the names of an object's attributes, sorted.
func listXattrs(t *testing.T, path string) []string {
	t.Helper()
	buf := make([]byte, 65536)
	n, err := unix.Llistxattr(path, buf)
	if err != nil {
		t.Errorf("listxattr %s: %v", path, err)
		return nil
	}
	names := strings.FieldsFunc(string(buf[:n]), func(r rune) bool { return r == 0 })
	slices.Sort(names)
	return names
}

// TestXattrNamespaces sets attributes of every namespace on objects of every
// kind.
func TestXattrNamespaces(t *testing.T) {
	needRoot(t)
	tr := mountedTree(t)
	objects := map[string]error{
		"file": os.WriteFile(tr.path("file"), nil, 0o644), "dir": os.Mkdir(tr.path("dir"), 0o755),
		"link": os.Symlink("none", tr.path("link")), "fifo": unix.Mkfifo(tr.path("fifo"), 0o644),
	}
	value := []byte("a value of some bytes")
	if err := unix.Lsetxattr(tr.path("file"), "trusted.a", value, 0); errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("no trusted attributes below")
	}
	want := map[string][]string{}
	for _, object := range sorted(objects) {
		if objects[object] != nil {
			t.Fatal(objects[object])
		}
		userError, noName := syscall.Errno(0), unix.EINVAL
		if object == "link" || object == "fifo" {
			userError, noName = unix.EPERM, unix.EPERM
		}
		for _, a := range []struct {
			name string
			want syscall.Errno
		}{
			{"user.a", userError}, {"user.日本", userError}, {"user.", noName}, {"user.encfs.a", userError},
			{"trusted.a", 0}, {"security.encfs-test", 0},
			{"system.a", unix.EOPNOTSUPP}, {"system.nfs4_acl", unix.EOPNOTSUPP}, {"other.a", unix.EOPNOTSUPP}, {"", unix.ERANGE},
		} {
			err := unix.Lsetxattr(tr.path(object), a.name, value, 0)
			wantErrno(t, fmt.Sprintf("set %q of %s", a.name, object), err, a.want)
			if a.want == 0 {
				want[object] = append(want[object], a.name)
			}
		}
		slices.Sort(want[object])
	}
	for _, when := range []string{"new", "after a remount"} {
		for _, object := range sorted(objects) {
			got := slices.DeleteFunc(listXattrs(t, tr.path(object)), func(n string) bool { return n == "security.selinux" })
			if !slices.Equal(got, want[object]) {
				t.Errorf("%s, %s: %q, want %q", object, when, got, want[object])
			}
			for _, name := range want[object] {
				buf := make([]byte, 100)
				n, err := unix.Lgetxattr(tr.path(object), name, buf)
				if err != nil || !bytes.Equal(buf[:n], value) {
					t.Errorf("%s of %s, %s: %q, %v", name, object, when, buf[:max(n, 0)], err)
				}
			}
		}
		if when == "new" {
			tr.remount()
		}
	}
	// Below, those of users have neither their names nor their values.
	for _, name := range listXattrs(t, tr.lower(tr.path("file"))) {
		if name == "user.a" || strings.Contains(name, "日本") {
			t.Errorf("%s is stored in the clear", name)
		}
	}
}

func TestXattrCalls(t *testing.T) {
	tr := mountedTree(t)
	p := tr.plant("file", nil)
	value := pattern(100, 1)
	if err := unix.Setxattr(p, "user.a", value, 0); errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("no user attributes below")
	}
	for _, tt := range []struct {
		what string
		err  error
		want syscall.Errno
	}{
		{"XATTR_CREATE of what is there", unix.Setxattr(p, "user.a", nil, unix.XATTR_CREATE), unix.EEXIST},
		{"XATTR_REPLACE of what is not there", unix.Setxattr(p, "user.b", nil, unix.XATTR_REPLACE), unix.ENODATA},
		{"unknown flags", unix.Setxattr(p, "user.a", nil, 4), unix.EINVAL},
		{"get into too small a buffer", second(unix.Getxattr(p, "user.a", make([]byte, 99))), unix.ERANGE},
		{"list into too small a buffer", second(unix.Listxattr(p, make([]byte, 3))), unix.ERANGE},
		{"get of nothing", second(unix.Getxattr(p, "user.b", nil)), unix.ENODATA},
		{"remove of nothing", unix.Removexattr(p, "user.b"), unix.ENODATA},
		{"a value that is too long", unix.Setxattr(p, "user.b", make([]byte, 65537), 0), unix.E2BIG},
		{"a name that is too long", unix.Setxattr(p, "user."+strings.Repeat("x", 251), nil, 0), unix.ERANGE},
		{"get of a name that is too long", second(unix.Getxattr(p, "user."+strings.Repeat("x", 251), nil)), unix.ERANGE},
		{"XATTR_CREATE", unix.Setxattr(p, "user.c", value, unix.XATTR_CREATE), 0},
		{"XATTR_REPLACE", unix.Setxattr(p, "user.c", nil, unix.XATTR_REPLACE), 0},
	} {
		wantErrno(t, tt.what, tt.err, tt.want)
	}
	if n, err := unix.Getxattr(p, "user.a", nil); n != len(value) || err != nil {
		t.Errorf("size of a value: %d, %v, want %d", n, err, len(value))
	}
	if n, err := unix.Getxattr(p, "user.c", make([]byte, 10)); n != 0 || err != nil {
		t.Errorf("an empty value: %d, %v", n, err)
	}
	if n, err := unix.Listxattr(p, nil); n < len("user.a\x00user.c\x00") || err != nil {
		t.Errorf("size of the list: %d, %v", n, err)
	}
	wantErrno(t, "remove", unix.Removexattr(p, "user.a"), 0)
	wantErrno(t, "get of what is removed", second(unix.Getxattr(p, "user.a", nil)), unix.ENODATA)
}

// acl is a POSIX ACL as linux/posix_acl_xattr.h lays it out: version 2, then
// tag, permissions and ID of each entry.
func acl(entries ...[3]uint32) []byte {
	b := []byte{2, 0, 0, 0}
	for _, e := range entries {
		b = append(b, byte(e[0]), byte(e[0]>>8), byte(e[1]), byte(e[1]>>8), byte(e[2]), byte(e[2]>>8), byte(e[2]>>16), byte(e[2]>>24))
	}
	return b
}

// Tags of linux/posix_acl.h.
const (
	aclUserObj  = 0x01
	aclUser     = 0x02
	aclGroupObj = 0x04
	aclMask     = 0x10
	aclOther    = 0x20
	noID        = 1<<32 - 1
)

// TestACLAndMode checks what an ACL and the mode of its object do to each other,
// and who may set it.
func TestACLAndMode(t *testing.T) {
	tr, dir := openHouse(t)
	const access, defaults = "system.posix_acl_access", "system.posix_acl_default"
	forAlice := acl([3]uint32{aclUserObj, 6, noID}, [3]uint32{aclUser, 6, alice}, [3]uint32{aclGroupObj, 4, noID},
		[3]uint32{aclMask, 6, noID}, [3]uint32{aclOther, 0, noID})
	p := tr.plant("open/file", []byte("x"))
	if err := errors.Join(os.Chown(p, bob, bob), unix.Chmod(p, 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(p, access, forAlice, 0); errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("no ACLs below")
	} else if err != nil {
		t.Fatal(err)
	}
	mode := func(path string) uint32 {
		t.Helper()
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			t.Error(err)
		}
		return st.Mode & 0o7777
	}
	if m := mode(p); m != 0o660 {
		t.Errorf("mode with the ACL %#o, want 0660: the mask is where the group's permissions are", m)
	}
	asUser(t, alice, alice, func() {
		wantErrno(t, "write by the ACL", openClose(dir+"/file", unix.O_RDWR), 0)
		wantErrno(t, "set the ACL of another's file", unix.Setxattr(dir+"/file", access, forAlice, 0), unix.EPERM)
		wantErrno(t, "remove it", unix.Removexattr(dir+"/file", access), unix.EPERM)
	})
	asUser(t, team, team, func() { wantErrno(t, "read by nobody in the ACL", openClose(dir+"/file", unix.O_RDONLY), unix.EACCES) })
	// chmod of the group is one of the mask.
	asUser(t, bob, bob, func() { wantErrno(t, "chmod", unix.Chmod(dir+"/file", 0o640), 0) })
	asUser(t, alice, alice, func() {
		wantErrno(t, "write past the mask", openClose(dir+"/file", unix.O_RDWR), unix.EACCES)
		wantErrno(t, "read", openClose(dir+"/file", unix.O_RDONLY), 0)
	})
	tr.remount()
	dir = tr.reachable("open")
	asUser(t, alice, alice, func() {
		wantErrno(t, "write past the mask, after a remount", openClose(dir+"/file", unix.O_RDWR), unix.EACCES)
		wantErrno(t, "read, after a remount", openClose(dir+"/file", unix.O_RDONLY), 0)
	})
	wantErrno(t, "remove the ACL", unix.Removexattr(p, access), 0)
	asUser(t, alice, alice, func() {
		wantErrno(t, "read without the ACL", openClose(dir+"/file", unix.O_RDONLY), unix.EACCES)
	})

	inherited := acl([3]uint32{aclUserObj, 7, noID}, [3]uint32{aclUser, 6, alice}, [3]uint32{aclGroupObj, 4, noID},
		[3]uint32{aclMask, 6, noID}, [3]uint32{aclOther, 0, noID})
	for _, tt := range []struct {
		what, path, name string
		value            []byte
		want             syscall.Errno
	}{
		{"default ACL of a file", p, defaults, forAlice, unix.EACCES},
		{"half an ACL", p, access, forAlice[:10], unix.EINVAL},
		{"ACL of another version", p, access, []byte{3, 0, 0, 0}, unix.EOPNOTSUPP},
		{"default ACL", tr.path("open"), defaults, inherited, 0},
	} {
		wantErrno(t, tt.what, unix.Setxattr(tt.path, tt.name, tt.value, 0), tt.want)
	}
	// Inherited in place of the umask, by directories for what is in them too.
	asUser(t, bob, bob, func() {
		wantErrno(t, "create", openClose(dir+"/new", unix.O_CREAT|unix.O_WRONLY), 0)
		wantErrno(t, "mkdir", unix.Mkdir(dir+"/sub", 0o777), 0)
		wantErrno(t, "create in it", openClose(dir+"/sub/new", unix.O_CREAT|unix.O_WRONLY), 0)
	})
	for name, want := range map[string]uint32{"new": 0o640, "sub": 0o760, "sub/new": 0o640} {
		if m := mode(tr.path("open", name)); m != want {
			t.Errorf("mode of %s %#o, want %#o", name, m, want)
		}
		if n, err := unix.Getxattr(tr.path("open", name), access, make([]byte, 200)); n != len(inherited) {
			t.Errorf("ACL of %s: %d bytes, %v", name, n, err)
		}
	}
	if n, err := unix.Getxattr(tr.path("open/sub"), defaults, make([]byte, 200)); n != len(inherited) {
		t.Errorf("default ACL of a new directory: %d bytes, %v", n, err)
	}
}

// TestACLTakesSetGroupID: who is not in the group of a file, and sets its ACL,
// loses its set-group-ID bit, as with chmod.
func TestACLTakesSetGroupID(t *testing.T) {
	tr, dir := openHouse(t)
	p := tr.plant("open/file", []byte("x"))
	if err := errors.Join(os.Chown(p, alice, team), unix.Chmod(p, 0o2755)); err != nil {
		t.Fatal(err)
	}
	asUser(t, alice, alice, func() {
		err := unix.Setxattr(dir+"/file", "system.posix_acl_access",
			acl([3]uint32{aclUserObj, 7, noID}, [3]uint32{aclGroupObj, 5, noID}, [3]uint32{aclOther, 5, noID}), 0)
		if errors.Is(err, unix.EOPNOTSUPP) {
			t.Log("no ACLs below")
			return
		}
		wantErrno(t, "set the ACL", err, 0)
		var st unix.Stat_t
		if err := unix.Stat(dir+"/file", &st); err != nil || st.Mode&0o7777 != 0o755 {
			t.Errorf("mode %#o, %v, want 0755", st.Mode&0o7777, err)
		}
	})
}
