package keys

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// vmFlags returns the VmFlags of the mapping that b begins in, from
// /proc/self/smaps, and the permissions of the mappings around it.
func vmFlags(t *testing.T, b []byte) (flags, before, after string) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip("no /proc/self/smaps: ", err)
	}
	defer f.Close()
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	var perms, last string
	found := false
	for s := bufio.NewScanner(f); s.Scan(); {
		var lo, hi uintptr
		var p string
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x %s", &lo, &hi, &p); n == 3 {
			if found {
				return flags, before, p
			}
			last, perms = perms, p
			if at >= lo && at < hi {
				found, before = true, last
			}
		} else if rest, ok := strings.CutPrefix(s.Text(), "VmFlags: "); ok && found && flags == "" {
			flags = rest
		}
	}
	t.Fatal("mapping not found")
	return
}

// keepsAdvice reports whether madvise shows in VmFlags at all.
func keepsAdvice(t *testing.T) bool {
	t.Helper()
	b, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(b)
	if err := unix.Madvise(b, unix.MADV_DONTDUMP); err != nil {
		t.Fatal(err)
	}
	flags, _, _ := vmFlags(t, b)
	return strings.Contains(" "+flags, " dd")
}

func TestSecretProtection(t *testing.T) {
	s, err := NewSecret(48)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	flags, before, after := vmFlags(t, s.Bytes())
	if !keepsAdvice(t) {
		t.Skip("the system ignores madvise, as an emulator does")
	}
	for _, want := range []string{"dd", "dc"} { // not dumped, not copied on fork
		if !strings.Contains(" "+flags, " "+want) {
			t.Errorf("VmFlags %q, want %s", flags, want)
		}
	}
	if got := strings.Contains(" "+flags, " lo"); got != s.Locked() {
		t.Errorf("VmFlags %q, Locked %v", flags, s.Locked())
	}
	if before != "---p" || after != "---p" {
		t.Errorf("neighbours %s and %s, want pages that cannot be accessed", before, after)
	}
}

// The limits below are the whole process's, so a test runs itself again in a process
// of its own.
const childEnv = "KEYS_TEST_CHILD"

func runAgain(t *testing.T) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), childEnv+"=1")
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("the test cannot run itself again, as under an emulator: ", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestSecretWithoutMemlock(t *testing.T) {
	if os.Getenv(childEnv) == "" {
		runAgain(t)
		return
	}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{}); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // root is above the limit
		if err := syscall.Setuid(65534); err != nil {
			t.Fatal(err)
		}
	}
	s, err := CopySecret(pattern(64))
	if err != nil {
		t.Fatal(err)
	}
	if s.Locked() {
		t.Error("Locked although nothing can be")
	}
	s.Close()
	if k := newMasterKey(t, pattern(64)); k.Locked() {
		t.Error("master key: Locked although nothing can be")
	}
}

func TestDisableCoreDumps(t *testing.T) {
	if os.Getenv(childEnv) == "" {
		runAgain(t)
		return
	}
	if err := DisableCoreDumps(); err != nil {
		t.Fatal(err)
	}
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &lim); err != nil || lim != (unix.Rlimit{}) {
		t.Errorf("RLIMIT_CORE %+v, %v; want 0", lim, err)
	}
	if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || n != 0 {
		t.Errorf("dumpable %d, %v; want 0", n, err)
	}
}
