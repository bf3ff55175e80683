package test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs/ext4/ext4test"
)

// TestImages mounts images that a kernel has written, with their keys and without,
// and compares everything with what that kernel showed.
func TestImages(t *testing.T) {
	needFUSE(t)
	for _, f := range ext4test.All(t) {
		m := f.Manifest(t)
		if m.MayRefuse {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			dir := tempDir(t)
			img := filepath.Join(dir, "image")
			write := func(name, contents string) string {
				name = filepath.Join(dir, name)
				if err := os.WriteFile(name, []byte(contents), 0o600); err != nil {
					t.Fatal(err)
				}
				return name
			}
			write("image", string(f.Image(t)))
			mnt := filepath.Join(dir, "mnt")
			if err := os.Mkdir(mnt, 0o755); err != nil {
				t.Fatal(err)
			}
			args := imageKeys(m, write)
			mounted := func(args []string, check func()) {
				encfs(t, append([]string{"mount", "--log", filepath.Join(dir, "log"), img, mnt}, args...)...)
				defer encfs(t, "umount", mnt)
				check()
			}
			mounted(args, func() {
				for n := range m.Entries {
					compareEntry(t, mnt, &m.Entries[n])
				}
			})
			mounted([]string{"--locked"}, func() {
				for n := range m.Entries {
					compareLocked(t, mnt, &m.Entries[n])
				}
			})
		})
	}
}

// TestCasefold finds what is in casefolded directories of a mount under other
// spellings, in whatever order, also directories, of which the kernel knows one name
// at a time. A listing has the names as they are stored.
func TestCasefold(t *testing.T) {
	needFUSE(t)
	f := ext4test.Get("casefold")
	m := f.Manifest(t)
	dir := tempDir(t)
	img, mnt, key := filepath.Join(dir, "image"), filepath.Join(dir, "mnt"), filepath.Join(dir, "key")
	for name, contents := range map[string][]byte{img: f.Image(t), key: []byte(m.Keys[0].RawHex)} {
		if err := os.WriteFile(name, contents, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(mnt, 0o755); err != nil {
		t.Fatal(err)
	}
	encfs(t, "mount", "--log", filepath.Join(dir, "log"), "--key-file", key, img, mnt)
	defer encfs(t, "umount", mnt)
	ino := func(path string) uint64 {
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(mnt, path), &st); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return st.Ino
	}
	for _, tt := range []struct{ path, other string }{
		{"cf-clear/Sub/Inner", "cf-clear/SUB/INNER"},
		{"cf-clear/UPPER", "cf-clear/upper"},
		{"cf-clear/Sub", "cf-clear/sUB"},
		{"secret/cf/Many/Item-0187", "secret/cf/mANY/iTEM-0187"},
		{"secret/cf/straße", "secret/cf/STRASSE"},
		{"secret/cf/Été", "secret/cf/e\u0301TE\u0301"},
	} {
		for range 2 {
			if a, b := ino(tt.path), ino(tt.other); a != b {
				t.Errorf("%s is inode %d, %s is %d", tt.path, a, tt.other, b)
			}
		}
	}
	for range 2 { // from the kernel's memory the second time
		for _, path := range []string{"cf-clear/none", "cf-clear/NONE", "SECRET", "secret/plain-case/STRASSE"} {
			if _, err := os.Lstat(filepath.Join(mnt, path)); !errors.Is(err, unix.ENOENT) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join(mnt, "cf-clear"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "SUB" || e.Name() == "sUB" || e.Name() == "upper" {
			t.Errorf("%s is listed", e.Name())
		}
	}
}

// TestInconsistent takes the flag that it is encrypted from a file in an encrypted
// directory, which only somebody who writes to the disk can do: the file is there and
// is an error, the log says why, and all else can be read.
func TestInconsistent(t *testing.T) {
	needFUSE(t)
	debugfs := needTool(t, "debugfs")
	f := ext4test.Get("v2-pad16-1k")
	m := f.Manifest(t)
	dir := tempDir(t)
	img, mnt, key := filepath.Join(dir, "image"), filepath.Join(dir, "mnt"), filepath.Join(dir, "key")
	log := filepath.Join(dir, "log")
	for name, contents := range map[string][]byte{img: f.Image(t), key: []byte(m.Keys[0].RawHex)} {
		if err := os.WriteFile(name, contents, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(mnt, 0o755); err != nil {
		t.Fatal(err)
	}
	victim := slices.IndexFunc(m.Entries, func(e ext4test.Entry) bool { return e.Path == "secret/text.txt" })
	if victim < 0 {
		t.Fatal("there is no secret/text.txt")
	}
	ino := m.Entries[victim].Ino
	request := fmt.Sprintf("set_inode_field <%d> flags 0x80000", ino) // extents, and no more
	if out, err := exec.Command(debugfs, "-w", "-R", request, img).CombinedOutput(); err != nil {
		t.Fatalf("debugfs: %v\n%s", err, out)
	}
	for _, args := range [][]string{{"--key-file", key}, {"--locked"}} {
		encfs(t, append([]string{"mount", "--log", log, img, mnt}, args...)...)
		func() {
			defer encfs(t, "umount", mnt)
			bad, good := 0, 0
			entries, err := os.ReadDir(filepath.Join(mnt, "secret"))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				switch _, err := os.Lstat(filepath.Join(mnt, "secret", e.Name())); {
				case err == nil:
					good++
				case errors.Is(err, unix.EIO):
					bad++
				default:
					t.Errorf("%s: %v", e.Name(), err)
				}
			}
			if bad != 1 || good < 10 {
				t.Errorf("%v: %d errors, %d without one", args, bad, good)
			}
		}()
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if want := "is not encrypted in an encrypted directory"; strings.Count(string(b), want) != 2 || !strings.Contains(string(b), fmt.Sprintf("inode %d", ino)) {
		t.Errorf("the log says:\n%s", b)
	}
}

// TestMovedFile opens a file that was moved out of its encrypted directory, which is
// gone: its key is that of nothing but the file.
func TestMovedFile(t *testing.T) {
	debugfs := needTool(t, "debugfs")
	f := ext4test.Get("v2-pad16-1k")
	m := f.Manifest(t)
	dir := tempDir(t)
	img, key := filepath.Join(dir, "image"), filepath.Join(dir, "key")
	for name, contents := range map[string][]byte{img: f.Image(t), key: []byte(m.Keys[0].RawHex)} {
		if err := os.WriteFile(name, contents, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := m.Entries[slices.IndexFunc(m.Entries, func(e ext4test.Entry) bool { return e.Path == "secret/text.txt" })]
	for _, request := range []string{fmt.Sprintf("link <%d> /moved", file.Ino), "unlink /secret"} {
		if out, err := exec.Command(debugfs, "-w", "-R", request, img).CombinedOutput(); err != nil {
			t.Fatalf("debugfs: %v\n%s", err, out)
		}
	}
	sum := sha256.Sum256([]byte(encfs(t, "cat", "--key-file", key, img, "moved")))
	if hex.EncodeToString(sum[:]) != file.SHA256 {
		t.Error("the file has other contents")
	}
	if out, code := tryEncfs(t, "cat", "--locked", img, "moved"); code == 0 {
		t.Errorf("without the key: %s", out)
	}
}

// imageKeys returns the arguments that give the keys of an image.
func imageKeys(m *ext4test.Manifest, write func(name, contents string) string) []string {
	var args []string
	for n, k := range m.Keys {
		args = append(args, "--key-file", write(fmt.Sprintf("key%d", n), k.RawHex))
	}
	if m.Tool != nil && len(m.Tool.PolicyDirs) > 0 {
		for _, p := range m.Tool.Protectors {
			switch {
			case p.Linked != "":
			case p.Passphrase != "": // which opens all that a raw key does in these
				return []string{"--passfile", write("passphrase", p.Passphrase)}
			default:
				args = []string{"--key-file", write("raw", p.RawKeyHex)}
			}
		}
	}
	if len(args) == 0 {
		return []string{"--locked"}
	}
	return args
}

func compareEntry(t *testing.T, mnt string, e *ext4test.Entry) {
	t.Helper()
	path := filepath.Join(mnt, e.PlainPath(t))
	info, err := os.Lstat(path)
	if err != nil {
		t.Error(err)
		return
	}
	st := info.Sys().(*syscall.Stat_t)
	mode, err := strconv.ParseUint(e.Mode, 8, 32)
	if err != nil {
		t.Fatal(err)
	}
	size := e.Size
	if e.Type == "symlink" {
		size = int64(len(e.PlainTarget(t)))
	}
	if st.Mode != e.Kind(t)|uint32(mode) || st.Size != size || st.Ino != e.Ino ||
		uint64(st.Nlink) != uint64(max(e.Nlink, 1)) || st.Uid != e.UID || st.Gid != e.GID {
		t.Errorf("%s: got %+v, want %+v", e.Path, st, e)
	}
	if got := [2]int64{st.Mtim.Sec, st.Mtim.Nsec}; got != e.Mtime {
		t.Errorf("%s: modified at %v, want %v", e.Path, got, e.Mtime)
	}
	for name, want := range e.Xattrs {
		value := make([]byte, 64<<10)
		n, err := unix.Lgetxattr(path, name, value)
		if err != nil || hex.EncodeToString(value[:max(n, 0)]) != want {
			t.Errorf("%s: %s is %x with error %v, want %s", e.Path, name, value[:max(n, 0)], err, want)
		}
	}
	switch e.Type {
	case "symlink":
		if got, err := os.Readlink(path); got != e.PlainTarget(t) || err != nil {
			t.Errorf("%s: target %q and error %v, want %q", e.Path, got, err, e.PlainTarget(t))
		}
	case "chr", "blk":
		if got := [2]uint32{unix.Major(st.Rdev), unix.Minor(st.Rdev)}; got != e.Rdev {
			t.Errorf("%s: device %v, want %v", e.Path, got, e.Rdev)
		}
	case "file":
		compareContents(t, path, e)
	}
}

func compareContents(t *testing.T, path string, e *ext4test.Entry) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	if e.SHA256 != "" {
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil || hex.EncodeToString(h.Sum(nil)) != e.SHA256 {
			t.Errorf("%s: has other contents, or error %v", e.Path, err)
		}
	}
	for n, segment := range e.DataSegments {
		start, err := f.Seek(segment[0], unix.SEEK_DATA)
		if err != nil || start != segment[0] {
			t.Errorf("%s: data at %d and error %v, want %d", e.Path, start, err, segment[0])
			continue
		}
		end, err := f.Seek(start, unix.SEEK_HOLE)
		if err != nil || end != segment[1] {
			t.Errorf("%s: a hole at %d and error %v, want %d", e.Path, end, err, segment[1])
			continue
		}
		if n < len(e.SegmentSHA256) {
			h := sha256.New()
			if _, err := io.Copy(h, io.NewSectionReader(f, start, end-start)); err != nil || hex.EncodeToString(h.Sum(nil)) != e.SegmentSHA256[n] {
				t.Errorf("%s: bytes %d to %d are others, or error %v", e.Path, start, end, err)
			}
		}
	}
}

func compareLocked(t *testing.T, mnt string, e *ext4test.Entry) {
	t.Helper()
	path := filepath.Join(mnt, e.LockedPath(t))
	info, err := os.Lstat(path)
	if err != nil {
		t.Error(err)
		return
	}
	switch e.Type {
	case "symlink":
		want := e.PlainTarget(t)
		if e.NoKeyTarget != "" {
			want = e.NoKeyTarget
		}
		if got, err := os.Readlink(path); got != want || err != nil || info.Size() != int64(len(want)) {
			t.Errorf("%s: target %q of %d bytes and error %v, want %q", path, got, info.Size(), err, want)
		}
	case "file":
		f, err := os.Open(path)
		if err == nil {
			f.Close()
		}
		if encrypted := e.Nonce != ""; errors.Is(err, unix.ENOKEY) != encrypted || !encrypted && err != nil {
			t.Errorf("%s: Open: %v", path, err)
		}
	}
}
