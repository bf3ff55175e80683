package test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReaddirWhileEntriesComeAndGo reads a large directory while others create
// and remove in it: what is there throughout appears exactly once.
func TestReaddirWhileEntriesComeAndGo(t *testing.T) {
	tr := mountedTree(t)
	const n = 5000
	dir := tr.path("dir")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for k := range n {
		if err := os.WriteFile(fmt.Sprintf("%s/stays-%d", dir, k), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var stop atomic.Bool
	var group sync.WaitGroup
	for w := range 2 {
		group.Go(func() {
			for k := 0; !stop.Load(); k = (k + 1) % 100 {
				p := fmt.Sprintf("%s/comes-%d-%d", dir, w, k)
				if f, err := os.Create(p); err == nil {
					f.Close()
				}
				os.Rename(p, p+"-renamed")
				os.Remove(p + "-renamed")
			}
		})
	}
	for range 5 {
		entries, err := readDirInSmallPieces(dir)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for _, name := range entries {
			seen[name]++
		}
		missing, twice := 0, 0
		for k := range n {
			switch seen[fmt.Sprintf("stays-%d", k)] {
			case 0:
				missing++
			case 1:
			default:
				twice++
			}
		}
		if missing > 0 || twice > 0 {
			t.Errorf("%d entries are missing and %d are doubled", missing, twice)
		}
	}
	stop.Store(true)
	group.Wait()
	tr.remount()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < n || len(entries) > n+4 {
		t.Errorf("%d entries, %v; want %d", len(entries), err, n)
	}
	if out, err := exec.Command("rm", "-r", dir).CombinedOutput(); err != nil {
		t.Errorf("rm -r: %v\n%s", err, out)
	}
}

// readDirInSmallPieces returns the names in a directory, with system calls that
// take a few at a time.
func readDirInSmallPieces(path string) ([]string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var list []string
	buf := make([]byte, 1024)
	for {
		n, err := unix.Getdents(fd, buf)
		if err != nil || n == 0 {
			return list, err
		}
		_, _, list = unix.ParseDirent(buf[:n], -1, list)
	}
}

// TestSeekdir goes back to places in a directory that telldir gave.
func TestSeekdir(t *testing.T) {
	tr := mountedTree(t)
	dir := tr.path("dir")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for k := range 300 {
		if err := os.WriteFile(fmt.Sprintf("%s/%s%d", dir, strings.Repeat("n", k%100), k), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	type mark struct {
		off  int64
		next []string // the names that follow
	}
	var marks []mark
	buf := make([]byte, 600)
	read := func() []string {
		t.Helper()
		n, err := unix.Getdents(fd, buf)
		if err != nil {
			t.Fatal(err)
		}
		_, _, list := unix.ParseDirent(buf[:n], -1, nil)
		return list
	}
	for {
		off, err := unix.Seek(fd, 0, unix.SEEK_CUR)
		if err != nil {
			t.Fatal(err)
		}
		list := read()
		marks = append(marks, mark{off, list})
		if len(list) == 0 {
			break
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(marks), func(i, j int) { marks[i], marks[j] = marks[j], marks[i] })
	for _, m := range marks {
		if _, err := unix.Seek(fd, m.off, unix.SEEK_SET); err != nil {
			t.Fatal(err)
		}
		if got := read(); !slices.Equal(got, m.next) {
			t.Errorf("at offset %d: %q, want %q", m.off, got, m.next)
		}
	}
	// From the beginning it is read anew.
	if err := os.WriteFile(dir+"/new", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		t.Fatal(err)
	}
	var all []string
	for list := read(); len(list) > 0; list = read() {
		all = append(all, list...)
	}
	if !slices.Contains(all, "new") {
		t.Error("rewinddir does not show a new entry")
	}
}

// TestManyEntries lists, looks up and removes in a directory of 100,000.
func TestManyEntries(t *testing.T) {
	tr := mountedTree(t)
	n := 100000
	if testing.Short() || raceDetector {
		n = 10000
	}
	dir := tr.path("dir")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	name := func(k int) string { return fmt.Sprintf("%s/entry-%d", dir, k) }
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			for k := w; k < n; k += 4 {
				if err := unix.Mknod(name(k), unix.S_IFREG|0o644, 0); err != nil {
					t.Errorf("entry %d: %v", k, err)
					return
				}
			}
		})
	}
	group.Wait()
	tr.remount()
	seen := make([]int, n)
	entries, err := readDirInSmallPieces(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		k := -1
		if _, err := fmt.Sscanf(e, "entry-%d", &k); err != nil || k < 0 || k >= n {
			t.Fatalf("entry %q", e)
		}
		seen[k]++
	}
	for k, times := range seen {
		if times != 1 {
			t.Fatalf("entry %d is listed %d times", k, times)
		}
	}
	for k := 0; k < n; k += n / 100 {
		if _, err := os.Stat(name(k)); err != nil {
			t.Error(err)
		}
		if err := os.Remove(name(k)); err != nil {
			t.Error(err)
		}
	}
	if entries, err = readDirInSmallPieces(dir); err != nil || len(entries) != n-100 {
		t.Errorf("%d entries after 100 were removed, %v, want %d", len(entries), err, n-100)
	}
}
