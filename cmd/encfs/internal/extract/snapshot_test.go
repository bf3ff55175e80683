package extract

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/store"
)

// A snapshot is what there is to know of a tree, an object a line, by path. Hard
// links are told by the first name of the object.
type snapshot map[string]string

// diff returns how two snapshots differ, "" if they do not.
func (got snapshot) diff(want snapshot) string {
	var b strings.Builder
	for p, w := range want {
		if g := got[p]; g != w {
			fmt.Fprintf(&b, "%s:\n got %s\nwant %s\n", p, g, w)
		}
	}
	for p, g := range got {
		if _, ok := want[p]; !ok {
			fmt.Fprintf(&b, "%s:\n got %s\nwant nothing\n", p, g)
		}
	}
	return b.String()
}

// line describes an object.
func line(a fs.Attr, target string, xattrs map[string]string, data, first string) string {
	if a.Mode&store.ModeType == store.ModeDir || a.Mode&store.ModeType == store.ModeSymlink {
		a.Size = 0
	}
	s := fmt.Sprintf("%o %d:%d %d %x %s", a.Mode, a.UID, a.GID, a.Size, a.Rdev, a.Mtime.UTC().Format(time.RFC3339Nano))
	if target != "" {
		s += " -> " + target
	}
	var names []string
	for name, value := range xattrs {
		names = append(names, fmt.Sprintf("%s=%x", name, value))
	}
	slices.Sort(names)
	return strings.Join(append([]string{s, data, first}, names...), " ")
}

// firstNames finds the first name of each object.
type firstNames map[[2]uint64]string

func (f firstNames) of(a fs.Attr, p string) string {
	key := [2]uint64{a.Dev, a.Ino}
	if a.Mode&store.ModeType == store.ModeDir || a.Nlink < 2 {
		return ""
	}
	if f[key] == "" {
		f[key] = p
	}
	return "=" + f[key]
}

// snapDir describes a tree of the kernel's.
func snapDir(t testing.TB, dir string) snapshot {
	t.Helper()
	got, first := snapshot{}, firstNames{}
	err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(name, &st); err != nil {
			return err
		}
		a := fs.Attr{
			Dev: st.Dev, Ino: st.Ino, Mode: st.Mode, Nlink: uint32(st.Nlink), UID: st.Uid, GID: st.Gid,
			Rdev: st.Rdev, Size: st.Size, Mtime: time.Unix(st.Mtim.Sec, st.Mtim.Nsec),
		}
		target, data := "", ""
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFLNK:
			if target, err = os.Readlink(name); err != nil {
				return err
			}
		case unix.S_IFREG:
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			defer f.Close()
			data = digest(t, st.Size, f.ReadAt, func(off int64, whence int) (int64, error) {
				return unix.Seek(int(f.Fd()), off, whence)
			})
		}
		p := path.Join("/", strings.TrimPrefix(name, dir))
		got[p] = line(a, target, readXattrs(t, name), data, first.of(a, p))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func readXattrs(t testing.TB, name string) map[string]string {
	t.Helper()
	buf := make([]byte, 1<<16)
	n, err := unix.Llistxattr(name, buf)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for attr := range strings.SplitSeq(string(buf[:n]), "\x00") {
		if attr == "" || attr == "security.selinux" || strings.HasPrefix(attr, "trusted.SGI_ACL_") {
			continue // XFS has ACLs under two names
		}
		value := make([]byte, 1<<16)
		n, err := unix.Lgetxattr(name, attr, value)
		if err != nil {
			t.Fatal(err)
		}
		got[attr] = string(value[:n])
	}
	return got
}

// snapVolume describes a tree in a volume.
func snapVolume(t testing.TB, v *fs.Volume, root string) snapshot {
	t.Helper()
	got, first := snapshot{}, firstNames{}
	var walk func(p string)
	walk = func(p string) {
		i, a, err := v.Walk(path.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		defer v.Release(i, 1)
		xattrs := map[string]string{}
		names, err := v.ListXattr(i)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			value, err := v.GetXattr(i, name)
			if err != nil {
				t.Fatal(err)
			}
			xattrs[name] = string(value)
		}
		target, data, below := "", "", []string(nil)
		switch i.Type() {
		case store.ModeDir:
			entries, err := v.ReadDir(i)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				below = append(below, e.Name)
			}
			slices.Sort(below)
		case store.ModeSymlink:
			if target, err = v.Readlink(i); err != nil {
				t.Fatal(err)
			}
		case store.ModeRegular:
			if err := v.Open(i, false); err != nil {
				t.Fatal(err)
			}
			data = digest(t, a.Size, func(b []byte, off int64) (int, error) { return v.ReadAt(i, b, off) },
				func(off int64, whence int) (int64, error) { return v.Seek(i, off, whence) })
			v.CloseFile(i)
		}
		got[p] = line(a, target, xattrs, data, first.of(a, p))
		for _, name := range below {
			walk(path.Join(p, name))
		}
	}
	walk("/")
	return got
}

// digest returns a digest of the contents of a file that does not depend on what of
// the zeros is a hole.
func digest(t testing.TB, size int64, readAt func([]byte, int64) (int, error), seek func(int64, int) (int64, error)) string {
	t.Helper()
	const block = 4096
	h := sha256.New()
	buf := make([]byte, block)
	next := int64(0) // block that was not looked at
	for off := int64(0); off < size; {
		start, err := seek(off, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break
		}
		end := size
		if err == nil {
			end, err = seek(start, unix.SEEK_HOLE)
		}
		if err != nil {
			t.Fatal(err)
		}
		for at := max(next, start/block*block); at < end; at += block {
			next = at + block
			n := int(min(block, size-at))
			if got, err := readAt(buf[:n], at); got != n {
				t.Fatalf("read at %d: %d bytes of %d, %v", at, got, n, err)
			}
			if !bytes.Equal(buf[:n], make([]byte, n)) {
				h.Write(binary.LittleEndian.AppendUint64(nil, uint64(at)))
				h.Write(buf[:n])
			}
		}
		off = end
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
