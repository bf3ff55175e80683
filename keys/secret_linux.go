package keys

import (
	"os"

	"golang.org/x/sys/unix"
)

// A mapping is the memory of a Secret: whole pages that hold data at their end,
// with a page that cannot be accessed on either side.
type mapping struct {
	whole  []byte // guard page, pages, guard page
	data   []byte
	locked bool
}

// dataAlign is the alignment of a mapping's data in bytes.
const dataAlign = 16

// newMapping maps n bytes. Only memory itself is required; protections that the
// system refuses are left out.
func newMapping(n int) (*mapping, error) {
	page := os.Getpagesize()
	size := (n + page - 1) / page * page
	whole, err := unix.Mmap(-1, 0, page+size+page, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	inner := whole[page : page+size]
	if err := unix.Mprotect(inner, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		unix.Munmap(whole)
		return nil, err
	}
	// MADV_DONTFORK goes further than MADV_WIPEONFORK: a child that goes on without
	// exec has no such pages at all.
	unix.Madvise(inner, unix.MADV_DONTDUMP)
	unix.Madvise(inner, unix.MADV_DONTFORK)
	locked := unix.Mlock(inner) == nil

	start := (size - n) &^ (dataAlign - 1)
	return &mapping{whole: whole, data: inner[start : start+n : start+n], locked: locked}, nil
}

// free unmaps the memory, which also unlocks it.
func (m *mapping) free() {
	if err := unix.Munmap(m.whole); err != nil {
		panic("keys: munmap: " + err.Error())
	}
}

// DisableCoreDumps sets RLIMIT_CORE to 0 and makes the process undumpable, which
// also keeps other processes of the same user from tracing it or reading its
// memory. The process's files in /proc then belong to root, so that as an ordinary
// user it can no longer open /proc/self/fd. A program calls it before it reads a
// secret; programs that it starts are dumpable again but keep the limit.
func DisableCoreDumps() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return os.NewSyscallError("setrlimit", err)
	}
	return os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
}
