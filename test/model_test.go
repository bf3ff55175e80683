package test

import (
	"bytes"
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
	modelSteps = flag.Int("model.steps", map[bool]int{false: 12000, true: 3000}[raceDetector], "operations of TestModel")
	modelSeed  = flag.Uint64("model.seed", 1, "seed of TestModel")
)

// TestModel is one long run on one tree, so that states come up that need many
// operations.
func TestModel(t *testing.T) {
	t.Logf("-model.steps %d -model.seed %d", *modelSteps, *modelSeed)
	runModel(t, mountedTree(t), *modelSteps)
}

func runModel(t *testing.T, tr *tree, steps int) {
	m := newModel(t, tr, "run")
	defer m.closeAll()
	c := seeded{rand.New(rand.NewPCG(*modelSeed, 0))}
	var table []operation
	for _, op := range operations {
		table = append(table, slices.Repeat([]operation{op}, op.weight)...)
	}
	for step := range steps {
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

func (f *opening) reads() bool { return f.flags&unix.O_ACCMODE != unix.O_WRONLY }

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

func (p place) get() *object { return p.dir.entries[p.name] }

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

func isDir(o *object) bool { return o.typ == unix.S_IFDIR }

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

func (m *model) closeAll() {
	for _, f := range m.open {
		unix.Close(f.fd)
	}
	m.open = nil
}

func (m *model) sameData(what string, got, want []byte) {
	m.t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			m.fail("%s: byte %d of %d is %#x, want %#x", what, i, len(want), got[i], want[i])
		}
	}
	if len(got) != len(want) {
		m.fail("%s: %d bytes, want %d", what, len(got), len(want))
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
