package test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Environment of the processes that the tests start from their own program.
const (
	helperVariable  = "ENCFS_TEST_HELPER"  // which helper to be, see runHelper
	programVariable = "ENCFS_TEST_PROGRAM" // encfs, built already
)

// work is the directory below which the tests mount and keep everything. Other
// users may look into it, which t.TempDir does not allow. TestMain makes it and
// its guard removes it.
var work string

func TestMain(m *testing.M) {
	if name := os.Getenv(helperVariable); name != "" {
		os.Exit(runHelper(name, os.Args[1:]))
	}
	flag.Parse()
	// Otherwise each process that ends waits a second for races to report.
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	// A failure is reproduced with the printed seed; no files in the sources.
	flag.Set("rapid.nofailfile", "true")
	os.Exit(runTests(m))
}

func runTests(m *testing.M) (code int) {
	var err error
	if work, err = os.MkdirTemp("", "encfs-test-"); err == nil {
		err = os.Chmod(work, 0o755)
	}
	if err == nil {
		// No symbolic links, as /proc/self/mountinfo has none.
		work, err = filepath.EvalSymlinks(work)
	}
	if err == nil {
		// For the sockets of mounts, which those that are killed leave.
		err = os.Mkdir(filepath.Join(work, "run"), 0o700)
		os.Setenv("XDG_RUNTIME_DIR", filepath.Join(work, "run"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	end, err := startGuard()
	if err != nil {
		// Under an emulator, which cannot start its own program; nor does it
		// mount anything.
		end = func() error { return cleanUp(work) }
	}
	code = m.Run()
	if err := end(); err != nil {
		fmt.Fprintln(os.Stderr, "left over by the tests:", err)
		code = max(code, 1)
	}
	return code
}

// startGuard starts a process that cleans up behind the tests, whatever their
// end is, a panic after a timeout included: it waits for the end of a pipe.
// The returned function ends it, with an error if the tests left mounts.
func startGuard() (end func() error, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	guard := helper("guard", work)
	guard.Stdin = r
	guard.Stderr = os.Stderr
	if err := guard.Start(); err != nil {
		return nil, err
	}
	r.Close()
	return func() error {
		w.Close()
		return guard.Wait()
	}, nil
}

// guard is the guard's process.
func guard(dir string) error {
	io.Copy(io.Discard, os.Stdin)
	return cleanUp(dir)
}

// cleanUp removes a directory, and with an error everything that is mounted
// below it.
func cleanUp(dir string) error {
	left := mountsBelow(dir)
	for _, point := range left {
		detach(point)
	}
	loops, _ := exec.Command("losetup", "--list", "--noheadings", "--output", "NAME,BACK-FILE").Output()
	for line := range strings.Lines(string(loops)) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[1], dir+"/") {
			left = append(left, f[0])
			exec.Command("losetup", "-d", f[0]).Run()
		}
	}
	// Permissions of what the tests made do not keep their owner out of it.
	filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("mounts or loop devices: %s", strings.Join(left, " "))
	}
	return nil
}

// helper returns a command that runs this program as one of its helpers.
func helper(name string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), helperVariable+"="+name)
	return cmd
}

// runHelper does what a helper process is for, and returns its exit code.
func runHelper(name string, args []string) int {
	var err error
	switch name {
	case "guard":
		err = guard(args[0])
	case "crash-writer":
		err = crashWriter(args)
	case "lock":
		err = lockHelper(args)
	case "mmap":
		err = mmapHelper(args)
	case "append":
		err = appendHelper(args)
	case "churn":
		err = churnHelper(args)
	case "ordinary-user":
		err = ordinaryUserHelper(args)
	default:
		err = fmt.Errorf("no helper %q", name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// program returns the path of encfs, built once, with the race detector if the
// tests are.
var program = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(programVariable); path != "" {
		return path, nil
	}
	path := filepath.Join(work, "encfs")
	args := []string{"build", "-o", path}
	if raceDetector {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "encfs/cmd/encfs")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// mountsBelow returns the mount points below a directory, the innermost first.
func mountsBelow(dir string) []string {
	var points []string
	for _, m := range mounts() {
		if strings.HasPrefix(m.point, dir+"/") {
			points = append([]string{m.point}, points...)
		}
	}
	return points
}

type mountInfo struct {
	point, fsType, source string
	options               []string // of the mount and of the file system
}

// mounts returns what is mounted, in the order of mounting.
func mounts() []mountInfo {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		panic(err)
	}
	var list []mountInfo
	for line := range strings.Lines(string(data)) {
		before, after, _ := strings.Cut(line, " - ")
		b, a := strings.Fields(before), strings.Fields(after)
		if len(b) < 6 || len(a) < 3 {
			continue
		}
		list = append(list, mountInfo{
			point: unescape.Replace(b[4]), fsType: a[0], source: unescape.Replace(a[1]),
			options: strings.Split(b[5]+","+a[2], ","),
		})
	}
	return list
}

// unescape undoes the escapes of /proc/self/mountinfo.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// mountAt returns what is mounted at a path, if anything is.
func mountAt(path string) (m mountInfo, ok bool) {
	for _, other := range mounts() {
		if other.point == path {
			m, ok = other, true
		}
	}
	return m, ok
}

// detach takes a mount away even if it is in use or its server is gone.
func detach(point string) error {
	err := unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if err == unix.EPERM {
		err = exec.Command("fusermount3", "-u", "-z", "--", point).Run()
	}
	return err
}
