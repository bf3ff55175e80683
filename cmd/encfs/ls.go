package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/store"
)

// listOptions says how ls lists.
type listOptions struct {
	long, recursive bool
	raw             bool // names as they are, rather than fit for a terminal
}

func newLsCommand() *cobra.Command {
	var keys keyFlags
	var drivers driverFlags
	var o listOptions
	cmd := &cobra.Command{
		Use:   "ls [flags] SOURCE [PATH]...",
		Short: "List files without mounting",
		Long: `List files without mounting. PATH is relative to the root of SOURCE, which is
listed without one. Needs neither FUSE nor root.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := openForReading(args[0], &keys, &drivers, consoleOf(cmd))
			if err != nil {
				return err
			}
			defer v.Close()
			out := cmd.OutOrStdout()
			o.raw = !isTerminal(out)
			return list(out, v, args[1:], o)
		},
	}
	cmd.Flags().BoolVarP(&o.long, "long", "l", false, "modes, links, numeric owners, sizes and local times too")
	cmd.Flags().BoolVarP(&o.recursive, "recursive", "R", false, "list directories below, too")
	keys.add(cmd.Flags())
	drivers.add(cmd.Flags())
	return cmd
}

// list lists paths, or the root where there are none, in the manner of ls(1):
// first those that are no directories, then the contents of the others. A path
// that cannot be listed does not keep the others from it.
func list(w io.Writer, v *fs.Volume, paths []string, o listOptions) error {
	if len(paths) == 0 {
		paths = []string{"/"}
	}
	l := lister{w: bufio.NewWriter(w), v: v, o: o}
	var files []listing
	var dirs []string
	var errs []error
	for _, p := range paths {
		entry, err := l.look(p)
		switch {
		case err != nil:
			errs = append(errs, plainError(p, err))
		case entry.attr.Mode&store.ModeType == store.ModeDir:
			dirs = append(dirs, p)
		default:
			files = append(files, entry)
		}
	}
	l.print(files)
	l.heads = len(paths) > 1 || o.recursive
	l.started = len(files) > 0
	for _, dir := range dirs {
		errs = append(errs, l.start(dir))
	}
	return errors.Join(append(errs, l.w.Flush())...)
}

// A listing is a line of ls.
type listing struct {
	name, target string
	attr         fs.Attr
	err          error // the attributes could not be read
}

type lister struct {
	w       *bufio.Writer
	v       *fs.Volume
	o       listOptions
	heads   bool        // name directories before their contents
	started bool        // something has been printed
	seen    fs.InodeSet // directories at and below a path
}

// look returns what ls shows of the object at a path.
func (l *lister) look(p string) (listing, error) {
	i, attr, err := l.v.Walk(p)
	if err != nil {
		return listing{}, err
	}
	return l.listingOf(i, p, attr), nil
}

// listingOf returns what ls shows of an inode, and releases it.
func (l *lister) listingOf(i *fs.Inode, name string, attr fs.Attr) listing {
	defer l.v.Release(i, 1)
	entry := listing{name: name, attr: attr}
	if attr.Mode&store.ModeType == store.ModeSymlink {
		var err error
		if entry.target, err = l.v.Readlink(i); err != nil {
			entry.target = "?"
		}
	}
	return entry
}

// start lists the contents of a directory that was asked for.
func (l *lister) start(dir string) error {
	i, attr, err := l.v.Walk(dir)
	if err != nil {
		return plainError(dir, err)
	}
	defer l.v.Release(i, 1)
	l.seen = fs.InodeSet{}
	l.seen.Add(attr)
	return l.directory(dir, i)
}

// directory lists the contents of a directory and, if asked, what is below. It
// goes on after errors, which it returns together.
func (l *lister) directory(dir string, i *fs.Inode) error {
	entries, bad, err := l.v.ReadDirAll(i)
	if err != nil {
		return plainError(dir, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name, b.Name) })
	if l.heads {
		if l.started {
			l.w.WriteByte('\n')
		}
		fmt.Fprintf(l.w, "%s:\n", l.show(dir))
	}
	l.started = true

	var lines []listing
	var below []fs.DirEntry
	var errs []error
	for _, err := range bad {
		errs = append(errs, plainError(dir, err))
	}
	for _, e := range entries {
		line := listing{name: e.Name, attr: fs.Attr{Mode: e.Type}}
		if l.o.long || e.Type == 0 {
			if child, attr, err := l.v.LookupEntry(i, e); err == nil {
				line = l.listingOf(child, e.Name, attr)
			} else {
				errs = append(errs, plainError(path.Join(dir, e.Name), err))
				line.err = err
			}
		}
		if line.attr.Mode&store.ModeType == store.ModeDir {
			below = append(below, e)
		}
		lines = append(lines, line)
	}
	l.print(lines)
	if l.o.recursive {
		for _, e := range below {
			errs = append(errs, l.descend(dir, i, e))
		}
	}
	return errors.Join(errs...)
}

// descend lists a directory in another one, and what is below.
func (l *lister) descend(dir string, i *fs.Inode, e fs.DirEntry) error {
	p := path.Join(dir, e.Name)
	below, attr, err := l.v.LookupEntry(i, e)
	if err != nil {
		return plainError(p, err)
	}
	defer l.v.Release(below, 1)
	if !l.seen.Add(attr) {
		return plainError(p, errSecondName)
	}
	return l.directory(p, below)
}

// errSecondName means an entry that leads to a directory which another one led to
// already: it is damage, and might go round in a circle.
var errSecondName = errors.New("is another name of a directory that was listed already")

// print prints lines, with columns as wide as they need.
func (l *lister) print(lines []listing) {
	if !l.o.long {
		for _, e := range lines {
			fmt.Fprintln(l.w, l.show(e.name))
		}
		return
	}
	columns := make([][]string, len(lines))
	width := make([]int, 5)
	for n, e := range lines {
		columns[n] = longColumns(e)
		for c, text := range columns[n] {
			width[c] = max(width[c], len(text))
		}
	}
	for n, e := range lines {
		for c, text := range columns[n] {
			fmt.Fprintf(l.w, "%*s ", width[c], text)
		}
		date := strings.Repeat(" ", 15) + "?"
		if e.err == nil {
			date = e.attr.Mtime.Local().Format("2006-01-02 15:04")
		}
		fmt.Fprintf(l.w, "%s %s", date, l.show(e.name))
		if e.attr.Mode&store.ModeType == store.ModeSymlink && e.err == nil {
			fmt.Fprintf(l.w, " -> %s", l.show(e.target))
		}
		l.w.WriteByte('\n')
	}
}

// show returns a name as it is printed.
func (l *lister) show(name string) string {
	if l.o.raw {
		return name
	}
	return printable(name)
}

// longColumns returns mode, links, user, group, and size or device.
func longColumns(e listing) []string {
	a := e.attr
	if e.err != nil {
		return []string{modeString(a.Mode)[:1] + "?????????", "?", "?", "?", "?"}
	}
	size := strconv.FormatInt(a.Size, 10)
	if t := a.Mode & store.ModeType; t == store.ModeChar || t == store.ModeBlock {
		size = fmt.Sprintf("%d, %d", unix.Major(a.Rdev), unix.Minor(a.Rdev))
	}
	return []string{
		modeString(a.Mode), strconv.FormatUint(uint64(a.Nlink), 10),
		strconv.FormatUint(uint64(a.UID), 10), strconv.FormatUint(uint64(a.GID), 10), size,
	}
}

// modeString returns a mode in the ten letters of ls(1).
func modeString(mode uint32) string {
	kinds := map[uint32]byte{
		store.ModeFIFO: 'p', store.ModeChar: 'c', store.ModeDir: 'd', store.ModeBlock: 'b',
		store.ModeRegular: '-', store.ModeSymlink: 'l', store.ModeSocket: 's',
	}
	s := []byte("?rwxrwxrwx")
	if kind, ok := kinds[mode&store.ModeType]; ok {
		s[0] = kind
	}
	for bit := range 9 {
		if mode&(0o400>>bit) == 0 {
			s[1+bit] = '-'
		}
	}
	for _, special := range []struct {
		bit    uint32
		at     int
		letter byte
	}{{0o4000, 3, 's'}, {0o2000, 6, 's'}, {0o1000, 9, 't'}} {
		if mode&special.bit == 0 {
			continue
		}
		if s[special.at] == '-' {
			special.letter -= 'a' - 'A'
		}
		s[special.at] = special.letter
	}
	return string(s)
}
