package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStaleMountPoint has a server die: the mount point says so until umount
// takes the dead mount away, and then it can be used again.
func TestStaleMountPoint(t *testing.T) {
	tr := mountedTree(t)
	tr.plant("file", []byte("x"))
	tr.kill()
	_, err := os.Stat(tr.path("file"))
	wantErrno(t, "stat", errnoOf(err), unix.ENOTCONN)
	encfs(t, "umount", tr.root)
	if _, ok := mountAt(tr.root); ok {
		t.Error("the dead mount is still there")
		detach(tr.root)
	}
	tr.mount()
	wantFile(t, tr.path("file"), []byte("x"))
}

// TestBusy mounts what is mounted, and unmounts what is in use.
func TestBusy(t *testing.T) {
	tr := mountedTree(t)
	second := *tr
	second.root = filepath.Join(tempDir(t), "second")
	if err := os.Mkdir(second.root, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, code := tryEncfs(t, "mount", "--passfile", tr.passfile, tr.cipher, second.root); code != 15 {
		t.Errorf("mounting it twice: exit code %d, want 15\n%s", code, out)
	}
	f, err := os.Create(tr.path("file"))
	if err != nil {
		t.Fatal(err)
	}
	out, code := tryEncfs(t, "umount", tr.root)
	if code != 15 || !strings.Contains(out, fmt.Sprint(os.Getpid())) {
		t.Errorf("umount of a mount in use: exit code %d, want 15 and our process named\n%s", code, out)
	}
	if _, err := f.Write([]byte("still here")); err != nil {
		t.Error(err)
	}
	f.Close()
	wantFile(t, tr.path("file"), []byte("still here"))

	// A lazy unmount with an open file ends when the file is closed.
	f, err = os.Open(tr.path("file"))
	if err != nil {
		t.Fatal(err)
	}
	encfs(t, "umount", "--lazy", tr.root)
	b := make([]byte, 20)
	if n, _ := f.ReadAt(b, 0); string(b[:n]) != "still here" {
		t.Errorf("after a lazy unmount the open file reads %q", b[:n])
	}
	f.Close()
	tr.wait()
}

// TestBackground mounts as people do, without -f.
func TestBackground(t *testing.T) {
	needFUSE(t)
	tr := newTree(t)
	log := filepath.Join(tempDir(t), "log")
	for range 3 {
		t.Cleanup(func() {
			if _, ok := mountAt(tr.root); ok {
				detach(tr.root)
			}
		})
		encfs(t, "mount", "--passfile", tr.passfile, "--log", log, tr.cipher, tr.root)
		wantFile(t, tr.plant("file", pattern(5000, 1)), pattern(5000, 1))
		encfs(t, "umount", tr.root)
	}
	// The lock is free, so the server has ended.
	tr.mount()
	tr.umount()
}

// TestManyMounts mounts and unmounts several trees at the same time, again and
// again.
func TestManyMounts(t *testing.T) {
	needFUSE(t)
	var group sync.WaitGroup
	for k := range 8 {
		tr := newTree(t)
		group.Go(func() {
			for round := range 4 {
				out, code := tryEncfs(t, "mount", "--passfile", tr.passfile, "--log", tr.passfile+".log", tr.cipher, tr.root)
				if code != 0 {
					t.Errorf("tree %d, round %d: mount: exit code %d\n%s", k, round, code, out)
					return
				}
				p := tr.path(fmt.Sprint(round))
				// Nobody forks meanwhile: until it executes its program the
				// child would have our file open, and keep the mount busy.
				syscall.ForkLock.RLock()
				if err := os.WriteFile(p, pattern(5000, byte(k)), 0o644); err != nil {
					t.Error(err)
				}
				wantFile(t, p, pattern(5000, byte(k)))
				syscall.ForkLock.RUnlock()
				if out, code := tryEncfs(t, "umount", tr.root); code != 0 {
					t.Errorf("tree %d, round %d: umount: exit code %d\n%s", k, round, code, out)
					detach(tr.root)
					return
				}
			}
		})
	}
	group.Wait()
}

// TestFewDescriptors browses a tree with more directories than the server may
// have descriptors.
func TestFewDescriptors(t *testing.T) {
	prlimit := needTool(t, "prlimit")
	tr := mountedTree(t)
	const dirs = 300
	for k := range dirs {
		dir := tr.path(fmt.Sprint("d", k%20), fmt.Sprint("s", k))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "file"), pattern(k, 1), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tr.umount()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	log := tr.passfile + ".log"
	out, err := exec.Command(prlimit, "--nofile=64:64", path, "mount", "--passfile", tr.passfile, "--log", log, tr.cipher, tr.root).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		if _, ok := mountAt(tr.root); ok {
			detach(tr.root)
		}
	})
	for range 2 {
		for k := range dirs {
			wantFile(t, tr.path(fmt.Sprint("d", k%20), fmt.Sprint("s", k), "file"), pattern(k, 1))
		}
	}
	if out, err := exec.Command("rm", "-r", tr.path("d1")).CombinedOutput(); err != nil {
		t.Errorf("rm -r: %v\n%s", err, out)
	}
	encfs(t, "umount", tr.root)
}
