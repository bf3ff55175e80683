package extract

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/ext4/ext4test"
	"encfs/keys"
)

// TestImages extracts images and compares the copies with what the kernel showed of
// them, and with the volume, which knows more: times of directories and ACLs.
func TestImages(t *testing.T) {
	for _, f := range ext4test.All(t) {
		m := f.Manifest(t)
		if m.MayRefuse {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			img := f.Image(t)
			t.Run("Locked", func(t *testing.T) { extractLocked(t, openImage(t, img, nil), m) })
			if m.Tool != nil {
				return // whose keys only the metadata give
			}
			if os.Geteuid() != 0 {
				t.Skip("not root: the owners in the image cannot be kept")
			}
			v := openImage(t, img, m)
			dest := filepath.Join(t.TempDir(), "dest")
			want := snapVolume(t, v, "/")
			small := map[string]bool{} // with attributes that are too large for this file system
			a, err := Extract(context.Background(), v, []string{"/"}, dest, Options{Report: func(p string, err error) {
				if e, ok := errors.AsType[*CopyError](err); !ok || !strings.HasPrefix(e.Op, opAttribute) || !errors.Is(err, unix.ENOSPC) {
					t.Errorf("%q: %v", p, err)
				}
				small[p] = true
			}})
			if err != nil || a.Failed > 0 || int(a.Incomplete) != len(small) {
				t.Errorf("got error %v and account %+v", err, a)
			}
			noPartials(t, dest)
			got := snapDir(t, dest)
			for p := range small {
				delete(want, p)
				delete(got, p)
			}
			if diff := got.diff(want); diff != "" {
				t.Error(diff)
			}
			for i := range m.Entries {
				e := m.Entries[i]
				if small[path.Join("/", e.PlainPath(t))] {
					e.Xattrs = nil
				}
				compareEntry(t, dest, &e)
			}
		})
	}
}

// compareEntry compares a copy with what a manifest says of the object.
func compareEntry(t *testing.T, dest string, e *ext4test.Entry) {
	p := e.PlainPath(t)
	name := filepath.Join(dest, p)
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		t.Errorf("%q: %v", p, err)
		return
	}
	mode, err := strconv.ParseUint(e.Mode, 8, 32)
	if err != nil {
		t.Fatal(err)
	}
	if want := e.Kind(t) | uint32(mode); st.Mode != want {
		t.Errorf("%q: mode %o, want %o", p, st.Mode, want)
	}
	if st.Uid != e.UID || st.Gid != e.GID {
		t.Errorf("%q: owner %d:%d, want %d:%d", p, st.Uid, st.Gid, e.UID, e.GID)
	}
	if got := [2]int64{st.Mtim.Sec, st.Mtim.Nsec}; got != e.Mtime {
		t.Errorf("%q: modified at %v, want %v", p, got, e.Mtime)
	}
	xattrs := readXattrs(t, name)
	for attr, value := range e.Xattrs {
		if got := hex.EncodeToString([]byte(xattrs[attr])); got != value {
			t.Errorf("%q: attribute %s is %s, want %s", p, attr, got, value)
		}
	}
	switch e.Type {
	case "symlink":
		if got, err := os.Readlink(name); err != nil || got != e.PlainTarget(t) {
			t.Errorf("%q: target %q, want %q", p, got, e.PlainTarget(t))
		}
	case "chr", "blk":
		if got := [2]uint32{unix.Major(st.Rdev), unix.Minor(st.Rdev)}; got != e.Rdev {
			t.Errorf("%q: device %v, want %v", p, got, e.Rdev)
		}
	case "file":
		if st.Size != e.Size || uint32(st.Nlink) != max(e.Nlink, 1) {
			t.Errorf("%q: size %d with %d links, want %d with %d", p, st.Size, st.Nlink, e.Size, e.Nlink)
		}
		compareContents(t, name, p, e)
	}
}

func compareContents(t *testing.T, name, p string, e *ext4test.Entry) {
	f, err := os.Open(name)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	segments, sums := e.DataSegments, e.SegmentSHA256
	if e.SHA256 != "" {
		segments, sums = [][2]int64{{0, e.Size}}, []string{e.SHA256}
	}
	for i, sum := range sums {
		h := sha256.New()
		from, to := segments[i][0], segments[i][1]
		if _, err := io.Copy(h, io.NewSectionReader(f, from, to-from)); err != nil {
			t.Error(err)
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != sum {
			t.Errorf("%q: bytes %d to %d have digest %s, want %s", p, from, to, got, sum)
		}
	}
}

// extractLocked extracts an image without keys: the tree has the names that the kernel
// shows then, what is encrypted in it is said to be missing, and nothing else.
func extractLocked(t *testing.T, v *fs.Volume, m *ext4test.Manifest) {
	dest := filepath.Join(t.TempDir(), "dest")
	missing := map[string]bool{}
	a, err := Extract(context.Background(), v, []string{"/"}, dest, Options{Report: func(p string, err error) {
		if os.Geteuid() != 0 && !errors.Is(err, keys.ErrNoKey) {
			return // a device, say
		}
		if !errors.Is(err, keys.ErrNoKey) {
			t.Errorf("%q: %v", p, err)
		}
		if !namesKey(err, m) {
			t.Errorf("%q: which key is missing? %v", p, err)
		}
		missing[p] = true
	}})
	if err != nil {
		t.Fatal(err)
	}
	locked := int64(0)
	for i := range m.Entries {
		e := &m.Entries[i]
		p := e.LockedPath(t)
		encrypted := p != e.PlainPath(t)
		wanted := !encrypted || e.Type != "file" && e.Type != "symlink"
		if os.Geteuid() != 0 && (e.Type == "chr" || e.Type == "blk") {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dest, p)); (err == nil) != wanted {
			t.Errorf("%q: wanted %v, got error %v", p, wanted, err)
		}
		if missing[path.Join("/", p)] == wanted {
			t.Errorf("%q: reported %v", p, !wanted)
		}
		if !wanted {
			locked++
		}
	}
	if os.Geteuid() == 0 && a.Failed != locked {
		t.Errorf("%d objects failed, want %d", a.Failed, locked)
	}
}

// namesKey reports whether an error has the name of a key of the manifest.
func namesKey(err error, m *ext4test.Manifest) bool {
	for _, k := range m.Keys {
		if strings.Contains(err.Error(), k.V2Identifier+k.V1Descriptor) {
			return true
		}
	}
	return m.Tool != nil // whose manifests have no keys
}

// TestUnprivileged extracts as an ordinary user: what belongs to others becomes ours,
// without the rights that it gave, and devices are listed.
func TestUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: there is no way to become another user")
	}
	f := ext4test.Get("v2-pad16-1k")
	m := f.Manifest(t)
	img := f.Image(t)
	const uid = 31999
	dir := t.TempDir()
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // the user may have no way to it
	dest := "dest"
	v := openImage(t, img, m)
	var told problems
	var a Account
	asUser(t, uid, func() {
		var err error
		a, err = Extract(context.Background(), v, []string{"/"}, dest, Options{Jobs: 1, Report: told.add})
		if err != nil {
			t.Error(err)
		}
	})
	devices := int64(0)
	for i := range m.Entries {
		e := &m.Entries[i]
		p := e.PlainPath(t)
		var st unix.Stat_t
		err := unix.Lstat(filepath.Join(dest, p), &st)
		if e.Type == "chr" || e.Type == "blk" {
			devices++
			if err != unix.ENOENT {
				t.Errorf("%q: a device: %v", p, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", p, err)
			continue
		}
		mode, _ := strconv.ParseUint(e.Mode, 8, 32)
		want := e.Kind(t) | uint32(mode)
		if e.UID != uid {
			want &^= unix.S_ISUID
		}
		if e.GID != uid && e.Type != "dir" {
			want &^= unix.S_ISGID
		}
		if st.Mode != want || st.Uid != uid || st.Gid != uid {
			t.Errorf("%q: mode %o of %d:%d, want %o of %d", p, st.Mode, st.Uid, st.Gid, want, uid)
		}
		if got := [2]int64{st.Mtim.Sec, st.Mtim.Nsec}; got != e.Mtime {
			t.Errorf("%q: modified at %v, want %v", p, got, e.Mtime)
		}
		if e.Type == "file" {
			compareContents(t, filepath.Join(dest, p), p, e)
		}
	}
	if a.Failed != devices || devices == 0 || a.Owners == 0 {
		t.Errorf("%d devices, account %+v", devices, a)
	}
	for _, line := range told {
		if !strings.Contains(line, "create: operation not permitted") {
			t.Error(line)
		}
	}
}
