package fs

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"encfs/histogram"
	"encfs/workqueue"
)

// Stats are the counters of a volume since it was made.
type Stats struct {
	// Requests of the kernel, by the name of their opcode in linux/fuse.h without
	// FUSE_; those that never came are not there. None come without a mount.
	Requests                map[string]uint64
	BytesRead, BytesWritten uint64 // by READ and WRITE requests

	// Files, and bytes of them, that were put into the kernel's cache before it
	// asked, see ShortcutStoreAhead.
	FilesStored, BytesStored uint64

	// Latency tells how long requests took, by opcode, LowerRead how long a read
	// waited for ciphertext, and Decrypt how long for the plaintext from then on.
	// Of what happens often only a part is timed.
	Latency            map[string]histogram.Snapshot
	LowerRead, Decrypt histogram.Snapshot

	Queue workqueue.Stats // nothing if there is no queue
}

// opcodeNames are the opcodes of enum fuse_opcode in linux/fuse.h.
var opcodeNames = [...]string{
	1: "LOOKUP", 2: "FORGET", 3: "GETATTR", 4: "SETATTR", 5: "READLINK", 6: "SYMLINK", 8: "MKNOD", 9: "MKDIR",
	10: "UNLINK", 11: "RMDIR", 12: "RENAME", 13: "LINK", 14: "OPEN", 15: "READ", 16: "WRITE", 17: "STATFS",
	18: "RELEASE", 20: "FSYNC", 21: "SETXATTR", 22: "GETXATTR", 23: "LISTXATTR", 24: "REMOVEXATTR", 25: "FLUSH",
	26: "INIT", 27: "OPENDIR", 28: "READDIR", 29: "RELEASEDIR", 30: "FSYNCDIR", 31: "GETLK", 32: "SETLK",
	33: "SETLKW", 34: "ACCESS", 35: "CREATE", 36: "INTERRUPT", 37: "BMAP", 38: "DESTROY", 39: "IOCTL", 40: "POLL",
	41: "NOTIFY_REPLY", 42: "BATCH_FORGET", 43: "FALLOCATE", 44: "READDIRPLUS", 45: "RENAME2", 46: "LSEEK",
	47: "COPY_FILE_RANGE", 48: "SETUPMAPPING", 49: "REMOVEMAPPING", 50: "SYNCFS", 51: "TMPFILE", 52: "STATX",
	53: "COPY_FILE_RANGE_64",
}

// opForget is the opcode of requests that reach us without a header.
const opForget = 2

// What happens often is not timed each time, as looking at the clock costs more
// than counting: the first alwaysTimed are, and then one in timedEach.
const (
	alwaysTimed = 64
	timedEach   = 8
)

// timed reports whether the n-th of its sort, from 1, is to be timed.
func timed(n uint64) bool { return n <= alwaysTimed || n%timedEach == 0 }

// counters count what happens to a volume. There are several sets, so that CPUs
// seldom count in the same place.
type counters struct {
	epoch time.Time // from which times count
	sets  []counterSet
	next  atomic.Uint64
	pool  sync.Pool // of pointers into sets; it mostly returns what this CPU used last
}

type counterSet struct {
	requests              [len(opcodeNames)]atomic.Uint64
	latency               [len(opcodeNames)]histogram.Histogram
	bytesRead             atomic.Uint64
	bytesWritten          atomic.Uint64
	filesStored           atomic.Uint64
	bytesStored           atomic.Uint64
	reads                 atomic.Uint64 // that were decrypted
	lowerRead, decryption histogram.Histogram
	_                     [64]byte
}

// maxCounterSets bounds the memory for counters, of which a set has 130 kB, though
// what is never counted stays untouched.
const maxCounterSets = 16

func newCounters() *counters {
	c := &counters{epoch: time.Now(), sets: make([]counterSet, min(runtime.GOMAXPROCS(0), maxCounterSets))}
	c.pool.New = func() any { return &c.sets[c.next.Add(1)%uint64(len(c.sets))] }
	return c
}

// now returns the time since the epoch.
func (c *counters) now() time.Duration { return time.Since(c.epoch) }

// stats adds up all sets.
func (c *counters) stats() Stats {
	s := Stats{Requests: map[string]uint64{}, Latency: map[string]histogram.Snapshot{}}
	for i := range c.sets {
		set := &c.sets[i]
		s.BytesRead += set.bytesRead.Load()
		s.BytesWritten += set.bytesWritten.Load()
		s.FilesStored += set.filesStored.Load()
		s.BytesStored += set.bytesStored.Load()
		set.lowerRead.AddTo(&s.LowerRead)
		set.decryption.AddTo(&s.Decrypt)
	}
	for op, name := range opcodeNames {
		var n uint64
		for i := range c.sets {
			n += c.sets[i].requests[op].Load()
		}
		if n == 0 || name == "" {
			continue
		}
		var latency histogram.Snapshot
		for i := range c.sets {
			c.sets[i].latency[op].AddTo(&latency)
		}
		s.Requests[name], s.Latency[name] = n, latency
	}
	return s
}

// Stats returns the counters. It may be called at any time.
func (v *Volume) Stats() Stats {
	s := v.counters.stats()
	if v.opts.Queue != nil {
		s.Queue = v.opts.Queue.Stats()
	}
	return s
}

// stored counts a file of so many bytes that was put into the kernel's cache.
func (c *counters) stored(bytes int) {
	set := c.pool.Get().(*counterSet)
	set.filesStored.Add(1)
	set.bytesStored.Add(uint64(bytes))
	c.pool.Put(set)
}

// A stopwatch times the parts of a read.
type stopwatch struct {
	counters *counters
	set      *counterSet
	last     time.Duration
}

// startRead counts a read, and starts the watch if it is to be timed.
func (c *counters) startRead() stopwatch {
	set := c.pool.Get().(*counterSet)
	w := stopwatch{counters: c}
	if timed(set.reads.Add(1)) {
		w.set, w.last = set, c.now()
	}
	c.pool.Put(set)
	return w
}

// lap records the time since the last lap.
func (w *stopwatch) lap(h func(*counterSet) *histogram.Histogram) {
	if w.set != nil {
		now := w.counters.now()
		h(w.set).Record(now - w.last)
		w.last = now
	}
}

func lowerRead(s *counterSet) *histogram.Histogram { return &s.lowerRead }
func decrypted(s *counterSet) *histogram.Histogram { return &s.decryption }
