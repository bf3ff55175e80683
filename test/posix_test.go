package test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/posixtest"
	"golang.org/x/sys/unix"
)

// posixSkips are the rows of go-fuse's table that do not hold here, each with
// the reason.
var posixSkips = map[string]string{
	"FcntlFlockLocksFile": "it wants a process to lock itself out, which POSIX locks never do, those of ext4 neither",
	"FstatDeleted":        "it wants open to leave atime alone; ours reads the header, and so does what is below",
}

// TestPosixTable runs go-fuse's table of what a POSIX file system does.
func TestPosixTable(t *testing.T) {
	tr := mountedTree(t)
	for _, name := range sorted(posixtest.All) {
		t.Run(name, func(t *testing.T) {
			if why := posixSkips[name]; why != "" {
				t.Skip(why)
			}
			dir := tr.path(name)
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			posixtest.All[name](t, dir)
		})
	}
}

// TestTruncateWhileOpenElsewhere cuts and grows files by path that another
// process, as far as the file system can tell, has open for reading only.
func TestTruncateWhileOpenElsewhere(t *testing.T) {
	tr := mountedTree(t)
	for _, from := range edges {
		for _, to := range edges {
			p := tr.plant("file", pattern(from, 1))
			f, err := os.Open(p)
			if err != nil {
				t.Fatal(err)
			}
			first := make([]byte, 10)
			f.ReadAt(first, 0) // so that something is cached
			if err := os.Truncate(p, int64(to)); err != nil {
				t.Fatalf("%d to %d: %v", from, to, err)
			}
			want := append(pattern(from, 1)[:min(from, to)], make([]byte, max(0, to-from))...)
			got := make([]byte, to+10)
			n, _ := f.ReadAt(got, 0)
			sameBytes(t, fmt.Sprintf("%d cut to %d, by the open file", from, to), got[:n], want)
			if fi, err := f.Stat(); err != nil || fi.Size() != int64(to) {
				t.Errorf("%d cut to %d: fstat says %v, %v", from, to, fi.Size(), err)
			}
			f.Close()
			wantFile(t, p, want)
			os.Remove(p)
		}
	}
}

// TestReadersRaceWithGrowth reads a file that grows and shrinks: a byte is what
// was written or zero, never anything else.
func TestReadersRaceWithGrowth(t *testing.T) {
	tr := mountedTree(t)
	data := pattern(40000, 1)
	p := tr.plant("file", data[:100])
	var stop atomic.Bool
	var group sync.WaitGroup
	defer group.Wait()
	defer stop.Store(true)
	for k := range 3 {
		group.Go(func() {
			f, err := os.Open(p)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			buf := make([]byte, 9000)
			for off := int64(k * 1000); !stop.Load(); off = (off + 4999) % 40000 {
				n, err := f.ReadAt(buf, off)
				if err != nil && n == len(buf) {
					t.Errorf("read: %v", err)
					return
				}
				for i, b := range buf[:n] {
					if b != 0 && b != data[off+int64(i)] {
						t.Errorf("byte %d is %#x, neither zero nor the %#x written there", off+int64(i), b, data[off+int64(i)])
						return
					}
				}
			}
		})
	}
	w, err := os.OpenFile(p, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		switch size := edges[r.IntN(len(edges))]; r.IntN(3) {
		case 0, 1:
			err = w.Truncate(int64(min(size, 40000)))
		default:
			from := r.IntN(39000)
			_, err = w.WriteAt(data[from:from+1+r.IntN(1000)], int64(from))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestManyReadersSeek compares what many readers find at random places of one
// file with the source.
func TestManyReadersSeek(t *testing.T) {
	tr := mountedTree(t)
	data := pattern(3<<20+123, 9)
	p := tr.plant("file", data)
	tr.remount()
	var group sync.WaitGroup
	for k := range 64 {
		group.Go(func() {
			f, err := os.Open(p)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			r := rand.New(rand.NewPCG(uint64(k), 0))
			for range 40 {
				off := r.IntN(len(data))
				buf := make([]byte, 1+r.IntN(200000))
				if r.IntN(2) == 0 {
					off = off / 4096 * 4096
				}
				n, _ := f.ReadAt(buf, int64(off))
				want := data[off:min(off+len(buf), len(data))]
				if !bytes.Equal(buf[:n], want) {
					sameBytes(t, fmt.Sprintf("%d bytes at %d", len(buf), off), buf[:n], want)
					return
				}
			}
		})
	}
	group.Wait()
}

func TestUnlinkedFileGoesOn(t *testing.T) {
	tr := mountedTree(t)
	p := tr.plant("file", pattern(5000, 1))
	f, err := os.OpenFile(p, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Remove(p); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Nlink != 0 || st.Size != 5000 {
		t.Errorf("fstat: %d links, size %d, %v", st.Nlink, st.Size, err)
	}
	for _, step := range []struct {
		what string
		err  error
	}{
		{"fchmod", f.Chmod(0o600)},
		{"ftruncate", f.Truncate(3000)},
		{"fsync", f.Sync()},
		{"futimens", unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), make([]unix.Timespec, 2), 0)},
		{"fsetxattr", unix.Fsetxattr(int(f.Fd()), "user.a", []byte("b"), 0)},
	} {
		if step.err != nil {
			t.Errorf("%s of an unlinked file: %v", step.what, step.err)
		}
	}
	if _, err := f.WriteAt(pattern(100, 2), 2950); err != nil {
		t.Error(err)
	}
	want := append(pattern(2950, 1), pattern(100, 2)...)
	got := make([]byte, 4000)
	n, _ := f.ReadAt(got, 0)
	sameBytes(t, "unlinked file", got[:n], want)
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&0o777 != 0o600 || st.Size != 3050 {
		t.Errorf("fstat: mode %#o, size %d, %v", st.Mode, st.Size, err)
	}
	// Its name is free for another file.
	tr.plant("file", []byte("new"))
	wantFile(t, p, []byte("new"))
	// It cannot be given a name again.
	err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.AT_FDCWD, tr.path("again"), unix.AT_SYMLINK_FOLLOW)
	wantErrno(t, "linkat of an unlinked file", err, unix.ENOENT)
}

// TestRemovedDirectoryInUse keeps using a directory that has been removed.
func TestRemovedDirectoryInUse(t *testing.T) {
	tr := mountedTree(t)
	p := tr.path("dir")
	if err := os.Mkdir(p, 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(p, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := os.Remove(p); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Nlink != 0 {
		t.Errorf("fstat: %d links, %v; want none", st.Nlink, err)
	}
	_, err = unix.Openat(fd, "file", unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	wantErrno(t, "create in a removed directory", err, unix.ENOENT)
	wantErrno(t, "mkdir in a removed directory", unix.Mkdirat(fd, "dir", 0o755), unix.ENOENT)
	buf := make([]byte, 4096)
	if n, err := unix.Getdents(fd, buf); err != nil && err != unix.ENOENT {
		t.Errorf("getdents: %d, %v", n, err)
	}
}

func TestLinkCounts(t *testing.T) {
	tr := mountedTree(t)
	links := func(name string) (n, size uint64) {
		t.Helper()
		var st unix.Stat_t
		if err := unix.Lstat(tr.path(name), &st); err != nil {
			t.Fatal(err)
		}
		return uint64(st.Nlink), uint64(st.Size)
	}
	check := func(when string, want uint64, of ...string) {
		t.Helper()
		for _, name := range of {
			if n, size := links(name); n != want || size != 5000 {
				t.Errorf("%s: %s has %d links and size %d, want %d and 5000", when, name, n, size, want)
			}
		}
	}
	tr.plant("a", pattern(5000, 1))
	check("new", 1, "a")
	for k, name := range []string{"b", "c"} {
		if err := os.Link(tr.path("a"), tr.path(name)); err != nil {
			t.Fatal(err)
		}
		check("linked", uint64(k+2), "a", name)
	}
	tr.remount()
	check("after a remount", 3, "a", "b", "c")
	if err := os.Remove(tr.path("a")); err != nil {
		t.Fatal(err)
	}
	check("one removed", 2, "b", "c")
	tr.plant("d", nil)
	if err := os.Rename(tr.path("d"), tr.path("b")); err != nil {
		t.Fatal(err)
	}
	check("one replaced", 1, "c")
	// A write by one name is seen by the other.
	if err := os.Link(tr.path("c"), tr.path("e")); err != nil {
		t.Fatal(err)
	}
	tr.plant("e", pattern(7000, 2))
	wantFile(t, tr.path("c"), pattern(7000, 2))
}

func TestSymlinks(t *testing.T) {
	tr := mountedTree(t)
	targets := []string{"a", strings.Repeat("x", 15), strings.Repeat("x", 16), strings.Repeat("x", 17), "/etc/passwd",
		"../..", "日本語", "\xff", strings.Repeat("d/", 127), strings.Repeat("e/", 500), strings.Repeat("f", 2900)}
	check := func(when string) {
		for k, target := range targets {
			p := tr.path(fmt.Sprint(k))
			if got, err := os.Readlink(p); got != target {
				t.Errorf("%s: readlink %q, %v, want %q", when, got, err, target)
			}
			if fi, err := os.Lstat(p); err != nil || fi.Size() != int64(len(target)) {
				t.Errorf("%s: size %d, want %d", when, fi.Size(), len(target))
			}
		}
	}
	for k, target := range targets {
		if err := os.Symlink(target, tr.path(fmt.Sprint(k))); err != nil {
			t.Fatalf("%d bytes: %v", len(target), err)
		}
	}
	check("new")
	tr.remount()
	check("after a remount")
	wantErrno(t, "symlink that is too long", unix.Symlink(strings.Repeat("x", 4000), tr.path("long")), unix.ENAMETOOLONG)
	wantErrno(t, "empty target", unix.Symlink("", tr.path("empty")), unix.ENOENT)
	_, err := os.Lstat(tr.path("long"))
	wantErrno(t, "the failed link", errnoOf(err), unix.ENOENT)

	// Followed, as anywhere.
	tr.plant("0-target", []byte("here"))
	if err := os.Symlink("0-target", tr.path("link")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, tr.path("link"), []byte("here"))
	if err := os.Symlink("loop", tr.path("loop")); err != nil {
		t.Fatal(err)
	}
	_, err = os.ReadFile(tr.path("loop"))
	wantErrno(t, "loop", errnoOf(err), unix.ELOOP)
}

func TestSpecialFiles(t *testing.T) {
	needRoot(t)
	tr := mountedTree(t, "-o", "dev")
	nodes := []struct {
		name string
		mode uint32
		dev  uint64
	}{
		{"fifo", unix.S_IFIFO | 0o640, 0},
		{"socket", unix.S_IFSOCK | 0o600, 0},
		{"null", unix.S_IFCHR | 0o666, unix.Mkdev(1, 3)},
		{"block", unix.S_IFBLK | 0o660, unix.Mkdev(7, 300)},
		{"regular", unix.S_IFREG | 0o644, 0},
	}
	for _, n := range nodes {
		if err := unix.Mknod(tr.path(n.name), n.mode, int(n.dev)); err != nil {
			t.Fatalf("mknod %s: %v", n.name, err)
		}
	}
	for _, when := range []string{"new", "after a remount"} {
		for _, n := range nodes {
			var st unix.Stat_t
			err := unix.Lstat(tr.path(n.name), &st)
			if err != nil || st.Mode != n.mode&^0o022 || st.Rdev != n.dev {
				t.Errorf("%s %s: mode %#o, device %#x, %v; want %#o, %#x", n.name, when, st.Mode, st.Rdev, err, n.mode&^0o022, n.dev)
			}
		}
		if when == "new" {
			tr.remount()
		}
	}
	// The FIFO works, and so does the device.
	go func() {
		if f, err := os.OpenFile(tr.path("fifo"), os.O_WRONLY, 0); err == nil {
			f.WriteString("through")
			f.Close()
		}
	}()
	wantFile(t, tr.path("fifo"), []byte("through"))
	wantFile(t, tr.path("null"), nil)
	for _, n := range nodes {
		if err := os.Remove(tr.path(n.name)); err != nil {
			t.Error(err)
		}
	}
}

func TestStatfs(t *testing.T) {
	tr := mountedTree(t)
	var got, lower unix.Statfs_t
	if err := errors.Join(unix.Statfs(tr.root, &got), unix.Statfs(tr.cipher, &lower)); err != nil {
		t.Fatal(err)
	}
	if got.Namelen != 255 {
		t.Errorf("names of up to %d bytes, want 255", got.Namelen)
	}
	if got.Blocks*uint64(got.Frsize) != lower.Blocks*uint64(lower.Frsize) || got.Files != lower.Files {
		t.Errorf("%d blocks of %d, %d files; below are %d of %d, %d", got.Blocks, got.Frsize, got.Files, lower.Blocks, lower.Frsize, lower.Files)
	}
}

// TestReaddirWhileEntriesComeAndGo reads a large directory while others create
// and remove in it: what is there throughout appears exactly once.
func TestReaddirWhileEntriesComeAndGo(t *testing.T) {
	tr := mountedTree(t)
	const n = 5000
	dir := tr.path("dir")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for k := range n {
		if err := os.WriteFile(fmt.Sprintf("%s/stays-%d", dir, k), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var stop atomic.Bool
	var group sync.WaitGroup
	for w := range 2 {
		group.Go(func() {
			for k := 0; !stop.Load(); k = (k + 1) % 100 {
				p := fmt.Sprintf("%s/comes-%d-%d", dir, w, k)
				if f, err := os.Create(p); err == nil {
					f.Close()
				}
				os.Rename(p, p+"-renamed")
				os.Remove(p + "-renamed")
			}
		})
	}
	for range 5 {
		entries, err := readDirInSmallPieces(dir)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for _, name := range entries {
			seen[name]++
		}
		missing, twice := 0, 0
		for k := range n {
			switch seen[fmt.Sprintf("stays-%d", k)] {
			case 0:
				missing++
			case 1:
			default:
				twice++
			}
		}
		if missing > 0 || twice > 0 {
			t.Errorf("%d entries are missing and %d are doubled", missing, twice)
		}
	}
	stop.Store(true)
	group.Wait()
	tr.remount()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < n || len(entries) > n+4 {
		t.Errorf("%d entries, %v; want %d", len(entries), err, n)
	}
	if out, err := exec.Command("rm", "-r", dir).CombinedOutput(); err != nil {
		t.Errorf("rm -r: %v\n%s", err, out)
	}
}

// readDirInSmallPieces returns the names in a directory, with system calls that
// take a few at a time.
func readDirInSmallPieces(path string) ([]string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var list []string
	buf := make([]byte, 1024)
	for {
		n, err := unix.Getdents(fd, buf)
		if err != nil || n == 0 {
			return list, err
		}
		_, _, list = unix.ParseDirent(buf[:n], -1, list)
	}
}

// TestSeekdir goes back to places in a directory that telldir gave.
func TestSeekdir(t *testing.T) {
	tr := mountedTree(t)
	dir := tr.path("dir")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for k := range 300 {
		if err := os.WriteFile(fmt.Sprintf("%s/%s%d", dir, strings.Repeat("n", k%100), k), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	type mark struct {
		off  int64
		next []string // the names that follow
	}
	var marks []mark
	buf := make([]byte, 600)
	read := func() []string {
		t.Helper()
		n, err := unix.Getdents(fd, buf)
		if err != nil {
			t.Fatal(err)
		}
		_, _, list := unix.ParseDirent(buf[:n], -1, nil)
		return list
	}
	for {
		off, err := unix.Seek(fd, 0, unix.SEEK_CUR)
		if err != nil {
			t.Fatal(err)
		}
		list := read()
		marks = append(marks, mark{off, list})
		if len(list) == 0 {
			break
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(marks), func(i, j int) { marks[i], marks[j] = marks[j], marks[i] })
	for _, m := range marks {
		if _, err := unix.Seek(fd, m.off, unix.SEEK_SET); err != nil {
			t.Fatal(err)
		}
		if got := read(); !slices.Equal(got, m.next) {
			t.Errorf("at offset %d: %q, want %q", m.off, got, m.next)
		}
	}
	// From the beginning it is read anew.
	if err := os.WriteFile(dir+"/new", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		t.Fatal(err)
	}
	var all []string
	for list := read(); len(list) > 0; list = read() {
		all = append(all, list...)
	}
	if !slices.Contains(all, "new") {
		t.Error("rewinddir does not show a new entry")
	}
}

// asUser calls f in a thread of its own that has the credentials of a user and
// nothing else of root's. f does not start goroutines.
func asUser(t *testing.T, uid, gid int, f func()) {
	t.Helper()
	needRoot(t)
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with it
		// The raw calls change this thread only, those of package syscall all.
		for _, call := range [][4]uintptr{
			{unix.SYS_SETGROUPS, 0, 0, 0},
			{unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)},
			{unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)},
		} {
			if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
				done <- errno
				return
			}
		}
		defer close(done)
		f()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// Users of the tests that are nobody in particular.
const (
	alice = 64001
	bob   = 64002
	team  = 64010
)

// openHouse is a mount by root that other users may use, with a directory in it
// where everybody may create.
func openHouse(t *testing.T) (tr *tree, dir string) {
	needRoot(t)
	tr = mountedTree(t, "--allow-other")
	dir = tr.path("open")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return tr, tr.reachable("open")
}

func TestFilesBelongToWhoMadeThem(t *testing.T) {
	tr, dir := openHouse(t)
	check := func(name string, uid, gid int, mode uint32) {
		t.Helper()
		var st unix.Stat_t
		if err := unix.Lstat(tr.path("open", name), &st); err != nil {
			t.Error(err)
			return
		}
		if int(st.Uid) != uid || int(st.Gid) != gid || st.Mode != mode {
			t.Errorf("%s: owner %d:%d, mode %#o; want %d:%d, %#o", name, st.Uid, st.Gid, st.Mode, uid, gid, mode)
		}
	}
	shared := tr.path("open", "shared")
	if err := errors.Join(os.Mkdir(shared, 0o755), os.Chown(shared, alice, team), unix.Chmod(shared, 0o2777)); err != nil {
		t.Fatal(err)
	}
	asUser(t, alice, alice, func() {
		for _, err := range []error{
			os.WriteFile(dir+"/file", []byte("alice"), 0o640),
			os.Mkdir(dir+"/dir", 0o750),
			os.Symlink("file", dir+"/link"),
			unix.Mkfifo(dir+"/fifo", 0o600),
			os.Mkdir(dir+"/shared/dir", 0o755),
			os.WriteFile(dir+"/shared/file", nil, 0o644),
		} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	for _, when := range []string{"new", "after a remount"} {
		t.Log(when)
		check("file", alice, alice, unix.S_IFREG|0o640)
		check("dir", alice, alice, unix.S_IFDIR|0o750)
		check("link", alice, alice, unix.S_IFLNK|0o777)
		check("fifo", alice, alice, unix.S_IFIFO|0o600)
		check("shared/dir", alice, team, unix.S_IFDIR|unix.S_ISGID|0o755)
		check("shared/file", alice, team, unix.S_IFREG|0o644)
		if when == "new" {
			tr.remount()
		}
	}
	checkPermissions(t, tr.reachable("open"))
}

// checkPermissions tries what others may not do with alice's files in dir.
func checkPermissions(t *testing.T, dir string) {
	asUser(t, bob, bob, func() {
		_, err := os.ReadFile(dir + "/file")
		wantErrno(t, "read another's file", errnoOf(err), unix.EACCES)
		wantErrno(t, "truncate it", unix.Truncate(dir+"/file", 0), unix.EACCES)
		wantErrno(t, "chmod it", unix.Chmod(dir+"/file", 0o777), unix.EPERM)
		wantErrno(t, "chown it", unix.Chown(dir+"/file", bob, bob), unix.EPERM)
		wantErrno(t, "set its times", unix.UtimesNanoAt(unix.AT_FDCWD, dir+"/file", make([]unix.Timespec, 2), 0), unix.EPERM)
		wantErrno(t, "set an attribute", unix.Setxattr(dir+"/file", "user.a", nil, 0), unix.EACCES)
		_, err = os.ReadDir(dir + "/dir")
		wantErrno(t, "list another's directory", errnoOf(err), unix.EACCES)
		wantErrno(t, "create in it", unix.Mkdir(dir+"/dir/x", 0o755), unix.EACCES)
	})
	asUser(t, alice, alice, func() {
		wantErrno(t, "chown to another", unix.Chown(dir+"/file", bob, -1), unix.EPERM)
		wantErrno(t, "chmod of one's own", unix.Chmod(dir+"/file", 0o640), 0)
		for _, mode := range []uint32{0o200, 0o444, 0} {
			p := fmt.Sprintf("%s/mode-%o", dir, mode)
			fd, err := unix.Open(p, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_CLOEXEC, mode)
			if err != nil {
				t.Errorf("create with mode %#o: %v", mode, err)
				continue
			}
			if n, err := unix.Pwrite(fd, pattern(5000, 1), 0); n != 5000 {
				t.Errorf("write with mode %#o: %d, %v", mode, n, err)
			}
			buf := make([]byte, 6000)
			n, _ := preadFull(fd, buf, 0)
			sameBytes(t, p, buf[:n], pattern(5000, 1))
			unix.Close(fd)
			wantErrno(t, "unlink", unix.Unlink(p), 0)
		}
		for _, mode := range []uint32{0, 0o555, 0o100} {
			p := fmt.Sprintf("%s/dirmode-%o", dir, mode)
			wantErrno(t, fmt.Sprintf("mkdir -m %o", mode), unix.Mkdir(p, mode), 0)
			wantErrno(t, "create in it", unix.Mkdir(p+"/x", 0o755), unix.EACCES)
			wantErrno(t, "rmdir", unix.Rmdir(p), 0)
		}
	})
}

func TestStickyDirectory(t *testing.T) {
	tr, dir := openHouse(t)
	if err := unix.Chmod(tr.path("open"), 0o1777); err != nil {
		t.Fatal(err)
	}
	asUser(t, alice, alice, func() { wantErrno(t, "create", errnoOf(os.WriteFile(dir+"/file", nil, 0o666)), 0) })
	asUser(t, bob, bob, func() {
		wantErrno(t, "unlink another's", unix.Unlink(dir+"/file"), unix.EPERM)
		wantErrno(t, "rename another's", unix.Rename(dir+"/file", dir+"/mine"), unix.EPERM)
	})
	asUser(t, alice, alice, func() { wantErrno(t, "unlink one's own", unix.Unlink(dir+"/file"), 0) })
}

// TestSetIDBitsGo checks that a write by another than root takes the set-ID
// bits away, and so does a change of owner.
func TestSetIDBitsGo(t *testing.T) {
	tr, dir := openHouse(t)
	mode := func() uint32 {
		var st unix.Stat_t
		if err := unix.Stat(tr.path("open", "file"), &st); err != nil {
			t.Error(err)
		}
		return st.Mode & 0o7777
	}
	asUser(t, alice, alice, func() {
		wantErrno(t, "create", errnoOf(os.WriteFile(dir+"/file", []byte("x"), 0o755)), 0)
		wantErrno(t, "chmod", unix.Chmod(dir+"/file", 0o6777), 0)
	})
	if m := mode(); m != 0o6777 {
		t.Errorf("mode %#o, want 06777", m)
	}
	asUser(t, bob, bob, func() {
		f, err := os.OpenFile(dir+"/file", os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteAt([]byte("y"), 0)
			f.Close()
		}
		if err != nil {
			t.Error(err)
		}
	})
	if m := mode(); m != 0o777 {
		t.Errorf("mode after a write by another %#o, want 0777", m)
	}
	if err := errors.Join(unix.Chmod(tr.path("open", "file"), 0o6755), unix.Chown(tr.path("open", "file"), bob, bob)); err != nil {
		t.Fatal(err)
	}
	if m := mode(); m != 0o755 {
		t.Errorf("mode after chown %#o, want 0755", m)
	}
}

// TestOthersStayOut checks that without --allow-other even root's mount is
// root's alone.
func TestOthersStayOut(t *testing.T) {
	needRoot(t)
	tr := mountedTree(t)
	tr.plant("file", []byte("x"))
	dir := tr.reachable(".")
	asUser(t, alice, alice, func() {
		_, err := os.ReadFile(dir + "/file")
		wantErrno(t, "read", errnoOf(err), unix.EACCES)
	})
}

func TestNamesTooLong(t *testing.T) {
	tr := mountedTree(t)
	long := tr.path(strings.Repeat("x", 256))
	tr.plant("file", nil)
	_, err := os.Stat(long)
	wantErrno(t, "stat", errnoOf(err), unix.ENAMETOOLONG)
	wantErrno(t, "mkdir", unix.Mkdir(long, 0o755), unix.ENAMETOOLONG)
	wantErrno(t, "create", errnoOf(os.WriteFile(long, nil, 0o644)), unix.ENAMETOOLONG)
	wantErrno(t, "rename", unix.Rename(tr.path("file"), long), unix.ENAMETOOLONG)
	wantErrno(t, "link", unix.Link(tr.path("file"), long), unix.ENAMETOOLONG)
	wantErrno(t, "symlink", unix.Symlink("x", long), unix.ENAMETOOLONG)
	wantErrno(t, "unlink", unix.Unlink(long), unix.ENAMETOOLONG)
	// And 255 bytes do fit, in any script.
	for _, unit := range []string{"x", "é", "長", "\U0001f512"} {
		name := strings.Repeat(unit, 255/len(unit))
		p := tr.plant(name, []byte(name))
		tr.plant(name[:len(name)-len(unit)]+"y", []byte("another"))
		wantFile(t, p, []byte(name))
	}
}

func TestErrno(t *testing.T) {
	tr := mountedTree(t)
	file := tr.plant("file", []byte("x"))
	dir := tr.path("dir")
	for _, err := range []error{os.Mkdir(dir, 0o755), os.Mkdir(dir+"/sub", 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	open := func(p string, flags int) error {
		fd, err := unix.Open(p, flags|unix.O_CLOEXEC, 0o644)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	other := tempDir(t)
	for _, tt := range []struct {
		what string
		err  error
		want syscall.Errno
	}{
		{"open what is not there", open(tr.path("none"), unix.O_RDONLY), unix.ENOENT},
		{"open below a file", open(file+"/x", unix.O_RDONLY), unix.ENOTDIR},
		{"open a directory for writing", open(dir, unix.O_WRONLY), unix.EISDIR},
		{"create what exists", open(file, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY), unix.EEXIST},
		{"O_DIRECTORY on a file", open(file, unix.O_DIRECTORY), unix.ENOTDIR},
		{"O_TMPFILE", open(dir, unix.O_TMPFILE|unix.O_RDWR), unix.EOPNOTSUPP},
		{"mkdir over a file", unix.Mkdir(file, 0o755), unix.EEXIST},
		{"rmdir of a file", unix.Rmdir(file), unix.ENOTDIR},
		{"rmdir of what is full", unix.Rmdir(dir), unix.ENOTEMPTY},
		{"rmdir of the root", unix.Rmdir(tr.root), unix.EBUSY},
		{"unlink of a directory", unix.Unlink(dir), unix.EISDIR},
		{"link of a directory", unix.Link(dir, tr.path("x")), unix.EPERM},
		{"link to another file system", unix.Link(file, other+"/x"), unix.EXDEV},
		{"rename to another file system", unix.Rename(file, other+"/x"), unix.EXDEV},
		{"rename from another file system", unix.Rename(other, tr.path("x")), unix.EXDEV},
		{"rename into itself", unix.Rename(dir, dir+"/sub/x"), unix.EINVAL},
		{"rename of what is not there", unix.Rename(tr.path("none"), tr.path("x")), unix.ENOENT},
		{"RENAME_WHITEOUT", unix.Renameat2(unix.AT_FDCWD, file, unix.AT_FDCWD, tr.path("x"), unix.RENAME_WHITEOUT), unix.EINVAL},
		{"truncate to less than nothing", unix.Truncate(file, -1), unix.EINVAL},
		{"truncate of a directory", unix.Truncate(dir, 0), unix.EISDIR},
		{"readlink of a file", second(unix.Readlink(file, make([]byte, 10))), unix.EINVAL},
		{"attribute that is not there", second(unix.Getxattr(file, "user.none", nil)), unix.ENODATA},
		{"attribute without a namespace", unix.Setxattr(file, "none", nil, 0), unix.EOPNOTSUPP},
		{"removing one that is not there", unix.Removexattr(file, "user.none"), unix.ENODATA},
		{"attribute with a name too long", unix.Setxattr(file, "user."+strings.Repeat("x", 251), nil, 0), unix.ERANGE},
	} {
		wantErrno(t, tt.what, tt.err, tt.want)
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd := int(f.Fd())
	_, err = unix.IoctlGetInt(fd, 0x40046699)
	wantErrno(t, "unknown ioctl", err, unix.ENOTTY)
	_, err = unix.IoctlGetTermios(fd, unix.TCGETS)
	wantErrno(t, "isatty", err, unix.ENOTTY)
	_, err = unix.Pread(fd, make([]byte, 10), -1)
	wantErrno(t, "read before the beginning", err, unix.EINVAL)
	_, err = unix.Seek(fd, 2, unix.SEEK_DATA)
	wantErrno(t, "SEEK_DATA past the end", err, unix.ENXIO)
	wantErrno(t, "fallocate with COLLAPSE_RANGE", unix.Fallocate(fd, unix.FALLOC_FL_COLLAPSE_RANGE, 0, 4096), unix.EOPNOTSUPP)
	wantErrno(t, "fallocate of nothing", unix.Fallocate(fd, 0, 0, 0), unix.EINVAL)
	wantErrno(t, "ftruncate beyond what can be", unix.Ftruncate(fd, 1<<63-1), unix.EFBIG)
	ro, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	_, err = unix.Pwrite(int(ro.Fd()), []byte("x"), 0)
	wantErrno(t, "write to a file open for reading", err, unix.EBADF)
	wantErrno(t, "truncate of a file open for reading", unix.Ftruncate(int(ro.Fd()), 0), unix.EINVAL)
}

func second[T any](_ T, err error) error { return err }

// TestSparse checks that growing takes no space, and that holes are holes below.
func TestSparse(t *testing.T) {
	tr := mountedTree(t)
	for _, size := range []int64{4096, 8192, 1 << 20, 1 << 40} {
		p := tr.plant("file", nil)
		if err := os.Truncate(p, size); err != nil {
			t.Errorf("truncate to %d: %v", size, err)
			continue
		}
		var st unix.Stat_t
		if err := unix.Stat(p, &st); err != nil || st.Size != size || st.Blocks > 16 {
			t.Errorf("size %d, %d blocks, %v; want %d and next to no blocks", st.Size, st.Blocks, err, size)
		}
		f, err := os.OpenFile(p, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte{1}, size-1); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if err := unix.Stat(p, &st); err != nil || st.Blocks > 32 {
			t.Errorf("a byte at the end of %d: %d blocks, %v", size, st.Blocks, err)
		}
		os.Remove(p)
	}
}

// TestTimesSurvive checks that no change of times comes later than the program
// that set them: closing a file, and mounting again, change none.
func TestTimesSurvive(t *testing.T) {
	tr := mountedTree(t)
	want := map[string]time.Time{}
	for _, size := range edges {
		p := tr.path(fmt.Sprint(size))
		f, err := os.Create(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(pattern(size, 1)); err != nil {
			t.Fatal(err)
		}
		if size%2 == 0 { // as cp -p does it: before the file is closed
			when := time.Unix(1000000000+int64(size), 123456789)
			ts := unix.NsecToTimespec(when.UnixNano())
			if err := unix.UtimesNanoAt(unix.AT_FDCWD, p, []unix.Timespec{ts, ts}, 0); err != nil {
				t.Fatal(err)
			}
		}
		fi, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		want[p] = fi.ModTime()
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, when := range []string{"closed", "mounted again"} {
		for p, mtime := range want {
			if fi, err := os.Stat(p); err != nil || !fi.ModTime().Equal(mtime) {
				t.Errorf("%s %s: mtime %v, want %v", filepath.Base(p), when, fi.ModTime(), mtime)
			}
			wantFile(t, p, pattern(atoi(t, filepath.Base(p)), 1)) // opens and closes it
		}
		if when == "closed" {
			tr.remount()
		}
	}
}

func atoi(t testing.TB, s string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDeepPaths works at the end of paths as long as the kernel takes.
func TestDeepPaths(t *testing.T) {
	tr := mountedTree(t)
	if err := os.Mkdir(tr.path("deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(tr.path("deep"), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	path := tr.path("deep")
	const name = "directory-name-of-forty-bytes-----------"
	// One level farther than any path leads, by descriptors.
	for len(path) < unix.PathMax+len(name) {
		if err := unix.Mkdirat(fd, name, 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(fd, name, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		fd = next
		path += "/" + name
	}
	file, err := unix.Openat(fd, "file", unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	unix.Close(fd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Pwrite(file, []byte("deep down"), 0); err != nil {
		t.Error(err)
	}
	unix.Close(file)
	_, err = os.Stat(path)
	wantErrno(t, "a path of more than PATH_MAX bytes", errnoOf(err), unix.ENAMETOOLONG)

	// getcwd in a directory whose path just fits.
	fits := path[:strings.LastIndex(path[:unix.PathMax-1], "/")]
	out, err := inDir(fits, "pwd", "-P")
	if err != nil || out != fits+"\n" {
		t.Errorf("pwd in a path of %d bytes: %d bytes, %v", len(fits), len(out), err)
	}
	tr.remount()
	if out, err := exec.Command("find", tr.path("deep"), "-name", "file").Output(); err != nil || !bytes.HasSuffix(out, []byte("/file\n")) {
		t.Errorf("find: %d bytes, %v", len(out), err)
	}
	if out, err := exec.Command("rm", "-r", tr.path("deep")).CombinedOutput(); err != nil {
		t.Errorf("rm -r: %v\n%s", err, out)
	}
}

func inDir(dir string, command ...string) (string, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	out, err := cmd.Output()
	return string(out), err
}

// TestMove moves a tree in and out by mv, which copies where rename says EXDEV.
func TestMove(t *testing.T) {
	tr := mountedTree(t)
	src := filepath.Join(tempDir(t), "src")
	if err := os.MkdirAll(src+"/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(src+"/sub/file", pattern(5000, 1), 0o640), os.Symlink("sub", src+"/link")); err != nil {
		t.Fatal(err)
	}
	for _, step := range [][2]string{{src, tr.path("in")}, {tr.path("in"), tr.path("again")}, {tr.path("again"), src}} {
		if out, err := exec.Command("mv", step[0], step[1]).CombinedOutput(); err != nil {
			t.Fatalf("mv: %v\n%s", err, out)
		}
		wantFile(t, step[1]+"/sub/file", pattern(5000, 1))
		wantFile(t, step[1]+"/link/file", pattern(5000, 1))
		if _, err := os.Lstat(step[0]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", step[0], err)
		}
	}
}

// TestLocks takes locks that another process must not get.
func TestLocks(t *testing.T) {
	tr := mountedTree(t)
	p := tr.plant("file", pattern(100, 1))
	f, err := os.OpenFile(p, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	other := func(kind, how, want string) {
		t.Helper()
		out, err := helper("lock", p, kind, how).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s lock, %s: another process says %q, %v; want %q", kind, how, out, err, want)
		}
	}
	for _, kind := range []string{"flock", "fcntl"} {
		other(kind, "exclusive", "got it")
		lock(t, f, kind, false)
		other(kind, "exclusive", "busy")
		other(kind, "shared", "got it")
		lock(t, f, kind, true)
		other(kind, "shared", "busy")
		unlock(t, f, kind)
		other(kind, "exclusive", "got it")
	}
	// A lock on some bytes is one on those alone.
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: 10, Len: 10}
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &l); err != nil {
		t.Fatal(err)
	}
	other("fcntl-first-bytes", "exclusive", "got it")
	other("fcntl", "exclusive", "busy")
}

func lock(t *testing.T, f *os.File, kind string, exclusive bool) {
	t.Helper()
	if err := tryLock(f, kind, exclusive); err != nil {
		t.Errorf("%s: %v", kind, err)
	}
}

func tryLock(f *os.File, kind string, exclusive bool) error {
	if kind == "flock" {
		how := unix.LOCK_SH
		if exclusive {
			how = unix.LOCK_EX
		}
		return unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	}
	l := unix.Flock_t{Type: unix.F_RDLCK}
	if exclusive {
		l.Type = unix.F_WRLCK
	}
	if kind == "fcntl-first-bytes" {
		l.Len = 10
	}
	return unix.FcntlFlock(f.Fd(), unix.F_SETLK, &l)
}

func unlock(t *testing.T, f *os.File, kind string) {
	t.Helper()
	err := error(nil)
	if kind == "flock" {
		err = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	} else {
		err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_UNLCK})
	}
	if err != nil {
		t.Error(err)
	}
}

// lockHelper tries to get a lock and says whether it got it.
func lockHelper(args []string) error {
	f, err := os.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	switch err := tryLock(f, args[1], args[2] == "exclusive"); err {
	case nil:
		fmt.Print("got it")
	case unix.EAGAIN, unix.EACCES:
		fmt.Print("busy")
	default:
		return err
	}
	return nil
}

// TestSharedMap lets two processes see each other's writes to a mapped file.
func TestSharedMap(t *testing.T) {
	tr := mountedTree(t)
	p := tr.plant("file", make([]byte, 10000))
	f, err := os.OpenFile(p, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, 10000, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	copy(m[5000:], "from the parent")
	if out, err := helper("mmap", p).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := string(m[9000:9014]); got != "from the child" {
		t.Errorf("the map shows %q", got)
	}
	want := make([]byte, 10000)
	copy(want[5000:], "from the parent")
	copy(want[9000:], "from the child")
	wantFile(t, p, want) // by read, while it is mapped
	if err := errors.Join(unix.Munmap(m), f.Close()); err != nil {
		t.Fatal(err)
	}
	tr.remount()
	wantFile(t, p, want)
}

func mmapHelper(args []string) error {
	f, err := os.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, 10000, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	if got := string(m[5000:5015]); got != "from the parent" {
		return fmt.Errorf("the map shows %q", got)
	}
	copy(m[9000:], "from the child")
	return unix.Munmap(m)
}

// TestFreshNonces checks that no two files share a nonce, copies included.
func TestFreshNonces(t *testing.T) {
	tr := mountedTree(t)
	tr.plant("a", pattern(5000, 1))
	for _, cp := range [][]string{{"cp", "--reflink=auto"}, {"cp", "-p"}, {"cp", "--sparse=always"}} {
		name := strings.Join(cp, "")
		if out, err := exec.Command(cp[0], append(cp[1:], tr.path("a"), tr.path(name))...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cp, err, out)
		}
		wantFile(t, tr.path(name), pattern(5000, 1))
	}
	os.Truncate(tr.plant("again", pattern(5000, 1)), 0)
	tr.plant("again", pattern(5000, 1))
	seen := map[string]string{}
	filepath.WalkDir(tr.cipher, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.Contains(path, ".fscrypt") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil || len(b) < 128 {
			return err
		}
		nonce := string(b[16+24 : 16+40])
		if other := seen[nonce]; other != "" {
			t.Errorf("%s and %s have the same nonce", path, other)
		}
		seen[nonce] = path
		return nil
	})
	if len(seen) < 5 {
		t.Errorf("only %d headers found", len(seen))
	}
	out, err := exec.Command("cp", "--reflink=always", tr.path("a"), tr.path("reflink")).CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("not supported")) {
		t.Errorf("cp --reflink=always: %v, %q; want it to say that this is not supported", err, out)
	}
}

// TestACL has POSIX ACLs kept and enforced.
func TestACL(t *testing.T) {
	setfacl, getfacl := needTool(t, "setfacl"), needTool(t, "getfacl")
	tr, dir := openHouse(t)
	p := tr.plant("open/file", []byte("x"))
	if out, err := exec.Command("chmod", "600", p).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(setfacl, "-m", fmt.Sprintf("u:%d:r", alice), p).CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("not supported")) {
			t.Skipf("no ACLs: %s", out)
		}
		t.Fatalf("setfacl: %v\n%s", err, out)
	}
	if out, err := exec.Command(getfacl, "-pn", p).Output(); err != nil || !bytes.Contains(out, fmt.Appendf(nil, "user:%d:r--", alice)) {
		t.Errorf("getfacl: %v\n%s", err, out)
	}
	asUser(t, alice, alice, func() { wantFile(t, dir+"/file", []byte("x")) })
	asUser(t, bob, bob, func() {
		_, err := os.ReadFile(dir + "/file")
		wantErrno(t, "read without an entry in the ACL", errnoOf(err), unix.EACCES)
	})
}

// TestDefaultACL has new objects inherit an ACL as they do below: the same done
// in both places gives the same.
func TestDefaultACL(t *testing.T) {
	setfacl, getfacl := needTool(t, "setfacl"), needTool(t, "getfacl")
	tr := mountedTree(t)
	plain := tempDir(t)
	describe := func(dir string) string {
		dir = filepath.Join(dir, "dir")
		script := fmt.Sprintf(`umask 027; mkdir -m 755 "$1" && cd "$1" && %s -d -m u:%d:rwx,g:%d:r . &&
			touch file && mkdir dir && mkdir dir/dir && touch dir/file && mkfifo fifo && %s -pn . file dir dir/dir dir/file fifo`,
			setfacl, alice, team, getfacl)
		out, err := exec.Command("sh", "-c", script, "sh", dir).CombinedOutput()
		if bytes.Contains(out, []byte("not supported")) {
			t.Skipf("no ACLs: %s", out)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	want := describe(plain)
	if got := describe(tr.root); got != want {
		t.Errorf("in the mount:\n%s\nbelow:\n%s", got, want)
	}
}

// TestNoACLsBelow lets other users in where the lower file system has no ACLs.
func TestNoACLsBelow(t *testing.T) {
	needFUSE(t)
	disk := smallDisk(t, func(t *testing.T, point string) {
		if err := unix.Mount("encfs-test", point, "ramfs", 0, ""); err != nil {
			t.Skipf("no ramfs: %v", err)
		}
	})
	tr := newTreeIn(t, disk)
	tr.mount("--allow-other")
	if err := os.Mkdir(tr.path("open"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := tr.plant("open/file", []byte("x"))
	if err := os.Chmod(p, 0o664); err != nil { // the group bits make the kernel look for an ACL
		t.Fatal(err)
	}
	dir := tr.reachable("open")
	asUser(t, alice, alice, func() { wantFile(t, dir+"/file", []byte("x")) })
	tr.umount()
}
