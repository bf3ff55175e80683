package fs_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/fs/store"
	"encfs/keys"
)

// TestDirectoryOfAnotherPolicy puts a directory from another tree under the same
// key into a tree. What is made in it has its policy, as fscrypt has it.
func TestDirectoryOfAnotherPolicy(t *testing.T) {
	from, to := newTree(t, keys.AES256XTS, keys.AES256HCTR2), newTree(t, keys.AES256XTS, keys.AES256CTS)
	lower := map[string]string{}
	for _, dir := range []string{from, to} {
		v, done := openTree(t, dir, fs.Options{}, dirstore.Options{})
		i, _, err := v.Mkdir(v.Root(), "dir", 0o755, fs.AnyOwner)
		if err != nil {
			t.Fatal(err)
		}
		lower[dir] = filepath.Join(dir, i.String())
		v.Release(i, 1)
		done()
	}
	if err := os.RemoveAll(lower[to]); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(lower[from], lower[to]); err != nil {
		t.Fatal(err)
	}

	open := func() (*fs.Volume, func()) { return openTree(t, to, fs.Options{}, dirstore.Options{}) }
	v, done := open()
	dir, _, err := v.Walk("dir")
	if err != nil {
		t.Fatal(err)
	}
	link, _, err := v.Symlink(dir, "link", "target", fs.AnyOwner)
	if err != nil {
		t.Fatal(err)
	}
	v.Release(link, 1)
	sub, _, err := v.Mkdir(dir, "sub", 0o755, fs.AnyOwner)
	if err != nil {
		t.Fatal(err)
	}
	if link, _, err = v.Symlink(sub, "link", "target", fs.AnyOwner); err != nil {
		t.Fatal(err)
	}
	v.Release(link, 1)
	if err := v.Rename(dir, "link", sub, "moved", 0); err != nil {
		t.Errorf("Rename between directories of the same policy: %v", err)
	}
	if err := v.Rename(sub, "link", v.Root(), "link", 0); fs.Errno(err) != syscall.EXDEV {
		t.Errorf("Rename between directories of different policies: %v, want EXDEV", err)
	}
	v.Release(sub, 1)
	v.Release(dir, 1)
	done()

	v, _ = open()
	for _, path := range []string{"dir/sub/link", "dir/sub/moved"} {
		i, _, err := v.Walk(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got, err := v.Readlink(i); got != "target" || err != nil {
			t.Errorf("%s leads to %q, %v", path, got, err)
		}
		v.Release(i, 1)
	}
}

// TestNames goes through what can be done to names and the errno of what
// cannot, on one volume and in this order.
func TestNames(t *testing.T) {
	dir := newTree(t, keys.AES256XTS, keys.AES256CTS)
	v, done := openTree(t, dir, fs.Options{}, dirstore.Options{})
	// In place of a number of links: the path leads nowhere, or to a directory,
	// whose number is the lower file system's affair.
	const cannot, directory = -1, 0
	// at calls f with the directory of a path and the name in it.
	at := func(path string, f func(dir *fs.Inode, name string) error) error {
		d, name := "", path
		if k := strings.LastIndexByte(path, '/'); k >= 0 {
			d, name = path[:k], path[k+1:]
		}
		i, _, err := v.Walk(d)
		if err != nil {
			return err
		}
		defer v.Release(i, 1)
		return f(i, name)
	}
	drop := func(i *fs.Inode, _ fs.Attr, err error) error {
		if err == nil {
			v.Release(i, 1)
		}
		return err
	}
	mkdir := func(path string) error {
		return at(path, func(d *fs.Inode, name string) error { return drop(v.Mkdir(d, name, 0o700, fs.AnyOwner)) })
	}
	mknod := func(path string, mode uint32) error {
		return at(path, func(d *fs.Inode, name string) error { return drop(v.Mknod(d, name, mode, 0, fs.AnyOwner)) })
	}
	symlink := func(path, target string) error {
		return at(path, func(d *fs.Inode, name string) error { return drop(v.Symlink(d, name, target, fs.AnyOwner)) })
	}
	unlink := func(path string) error { return at(path, v.Unlink) }
	rmdir := func(path string) error { return at(path, v.Rmdir) }
	link := func(old, path string) error {
		i, _, err := v.Walk(old)
		if err != nil {
			return err
		}
		defer v.Release(i, 1)
		return at(path, func(d *fs.Inode, name string) error {
			_, err := v.Link(i, d, name)
			return drop(i, fs.Attr{}, err)
		})
	}
	rename := func(from, to string, flags uint) error {
		return at(from, func(fromDir *fs.Inode, fromName string) error {
			return at(to, func(toDir *fs.Inode, toName string) error {
				return v.Rename(fromDir, fromName, toDir, toName, flags)
			})
		})
	}
	long := strings.Repeat("n", 255)
	// step checks the errno of what has just been done, and the number of links
	// of what a path leads to now.
	step := func(what string, err error, want syscall.Errno, path string, nlink int) {
		t.Helper()
		if got := fs.Errno(err); got != want {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
		got := cannot
		i, a, err := v.Walk(path)
		if err == nil {
			got = int(a.Nlink)
			if i.Type() == store.ModeDir {
				got = directory
			}
			v.Release(i, 1)
		}
		if path != "" && got != nlink {
			t.Errorf("%s: %q has %d links, %v, want %d", what, path, got, err, nlink)
		}
		if n := v.InUse(); n != 0 {
			t.Fatalf("%s: %d inodes are in use", what, n)
		}
	}
	step("mkdir", mkdir("d"), 0, "d", directory)
	step("mkdir in it", mkdir("d/sub"), 0, "d", directory)
	step("mkdir of a long name", mkdir(long), 0, long, directory)
	step("mkdir of a longer name", mkdir(long+"n"), syscall.ENAMETOOLONG, "", 0)
	step("mkdir again", mkdir("d"), syscall.EEXIST, "d", directory)
	step("mkdir in nothing", mkdir("x/y"), syscall.ENOENT, "", 0)
	step("mknod", mknod("f", store.ModeRegular|0o600), 0, "f", 1)
	step("mknod without a type", mknod("f2", 0o600), 0, "f2", 1)
	step("mknod of a socket", mknod("socket", store.ModeSocket|0o600), 0, "socket", 1)
	step("mknod in a file", mknod("f/x", 0o600), syscall.ENOTDIR, "f", 1)
	step("symlink", symlink("l", "d/sub"), 0, "l", 1)
	step("symlink to a long target", symlink("l2", strings.Repeat("t", 3000)), 0, "l2", 1)
	step("symlink to the longest target", symlink("l3", strings.Repeat("t", 4095)), 0, "l3", 1)
	step("symlink to a target that is too long", symlink("l4", strings.Repeat("t", 4096)), syscall.ENAMETOOLONG, "l4", cannot)
	step("link", link("f", "d/f"), 0, "f", 2)
	step("link with a long name", link("f", "d/"+long), 0, "f", 3)
	step("link of a symbolic link", link("l", "d/l"), 0, "d/l", 2)
	step("link of a directory", link("d", "d2"), syscall.EPERM, "d2", cannot)
	step("link over something", link("f", "f2"), syscall.EEXIST, "f2", 1)
	step("unlink", unlink("d/"+long), 0, "f", 2)
	step("unlink of nothing", unlink("x"), syscall.ENOENT, "", 0)
	step("unlink of a directory", unlink("d"), syscall.EISDIR, "d", directory)
	step("rmdir of a file", rmdir("f"), syscall.ENOTDIR, "f", 2)
	step("rmdir of nothing", rmdir("x"), syscall.ENOENT, "", 0)
	step("rmdir of what is not empty", rmdir("d"), syscall.ENOTEMPTY, "d", directory)
	step("rename", rename("f2", "f3", 0), 0, "f3", 1)
	step("rename of nothing", rename("f2", "f3", 0), syscall.ENOENT, "f3", 1)
	step("rename over a file", rename("f3", "d/f", 0), 0, "d/f", 1)
	step("the other link of what was there", nil, 0, "f", 1)
	step("rename over a file, without replacing", rename("f", "d/f", unix.RENAME_NOREPLACE), syscall.EEXIST, "f", 1)
	step("rename of a file over a directory", rename("f", "d", 0), syscall.EISDIR, "f", 1)
	step("rename of a directory over a file", rename("d", "f", 0), syscall.ENOTDIR, "d", directory)
	step("rename of a directory over a full one", rename(long, "d", 0), syscall.ENOTEMPTY, long, directory)
	step("rename of a directory into itself", rename("d", "d/sub/d", 0), syscall.EINVAL, "d", directory)
	step("rename of a directory over an empty one", rename(long, "d/sub", 0), 0, long, cannot)
	step("exchange", rename("f", "d/sub", unix.RENAME_EXCHANGE), 0, "f", directory)
	step("exchange with nothing", rename("f", "x", unix.RENAME_EXCHANGE), syscall.ENOENT, "d/sub", 1)
	step("whiteout", rename("f", "x", unix.RENAME_WHITEOUT), syscall.EINVAL, "f", directory)
	step("rename to a long name", rename("f", long, 0), 0, long, directory)
	step("rename from a long name", rename(long, "f", 0), 0, "f", directory)
	step("rename to a longer name", rename("f", long+"n", 0), syscall.ENAMETOOLONG, "f", directory)
	step("rmdir", rmdir("f"), 0, "f", cannot)
	step("unlink of a symbolic link", unlink("l"), 0, "d/l", 1)

	done()
	v, _ = openTree(t, dir, fs.Options{ReadOnly: true}, dirstore.Options{ReadOnly: true})
	for what, err := range map[string]error{
		"mkdir": mkdir("x"), "mknod": mknod("x", 0o600), "symlink": symlink("x", "y"), "link": link("d/sub", "x"),
		"unlink": unlink("d/sub"), "rmdir": rmdir("d"), "rename": rename("d", "x", 0),
		"set attributes": v.SetAttr(v.Root(), store.SetAttr{MtimeNow: true}),
		"set attribute":  v.SetXattr(v.Root(), "user.x", nil, 0), "remove attribute": v.RemoveXattr(v.Root(), "user.x"),
	} {
		step(what+", read-only", err, syscall.EROFS, "d/sub", 1)
	}
}

// TestRenameBad gives entries whose names do not decode good ones: one with a name that
// is no encoding, and one with a long name that has lost its sidecar.
func TestRenameBad(t *testing.T) {
	dir := newTree(t, keys.AES256XTS, keys.AES256CTS)
	v, done := openTree(t, dir, fs.Options{}, dirstore.Options{})
	var lower []string
	for _, name := range []string{"file", strings.Repeat("n", 200)} {
		i := create(t, v, name, pattern(100, 1))
		v.CloseFile(i)
		lower = append(lower, i.String())
		v.Release(i, 1)
	}
	done()
	if err := os.Rename(filepath.Join(dir, lower[0]), filepath.Join(dir, "not base64!")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, lower[1]+".name")); err != nil {
		t.Fatal(err)
	}
	bad := []string{"not base64! (undecodable)", lower[1] + " (undecodable)"}

	v, done = openTree(t, dir, fs.Options{}, dirstore.Options{})
	if err := v.Rename(v.Root(), bad[0], v.Root(), "saved", 0); fs.Errno(err) != syscall.ENOENT {
		t.Errorf("Rename without ShowBad: %v, want ENOENT", err)
	}
	done()

	v, done = openTree(t, dir, fs.Options{ShowBad: true}, dirstore.Options{})
	other := create(t, v, "other", nil)
	v.CloseFile(other)
	v.Release(other, 1)
	for _, step := range []struct {
		old, new string
		flags    uint
		want     syscall.Errno
	}{
		{bad[0], "other", unix.RENAME_EXCHANGE, syscall.EINVAL},
		{bad[0], "other", unix.RENAME_NOREPLACE, syscall.EEXIST},
		{"none (undecodable)", "saved", 0, syscall.ENOENT},
		{".encfs-dir (undecodable)", "saved", 0, syscall.ENOENT},
		{bad[0], "other", 0, 0},
		{bad[1], strings.Repeat("m", 200), 0, 0},
	} {
		if err := v.Rename(v.Root(), step.old, v.Root(), step.new, step.flags); fs.Errno(err) != step.want {
			t.Errorf("Rename(%q, %q, %d): %v, want %v", step.old, step.new, step.flags, err, step.want)
		}
	}
	done()

	v, _ = openTree(t, dir, fs.Options{}, dirstore.Options{})
	if got, want := listing(t, v), strings.Repeat("m", 200)+"|other"; got != want {
		t.Errorf("entries are %q, want %q", got, want)
	}
	for _, name := range []string{"other", strings.Repeat("m", 200)} {
		i, _, err := v.Walk(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := contents(t, v, i); string(got) != string(pattern(100, 1)) {
			t.Errorf("%s: contents differ", name)
		}
		v.Release(i, 1)
	}
	if names, err := filepath.Glob(filepath.Join(dir, ".encfs-long-*")); err != nil || len(names) != 2 {
		t.Errorf("of the long name there are %q, %v; want the object and its sidecar", names, err)
	}
}
