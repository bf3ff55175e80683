package ext4

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"encfs/fs/store"
)

// cacheSizeDefault is how many bytes of metadata blocks are kept.
const cacheSizeDefault = 16 << 20

// Options say how to open a file system. The zero value is the default.
type Options struct {
	// CacheSize is about how many bytes of metadata blocks are kept in memory;
	// 0 is 16 MiB.
	CacheSize int
}

// A Store is an open file system. It implements store.FileSystem and
// store.Xattrs. Reads wait for each other only in the moments when they look for
// a block in the cache.
type Store struct {
	dev   *device
	sb    superblock
	seed  uint32 // start value of checksums
	cache *cache
	names nameLists
	close func() error
}

var (
	_ store.FileSystem = (*Store)(nil)
	_ store.Xattrs     = (*Store)(nil)
)

// A node is an inode number.
type node uint32

func (n node) String() string { return "inode " + strconv.FormatUint(uint64(n), 10) }

// Open opens the file system in an image of size bytes, which is only read, and
// which nobody else changes meanwhile. If the image is an io.Closer, Close closes
// it; after an error it is still open.
//
// What is no ext4 file system gives a NotExt4Error, one with features that this
// package does not know an UnsupportedError, an image that is too short a
// TruncatedError, and one whose superblock, journal or root directory is not as
// it should be a store.DamagedError.
func Open(image io.ReaderAt, size int64, o Options) (*Store, error) {
	s, err := open(image, size, o)
	if err != nil {
		return nil, fmt.Errorf("ext4: %w", err)
	}
	if c, ok := image.(io.Closer); ok {
		s.close = c.Close
	}
	return s, nil
}

func open(image io.ReaderAt, size int64, o Options) (*Store, error) {
	b := make([]byte, superblockOffset+superblockSize)
	n, err := image.ReadAt(b, 0)
	if n < len(b) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	sb, err := parseSuperblock(b[:n], size)
	if err != nil {
		return nil, err
	}
	if o.CacheSize == 0 {
		o.CacheSize = cacheSizeDefault
	}
	s := new(Store)
	s.use(image, sb, nil, o)
	if sb.incompat.has(incompatRecover) {
		replayed, err := s.replayJournal()
		if err != nil {
			return nil, err
		}
		// The superblock is among what is in the log.
		s.dev.replayed = replayed
		if err := s.dev.readAt(b, 0); err != nil {
			return nil, err
		}
		if sb, err = parseSuperblock(b, size); err != nil {
			return nil, err
		}
		if sb.blockSize() != s.dev.blockSize {
			return nil, damaged(superblockName, "the one in the journal has blocks of %d bytes, not of %d", sb.blockSize(), s.dev.blockSize)
		}
		s.use(image, sb, replayed, o)
	}
	root, err := s.inode(rootInode)
	if err != nil {
		return nil, err
	}
	if !root.isType(store.ModeDir) {
		return nil, root.damaged("the root has mode %o", root.mode)
	}
	return s, nil
}

// use makes s the file system with this superblock.
func (s *Store) use(image io.ReaderAt, sb superblock, replayed map[uint64]logged, o Options) {
	s.sb = sb
	s.seed = sb.seed()
	s.dev = &device{
		image:     image,
		blockSize: sb.blockSize(),
		log2:      uint(sb.log2Block) + 10,
		blocks:    sb.blocks,
		replayed:  replayed,
	}
	s.cache = newCache(s.dev, o.CacheSize)
}

// ino returns the inode number of a node.
func (s *Store) ino(nd store.Node) uint32 {
	n, ok := nd.(node)
	if !ok {
		panic(fmt.Sprintf("ext4: %T is a node of another store", nd))
	}
	return uint32(n)
}

// Root implements store.Store.
func (s *Store) Root() store.Node { return node(rootInode) }

// Release implements store.Store. Nothing is kept of a node.
func (s *Store) Release(store.Node, uint64) {}

// Ino implements store.FileSystem.
func (s *Store) Ino(nd store.Node) uint64 { return uint64(s.ino(nd)) }

// UUID implements store.FileSystem.
func (s *Store) UUID() [16]byte { return s.sb.uuid }

// BlockSize implements store.FileSystem.
func (s *Store) BlockSize() int { return s.dev.blockSize }

// Attr implements store.Store.
func (s *Store) Attr(nd store.Node) (store.Attr, error) {
	in, err := s.inode(s.ino(nd))
	if err != nil {
		return store.Attr{}, fmt.Errorf("ext4: attributes: %w", err)
	}
	a, err := s.attr(in)
	if err != nil {
		return a, fmt.Errorf("ext4: attributes: %w", err)
	}
	return a, nil
}

// Statfs implements store.Store. The numbers are those of the superblock, which
// the kernel brings up to date now and then.
func (s *Store) Statfs() (store.Statfs, error) {
	blocks := s.sb.blocks - min(s.sb.blocks, uint64(s.sb.overheadBlocks))
	free := min(s.sb.freeBlocks, blocks)
	size := uint32(s.dev.blockSize)
	return store.Statfs{
		Bsize: size, Frsize: size,
		Blocks: blocks, Bfree: free, Bavail: free - min(free, s.sb.reserved),
		Files: uint64(s.sb.inodes), Ffree: uint64(min(s.sb.freeInodes, s.sb.inodes)),
	}, nil
}

// Close implements store.Store.
func (s *Store) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}
