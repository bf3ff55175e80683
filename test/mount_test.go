package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cheapHash makes the passphrases of tests cheap to hash.
var cheapHash = []string{"--argon2-time", "1", "--argon2-memory", "64", "--argon2-parallelism", "1"}

const passphrase = "correct horse battery staple"

// needFUSE skips a test where nothing can be mounted.
func needFUSE(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("no /dev/fuse")
	}
	if os.Geteuid() != 0 {
		if _, err := exec.LookPath("fusermount3"); err != nil {
			t.Skip("no fusermount3")
		}
	}
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root")
	}
}

// needTool skips a test where a program is not installed, and returns its path.
func needTool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s", name)
	}
	return path
}

// tempDir returns an empty directory that other users may look into.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(work, "t")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if len(mountsBelow(dir)) == 0 { // else the guard removes it
			os.RemoveAll(dir)
		}
	})
	return dir
}

// encfs runs the program and returns its output and messages; it fails the test
// unless the program succeeds.
func encfs(t testing.TB, args ...string) string {
	t.Helper()
	out, code := tryEncfs(t, args...)
	if code != 0 {
		t.Fatalf("encfs %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// tryEncfs is encfs that may fail, and returns the exit code as well.
func tryEncfs(t testing.TB, args ...string) (string, int) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		t.Fatalf("encfs %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), 0
}

// A tree is a cipher directory, the place where it is mounted, and the process
// that serves it while it is.
type tree struct {
	t        testing.TB
	cipher   string // the cipher directory
	root     string // the mount point
	passfile string
	flags    []string // of mount, besides
	maxFiles int      // descriptors that the server may have open; 0: as many as this process

	// complaints says that the server is expected to log warnings and errors.
	complaints bool

	ways []int // descriptors behind what reachable returned

	server *server // nil: not mounted
	log    string  // of the last server, complete once it has ended
}

// A server is a process that serves a mount in the foreground.
type server struct {
	cmd  *exec.Cmd
	log  lockedBuffer
	done chan struct{} // closed at its end
	err  error         // then
}

// A lockedBuffer is written to and looked at concurrently.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newTree makes a cipher directory in an own temporary directory. What is
// mounted of it at the end of the test is unmounted.
func newTree(t testing.TB, initFlags ...string) *tree {
	t.Helper()
	return newTreeIn(t, tempDir(t), initFlags...)
}

// newTreeIn makes a cipher directory below an existing directory.
func newTreeIn(t testing.TB, dir string, initFlags ...string) *tree {
	t.Helper()
	base := tempDir(t)
	tr := &tree{
		t: t, cipher: filepath.Join(dir, "cipher"), root: filepath.Join(base, "plain"),
		passfile: filepath.Join(base, "passphrase"),
	}
	if err := os.WriteFile(tr.passfile, []byte(passphrase+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(tr.root, 0o755); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"init", "--passfile", tr.passfile}, cheapHash...)
	encfs(t, append(append(args, initFlags...), tr.cipher)...)
	return tr
}

// mountedTree makes a cipher directory and mounts it.
func mountedTree(t testing.TB, flags ...string) *tree {
	t.Helper()
	needFUSE(t)
	tr := newTree(t)
	tr.flags = flags
	tr.mount()
	return tr
}

// mount mounts the tree and waits until it answers.
func (tr *tree) mount(flags ...string) {
	tr.t.Helper()
	if err := tr.tryMount(flags...); err != nil {
		tr.t.Fatalf("mount: %v\n%s", err, tr.server.log.String())
	}
}

// tryMount is mount that may fail; tr.server holds the process, ended or not.
func (tr *tree) tryMount(flags ...string) error {
	t := tr.t
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"mount", "--foreground", "--passfile", tr.passfile}
	args = append(append(append(args, tr.flags...), flags...), tr.cipher, tr.root)
	if tr.maxFiles > 0 {
		args = append([]string{"-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, tr.maxFiles), path}, args...)
		path = "/bin/sh"
	}
	s := &server{cmd: exec.Command(path, args...), done: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	// Out of the reach of an interrupt from the terminal: the guard ends it.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tr.server = s
	t.Cleanup(tr.end)
	go func() {
		s.err = s.cmd.Wait()
		close(s.done)
	}()
	for end := time.Now().Add(time.Minute); ; {
		select {
		case <-s.done:
			if s.err == nil {
				return errors.New("the server has ended")
			}
			return s.err
		case <-time.After(2 * time.Millisecond):
		}
		// A server that has not said so has a file of its mount open, for the sake of
		// the runtime's poller.
		if m, ok := mountAt(tr.root); ok && m.fsType == "fuse.encfs" && strings.Contains(s.log.String(), "msg=mounted") {
			// Waits until the first request of the kernel has been answered.
			var st unix.Statfs_t
			return unix.Statfs(tr.root, &st)
		}
		if time.Now().After(end) {
			return errors.New("nothing is mounted after a minute")
		}
	}
}

// umount unmounts the tree by the program, and waits for the end of the server,
// which must have nothing to complain of.
func (tr *tree) umount() {
	t := tr.t
	t.Helper()
	tr.closeWays()
	encfs(t, "umount", tr.root)
	tr.wait()
}

// wait waits for the end of a server that has no mount any more.
func (tr *tree) wait() {
	t := tr.t
	t.Helper()
	s := tr.server
	select {
	case <-s.done:
	case <-time.After(time.Minute):
		t.Fatalf("the server goes on without its mount\n%s", s.log.String())
	}
	tr.server, tr.log = nil, s.log.String()
	if s.err != nil {
		t.Errorf("server: %v\n%s", s.err, tr.log)
	}
	for line := range strings.Lines(tr.log) {
		bad := strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR")
		if strings.Contains(line, "panic") || bad && !tr.complaints {
			t.Errorf("the server says: %s", line)
		}
	}
}

// remount mounts the tree anew, with a server that remembers nothing.
func (tr *tree) remount(flags ...string) {
	tr.t.Helper()
	tr.umount()
	tr.mount(flags...)
}

// kill ends the server as a crash does. The dead mount stays.
func (tr *tree) kill() {
	tr.t.Helper()
	if err := tr.server.cmd.Process.Kill(); err != nil {
		tr.t.Fatal(err)
	}
	<-tr.server.done
	tr.server, tr.log = nil, tr.server.log.String()
}

// end is the last resort at the end of a test.
func (tr *tree) end() {
	tr.closeWays()
	if tr.server == nil {
		if m, ok := mountAt(tr.root); ok && m.fsType == "fuse.encfs" { // the server was killed
			detach(tr.root)
		}
		return
	}
	s := tr.server
	tr.server = nil
	if _, mounted := mountAt(tr.root); mounted {
		if out, code := endEncfs("umount", tr.root); code != 0 {
			tr.t.Logf("umount at the end: exit code %d\n%s", code, out)
			detach(tr.root)
		}
	}
	select {
	case <-s.done:
	case <-time.After(10 * time.Second):
		s.cmd.Process.Signal(syscall.SIGQUIT) // where it hangs
		select {
		case <-s.done:
		case <-time.After(5 * time.Second):
			s.cmd.Process.Kill()
			<-s.done
		}
		tr.t.Errorf("the server did not end by itself")
	}
	if tr.t.Failed() {
		tr.t.Logf("log of the server:\n%s", s.log.String())
	} else if s.err != nil {
		tr.t.Errorf("server: %v\n%s", s.err, s.log.String())
	}
}

// endEncfs runs the program when the context of the test is over already.
func endEncfs(args ...string) (string, int) {
	path, err := program()
	if err != nil {
		return err.Error(), 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		return err.Error(), 1
	}
	return string(out), 0
}

// path returns a path in the mount.
func (tr *tree) path(elem ...string) string {
	return filepath.Join(append([]string{tr.root}, elem...)...)
}

// reachable returns a path to something in the mount that other users can walk,
// even if the temporary directory of the tests is closed to them: through a
// descriptor. It is good until the tree is unmounted.
func (tr *tree) reachable(name string) string {
	tr.t.Helper()
	fd, err := unix.Open(tr.path(name), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.ways = append(tr.ways, fd)
	return fmt.Sprintf("/proc/self/fd/%d", fd)
}

func (tr *tree) closeWays() {
	for _, fd := range tr.ways {
		unix.Close(fd)
	}
	tr.ways = nil
}

// plant makes a file of the given contents in the mount and returns its path.
func (tr *tree) plant(name string, data []byte) string {
	tr.t.Helper()
	p := tr.path(name)
	if err := os.WriteFile(p, data, 0o644); err != nil {
		tr.t.Fatal(err)
	}
	return p
}

// lower returns the path in the cipher directory of the object at a path of the
// mount: the one with the same inode number.
func (tr *tree) lower(path string) string {
	tr.t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		tr.t.Fatal(err)
	}
	found := ""
	filepath.WalkDir(tr.cipher, func(lower string, _ os.DirEntry, err error) error {
		var lst unix.Stat_t
		if err == nil && unix.Lstat(lower, &lst) == nil && lst.Ino == st.Ino {
			found = lower
		}
		return nil
	})
	if found == "" {
		tr.t.Fatalf("no lower object for %s", path)
	}
	return found
}

// pattern returns n bytes none of which is zero, that differ from place to
// place and by seed.
func pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 1 + byte((i*7+i>>8*13+int(seed)*31)%255)
	}
	return b
}

// wantFile checks the contents of a file, read whole.
func wantFile(t testing.TB, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	sameBytes(t, path, got, want)
}

// sameBytes compares contents and shows where they begin to differ.
func sameBytes(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	t.Errorf("%s: %d bytes, want %d; they differ from offset %d on: got %x, want %x",
		what, len(got), len(want), i, got[i:min(i+16, len(got))], want[i:min(i+16, len(want))])
}

// wantErrno checks that an operation fails in the given way; 0 is success.
func wantErrno(t testing.TB, what string, err error, want syscall.Errno) {
	t.Helper()
	got, ok := errors.AsType[syscall.Errno](err)
	if !ok && err != nil || got != want {
		t.Errorf("%s: %v, want %v", what, err, errnoText(want))
	}
}

func errnoText(e syscall.Errno) string {
	if e == 0 {
		return "success"
	}
	return unix.ErrnoName(e)
}
