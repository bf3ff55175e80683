package fs_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"encfs/decrypt"
	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
	"encfs/workqueue"
)

// readerVariable names, in the environment of a process that a test starts from its
// own program, the file that it reads.
const readerVariable = "ENCFS_TEST_READER"

func TestMain(m *testing.M) {
	if path := os.Getenv(readerVariable); path != "" {
		if err := readOnce(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const readSize = 1 << 20

// readOnce reads a file in one request, for which this very thread waits, and prints
// the thread's number before and what it read after. It has a handler for SIGUSR1.
func readOnce(path string) error {
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGUSR1)
	runtime.LockOSThread()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		return err
	}
	buf, err := unix.Mmap(-1, 0, readSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	fmt.Println(unix.Gettid())
	n, err := unix.Pread(fd, buf, 0)
	<-handled
	fmt.Println(readResult(buf[:max(0, n)], err))
	return nil
}

func readResult(data []byte, err error) string {
	return fmt.Sprintf("%d bytes, error %v, %x", len(data), err, sha256.Sum256(data))
}

// A slowCipher decrypts no data unit until it is opened, once it is closed.
type slowCipher struct {
	decrypt.Cipher
	door *door
}

type door struct {
	closed  atomic.Bool
	entered atomic.Int64  // units
	first   chan struct{} // closed by the first that waits
	once    sync.Once
	open    chan struct{}
}

func newDoor() *door { return &door{first: make(chan struct{}), open: make(chan struct{})} }

func (c slowCipher) Decrypt(dst, src, iv []byte) {
	if c.door.closed.Load() {
		c.door.entered.Add(1)
		c.door.once.Do(func() { close(c.door.first) })
		<-c.door.open
		time.Sleep(time.Millisecond) // for others to act on what has happened
	}
	c.Cipher.Decrypt(dst, src, iv)
}

// A reusingFS uses the buffer of a READ for something else as soon as Read has
// returned EINTR, as go-fuse does.
type reusingFS struct {
	fuse.RawFileSystem
	interrupted chan (<-chan struct{}) // gets the channel of each READ
	reused      atomic.Pointer[[]byte]
}

func (f *reusingFS) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	f.interrupted <- cancel
	mine := make([]byte, len(buf))
	r, s := f.RawFileSystem.Read(cancel, in, mine)
	if s == fuse.EINTR {
		fill(mine)
		f.reused.Store(&mine)
		return nil, s
	}
	copy(buf, mine[:r.Size()])
	return fuse.ReadResultData(buf[:r.Size()]), s
}

func fill(b []byte) {
	for i := range b {
		b[i] = 0xca
	}
}

// mountFS mounts a file system that is not a volume's own.
func mountFS(t *testing.T, raw fuse.RawFileSystem) (point string, unmount func()) {
	t.Helper()
	needFUSE(t)
	point = t.TempDir()
	s, err := fuse.NewServer(raw, point, &fuse.MountOptions{
		Name: "encfs", DirectMount: true, MaxWrite: readSize, DisableSplice: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve()
	if err := s.WaitMount(); err != nil {
		t.Fatal(err)
	}
	return point, unmounter(t, s.Unmount)
}

// interruptQueues are the queues whose items can be taken back: with fewer that
// run at a time than a large read has.
func interruptQueues(t *testing.T, test func(t *testing.T, q *workqueue.Queue)) {
	for _, k := range []workqueue.Kind{workqueue.Bound, workqueue.Unbound, workqueue.Inline, workqueue.Auto} {
		t.Run(k.String(), func(t *testing.T) {
			q, err := workqueue.New(workqueue.Attrs{Kind: k, MaxActive: 2})
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			test(t, q)
		})
	}
}

// A read that is interrupted while its units are decrypted: one whose process is
// killed ends with EINTR, takes back what has not begun, and leaves the buffer alone
// from then on. Of a signal that is handled a program notices nothing.
func TestInterruptedRead(t *testing.T) {
	for _, tt := range []interruption{
		{"killed", syscall.SIGKILL, true, false},
		{"ended", syscall.SIGTERM, true, true},
		{"handled", syscall.SIGUSR1, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			interruptQueues(t, func(t *testing.T, q *workqueue.Queue) { testInterruptedRead(t, q, tt) })
		})
	}
}

// An interruption is a signal that comes while a process reads.
type interruption struct {
	name   string
	signal syscall.Signal
	killed bool // by the signal
	dd     bool // the process is dd, as Go's runtime handles signals that it is not asked to
}

// reader returns a process that reads a file in one request.
func (i interruption) reader(t *testing.T, path string) *exec.Cmd {
	if i.dd {
		if _, err := exec.LookPath("dd"); err != nil {
			t.Skip("needs dd")
		}
		return exec.Command("dd", "if="+path, "of=/dev/null", "iflag=direct", "count=1", fmt.Sprint("bs=", readSize))
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), readerVariable+"="+path)
	return cmd
}

func testInterruptedRead(t *testing.T, q *workqueue.Queue, tt interruption) {
	dir := newTree(t, keys.AES256XTS, keys.AES256CTS)
	data := pattern(readSize, 1)
	v, done := openTree(t, dir, fs.Options{}, dirstore.Options{})
	i := create(t, v, "f", data)
	v.CloseFile(i)
	v.Release(i, 1)
	done()

	before := runtime.NumGoroutine()
	v, done = openTree(t, dir, fs.Options{Queue: q}, dirstore.Options{})
	d := newDoor()
	openDoor := sync.OnceFunc(func() { close(d.open) })
	defer openDoor()
	v.WrapCipher(func(c decrypt.Cipher) decrypt.Cipher { return slowCipher{c, d} })
	f, err := fs.NewFS(v)
	if err != nil {
		t.Fatal(err)
	}
	reusing := &reusingFS{RawFileSystem: f, interrupted: make(chan (<-chan struct{}), 1)}
	point, unmount := mountFS(t, reusing)

	cmd := tt.reader(t, filepath.Join(point, "f"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	measure(t, v, "f") // while the door is open
	d.closed.Store(true)
	if err := cmd.Start(); errors.Is(err, unix.ENOEXEC) {
		t.Skip("the test cannot run itself again, as under an emulator: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	tid := cmd.Process.Pid
	if !tt.dd {
		if _, err := fmt.Fscanln(out, &tid); err != nil {
			t.Fatal(err, stderr.String())
		}
	}
	cancel := <-reusing.interrupted
	<-d.first
	if err := unix.Tgkill(cmd.Process.Pid, tid, tt.signal); err != nil {
		t.Fatal(err)
	}
	<-cancel
	if reusing.reused.Load() != nil {
		t.Error("Read returned while a data unit was being decrypted")
	}
	openDoor()

	line, _ := out.ReadString('\n')
	err = cmd.Wait()
	q.Flush()
	unmount()
	if units := d.entered.Load(); tt.killed && units >= readSize/4096 {
		t.Errorf("%d data units were decrypted, of %d, for a process that is killed", units, readSize/4096)
	}
	reused := reusing.reused.Load()
	switch exit, _ := errors.AsType[*exec.ExitError](err); {
	case tt.killed && (exit == nil || exit.Sys().(syscall.WaitStatus).Signal() != tt.signal):
		t.Errorf("the reader ended with %v, want signal %v; %s", err, tt.signal, stderr.String())
	case tt.killed && reused == nil:
		t.Error("the read was not interrupted")
	case tt.killed:
		want := make([]byte, len(*reused))
		fill(want)
		if !bytes.Equal(*reused, want) {
			t.Error("the buffer was written to after Read had returned")
		}
	case err != nil || strings.TrimSpace(line) != readResult(data, nil):
		t.Errorf("the reader ended with %v and read %s, want %s", err, line, readResult(data, nil))
	case reused != nil:
		t.Error("the read was interrupted")
	}

	done()
	q.Close()
	waitForGoroutines(t, before)
}

// measure opens a file, upon which an auto queue measures how fast the cipher is.
func measure(t *testing.T, v *fs.Volume, name string) {
	t.Helper()
	i, _, err := v.Lookup(v.Root(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release(i, 1)
	if err := v.Open(i, false); err != nil {
		t.Fatal(err)
	}
	v.CloseFile(i)
}

// What begins after the cancel is not begun, with any queue and none, and the
// error is the one that becomes EINTR.
func TestCanceledBefore(t *testing.T) {
	cancel := make(chan struct{})
	close(cancel)
	for name, q := range queues(t) {
		t.Run(name, func(t *testing.T) {
			v, _ := openTree(t, newTree(t, keys.AES256XTS, keys.AES256CTS), fs.Options{Queue: q}, dirstore.Options{})
			i := create(t, v, "f", pattern(300000, 1))
			defer v.Release(i, 1)
			defer v.CloseFile(i)
			for _, n := range []int{100, 4096, 300000} {
				buf := make([]byte, n)
				if _, err := v.ReadUntil(i, buf, 0, cancel); fs.Errno(err) != syscall.EINTR {
					t.Errorf("a read of %d bytes = %v, want EINTR", n, err)
				}
				if !bytes.Equal(buf, make([]byte, n)) {
					t.Errorf("a read of %d bytes that was canceled before has written to the buffer", n)
				}
			}
			if _, err := v.ReadDirUntil(v.Root(), cancel); fs.Errno(err) != syscall.EINTR {
				t.Errorf("reading a directory = %v, want EINTR", err)
			}
		})
	}
}

func TestPendingSignal(t *testing.T) {
	const kill = "0000000000000100"
	for _, tt := range []struct {
		name, status string
		want         bool
	}{
		{"none", "Threads:\t1\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\n", false},
		{"of the thread", "Threads:\t1\nSigPnd:\t" + kill + "\nShdPnd:\t0000000000000000\n", true},
		{"among others", "Threads:\t1\nSigPnd:\tffffffffffffffff\n", true},
		{"all others", "Threads:\t1\nSigPnd:\tfffffffffffffeff\n", false},
		{"of the process only", "Threads:\t1\nSigPnd:\t0000000000000000\nShdPnd:\t" + kill + "\n", false},
		{"in a name", "Name:\tSigPnd:\t" + kill + "\nSigPnd:\t0000000000000000\n", false},
		{"not said", "Name:\tx\n", false},
		{"nonsense", "\nSigPnd:\tx\n", false},
		{"nothing", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fs.PendingSignal([]byte(tt.status), syscall.SIGKILL); got != tt.want {
				t.Errorf("pendingSignal = %t, want %t", got, tt.want)
			}
		})
	}
}
