package test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func sum(data []byte) [32]byte { return sha256.Sum256(data) }

// TestStress has processes and goroutines create, rename, link and remove the
// same names in the same directories: whatever exists at any time is whole, and
// in the end everything is consistent.
func TestStress(t *testing.T) {
	tr := mountedTree(t)
	for _, dir := range []string{"a", "b", "c"} {
		if err := os.Mkdir(tr.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	for k := range 2 {
		group.Go(func() {
			if out, err := helper("churn", tr.root, fmt.Sprint(k)).CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", k, err, out)
			}
		})
	}
	for k := range 8 {
		group.Go(func() {
			if err := churn(tr.root, uint64(100+k), 400); err != nil {
				t.Errorf("goroutine %d: %v", k, err)
			}
		})
	}
	group.Wait()
	before := checkChurned(t, tr)
	tr.remount()
	if after := checkChurned(t, tr); after != before {
		t.Errorf("after a remount there is\n%s\nand was\n%s", after, before)
	}
	for _, dir := range []string{"a", "b", "c"} {
		if out, err := exec.Command("rm", "-r", tr.path(dir)).CombinedOutput(); err != nil {
			t.Errorf("rm -r: %v\n%s", err, out)
		}
	}
	tr.umount()
	wantNoTemporaries(t, tr)
}

func churnHelper(args []string) error {
	var seed uint64
	if _, err := fmt.Sscan(args[1], &seed); err != nil {
		return err
	}
	return churn(args[0], seed, 600)
}

// churn does n random things in the directories a, b and c. The contents of a
// file are many copies of a line, so that whoever reads it knows whether it is
// whole.
func churn(root string, seed uint64, n int) error {
	r := rand.New(rand.NewPCG(seed, 17))
	any := func() string {
		name := fmt.Sprint("n", r.IntN(12))
		if r.IntN(4) == 0 {
			name = strings.Repeat("long", 50) + name
		}
		return filepath.Join(root, []string{"a", "b", "c"}[r.IntN(3)], name)
	}
	for k := range n {
		p := any()
		var err error
		switch r.IntN(10) {
		case 0, 1:
			err = createWhole(p, seed, k, r)
		case 2, 3:
			err = unix.Rename(p, any())
		case 4:
			err = unix.Renameat2(unix.AT_FDCWD, p, unix.AT_FDCWD, any(), unix.RENAME_EXCHANGE)
		case 5:
			err = unix.Link(p, any())
		case 6:
			err = unix.Unlink(p)
		case 7:
			err = unix.Mkdir(p, 0o755)
			if err == nil {
				err = createWhole(filepath.Join(p, "inside"), seed, k, r)
			}
		case 8:
			err = unix.Unlink(filepath.Join(p, "inside"))
			if err == nil {
				err = unix.Rmdir(p)
			}
		case 9:
			err = checkWhole(p)
		}
		if err != nil && !expected(err) {
			return fmt.Errorf("operation %d on %s: %w", k, p, err)
		}
	}
	return nil
}

// expected reports whether an error is one that comes of others working on the
// same names.
func expected(err error) bool {
	for _, e := range []error{
		unix.ENOENT, unix.EEXIST, unix.ENOTDIR, unix.EISDIR, unix.ENOTEMPTY, unix.EPERM, unix.EINVAL,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// createWhole makes a file that others see whole from the beginning: it gets
// its name at the end.
func createWhole(p string, seed uint64, k int, r *rand.Rand) error {
	temp := filepath.Join(filepath.Dir(p), fmt.Sprintf("temp-%d-%d", seed, k))
	line := fmt.Sprintf("line of %d, %d\n", seed, k)
	if err := os.WriteFile(temp, []byte(strings.Repeat(line, 1+r.IntN(500))), 0o644); err != nil {
		return err
	}
	err := unix.Rename(temp, p)
	if err != nil {
		if rm := unix.Unlink(temp); rm != nil && !expected(rm) {
			return rm
		}
	}
	return err
}

func checkWhole(p string) error {
	data, err := os.ReadFile(p)
	if err != nil {
		return err
	}
	end := bytes.IndexByte(data, '\n') + 1
	if end == 0 || !bytes.HasPrefix(data, []byte("line of ")) || !bytes.Equal(data, bytes.Repeat(data[:end], len(data)/end)) {
		return fmt.Errorf("%d bytes that are not whole: %.40q", len(data), data)
	}
	return nil
}

// checkChurned checks everything and describes it.
func checkChurned(t *testing.T, tr *tree) string {
	t.Helper()
	var b strings.Builder
	links := map[uint64]uint64{}
	seen := map[uint64]uint64{}
	err := filepath.WalkDir(tr.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %#o", path, st.Mode)
		if e.Type().IsRegular() {
			if err := checkWhole(path); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			links[st.Ino] = uint64(st.Nlink)
			seen[st.Ino]++
			fmt.Fprintf(&b, " %d %d %d", st.Ino, st.Size, st.Nlink)
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for ino, n := range links {
		if seen[ino] != n {
			t.Errorf("inode %d has %d links and %d names", ino, n, seen[ino])
		}
	}
	return b.String()
}

// TestManyOpenFiles holds more files open, and unlinked, than the server would
// have descriptors for directories.
func TestManyOpenFiles(t *testing.T) {
	tr := mountedTree(t)
	var open []*os.File
	defer func() {
		for _, f := range open {
			f.Close()
		}
	}()
	for k := range 1500 {
		dir := tr.path(fmt.Sprint("d", k%300))
		if k < 300 {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		f, err := os.Create(filepath.Join(dir, fmt.Sprint("f", k)))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, f)
		if _, err := fmt.Fprint(f, k); err != nil {
			t.Fatal(err)
		}
		if k%2 == 0 {
			if err := os.Remove(f.Name()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for k, f := range open {
		var b [10]byte
		n, _ := f.ReadAt(b[:], 0)
		if string(b[:n]) != fmt.Sprint(k) {
			t.Errorf("file %d reads %q", k, b[:n])
		}
	}
}
