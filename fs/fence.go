package fs

import "sync"

// A fence keeps everybody out of a directory until the files in it that are read
// ahead have been stored.
//
// A store must not meet anything else that happens to the contents of a file: it
// writes over what the kernel has in its cache, be that newer, or dirty by way of a
// mapping, and it waits for the lock of a page that a READ or WRITE may hold while
// it waits for us. So nobody may have the file open. With ShortcutNoOpen the kernel
// does not tell, but nobody opens a file without a way to it, and on that way the
// kernel checks permissions (default_permissions) on the directory, for which it
// needs its attributes:
//
//   - The directory is shown to the kernel for the first time, by READDIRPLUS, with
//     attributes that the kernel must not remember, and so it is each time, until the
//     fence opens. Whoever goes into the directory is seen as a GETATTR.
//   - Its scanner, the process that listed it, lists the files in it. It does nothing
//     else meanwhile, and if nobody else was seen, nobody is on the way to a file.
//     Those of the files that the kernel does not know yet are stored; it learns of
//     them by the reply.
//   - The next GETATTR is of somebody who wants in. It opens the fence: it is answered
//     when all stores are done, and nothing is stored any more.
//
// Other ways to a file are by another name, on which it waits for the fence of this
// one; and by a handle (open_by_handle_at), for which one needs to have been there.
type fence struct {
	dir     *Inode
	scanner uint32

	mu      sync.Mutex
	idle    sync.Cond    // running has become 0
	state   fenceState   // guarded by mu
	asked   int          // GETATTR requests before it was listed; guarded by mu
	files   []*aheadFile // guarded by mu
	next    int          // in files, to be stored; guarded by mu
	running int          // stores under way; guarded by mu
	bytes   int64        // of files; guarded by mu
}

type fenceState int

const (
	fenceClosed fenceState = iota // nobody but the scanner has been seen
	fenceListed                   // and it is seeing the files, or has
	fenceOpen
)

// An aheadFile is a file that is to be stored.
type aheadFile struct {
	inode  *Inode
	number uint64 // the kernel's
	size   int64
}

// Limits of a fence.
const (
	maxAsked = 8       // GETATTR requests of one who does not list it after all
	maxBytes = 8 << 20 // of files that wait for being stored, and hold up whoever wants in
)

func newFence(dir *Inode, scanner uint32) *fence {
	e := &fence{dir: dir, scanner: scanner}
	e.idle.L = &e.mu
	return e
}

// list is called when a process lists the directory, and reports whether what it
// finds may be stored.
func (e *fence) list(process uint32) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if process != e.scanner && e.state == fenceClosed {
		e.opened()
	} else if e.state == fenceClosed {
		e.state = fenceListed
	}
	return e.state == fenceListed && process == e.scanner
}

// add has a file stored that the kernel does not know yet, unless it is too late or
// too much.
func (e *fence) add(file *aheadFile) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == fenceListed && e.bytes+file.size <= maxBytes {
		e.files = append(e.files, file)
		e.bytes += file.size
		file.inode.behind.Store(e)
	}
}

// take returns the next file to be stored, nil if there is none. The caller calls
// done afterwards.
func (e *fence) take() *aheadFile {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next == len(e.files) {
		return nil
	}
	e.next++
	e.running++
	return e.files[e.next-1]
}

func (e *fence) done() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running--; e.running == 0 {
		e.idle.Broadcast()
	}
}

// ask is called when a process wants the attributes of the directory, and reports
// whether it has to be kept waiting until the fence is open. Where there is nothing
// to wait for it opens it.
func (e *fence) ask(process uint32) (wait bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == fenceClosed {
		e.asked++
		if process != e.scanner || e.asked > maxAsked {
			e.opened()
		}
		return false
	}
	return true
}

// open opens the fence once no store is under way. What was not stored is not stored
// any more.
func (e *fence) open() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.next = len(e.files)
	for e.running > 0 {
		e.idle.Wait()
	}
	if e.state != fenceOpen {
		e.opened()
	}
}

// opened makes the fence an open one. e.mu is held.
func (e *fence) opened() {
	e.state = fenceOpen
	for _, file := range e.files {
		file.inode.behind.Store(nil)
	}
	e.files, e.next = nil, 0
	e.dir.fence.Store(nil)
}
