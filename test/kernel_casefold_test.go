package test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/ext4"
	"encfs/keys"
)

// TestKernelCasefold asks this machine's kernel which spellings of which names are
// the same in a casefolded directory, and compares.
func TestKernelCasefold(t *testing.T) {
	needRoot(t)
	mkfs := needTool(t, "mkfs.ext4")
	chattr := needTool(t, "chattr")
	dir := tempDir(t)
	img, mnt := filepath.Join(dir, "img"), filepath.Join(dir, "mnt")
	if err := os.Mkdir(mnt, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(mkfs, "-q", "-F", "-O", "casefold", "-E", "encoding=utf8", img, "16M").CombinedOutput(); err != nil {
		t.Skipf("mkfs.ext4 makes no file system with casefolding: %v\n%s", err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop", img, mnt).CombinedOutput(); err != nil {
		t.Skipf("no loop device, or a kernel without casefolding (CONFIG_UNICODE): %v\n%s", err, out)
	}
	spellings := []string{
		"a", "A", "ß", "SS", "ẞ", "ss", "É", "e\u0301", "İ", "i\u0307", "I", "ı", "K", "\u212A", "Σ", "ς", "σ", "ﬃ", "FFI",
		"각", "\u1100\u1161\u11A8", "a\u00AD", "a\u200D", "a\u0301\u0323", "a\u0323\u0301", "Ꭰ", "ꭰ", "ᏸ", "Ᏸ", "ᾳ", "ΑΙ", "\u0345", "Ι",
		"\u32FF", "\U0001FAC0", "\uE000", "\U00010400", "\U00010428", "a\xFF", "A\xFF", "Ǆ", "ǆ", "ǅ",
	}
	found := map[[2]int]bool{}
	func() {
		defer func() {
			if err := unix.Unmount(mnt, 0); err != nil {
				t.Fatal(err)
			}
		}()
		for n, name := range spellings {
			folder := filepath.Join(mnt, fmt.Sprint(n))
			if err := os.Mkdir(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(chattr, "+F", folder).CombinedOutput(); err != nil {
				t.Skipf("chattr +F: %v\n%s", err, out)
			}
			if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
				t.Fatalf("%+q: %v", name, err)
			}
			for k, other := range spellings {
				_, err := os.Lstat(filepath.Join(folder, other))
				found[[2]int{n, k}] = err == nil
			}
		}
	}()
	b, err := os.ReadFile(img)
	if err != nil {
		t.Fatal(err)
	}
	st, err := ext4.Open(bytes.NewReader(b), int64(len(b)), ext4.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := fs.NewVolume(st, new(keys.Keyring), fs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for pair, want := range found {
		name, other := spellings[pair[0]], spellings[pair[1]]
		i, _, err := v.Walk(fmt.Sprintf("%d/%s", pair[0], other))
		if (err == nil) != want {
			t.Errorf("%+q is found as %+q: %v (%v), the kernel says %v", name, other, err == nil, err, want)
		}
		if err == nil {
			v.Release(i, 1)
		}
	}
}
