package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A controlSocket is a socket of a mount that tells its counters to its owner and
// to root. Who connects gets them, and the end; nothing is read.
type controlSocket struct {
	listener *net.UnixListener
	path     string
	dir      string // made for the socket, "" if there is none
	ended    chan struct{}
}

// controlTimeout is how long a client may take to read an answer, which is shorter
// than what the kernel keeps for it.
const controlTimeout = 2 * time.Second

// listenControl makes the socket of a mount point in the first place that takes it:
// the user's runtime directory, /run for root, or a directory of its own among
// temporary files. Its name there tells the mount point, so that what a server
// left that was killed is found again, and replaced.
func listenControl(point string) (*controlSocket, error) {
	sum := sha256.Sum256([]byte(point))
	name := "encfs-" + hex.EncodeToString(sum[:8]) + ".sock"
	var errs []error
	for _, dir := range controlDirs() {
		l, err := listenAt(filepath.Join(dir, name))
		if err == nil {
			return newControlSocket(l, ""), nil
		}
		errs = append(errs, err)
	}
	dir, err := os.MkdirTemp("", "encfs-")
	if err != nil {
		return nil, errors.Join(append(errs, err)...)
	}
	l, err := listenAt(filepath.Join(dir, name))
	if err != nil {
		os.Remove(dir)
		return nil, errors.Join(append(errs, err)...)
	}
	return newControlSocket(l, dir), nil
}

func newControlSocket(l *net.UnixListener, dir string) *controlSocket {
	return &controlSocket{listener: l, path: l.Addr().String(), dir: dir}
}

// controlDirs returns directories in which nobody else can put a socket.
func controlDirs() []string {
	var dirs []string
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && isPrivate(dir) {
		dirs = append(dirs, dir)
	}
	if os.Geteuid() == 0 {
		dirs = append(dirs, "/run")
	}
	return dirs
}

// isPrivate reports whether a directory is the user's and nobody else may write to
// it.
func isPrivate(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

// listenAt makes a socket that only its owner can connect to, in place of one that
// nobody listens at.
func listenAt(path string) (*net.UnixListener, error) {
	l, err := listenPrivate(path)
	if !errors.Is(err, unix.EADDRINUSE) {
		return l, err
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("%s: there is something else", path)
	}
	if c, err := net.DialTimeout("unix", path, controlTimeout); err == nil {
		c.Close()
		return nil, fmt.Errorf("%s: another mount listens there", path)
	} else if !errors.Is(err, unix.ECONNREFUSED) {
		return nil, err
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	return listenPrivate(path)
}

// listenPrivate listens at a path, with mode 0600 from the first moment: the socket
// in the file system gets the mode of the one that is bound to it.
func listenPrivate(path string) (*net.UnixListener, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if e := c.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), 0o600) }); e != nil {
			return e
		}
		return err
	}}
	l, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	return l.(*net.UnixListener), nil
}

// serve answers with what report returns until close.
func (c *controlSocket) serve(report func() []byte) {
	c.ended = make(chan struct{})
	go func() {
		defer close(c.ended)
		for {
			conn, err := c.listener.AcceptUnix()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil { // such as too many open files
				time.Sleep(100 * time.Millisecond)
				continue
			}
			if uid, err := peerUID(conn); err == nil && mayAsk(uid, os.Geteuid()) {
				conn.SetWriteDeadline(time.Now().Add(controlTimeout))
				conn.Write(report())
			}
			conn.Close()
		}
	}()
}

// close removes the socket and waits for the end of an answer.
func (c *controlSocket) close() {
	c.listener.Close()
	if c.ended != nil {
		<-c.ended
	}
	if c.dir != "" {
		os.Remove(c.dir)
	}
}

// mayAsk reports whether a user may ask the server of a mount.
func mayAsk(uid, owner int) bool { return uid == owner || uid == 0 }

// peerUID returns the user who connected, as the kernel knows it.
func peerUID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, credErr
	}
	return int(cred.Uid), nil
}
