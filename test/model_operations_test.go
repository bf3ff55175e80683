package test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// An operation is done to the mount and to the model.
type operation struct {
	name   string
	weight int
	run    func(m *model, c chooser)
}

var operations = []operation{
	{"open", 8, (*model).doOpen},
	{"close", 3, (*model).doClose},
	{"write", 14, (*model).doWrite},
	{"read", 8, (*model).doRead},
	{"truncate", 5, (*model).doTruncate},
	{"ftruncate", 5, (*model).doFtruncate},
	{"allocate", 5, (*model).doAllocate},
	{"map", 4, (*model).doMap},
	{"sync", 2, (*model).doSync},
	{"seek", 2, (*model).doSeek},
	{"mkdir", 3, (*model).doMkdir},
	{"rmdir", 2, (*model).doRmdir},
	{"unlink", 3, (*model).doUnlink},
	{"rename", 6, (*model).doRename},
	{"link", 4, (*model).doLink},
	{"symlink", 2, (*model).doSymlink},
	{"chmod", 2, (*model).doChmod},
	{"utimens", 2, (*model).doUtimens},
	{"stat", 4, (*model).doStat},
	{"readdir", 2, (*model).doReadDir},
	{"setxattr", 3, (*model).doSetXattr},
	{"removexattr", 1, (*model).doRemoveXattr},
	{"remount", 1, (*model).doRemount},
}

func (m *model) doOpen(c chooser) {
	var p place
	if q, ok := m.taken(c, "open", isFile); ok && c.intn(2, "open: existing file") == 0 {
		p = q
	} else {
		p = m.likely(c, "open")
	}
	flags := pick(c, []int{unix.O_RDONLY, unix.O_WRONLY, unix.O_RDWR, unix.O_RDWR, unix.O_RDWR}, "access")
	if c.intn(3, "create") > 0 {
		flags |= unix.O_CREAT
		if c.intn(4, "exclusive") == 0 {
			flags |= unix.O_EXCL
		}
	}
	if flags&unix.O_ACCMODE != unix.O_RDONLY {
		if c.intn(5, "truncate") == 0 {
			flags |= unix.O_TRUNC
		}
		if c.intn(5, "append") == 0 {
			flags |= unix.O_APPEND
		}
	}
	mode := pick(c, fileModes(), "mode")
	m.note("open(%v, %#x, %#o)", p, flags, mode)
	o := p.get()
	var want syscall.Errno
	switch {
	case o == nil && flags&unix.O_CREAT == 0:
		want = unix.ENOENT
	case o == nil:
	case flags&unix.O_CREAT != 0 && flags&unix.O_EXCL != 0:
		want = unix.EEXIST
	case o.typ == unix.S_IFLNK:
		want = unix.ELOOP
	case o.typ == unix.S_IFDIR && flags&(unix.O_CREAT|unix.O_ACCMODE) != 0:
		want = unix.EISDIR
	}
	fd, err := unix.Open(p.path, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if !m.want("open", err, want) {
		return
	}
	if o == nil {
		o = &object{typ: unix.S_IFREG, mode: mode &^ m.umask, links: 1}
		p.dir.entries[p.name] = o
		p.dir.mtime = nil
	} else if flags&unix.O_TRUNC != 0 {
		o.resize(0)
	}
	if isDir(o) || len(m.open) >= 12 {
		unix.Close(fd)
		return
	}
	m.open = append(m.open, &opening{fd, o, flags, p.String()})
}

// fileModes are the permissions for files: such that their owner can open them.
func fileModes() []uint32 {
	list := []uint32{0o600, 0o644, 0o755, 0o777, 0o640}
	if os.Geteuid() == 0 {
		list = append(list, 0, 0o400, 0o200)
	}
	return list
}

func (m *model) doClose(c chooser) {
	if f := m.opened(c, nil); f != nil {
		m.note("close(%d)", f.fd)
		m.must("close", unix.Close(f.fd))
		m.open = slices.DeleteFunc(m.open, func(g *opening) bool { return g == f })
	}
}

func (m *model) doWrite(c chooser) {
	f := m.opened(c, (*opening).writes)
	if f == nil {
		return
	}
	off, n := m.around(c, f.o), length(c)
	if f.flags&unix.O_APPEND != 0 {
		off = len(f.o.data)
	}
	if off+n > maxFile {
		return
	}
	p := pattern(n, byte(c.intn(256, "contents")))
	if c.intn(8, "zeros") == 0 {
		clear(p)
	}
	m.note("pwrite(%d, %d bytes at %d) %s", f.fd, n, off, f.name)
	k, err := unix.Pwrite(f.fd, p, int64(off))
	m.must("pwrite", err)
	if k != n {
		m.fail("pwrite wrote %d of %d bytes", k, n)
	}
	f.o.write(p, off)
}

func (m *model) doRead(c chooser) {
	f := m.opened(c, (*opening).reads)
	if f == nil {
		return
	}
	off, n := m.around(c, f.o), length(c)
	m.note("pread(%d, %d bytes at %d) %s", f.fd, n, off, f.name)
	buf := make([]byte, n)
	k, err := preadFull(f.fd, buf, off)
	m.must("pread", err)
	m.sameData("pread", buf[:k], f.o.data[min(off, len(f.o.data)):min(off+n, len(f.o.data))])
}

// preadFull reads as far as the file goes.
func preadFull(fd int, buf []byte, off int) (int, error) {
	n := 0
	for n < len(buf) {
		k, err := unix.Pread(fd, buf[n:], int64(off+n))
		if err != nil || k == 0 {
			return n, err
		}
		n += k
	}
	return n, nil
}

func (m *model) doTruncate(c chooser) {
	p, ok := m.taken(c, "truncate", nil)
	if !ok {
		return
	}
	o := p.get()
	if o.typ == unix.S_IFLNK {
		return // would be followed
	}
	size := m.around(c, o)
	m.note("truncate(%v, %d)", p, size)
	var want syscall.Errno
	if isDir(o) {
		want = unix.EISDIR
	}
	if m.want("truncate", unix.Truncate(p.path, int64(size)), want) {
		o.resize(size)
	}
}

func (m *model) doFtruncate(c chooser) {
	f := m.opened(c, (*opening).writes)
	if f == nil {
		return
	}
	size := m.around(c, f.o)
	m.note("ftruncate(%d, %d) %s", f.fd, size, f.name)
	m.must("ftruncate", unix.Ftruncate(f.fd, int64(size)))
	f.o.resize(size)
}

func (m *model) doAllocate(c chooser) {
	f := m.opened(c, (*opening).writes)
	if f == nil {
		return
	}
	off, n := m.around(c, f.o), length(c)
	mode := pick(c, []uint32{
		0, unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE,
		unix.FALLOC_FL_ZERO_RANGE, unix.FALLOC_FL_ZERO_RANGE | unix.FALLOC_FL_KEEP_SIZE,
	}, "mode")
	if mode&^unix.FALLOC_FL_KEEP_SIZE == 0 && !m.lower.allocate {
		return
	}
	m.note("fallocate(%d, %#x, %d bytes at %d) %s", f.fd, mode, n, off, f.name)
	m.must("fallocate", unix.Fallocate(f.fd, mode, int64(off), int64(n)))
	if mode&(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) != 0 && off < len(f.o.data) {
		clear(f.o.data[off:min(off+n, len(f.o.data))])
	}
	if mode&unix.FALLOC_FL_KEEP_SIZE == 0 && off+n > len(f.o.data) {
		f.o.resize(off + n)
	}
	f.o.mtime = nil
}

func (m *model) doMap(c chooser) {
	f := m.opened(c, func(f *opening) bool {
		return f.flags&unix.O_ACCMODE == unix.O_RDWR && len(f.o.data) > 0
	})
	if f == nil {
		return
	}
	pages := (len(f.o.data) + 4095) / 4096
	first := c.intn(pages, "page")
	off := first * 4096
	n := min(length(c), (pages-first)*4096)
	m.note("mmap(%d, %d bytes at %d) %s", f.fd, n, off, f.name)
	p, err := unix.Mmap(f.fd, int64(off), n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	m.must("mmap", err)
	valid := min(n, len(f.o.data)-off)
	m.sameData("mapped", p[:valid], f.o.data[off:off+valid])
	if c.intn(3, "write through the map") > 0 {
		at := c.intn(valid, "at")
		k := min(length(c), valid-at)
		data := pattern(k, byte(c.intn(256, "contents")))
		m.note("write %d bytes at %d through the map, msync", k, off+at)
		copy(p[at:], data)
		m.must("msync", unix.Msync(p, unix.MS_SYNC))
		f.o.write(data, off+at)
	}
	m.must("munmap", unix.Munmap(p))
}

func (m *model) doSync(c chooser) {
	if c.intn(2, "directory") == 0 {
		_, paths := m.dirs()
		m.note("fsync of a directory")
		fd, err := unix.Open(pick(c, paths, "directory"), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		m.must("open a directory", err)
		m.must("fsync of a directory", unix.Fsync(fd))
		unix.Close(fd)
		return
	}
	f := m.opened(c, nil)
	if f == nil {
		return
	}
	if c.intn(2, "data only") == 0 {
		m.must("fdatasync", unix.Fdatasync(f.fd))
	} else {
		m.must("fsync", unix.Fsync(f.fd))
	}
}

// doSeek goes through the data and the holes of a file: they must follow each
// other to the end, and holes must be zeros.
func (m *model) doSeek(c chooser) {
	f := m.opened(c, nil)
	if f == nil {
		return
	}
	m.note("lseek(%d) through %s", f.fd, f.name)
	size := len(f.o.data)
	for at := 0; at < size; {
		data, err := unix.Seek(f.fd, int64(at), unix.SEEK_DATA)
		if err == unix.ENXIO {
			data = int64(size)
		} else {
			m.must("SEEK_DATA", err)
		}
		if int(data) < at || int(data) > size {
			m.fail("SEEK_DATA from %d gives %d of %d", at, data, size)
		}
		if hole := f.o.data[at:data]; !bytes.Equal(hole, make([]byte, len(hole))) {
			m.fail("a hole from %d to %d, but there is data", at, data)
		}
		if int(data) == size {
			break
		}
		hole, err := unix.Seek(f.fd, data, unix.SEEK_HOLE)
		m.must("SEEK_HOLE", err)
		if hole <= data || int(hole) > size {
			m.fail("SEEK_HOLE from %d gives %d of %d", data, hole, size)
		}
		at = int(hole)
	}
	_, err := unix.Seek(f.fd, int64(size), unix.SEEK_DATA)
	m.want("SEEK_DATA at the end", err, unix.ENXIO)
}

func (m *model) doMkdir(c chooser) {
	p := m.anyPlace(c, "mkdir")
	if strings.Count(p.path[len(m.base):], "/") > 5 {
		return // bounds the length of paths
	}
	mode := pick(c, []uint32{0o700, 0o755, 0o777, 0o711}, "mode")
	m.note("mkdir(%v, %#o)", p, mode)
	var want syscall.Errno
	if p.get() != nil {
		want = unix.EEXIST
	}
	if m.want("mkdir", unix.Mkdir(p.path, mode), want) {
		p.dir.entries[p.name] = newDir(p.dir, mode&^m.umask)
		p.dir.mtime = nil
	}
}

func (m *model) doRmdir(c chooser) {
	p := m.likely(c, "rmdir")
	if q, ok := m.taken(c, "rmdir", isDir); ok && c.intn(2, "rmdir: a directory") == 0 {
		p = q
	}
	m.note("rmdir(%v)", p)
	var want syscall.Errno
	switch o := p.get(); {
	case o == nil:
		want = unix.ENOENT
	case !isDir(o):
		want = unix.ENOTDIR
	case len(o.entries) > 0:
		want = unix.ENOTEMPTY
	}
	if m.want("rmdir", unix.Rmdir(p.path), want) {
		delete(p.dir.entries, p.name)
		p.dir.mtime = nil
	}
}

func (m *model) doUnlink(c chooser) {
	p := m.likely(c, "unlink")
	m.note("unlink(%v)", p)
	o := p.get()
	var want syscall.Errno
	switch {
	case o == nil:
		want = unix.ENOENT
	case isDir(o):
		want = unix.EISDIR
	}
	if m.want("unlink", unix.Unlink(p.path), want) {
		m.remove(p)
	}
}

// within reports whether o is dir or below it.
func within(o, dir *object) bool {
	for ; o != nil; o = o.parent {
		if o == dir {
			return true
		}
	}
	return false
}

func (m *model) doRename(c chooser) {
	from, to := m.likely(c, "rename from"), m.likely(c, "rename to")
	flags := pick(c, []uint{0, 0, 0, unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE}, "flags")
	m.note("renameat2(%v, %v, %d)", from, to, flags)
	o, over := from.get(), to.get()
	want := m.renameErrno(from, to, flags)
	err := unix.Renameat2(unix.AT_FDCWD, from.path, unix.AT_FDCWD, to.path, flags)
	if !m.want("rename", err, want) || o == over {
		return
	}
	from.dir.mtime, to.dir.mtime = nil, nil
	if flags == unix.RENAME_EXCHANGE {
		from.dir.entries[from.name], to.dir.entries[to.name] = over, o
		if isDir(over) {
			over.parent = from.dir
			over.mtime = nil
		}
	} else {
		if over != nil {
			m.remove(to)
		}
		delete(from.dir.entries, from.name)
		to.dir.entries[to.name] = o
	}
	if isDir(o) {
		o.parent = to.dir
		o.mtime = nil
	}
}

// renameErrno says how a rename ends: the checks of do_renameat2 and vfs_rename
// in fs/namei.c of Linux, in their order.
func (m *model) renameErrno(from, to place, flags uint) syscall.Errno {
	o, over := from.get(), to.get()
	exchange := flags == unix.RENAME_EXCHANGE
	switch {
	case o == nil:
		return unix.ENOENT
	case flags == unix.RENAME_NOREPLACE && over != nil:
		return unix.EEXIST
	case exchange && over == nil:
		return unix.ENOENT
	case from.dir != to.dir && isDir(o) && within(to.dir, o):
		return unix.EINVAL
	case from.dir != to.dir && over != nil && isDir(over) && within(from.dir, over):
		if exchange {
			return unix.EINVAL
		}
		return unix.ENOTEMPTY
	case over == nil || o == over || exchange:
		return 0
	case isDir(o) && !isDir(over):
		return unix.ENOTDIR
	case !isDir(o) && isDir(over):
		return unix.EISDIR
	case isDir(over) && len(over.entries) > 0:
		return unix.ENOTEMPTY
	}
	return 0
}

func (m *model) doLink(c chooser) {
	from, to := m.likely(c, "link from"), m.anyPlace(c, "link to")
	m.note("link(%v, %v)", from, to)
	o := from.get()
	var want syscall.Errno
	switch {
	case o == nil:
		want = unix.ENOENT
	case to.get() != nil:
		want = unix.EEXIST
	case isDir(o):
		want = unix.EPERM
	}
	if m.want("link", unix.Linkat(unix.AT_FDCWD, from.path, unix.AT_FDCWD, to.path, 0), want) {
		o.links++
		to.dir.entries[to.name] = o
		to.dir.mtime = nil
	}
}

func (m *model) doSymlink(c chooser) {
	p := m.anyPlace(c, "symlink")
	target := pick(c, names, "target")
	if c.intn(2, "long target") == 0 {
		target = strings.Repeat("t/", 1+c.intn(500, "length of the target"))
	}
	m.note("symlink(%d bytes, %v)", len(target), p)
	var want syscall.Errno
	if p.get() != nil {
		want = unix.EEXIST
	}
	if m.want("symlink", unix.Symlink(target, p.path), want) {
		p.dir.entries[p.name] = &object{typ: unix.S_IFLNK, mode: 0o777, target: target, links: 1}
		p.dir.mtime = nil
	}
}

func (m *model) doChmod(c chooser) {
	p, ok := m.taken(c, "chmod", func(o *object) bool { return o.typ != unix.S_IFLNK })
	if !ok {
		return
	}
	mode := pick(c, fileModes(), "mode")
	if isDir(p.get()) {
		mode |= 0o700
	}
	m.note("chmod(%v, %#o)", p, mode)
	m.must("chmod", unix.Chmod(p.path, mode))
	p.get().mode = mode
}

func (m *model) doUtimens(c chooser) {
	p, ok := m.taken(c, "utimens", nil)
	if !ok {
		return
	}
	ts := unix.Timespec{Sec: int64(c.intn(2000000000, "seconds")), Nsec: int64(c.intn(1000000000, "nanoseconds"))}
	m.note("utimensat(%v, %d.%09d)", p, ts.Sec, ts.Nsec)
	m.must("utimensat", unix.UtimesNanoAt(unix.AT_FDCWD, p.path, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW))
	p.get().mtime = &ts
}

func (m *model) doStat(c chooser) {
	if f := m.opened(c, nil); f != nil && c.intn(3, "by descriptor") == 0 {
		var st unix.Stat_t
		m.note("fstat(%d) %s", f.fd, f.name)
		m.must("fstat", unix.Fstat(f.fd, &st))
		m.checkStat(f.name, f.o, &st)
		return
	}
	p := m.likely(c, "stat")
	m.note("lstat(%v)", p)
	var st unix.Stat_t
	var want syscall.Errno
	if p.get() == nil {
		want = unix.ENOENT
	}
	if m.want("lstat", unix.Lstat(p.path, &st), want) {
		m.checkStat(p.String(), p.get(), &st)
	}
}

func (m *model) doReadDir(c chooser) {
	dirs, paths := m.dirs()
	k := c.intn(len(dirs), "directory")
	m.note("readdir(%s)", short(paths[k]))
	m.checkEntries(dirs[k], paths[k])
}

// xattrNames are what attributes are called.
var xattrNames = []string{"user.a", "user.encfs", "user.a.b", "user.mit Leerzeichen", "user.日本", "user." + strings.Repeat("x", 100)}

func takesXattr(o *object) bool { return o.typ != unix.S_IFLNK }

func (m *model) doSetXattr(c chooser) {
	p, ok := m.taken(c, "setxattr", takesXattr)
	if !ok {
		return
	}
	o, name := p.get(), pick(c, xattrNames, "attribute")
	value := string(pattern(pick(c, []int{0, 1, 15, 16, 17, 200}, "length"), byte(c.intn(256, "contents"))))
	flags := pick(c, []int{0, 0, unix.XATTR_CREATE, unix.XATTR_REPLACE}, "flags")
	m.note("setxattr(%v, %q, %d bytes, %d)", p, name, len(value), flags)
	_, has := o.xattrs[name]
	var want syscall.Errno
	switch {
	case flags == unix.XATTR_CREATE && has:
		want = unix.EEXIST
	case flags == unix.XATTR_REPLACE && !has:
		want = unix.ENODATA
	}
	if m.want("setxattr", unix.Setxattr(p.path, name, []byte(value), flags), want) {
		if o.xattrs == nil {
			o.xattrs = map[string]string{}
		}
		o.xattrs[name] = value
	}
}

func (m *model) doRemoveXattr(c chooser) {
	p, ok := m.taken(c, "removexattr", takesXattr)
	if !ok {
		return
	}
	o, name := p.get(), pick(c, xattrNames, "attribute")
	m.note("removexattr(%v, %q)", p, name)
	var want syscall.Errno
	if _, has := o.xattrs[name]; !has {
		want = unix.ENODATA
	}
	if m.want("removexattr", unix.Removexattr(p.path, name), want) {
		delete(o.xattrs, name)
	}
}

func (m *model) doRemount(c chooser) {
	if c.intn(4, "really") == 0 {
		m.remount()
		m.checkAll()
	}
}
