package ext4

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// A block is a metadata block in memory. data does not change.
type block struct {
	nr   uint64
	data []byte
	// checked says as what the contents have last been found right, so that
	// they need not be looked at again each time.
	checked atomic.Uint64
}

// What a block may have been checked as; the inode number is in the upper half.
const (
	checkExtents = iota + 1
	checkEntries
	checkIndex
	checkXattrs
)

// check calls f, unless the block has been found right as this kind for this
// inode.
func (b *block) check(ino uint32, kind uint64, f func() error) error {
	key := uint64(ino)<<32 | kind
	if b.checked.Load() == key {
		return nil
	}
	if err := f(); err != nil {
		return err
	}
	b.checked.Store(key)
	return nil
}

// cacheShards is how many parts the cache has, so that readers seldom wait for
// each other.
const cacheShards = 16

// A cache keeps the metadata blocks that were used last. It is safe for
// concurrent use; blocks that it has dropped stay good for who holds them.
type cache struct {
	dev    *device
	shards [cacheShards]cacheShard
}

type cacheShard struct {
	mu     sync.Mutex
	max    int                      // blocks
	blocks map[uint64]*list.Element // of *block, guarded by mu
	used   list.List                // the one used last in front, guarded by mu
}

// newCache returns a cache of about size bytes.
func newCache(dev *device, size int) *cache {
	c := &cache{dev: dev}
	for i := range c.shards {
		c.shards[i].max = max(size/dev.blockSize/cacheShards, 1)
		c.shards[i].blocks = make(map[uint64]*list.Element)
	}
	return c
}

// block returns a block of the file system. The caller has checked that it is in
// there.
func (c *cache) block(nr uint64) (*block, error) {
	s := &c.shards[nr%cacheShards]
	s.mu.Lock()
	if e := s.blocks[nr]; e != nil {
		s.used.MoveToFront(e)
		s.mu.Unlock()
		return e.Value.(*block), nil
	}
	s.mu.Unlock()
	b := &block{nr: nr, data: make([]byte, c.dev.blockSize)}
	if err := c.dev.readAt(b.data, int64(nr)<<c.dev.log2); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.blocks[nr]; e != nil { // read by somebody else meanwhile
		return e.Value.(*block), nil
	}
	if s.used.Len() >= s.max {
		oldest := s.used.Back()
		delete(s.blocks, oldest.Value.(*block).nr)
		s.used.Remove(oldest)
	}
	s.blocks[nr] = s.used.PushFront(b)
	return b, nil
}
