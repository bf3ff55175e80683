package extract

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/ext4/ext4test"
)

// TestResume ends an extraction at random points, goes on with it, and ends that too.
// What comes out is what an extraction without interruption gives.
func TestResume(t *testing.T) {
	v := newVolume(t)
	buildTree(t, v)
	want := snapVolume(t, v, "/")
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 0))
		dest := filepath.Join(t.TempDir(), "dest")
		writable(t, dest)
		kept := int64(0)
		for rounds := 0; ; rounds++ {
			ctx, cancel := context.WithCancelCause(context.Background())
			cause := errors.New("enough")
			var steps atomic.Int64
			end := rng.Int64N(30)
			if rounds > 5 {
				end = 1 << 40
			}
			a, err := Extract(ctx, v, []string{"/"}, dest, Options{Resume: true, Progress: func(int64, int64) {
				if steps.Add(1) > end {
					cancel(cause)
				}
			}})
			cancel(nil)
			noPartials(t, dest)
			if a.Failed+a.Incomplete > 0 {
				t.Errorf("seed %d: account %+v", seed, a)
			}
			kept += a.Kept
			if err == nil {
				break
			}
			if !errors.Is(err, cause) {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if diff := snapDir(t, dest).diff(want); diff != "" {
			t.Fatalf("seed %d:\n%s", seed, diff)
		}
		if kept == 0 {
			t.Errorf("seed %d: nothing was kept", seed)
		}
		if a := mustExtract(t, v, []string{"/"}, dest, Options{Resume: true}); a.Kept != 23 || a.Bytes != 0 {
			t.Errorf("seed %d: all should be there: %+v", seed, a)
		}
	}
}

// TestResumeRedoes changes things in a copy, which a resumed run makes right again.
func TestResumeRedoes(t *testing.T) {
	v := newVolume(t)
	buildTree(t, v)
	want := snapVolume(t, v, "/")
	dest := filepath.Join(t.TempDir(), "dest")
	writable(t, dest)
	mustExtract(t, v, []string{"/"}, dest, Options{})
	at := func(p string) string { return filepath.Join(dest, p) }
	keepTime := func(p string, f func(string) error) error {
		info, err := os.Lstat(p)
		if err == nil {
			err = f(p)
		}
		if err == nil {
			err = os.Chtimes(p, time.Time{}, info.ModTime())
		}
		return err
	}
	for _, tt := range []struct {
		name   string
		change func() error
		redone int64 // objects that are made anew; -1: that depends on which name comes first
	}{
		{"nothing", func() error { return nil }, 0},
		{"missing", func() error { return os.Remove(at("a/size-1")) }, 1},
		{"missing directory", func() error { return os.Remove(at("a/empty")) }, 0},
		{"shorter", func() error {
			return keepTime(at("a/size-4096"), func(p string) error { return os.Truncate(p, 4095) })
		}, 1},
		{"time", func() error { return os.Chtimes(at("a/size-4096"), time.Time{}, time.Unix(1, 2)) }, 1},
		{"mode", func() error { return os.Chmod(at("a/size-4096"), 0o600) }, 1},
		{"attribute", func() error {
			return writableFor(at("a/size-1"), func(p string) error { return unix.Removexattr(p, "user.two") })
		}, 1},
		{"attribute's value", func() error {
			return writableFor(at("a/size-1"), func(p string) error { return unix.Setxattr(p, "user.two", []byte("x"), 0) })
		}, 1},
		{"directory's mode", func() error { return os.Chmod(at("a"), 0) }, 0},
		{"type", func() error { os.Remove(at("a/fifo")); return os.WriteFile(at("a/fifo"), nil, 0o644) }, -1},
		{"target", func() error { os.Remove(at("a/link")); return os.Symlink("elsewhere", at("a/link")) }, 1},
		{"a copy for a link", func() error {
			b, err := os.ReadFile(at("third"))
			if err == nil {
				os.Remove(at("third"))
				err = os.WriteFile(at("third"), b, 0o644)
			}
			return err
		}, -1},
		{"leftovers", func() error {
			os.Mkdir(at(stagingName), 0o755)
			return os.WriteFile(at(stagingName+"/7"), []byte("half"), 0o600)
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.change(); err != nil {
				t.Fatal(err)
			}
			a := mustExtract(t, v, []string{"/"}, dest, Options{Resume: true})
			if made := a.Files + a.Symlinks + a.Special + a.Links; tt.redone >= 0 && (made != tt.redone || a.Kept != 23-tt.redone) {
				t.Errorf("account %+v, want %d made", a, tt.redone)
			}
			if diff := snapDir(t, dest).diff(want); diff != "" {
				t.Error(diff)
			}
		})
	}
	// A directory in the place of a file is somebody's.
	os.Remove(at("third"))
	if err := os.Mkdir(at("third"), 0o755); err != nil {
		t.Fatal(err)
	}
	if a, err := Extract(context.Background(), v, []string{"/"}, dest, Options{Resume: true}); err != nil || a.Failed != 1 || a.Kept+a.Links+a.Files != 22 {
		t.Errorf("got error %v, account %+v", err, a)
	}
}

// writableFor calls f while a file can be written to.
func writableFor(p string, f func(string) error) error {
	info, err := os.Lstat(p)
	if err != nil {
		return err
	}
	return errors.Join(os.Chmod(p, 0o600), f(p), os.Chmod(p, info.Mode().Perm()))
}

// TestKill kills the program that extracts, in the middle of it, and goes on, until it
// ends by itself. What comes out is what an extraction without interruption gives.
func TestKill(t *testing.T) {
	if order := os.Getenv(childVar); order != "" {
		killedChild(t, order)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("not root: the owners in the image cannot be kept")
	}
	want := snapVolume(t, killVolume(t), "/")
	for round := range 3 {
		dest := filepath.Join(t.TempDir(), "dest")
		kills := 0
		for steps := 3; ; steps += 5 + 4*round {
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestKill$")
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", childVar, steps, dest))
			out, err := cmd.CombinedOutput()
			if err == nil {
				break
			}
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
				t.Fatalf("the program ended by itself: %v\n%s", err, out)
			}
			kills++
		}
		if kills < 2 {
			t.Errorf("round %d: killed only %d times", round, kills)
		}
		noPartials(t, dest)
		if diff := snapDir(t, dest).diff(want); diff != "" {
			t.Fatalf("round %d, killed %d times:\n%s", round, kills, diff)
		}
	}
}

// childVar has, for the program that TestKill starts, after how many steps to kill
// itself, and where to extract to.
const childVar = "ENCFS_EXTRACT_TEST_CHILD"

func killVolume(t *testing.T) *fs.Volume {
	f := ext4test.Get("v2-pad16-1k")
	return openImage(t, f.Image(t), f.Manifest(t))
}

// killedChild is the program that TestKill starts.
func killedChild(t *testing.T, order string) {
	var end int64
	var dest string
	if _, err := fmt.Sscanf(order, "%d %s", &end, &dest); err != nil {
		t.Fatal(err)
	}
	var steps atomic.Int64
	mustExtract(t, killVolume(t), []string{"/"}, dest, Options{Resume: true, Progress: func(int64, int64) {
		if steps.Add(1) == end {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}})
}

// TestStagingRemoved takes over a folder for unfinished files that an earlier run
// removes at that moment.
func TestStagingRemoved(t *testing.T) {
	for _, again := range []bool{false, true} {
		dir := t.TempDir()
		at, err := openat(unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(at)
		r := &run{}
		s, err := r.openStaging(at, stagingName)
		if err != nil {
			t.Fatal(err)
		}
		late := &staging{at: at, name: stagingName}
		if late.fd, err = openat(at, stagingName, unix.O_RDONLY|unix.O_DIRECTORY, 0); err != nil {
			t.Fatal(err)
		}
		defer unix.Close(late.fd)
		if err := late.own(r); err != ErrBusy {
			t.Errorf("while it is used: got error %v, want %v", err, ErrBusy)
		}
		s.remove()
		if again {
			next, err := r.openStaging(at, stagingName)
			if err != nil {
				t.Fatal(err)
			}
			defer next.remove()
		}
		if err := late.own(r); err != ErrBusy {
			t.Errorf("when it is gone, made again %v: got error %v, want %v", again, err, ErrBusy)
		}
	}
}
