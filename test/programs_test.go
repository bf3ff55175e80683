package test

import (
	"bytes"
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

// run runs a program in a directory and returns what it prints; it fails the
// test unless the program succeeds.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	// No configuration but the test's own.
	cmd.Env = append(os.Environ(), "HOME="+work, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// sourceTree makes a tree of all that copying programs care about.
func sourceTree(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(tempDir(t), "source")
	r := rand.New(rand.NewPCG(5, 5))
	for k := range 8 {
		sub := filepath.Join(dir, fmt.Sprint("dir", k%3), fmt.Sprint("sub", k))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		for j, size := range edges {
			p := filepath.Join(sub, fmt.Sprint("file", j))
			if err := os.WriteFile(p, pattern(size, byte(r.IntN(256))), os.FileMode(0o600+r.IntN(0o100))); err != nil {
				t.Fatal(err)
			}
			ts := unix.Timespec{Sec: int64(1000000000 + r.IntN(700000000)), Nsec: int64(r.IntN(1000000000))}
			if err := unix.UtimesNanoAt(unix.AT_FDCWD, p, []unix.Timespec{ts, ts}, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	hole := filepath.Join(dir, "hole")
	for _, err := range []error{
		os.Symlink("dir0", filepath.Join(dir, "link")),
		os.Symlink("nowhere", filepath.Join(dir, "dangling")),
		os.Link(filepath.Join(dir, "dir0/sub0/file5"), filepath.Join(dir, "hard")),
		os.WriteFile(hole, []byte("begin"), 0o644),
		os.Truncate(hole, 3<<20),
		os.WriteFile(filepath.Join(dir, strings.Repeat("n", 255)), []byte("long"), 0o644),
		os.Mkdir(filepath.Join(dir, "empty"), 0o700),
		unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// sameTree compares two trees: contents, types, modes, targets, hard links, and
// times if asked for.
func sameTree(t *testing.T, got, want string, times bool) {
	t.Helper()
	describe := func(root string) map[string]string {
		list := map[string]string{}
		inodes := map[uint64]string{}
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			var st unix.Stat_t
			if err := unix.Lstat(path, &st); err != nil {
				return err
			}
			rel, _ := filepath.Rel(root, path)
			d := fmt.Sprintf("mode %#o", st.Mode)
			switch st.Mode & unix.S_IFMT {
			case unix.S_IFREG:
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				first, ok := inodes[st.Ino]
				if !ok {
					first, inodes[st.Ino] = rel, rel
				}
				d += fmt.Sprintf(" size %d links %d first %s sum %x", st.Size, st.Nlink, first, sum(data))
			case unix.S_IFLNK:
				target, err := os.Readlink(path)
				if err != nil {
					return err
				}
				d += " to " + target
			}
			if times && st.Mode&unix.S_IFMT == unix.S_IFREG {
				d += fmt.Sprintf(" mtime %d.%09d", st.Mtim.Sec, st.Mtim.Nsec)
			}
			list[rel] = d
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return list
	}
	g, w := describe(got), describe(want)
	differ := 0
	for _, name := range sorted(w) {
		if g[name] == w[name] {
			continue
		}
		if differ++; differ <= 10 {
			t.Errorf("%s:\n got %s\nwant %s", name, g[name], w[name])
		}
	}
	if differ > 10 {
		t.Errorf("and %d more", differ-10)
	}
	for _, name := range sorted(g) {
		if _, ok := w[name]; !ok {
			t.Errorf("%s should not be there", name)
		}
	}
}

func TestTar(t *testing.T) {
	needTool(t, "tar")
	tr := mountedTree(t)
	src := sourceTree(t)
	archive := filepath.Join(tempDir(t), "a.tar")
	run(t, src, "tar", "--format=pax", "-cSf", archive, ".")
	for _, name := range []string{"new", "over"} {
		if err := os.MkdirAll(tr.path("x"), 0o755); err != nil {
			t.Fatal(err)
		}
		run(t, tr.path("x"), "tar", "-xpf", archive)
		sameTree(t, tr.path("x"), src, true)
		if name == "new" {
			tr.remount()
		}
	}
	sameTree(t, tr.path("x"), src, true)
	back := filepath.Join(tempDir(t), "back")
	if err := os.Mkdir(back, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, tr.path("x"), "tar", "--format=pax", "-cSf", archive, ".")
	run(t, back, "tar", "-xpf", archive)
	sameTree(t, back, src, true)
	run(t, tr.path("x"), "tar", "-df", archive)
}

func TestRsync(t *testing.T) {
	needTool(t, "rsync")
	tr := mountedTree(t)
	src := sourceTree(t)
	run(t, work, "rsync", "-aH", src+"/", tr.path("x"))
	sameTree(t, tr.path("x"), src, true)
	tr.remount()
	back := filepath.Join(tempDir(t), "back")
	run(t, work, "rsync", "-aH", tr.path("x")+"/", back)
	sameTree(t, back, src, true)
	// Nothing is left to do, neither by times nor by contents.
	for _, how := range []string{"-aH", "-aHc"} {
		if out := run(t, work, "rsync", how, "-i", src+"/", tr.path("x")); strings.Contains(out, "f") {
			t.Errorf("rsync %s finds differences:\n%s", how, out)
		}
	}
	run(t, work, "rsync", "-aH", "--inplace", "--no-whole-file", "--ignore-times", src+"/", tr.path("x"))
	sameTree(t, tr.path("x"), src, true)
}

func TestCopy(t *testing.T) {
	tr := mountedTree(t)
	src := sourceTree(t)
	run(t, work, "cp", "-a", "--reflink=auto", src, tr.path("x"))
	sameTree(t, tr.path("x"), src, true)
	run(t, work, "cp", "-a", "--reflink=auto", tr.path("x"), tr.path("y"))
	tr.remount()
	sameTree(t, tr.path("y"), src, true)
	back := filepath.Join(tempDir(t), "back")
	run(t, work, "cp", "-a", "--sparse=always", tr.path("y"), back)
	sameTree(t, back, src, true)
	var hole unix.Stat_t
	if err := unix.Stat(tr.path("y", "hole"), &hole); err != nil || hole.Blocks > 64 {
		t.Errorf("a file with a hole takes %d blocks, %v", hole.Blocks, err)
	}
	if out := run(t, work, "find", tr.path("y"), "-type", "f"); strings.Count(out, "\n") != 8*len(edges)+3 {
		t.Errorf("find finds %d files, want %d", strings.Count(out, "\n"), 8*len(edges)+3)
	}
	run(t, work, "diff", "-r", "--no-dereference", tr.path("x", "dir1"), tr.path("y", "dir1"))
	run(t, work, "rm", "-r", tr.path("x"), tr.path("y"))
	if entries, err := os.ReadDir(tr.root); err != nil || len(entries) > 0 {
		t.Errorf("after rm -r: %v, %v", entries, err)
	}
}

func TestDD(t *testing.T) {
	tr := mountedTree(t)
	src := filepath.Join(tempDir(t), "src")
	data := pattern(300000, 1)
	if err := os.WriteFile(src, data, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, bs := range []string{"17", "511", "3952", "4095", "4097", "65537", "1M"} {
		run(t, work, "dd", "if="+src, "of="+tr.path("f"), "bs="+bs)
		wantFile(t, tr.path("f"), data)
		out := filepath.Join(filepath.Dir(src), "out")
		run(t, work, "dd", "if="+tr.path("f"), "of="+out, "bs="+bs)
		wantFile(t, out, data)
		// Over what is there, without cutting it.
		run(t, work, "dd", "if="+src, "of="+tr.path("f"), "bs="+bs, "seek=1", "count=1", "conv=notrunc")
		n := map[string]int{"1M": 1 << 20}[bs]
		if n == 0 {
			n = atoi(t, bs)
		}
		want := append(bytes.Clone(data), make([]byte, max(0, n-len(data)))...)
		want = append(want[:min(n, len(want))], append(bytes.Clone(data[:min(n, len(data))]), want[min(len(want), 2*n):]...)...)
		wantFile(t, tr.path("f"), want)
	}
	run(t, work, "dd", "if="+src, "of="+tr.path("direct"), "bs=4096", "count=50", "oflag=direct")
	wantFile(t, tr.path("direct"), data[:50*4096])
}

func TestGit(t *testing.T) {
	needTool(t, "git")
	tr := mountedTree(t)
	repo := tr.path("repo")
	run(t, work, "git", "init", "-q", repo)
	r := rand.New(rand.NewPCG(8, 8))
	for commit := range 5 {
		for k := range 40 {
			p := filepath.Join(repo, fmt.Sprint("d", k%7), fmt.Sprint("f", k))
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, pattern(r.IntN(9000), byte(commit)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if commit == 0 {
			if err := os.Symlink("d0/f0", filepath.Join(repo, "link")); err != nil {
				t.Fatal(err)
			}
		}
		run(t, repo, "git", "add", "-A")
		run(t, repo, "git", "commit", "-q", "-m", fmt.Sprint(commit))
	}
	tr.remount()
	// Sizes and times are what the index remembers, those of links too.
	if out := run(t, repo, "git", "status", "--porcelain"); out != "" {
		t.Errorf("git status after a remount:\n%s", out)
	}
	if out := run(t, repo, "git", "diff-files", "--name-only"); out != "" {
		t.Errorf("the index thinks that these have changed, by size or time:\n%s", out)
	}
	run(t, work, "git", "clone", "-q", repo, tr.path("clone"))
	for _, dir := range []string{repo, tr.path("clone")} {
		run(t, dir, "git", "gc", "-q", "--aggressive", "--prune=now")
		run(t, dir, "git", "fsck", "--strict", "--full")
		run(t, dir, "git", "checkout", "-q", "HEAD~3")
		run(t, dir, "git", "checkout", "-q", "-")
		if out := run(t, dir, "git", "status", "--porcelain"); out != "" {
			t.Errorf("git status:\n%s", out)
		}
	}
	run(t, work, "rm", "-rf", repo, tr.path("clone"))
	if entries, err := os.ReadDir(tr.root); err != nil || len(entries) > 0 {
		t.Errorf("after rm -rf: %v, %v", entries, err)
	}
}

func TestSQLite(t *testing.T) {
	needTool(t, "sqlite3")
	for _, mode := range []string{"delete", "wal"} {
		t.Run(mode, func(t *testing.T) {
			tr := mountedTree(t)
			db := tr.path("db")
			sql := func(commands string) string {
				t.Helper()
				return run(t, work, "sqlite3", "-bail", db, ".timeout 20000", "PRAGMA mmap_size=1000000;", commands)
			}
			sql("PRAGMA journal_mode=" + mode + "; CREATE TABLE t(i INTEGER PRIMARY KEY, who TEXT, b BLOB);")
			// Several processes, through the same files and maps of them.
			var group sync.WaitGroup
			for who := range 3 {
				group.Go(func() {
					for range 5 {
						cmd := exec.Command("sqlite3", "-bail", db, ".timeout 20000", "PRAGMA mmap_size=1000000;", fmt.Sprintf(
							"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<50) "+
								"INSERT INTO t(who,b) SELECT '%d', randomblob(300) FROM c;", who))
						if out, err := cmd.CombinedOutput(); err != nil {
							t.Errorf("%v\n%s", err, out)
							return
						}
					}
				})
			}
			group.Wait()
			sql("DELETE FROM t WHERE i%3=0; VACUUM;")
			for _, when := range []string{"at once", "after a remount"} {
				if out := sql("SELECT count(*) FROM t; PRAGMA integrity_check;"); !strings.HasSuffix(out, "500\nok\n") {
					t.Errorf("%s: %s", when, out)
				}
				if when == "at once" {
					tr.remount()
				}
			}
		})
	}
}

func TestGoBuild(t *testing.T) {
	tr := mountedTree(t)
	dir := tr.path("hello")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":  "module hello\n\ngo 1.26\n",
		"main.go": "package main\n\nfunc main() { println(greeting) }\n",
		"text.go": "package main\n\nconst greeting = \"hello from inside\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-o", "hello", ".")
	cmd.Dir = dir
	// With its caches in the mount too, whose files are mapped and locked.
	cmd.Env = append(os.Environ(), "GOTMPDIR="+dir, "GOFLAGS=-buildvcs=false", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(dir, "hello")).CombinedOutput()
	if err != nil || string(out) != "hello from inside\n" {
		t.Errorf("the program says %q, %v", out, err)
	}
}
