package main

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// runtimeDir makes a directory for sockets the user's, with a path that is short
// enough for one.
func runtimeDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "encfs-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("XDG_RUNTIME_DIR", dir)
	return dir
}

func mustListen(t *testing.T, point string) *controlSocket {
	t.Helper()
	c, err := listenControl(point)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

// ask returns what a socket says.
func ask(path string) (string, error) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	said, err := io.ReadAll(conn)
	return string(said), err
}

func answer42() []byte { return []byte("42") }

func TestControlSocket(t *testing.T) {
	dir := runtimeDir(t)
	before := runtime.NumGoroutine()
	c := mustListen(t, "/mnt/a")
	if filepath.Dir(c.path) != dir {
		t.Errorf("the socket is %s, want it in %s", c.path, dir)
	}
	info, err := os.Stat(c.path)
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("mode is %v, %v, want a socket with 0600", info.Mode(), err)
	}
	c.serve(answer42)
	for range 3 {
		if got, err := ask(c.path); got != "42" || err != nil {
			t.Errorf("answer is %q, %v", got, err)
		}
	}
	if other := mustListen(t, "/mnt/b"); other.path == c.path {
		t.Error("two mounts have the same socket")
	}
	// The same place again, as after a lazy unmount: the first goes on.
	again := mustListen(t, "/mnt/a")
	if again.path == c.path {
		t.Error("a socket was taken away from who listens")
	}
	again.close()
	if got, err := ask(c.path); got != "42" || err != nil {
		t.Errorf("answer is %q, %v", got, err)
	}
	c.close()
	if _, err := os.Stat(c.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is there after the end: %v", err)
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("goroutines are left")
		}
	}
}

// A client that says nothing and reads nothing is no hindrance.
func TestControlSilentClient(t *testing.T) {
	runtimeDir(t)
	c := mustListen(t, "/mnt/a")
	c.serve(answer42)
	silent, err := net.Dial("unix", c.path)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if got, err := ask(c.path); got != "42" || err != nil {
		t.Errorf("answer is %q, %v", got, err)
	}
	c.close()
}

// What a server left that was killed is replaced, and so is nothing else.
func TestControlStale(t *testing.T) {
	dir := runtimeDir(t)
	c := mustListen(t, "/mnt/a")
	path := c.path
	c.listener.SetUnlinkOnClose(false)
	c.close()
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	c = mustListen(t, "/mnt/a")
	if c.path != path {
		t.Errorf("the socket is %s, want the stale one replaced, %s", c.path, path)
	}
	c.serve(answer42)
	if got, err := ask(path); got != "42" || err != nil {
		t.Errorf("answer is %q, %v", got, err)
	}
	c.close()

	if err := os.WriteFile(path, []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	c = mustListen(t, "/mnt/a")
	if filepath.Dir(c.path) == dir {
		t.Errorf("the socket is %s, where a file was", c.path)
	}
	if text, err := os.ReadFile(path); string(text) != "a file" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

// A directory that others may write to, or one that is too deep, is not used.
func TestControlPlaces(t *testing.T) {
	for _, tt := range []struct {
		name string
		dir  func(t *testing.T, dir string) string
	}{
		{"writable by others", func(t *testing.T, dir string) string {
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			return dir
		}},
		{"absent", func(_ *testing.T, dir string) string { return filepath.Join(dir, "absent") }},
		{"relative", func(*testing.T, string) string { return "." }},
		{"too long for a socket", func(t *testing.T, dir string) string {
			dir = filepath.Join(dir, strings.Repeat("x", 120))
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			return dir
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tt.dir(t, runtimeDir(t))
			t.Setenv("XDG_RUNTIME_DIR", dir)
			c := mustListen(t, "/mnt/a")
			if filepath.Dir(c.path) == dir {
				t.Errorf("the socket is %s", c.path)
			}
			made := c.dir
			c.close()
			if made != "" {
				if _, err := os.Stat(made); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is left: %v", made, err)
				}
			}
		})
	}
}

func TestMayAsk(t *testing.T) {
	for _, tt := range []struct {
		uid, owner int
		want       bool
	}{{1000, 1000, true}, {0, 1000, true}, {0, 0, true}, {1001, 1000, false}, {1000, 0, false}, {65534, 0, false}} {
		if got := mayAsk(tt.uid, tt.owner); got != tt.want {
			t.Errorf("mayAsk(%d, %d) = %t", tt.uid, tt.owner, got)
		}
	}
}

// Another user cannot connect, and where the mode of the socket has been changed
// gets no answer.
func TestControlOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	dir := runtimeDir(t)
	c := mustListen(t, "/mnt/a")
	c.serve(answer42)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := askAs(t, 65534, c.path); !errors.Is(err, unix.EACCES) {
		t.Errorf("another user: error %v, want EACCES", err)
	}
	if err := os.Chmod(c.path, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := askAs(t, 65534, c.path); got != "" || err != nil {
		t.Errorf("another user, open socket: answer %q, %v; want none", got, err)
	}
	if got, err := askAs(t, 0, c.path); got != "42" || err != nil {
		t.Errorf("root: answer %q, %v", got, err)
	}
}

// askAs is ask by another user, which a thread becomes that then ends.
func askAs(t *testing.T, uid int, path string) (said string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		// Of this thread alone; the function of package syscall changes all.
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
			t.Error(errno)
			return
		}
		said, err = ask(path)
	}()
	<-done
	return said, err
}
