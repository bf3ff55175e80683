package test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	iofs "io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/ext4"
	"encfs/keys"
)

// TestKernel lets this machine's kernel write a random tree into encrypted
// directories of a new file system, and compares what a volume reads from the
// image with what was written, and without the key with what the kernel shows
// then.
func TestKernel(t *testing.T) {
	needRoot(t)
	mkfs := needTool(t, "mkfs.ext4")
	needTool(t, "losetup")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, blockSize := range []string{"1024", "4096"} {
		t.Run(blockSize, func(t *testing.T) {
			dir := tempDir(t)
			img, mnt := filepath.Join(dir, "img"), filepath.Join(dir, "mnt")
			if err := os.Mkdir(mnt, 0o755); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(mkfs, "-q", "-F", "-b", blockSize, "-O", "encrypt,stable_inodes", img, "96M").CombinedOutput()
			if err != nil {
				t.Skipf("mkfs.ext4 makes no file system with encryption: %v\n%s", err, out)
			}
			if out, err := exec.Command("mount", "-o", "loop", img, mnt).CombinedOutput(); err != nil {
				t.Skipf("no loop device, or no ext4 with encryption: %v\n%s", err, out)
			}
			raw := make([]byte, keys.MaxMasterKeySize)
			for i := range raw {
				raw[i] = byte(rng.Uint32())
			}
			k := &kernelTree{t: t, rng: rng, mnt: mnt, raw: raw, files: map[string]string{}}
			func() {
				defer func() {
					if err := unix.Unmount(mnt, 0); err != nil {
						t.Fatal(err)
					}
				}()
				k.make()
			}()
			if !k.released(img) {
				t.Skip("the file system stays mounted in another mount namespace")
			}
			b, err := os.ReadFile(img)
			if err != nil {
				t.Fatal(err)
			}
			k.compare(b)
		})
	}
}

// A kernelTree is what a kernel wrote.
type kernelTree struct {
	t      *testing.T
	rng    *rand.Rand
	mnt    string
	raw    []byte            // master key
	files  map[string]string // path to what there is, with the key
	locked []string          // paths without it
}

// released waits until no loop device has the image any more.
func (k *kernelTree) released(img string) bool {
	for range 50 {
		out, err := exec.Command("losetup", "-j", img).Output()
		if err == nil && len(bytes.TrimSpace(out)) == 0 {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

// ioctl makes a call with an argument of struct form.
func ioctl(path string, request uintptr, arg []byte) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(&arg[0]))); errno != 0 {
		return errno
	}
	return nil
}

// make fills the file system, and lists it once more without the key.
func (k *kernelTree) make() {
	t := k.t
	add := make([]byte, 80, 80+len(k.raw)) // struct fscrypt_add_key_arg
	binary.NativeEndian.PutUint32(add, unix.FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER)
	binary.NativeEndian.PutUint32(add[40:], uint32(len(k.raw)))
	add = append(add, k.raw...)
	if err := ioctl(k.mnt, unix.FS_IOC_ADD_ENCRYPTION_KEY, add); err != nil {
		t.Skipf("the kernel takes no key: %v", err)
	}
	identifier := add[8:24]
	made := 0
	for _, p := range []struct {
		name   string
		policy [8]byte // version, modes, flags, log2 of the data unit size
	}{
		{"pad4", [8]byte{2, 1, 4, 0}},
		{"pad32", [8]byte{2, 1, 4, 3}},
		{"units-512", [8]byte{2, 1, 4, 2, 9}},
		{"ino-lblk-64", [8]byte{2, 1, 4, 3 | 8}},
		{"ino-lblk-32", [8]byte{2, 1, 4, 1 | 16}},
		{"hctr2", [8]byte{2, 1, 10, 2}},
		{"adiantum", [8]byte{2, 9, 9, 3}},
		{"adiantum-direct", [8]byte{2, 9, 9, 3 | 4}},
		{"essiv", [8]byte{2, 5, 6, 1}},
		{"sm4", [8]byte{2, 7, 8, 3}},
	} {
		dir := filepath.Join(k.mnt, p.name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		err := ioctl(dir, unix.FS_IOC_SET_ENCRYPTION_POLICY, append(p.policy[:], identifier...))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "probe"), nil, 0o600) // which needs the cipher
		}
		if err != nil {
			t.Logf("no policy %s: %v", p.name, err)
			os.RemoveAll(dir)
			continue
		}
		k.fill(dir, 3)
		made++
	}
	if made == 0 {
		t.Skip("the kernel takes no policy")
	}
	k.fill(k.mnt, 1) // not encrypted
	k.walk(func(path string, d iofs.DirEntry) { k.files[path] = k.describe(path, d) })

	unix.Sync()
	remove := make([]byte, 64) // struct fscrypt_remove_key_arg
	copy(remove, add[:40])
	if err := ioctl(k.mnt, unix.FS_IOC_REMOVE_ENCRYPTION_KEY, remove); err != nil {
		t.Fatal(err)
	}
	if flags := binary.NativeEndian.Uint32(remove[40:]); flags != 0 {
		t.Logf("the key is still in use, so names are not compared without it: %#x", flags)
		return
	}
	k.walk(func(path string, _ iofs.DirEntry) { k.locked = append(k.locked, path) })
}

// walk calls f for all paths, relative to the root.
func (k *kernelTree) walk(f func(path string, d iofs.DirEntry)) {
	err := filepath.WalkDir(k.mnt, func(path string, d iofs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(k.mnt, path); err == nil && rel != "." {
			f(rel, d)
		}
		return err
	})
	if err != nil {
		k.t.Fatal(err)
	}
}

// describe returns what there is at a path.
func (k *kernelTree) describe(path string, d iofs.DirEntry) string {
	full := filepath.Join(k.mnt, path)
	switch d.Type() {
	case iofs.ModeDir:
		return "directory"
	case iofs.ModeSymlink:
		target, err := os.Readlink(full)
		if err != nil {
			k.t.Fatal(err)
		}
		return "link to " + target
	}
	b, err := os.ReadFile(full)
	if err != nil {
		k.t.Fatal(err)
	}
	return fmt.Sprintf("%d bytes %x", len(b), sha256.Sum256(b))
}

// name returns a random name of any length, in UTF-8, as io/fs has no others.
func (k *kernelTree) name() string {
	b := make([]byte, 1+k.rng.IntN(200))
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz0123456789-_+ \x01"[k.rng.IntN(41)]
	}
	return fmt.Sprintf("%x%s", k.rng.Uint32(), b)
}

// fill makes random objects in a directory and, to some depth, below.
func (k *kernelTree) fill(dir string, depth int) {
	check := func(err error) {
		k.t.Helper()
		if err != nil {
			k.t.Fatal(err)
		}
	}
	last := ""
	for range 25 {
		path := filepath.Join(dir, k.name())
		switch k.rng.IntN(8) {
		case 0:
			check(os.Symlink(strings.Repeat("x/", k.rng.IntN(400))+"t", path))
		case 1:
			check(os.Mkdir(path, 0o755))
			if depth > 0 {
				k.fill(path, depth-1-k.rng.IntN(2))
			}
		case 2:
			if last != "" {
				check(os.Link(last, path))
			}
		default:
			f, err := os.Create(path)
			check(err)
			for range k.rng.IntN(4) {
				b := make([]byte, k.rng.IntN(20000))
				for i := range b {
					b[i] = byte(k.rng.Uint32())
				}
				_, err = f.WriteAt(b, int64(k.rng.IntN(100000)))
				check(err)
			}
			if k.rng.IntN(3) == 0 {
				check(f.Truncate(int64(k.rng.IntN(60000))))
			}
			if k.rng.IntN(3) == 0 {
				err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE|unix.FALLOC_FL_PUNCH_HOLE, int64(k.rng.IntN(30000)), 10000)
				if err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
					check(err)
				}
			}
			check(f.Close())
			last = path
		}
	}
}

// compare reads the image with the key, and without.
func (k *kernelTree) compare(img []byte) {
	open := func(raw ...[]byte) iofs.FS {
		st, err := ext4.Open(bytes.NewReader(img), int64(len(img)), ext4.Options{})
		if err != nil {
			k.t.Fatal(err)
		}
		ring := new(keys.Keyring)
		for _, r := range raw {
			mk, err := keys.NewMasterKey(r)
			if err != nil {
				k.t.Fatal(err)
			}
			ring.Add(mk)
		}
		v, err := fs.NewVolume(st, ring, fs.Options{})
		if err != nil {
			k.t.Fatal(err)
		}
		k.t.Cleanup(func() { v.Close() })
		return v.IOFS("")
	}
	plain := open(k.raw)
	found := map[string]bool{}
	err := iofs.WalkDir(plain, ".", func(path string, d iofs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		found[path] = true
		got := "directory"
		switch d.Type() {
		case iofs.ModeDir:
		case iofs.ModeSymlink:
			target, err := iofs.ReadLink(plain, path)
			if err != nil {
				return err
			}
			got = "link to " + target
		default:
			b, err := iofs.ReadFile(plain, path)
			if err != nil {
				return err
			}
			got = fmt.Sprintf("%d bytes %x", len(b), sha256.Sum256(b))
		}
		if got != k.files[path] {
			k.t.Errorf("%q:\n got %s\nwant %s", path, got, k.files[path])
		}
		return nil
	})
	if err != nil {
		k.t.Error(err)
	}
	for path := range k.files {
		if !found[path] {
			k.t.Errorf("%q is missing", path)
		}
	}
	if k.locked == nil {
		return
	}
	var locked []string
	err = iofs.WalkDir(open(), ".", func(path string, _ iofs.DirEntry, err error) error {
		if path != "." {
			locked = append(locked, path)
		}
		return err
	})
	if err != nil {
		k.t.Error(err)
	}
	slices.Sort(locked)
	slices.Sort(k.locked)
	if !slices.Equal(locked, k.locked) {
		k.t.Errorf("without the key there are %d paths, not the %d of the kernel", len(locked), len(k.locked))
	}
}
