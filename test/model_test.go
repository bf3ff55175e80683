package test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// Random operations on a mount against a tree in memory that does the same, in
// the manner of fsx. The short runs take some twenty seconds; longer ones are
//
//	go test ./test -run 'TestModel$' -model.steps 100000 -model.seed 7
//	go test ./test -run 'TestModelRapid$' -rapid.checks 1000 -rapid.steps 100
var (
	modelSteps = flag.Int("model.steps", 5000, "operations of TestModel")
	modelSeed  = flag.Uint64("model.seed", 1, "seed of TestModel")
)

// TestModel is one long run on one tree, so that states come up that need many
// operations.
func TestModel(t *testing.T) {
	tr := mountedTree(t)
	t.Logf("-model.steps %d -model.seed %d", *modelSteps, *modelSeed)
	m := newModel(t, tr, "run")
	defer m.closeAll()
	c := seeded{rand.New(rand.NewPCG(*modelSeed, 0))}
	var table []operation
	for _, op := range operations {
		table = append(table, slices.Repeat([]operation{op}, op.weight)...)
	}
	for step := range *modelSteps {
		op := table[c.intn(len(table), "operation")]
		op.run(m, c)
		if step%200 == 199 {
			m.checkAll()
		}
	}
	m.remount()
	m.checkAll()
}

// TestModelRapid is many short runs that rapid shortens if they fail.
func TestModelRapid(t *testing.T) {
	tr := mountedTree(t)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		m := newModel(rt, tr, fmt.Sprintf("run%d", runs))
		defer m.closeAll()
		actions := map[string]func(*rapid.T){}
		for _, op := range operations {
			for k := range op.weight {
				actions[fmt.Sprintf("%s %d", op.name, k)] = func(rt *rapid.T) { op.run(m, drawn{rt}) }
			}
		}
		rt.Repeat(actions)
		m.checkAll()
		if (drawn{rt}).intn(4, "remount at the end") == 0 {
			m.remount()
			m.checkAll()
		}
	})
}

// A chooser makes the choices of a run.
type chooser interface {
	intn(n int, label string) int // from 0 to n-1
}

type seeded struct{ *rand.Rand }

func (s seeded) intn(n int, _ string) int { return s.IntN(n) }

type drawn struct{ t *rapid.T }

func (d drawn) intn(n int, label string) int { return rapid.IntRange(0, n-1).Draw(d.t, label) }

func pick[T any](c chooser, list []T, label string) T { return list[c.intn(len(list), label)] }

// An object is a file, a directory or a symbolic link of the model.
type object struct {
	typ     uint32 // S_IFMT bits
	mode    uint32
	data    []byte             // of a file
	target  string             // of a link
	entries map[string]*object // of a directory
	parent  *object            // of a directory
	links   int                // of a file or link
	xattrs  map[string]string
	mtime   *unix.Timespec // nil if the model does not know it
	ino     uint64         // 0 until it was seen
}

func newDir(parent *object, mode uint32) *object {
	return &object{typ: unix.S_IFDIR, mode: mode, entries: map[string]*object{}, parent: parent}
}

// An opening is an open file.
type opening struct {
	fd    int
	o     *object
	flags int
	name  string // for messages
}

func (f *opening) reads() bool  { return f.flags&unix.O_ACCMODE != unix.O_WRONLY }
func (f *opening) writes() bool { return f.flags&unix.O_ACCMODE != unix.O_RDONLY }

// A model is a run: a directory of the mount and what must be in it.
type model struct {
	t       failer
	tr      *tree
	base    string // in the mount
	root    *object
	open    []*opening
	umask   uint32
	history []string
	lower   lowerAbilities
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// lowerAbilities are what file systems differ in.
type lowerAbilities struct {
	allocate bool // plain fallocate
	dirLinks bool // a directory has 2 links and one more for each subdirectory
}

func newModel(t failer, tr *tree, name string) *model {
	m := &model{t: t, tr: tr, base: tr.path(name), root: newDir(nil, 0o755), lower: abilitiesOf(tr)}
	m.umask = uint32(unix.Umask(0))
	unix.Umask(int(m.umask))
	m.must("mkdir", unix.Mkdir(m.base, 0o755))
	return m
}

func abilitiesOf(tr *tree) (a lowerAbilities) {
	probe, err := os.MkdirTemp(filepath.Dir(tr.cipher), "probe")
	if err != nil {
		tr.t.Fatal(err)
	}
	defer os.RemoveAll(probe)
	if f, err := os.Create(filepath.Join(probe, "file")); err == nil {
		a.allocate = unix.Fallocate(int(f.Fd()), 0, 0, 4096) == nil
		f.Close()
	}
	var st unix.Stat_t
	if os.Mkdir(filepath.Join(probe, "dir"), 0o700) == nil && unix.Stat(probe, &st) == nil {
		a.dirLinks = st.Nlink == 3
	}
	return a
}

func (m *model) note(format string, args ...any) {
	m.history = append(m.history, fmt.Sprintf(format, args...))
	if len(m.history) >= 200 {
		m.history = slices.Clone(m.history[100:])
	}
}

// fail ends the run with the operations that led to it.
func (m *model) fail(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("%s\nafter these operations:\n  %s", fmt.Sprintf(format, args...), strings.Join(m.history, "\n  "))
}

// want checks how an operation ended.
func (m *model) want(what string, err error, want syscall.Errno) bool {
	m.t.Helper()
	got, _ := errors.AsType[syscall.Errno](err)
	if got != want || err != nil && got == 0 {
		m.fail("%s: %v, want %s", what, err, errnoText(want))
	}
	return err == nil
}

func (m *model) must(what string, err error) {
	m.t.Helper()
	m.want(what, err, 0)
}

// names are what entries are called.
var names = append([]string{
	"a", "b", "c", "d", "e", "f", "g", "h",
	"===x", "-x", "--", ".hidden", "..x", "...", " ", "a b", "new\nline", "tab\t", `back\slash`, "*", "~",
	"caf\u00e9", "cafe\u0301", "日本語のファイル名", "\U0001f512", "\xff\xfe", "latin1-\xe9", "\x01",
	".encfs-dir", ".encfs-long-x", ".encfs-tmp-x", ".fscrypt", "lost+found",
}, longNames()...)

func longNames() []string {
	var list []string
	for _, n := range []int{15, 16, 17, 31, 32, 33, 175, 176, 177, 190, 191, 192, 193, 223, 224, 225, 240, 254, 255} {
		list = append(list, strings.Repeat("n", n-3)+fmt.Sprintf("%03d", n))
	}
	return append(list, strings.Repeat("長", 85), strings.Repeat("\xfe", 255))
}

// dirs returns all directories of the model with their paths.
func (m *model) dirs() (dirs []*object, paths []string) {
	var walk func(d *object, path string)
	walk = func(d *object, path string) {
		dirs, paths = append(dirs, d), append(paths, path)
		for _, name := range sorted(d.entries) {
			if e := d.entries[name]; e.typ == unix.S_IFDIR {
				walk(e, path+"/"+name)
			}
		}
	}
	walk(m.root, m.base)
	return dirs, paths
}

func sorted[T any](set map[string]T) []string {
	var list []string
	for name := range set {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// A place is a name in a directory, whether there is something or not.
type place struct {
	dir  *object
	name string
	path string
}

func (p place) get() *object   { return p.dir.entries[p.name] }
func (p place) String() string { return short(p.path) }

// short is a path of the mount for messages, without the middle of long names.
func short(path string) string {
	_, path, _ = strings.Cut(path, "/plain/")
	list := strings.Split(path, "/")
	for k, name := range list {
		if len(name) > 24 {
			list[k] = name[:4] + "[...]" + name[len(name)-4:]
		}
	}
	return fmt.Sprintf("%q", strings.Join(list, "/"))
}

// anyPlace chooses a name that may or may not exist.
func (m *model) anyPlace(c chooser, label string) place {
	dirs, paths := m.dirs()
	k := c.intn(len(dirs), label+": directory")
	name := pick(c, names, label+": name")
	return place{dirs[k], name, paths[k] + "/" + name}
}

// taken chooses a name that exists, if there is one.
func (m *model) taken(c chooser, label string, fits func(*object) bool) (place, bool) {
	dirs, paths := m.dirs()
	var all []place
	for k, d := range dirs {
		for _, name := range sorted(d.entries) {
			if fits == nil || fits(d.entries[name]) {
				all = append(all, place{d, name, paths[k] + "/" + name})
			}
		}
	}
	if len(all) == 0 {
		return place{}, false
	}
	return pick(c, all, label), true
}

// likely chooses a name that mostly exists.
func (m *model) likely(c chooser, label string) place {
	if c.intn(4, label+": existing") > 0 {
		if p, ok := m.taken(c, label, nil); ok {
			return p
		}
	}
	return m.anyPlace(c, label)
}

func isFile(o *object) bool { return o.typ == unix.S_IFREG }
func isDir(o *object) bool  { return o.typ == unix.S_IFDIR }

func (m *model) opened(c chooser, fits func(*opening) bool) *opening {
	var all []*opening
	for _, f := range m.open {
		if fits == nil || fits(f) {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return pick(c, all, "opening")
}

// edges are offsets and sizes around which the layout of a file changes, or
// pages and blocks begin.
var edges = []int{0, 1, 15, 16, 17, 31, 32, 100, 3935, 3936, 3937, 3951, 3952, 3953, 4080, 4095, 4096, 4097,
	8191, 8192, 8193, 12288, 65535, 65536, 65537}

// maxFile bounds the sizes of files.
const maxFile = 3 << 20

func offset(c chooser, label string) int {
	switch c.intn(8, label+": kind") {
	case 0, 1, 2, 3:
		return pick(c, edges, label)
	case 4, 5:
		return c.intn(20000, label)
	case 6:
		return c.intn(200000, label)
	}
	return c.intn(maxFile/2, label)
}

// around chooses an offset at an edge, anywhere, or at the end of the file.
func (m *model) around(c chooser, o *object) int {
	if c.intn(3, "at the end") == 0 {
		return max(0, len(o.data)+c.intn(5, "from the end")-2)
	}
	return offset(c, "offset")
}

func length(c chooser) int {
	switch c.intn(6, "length: kind") {
	case 0, 1:
		return max(1, pick(c, edges, "length"))
	case 2, 3:
		return 1 + c.intn(100, "length")
	case 4:
		return 1 + c.intn(20000, "length")
	}
	return 1 + c.intn(300000, "length")
}

func (o *object) resize(n int) {
	if n <= len(o.data) {
		o.data = o.data[:n:n]
	} else {
		o.data = append(o.data, make([]byte, n-len(o.data))...)
	}
	o.mtime = nil
}

func (o *object) write(p []byte, off int) {
	if off+len(p) > len(o.data) {
		o.resize(off + len(p))
	}
	copy(o.data[off:], p)
	o.mtime = nil
}

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

func (m *model) closeAll() {
	for _, f := range m.open {
		unix.Close(f.fd)
	}
	m.open = nil
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

func (m *model) sameData(what string, got, want []byte) {
	m.t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			m.fail("%s: byte %d of %d is %#x, want %#x", what, i, len(want), got[i], want[i])
		}
	}
	if len(got) != len(want) {
		m.fail("%s: %d bytes, want %d", what, len(got), len(want))
	}
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
		for k := at; k < int(data); k++ {
			if f.o.data[k] != 0 {
				m.fail("hole from %d to %d, but byte %d is data", at, data, k)
			}
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

// remove takes a name out of the model.
func (m *model) remove(p place) {
	if o := p.get(); o != nil && !isDir(o) {
		o.links--
	}
	delete(p.dir.entries, p.name)
	p.dir.mtime = nil
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

func (m *model) checkStat(what string, o *object, st *unix.Stat_t) {
	m.t.Helper()
	if st.Mode != o.typ|o.mode {
		m.fail("%s: mode %#o, want %#o", what, st.Mode, o.typ|o.mode)
	}
	size, links := len(o.data), o.links
	switch o.typ {
	case unix.S_IFLNK:
		size = len(o.target)
	case unix.S_IFDIR:
		size, links = int(st.Size), 2
		for _, e := range o.entries {
			if isDir(e) {
				links++
			}
		}
		if !m.lower.dirLinks {
			links = int(st.Nlink)
		}
	}
	if int(st.Size) != size {
		m.fail("%s: size %d, want %d", what, st.Size, size)
	}
	if int(st.Nlink) != links {
		m.fail("%s: %d links, want %d", what, st.Nlink, links)
	}
	if o.mtime != nil && st.Mtim != *o.mtime {
		m.fail("%s: mtime %d.%09d, want %d.%09d", what, st.Mtim.Sec, st.Mtim.Nsec, o.mtime.Sec, o.mtime.Nsec)
	}
	if o.mtime == nil {
		o.mtime = &st.Mtim // from now on, until something changes the object
	}
	if o.ino == 0 {
		o.ino = st.Ino
	}
	if st.Ino != o.ino {
		m.fail("%s: inode number %d, was %d", what, st.Ino, o.ino)
	}
}

func (m *model) doReadDir(c chooser) {
	dirs, paths := m.dirs()
	k := c.intn(len(dirs), "directory")
	m.note("readdir(%s)", short(paths[k]))
	m.checkEntries(dirs[k], paths[k])
}

func (m *model) checkEntries(d *object, path string) {
	m.t.Helper()
	entries, err := os.ReadDir(path)
	m.must("readdir", errnoOf(err))
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
		if o := d.entries[e.Name()]; o != nil && e.IsDir() != isDir(o) {
			m.fail("readdir %s: %q has type %v", short(path), e.Name(), e.Type())
		}
	}
	slices.Sort(got)
	if want := sorted(d.entries); !slices.Equal(got, want) {
		m.fail("readdir %s:\n got %q\nwant %q", short(path), got, want)
	}
}

// errnoOf returns the errno in an error, or the error.
func errnoOf(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
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

func (m *model) checkXattrs(path string, o *object) {
	m.t.Helper()
	buf := make([]byte, 64<<10)
	n, err := unix.Llistxattr(path, buf)
	m.must("listxattr", err)
	var got []string
	for name := range strings.SplitSeq(string(buf[:n]), "\x00") {
		if strings.HasPrefix(name, "user.") {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	if want := sorted(o.xattrs); !slices.Equal(got, want) {
		m.fail("%s: attributes %q, want %q", short(path), got, want)
	}
	for name, want := range o.xattrs {
		n, err := unix.Lgetxattr(path, name, buf)
		m.must("getxattr", err)
		m.sameData("attribute "+name, buf[:n], []byte(want))
	}
}

func (m *model) doRemount(c chooser) {
	if c.intn(4, "really") == 0 {
		m.remount()
		m.checkAll()
	}
}

// remount brings up a server that remembers nothing, under a kernel that
// remembers nothing.
func (m *model) remount() {
	m.note("remount")
	m.closeAll()
	m.tr.remount()
}

// checkAll compares the whole mount with the model.
func (m *model) checkAll() {
	m.t.Helper()
	m.note("compare all")
	dirs, paths := m.dirs()
	for k, d := range dirs {
		m.checkEntries(d, paths[k])
		for name, o := range d.entries {
			path := paths[k] + "/" + name
			var st unix.Stat_t
			m.must("lstat", unix.Lstat(path, &st))
			m.checkStat(short(path), o, &st)
			switch o.typ {
			case unix.S_IFREG:
				got, err := os.ReadFile(path)
				if err != nil && os.Geteuid() != 0 && o.mode&0o400 == 0 {
					break
				}
				m.must("read", errnoOf(err))
				m.sameData(short(path), got, o.data)
			case unix.S_IFLNK:
				got, err := os.Readlink(path)
				m.must("readlink", errnoOf(err))
				if got != o.target {
					m.fail("%s: target %q, want %q", short(path), got, o.target)
				}
			}
			if takesXattr(o) {
				m.checkXattrs(path, o)
			}
		}
	}
	for _, f := range m.open {
		var st unix.Stat_t
		m.must("fstat", unix.Fstat(f.fd, &st))
		m.checkStat(f.name, f.o, &st)
		if f.reads() {
			buf := make([]byte, len(f.o.data)+1)
			n, err := preadFull(f.fd, buf, 0)
			m.must("pread", err)
			m.sameData(f.name, buf[:n], f.o.data)
		}
	}
}
