// Package store defines what the file system needs of a place that holds
// encrypted files: a tree of nodes with names, attributes, contexts and data
// units, all of them as they are stored. A store moves ciphertext and metadata
// and never sees a key.
//
// Reading is the interface Store, which every store implements. Writing is
// Writer, which a store implements as well if it can be written to. Names,
// targets and data units cross this interface encrypted; sizes are those of
// the plaintext, which a store knows without a key.
//
// Unless a method says otherwise, it may be called from several goroutines at
// once, and its errors wrap the syscall.Errno or the DamagedError that caused
// them.
package store

import (
	"fmt"
	"io"
	"time"
)

// Types of a node in Attr.Mode and Dirent.Type, the S_IFMT bits of stat(2).
const (
	ModeType    = 0o170000
	ModeFIFO    = 0o010000
	ModeChar    = 0o020000
	ModeDir     = 0o040000
	ModeBlock   = 0o060000
	ModeRegular = 0o100000
	ModeSymlink = 0o120000
	ModeSocket  = 0o140000
)

// A Node stands for one object of a store, an inode: it stays the same through
// renames and is the same, as ==, for all hard links of one object. Lookup and
// the creating methods of Writer return a node with one reference more, which
// Release gives back; the root needs none.
type Node interface {
	// String returns where the object lies in the store, for messages: the
	// lower path relative to the root, or an inode number. It is not a secret.
	String() string
}

// Attr holds the attributes of a node as stat(2) has them.
type Attr struct {
	Dev, Ino         uint64 // unique together among the nodes of a store
	Mode             uint32 // type and permissions, as st_mode
	Nlink            uint32
	UID, GID         uint32
	Rdev             uint64 // of devices, as st_rdev
	Damaged          bool   // it is a regular file with a stored size that none has; Size is 0
	Size             int64  // plaintext size in bytes; of a symbolic link, the length of its encrypted target
	Blocks           int64  // allocated, in units of 512 bytes
	Atime, Mtime     time.Time
	Ctime, Birthtime time.Time // Birthtime is zero where it is not known
}

// A Dirent is an entry of a directory. Name is the encrypted name. Where the
// entry cannot be an object of the store (its lower name does not decode, say),
// Err says why and Name is nil. Entries that belong to the store's own
// bookkeeping do not appear.
type Dirent struct {
	Name  []byte
	Lower string // name in the store, for messages
	Ino   uint64
	Type  uint32 // S_IFMT bits; 0 when the store does not know without a look at the node
	Err   error

	// Hash and Minor are what a FileSystem finds the name of an encrypted
	// directory by, which no-key names contain; 0 where there is nothing.
	Hash, Minor uint32
}

// Statfs describes the space of a store, in the terms of statfs(2).
type Statfs struct {
	Bsize, Frsize         uint32
	Blocks, Bfree, Bavail uint64
	Files, Ffree          uint64
}

// Store is a tree of encrypted objects, open for reading.
type Store interface {
	// Root returns the root directory.
	Root() Node
	// Lookup returns the node that the entry with this encrypted name leads to.
	Lookup(dir Node, name []byte) (Node, Attr, error)
	// Release gives back n references to a node. The last one frees what the
	// store keeps of it.
	Release(node Node, n uint64)
	// ReadDir returns the entries of a directory, without "." and "..", in the
	// store's order.
	ReadDir(dir Node) ([]Dirent, error)
	// Attr returns the attributes of a node. Of one that is not linked any more
	// it returns those that are known, with Nlink 0.
	Attr(node Node) (Attr, error)
	// Context returns the encryption context of a directory or symbolic link
	// as it is stored, nil where it has none. (That of a regular file is
	// File.Context.)
	Context(node Node) ([]byte, error)
	// Readlink returns the encrypted target of a symbolic link.
	Readlink(node Node) ([]byte, error)
	// Open opens a regular file, also one that has lost its last name since it was
	// found. With write set, which only a store that
	// implements Writer takes, the result is a FileWriter.
	Open(node Node, write bool) (File, error)
	// Statfs describes the space of the store.
	Statfs() (Statfs, error)
	// Close frees the store. All files must have been closed before.
	Close() error
}

// A FileSystem is a Store that is a file system of its own, as the kernel's
// fscrypt knows it, where each object has its own policy or none. The context
// of a node tells which: where it is nil, the names in the directory, the target
// or the contents are stored as they are. Context does so for regular files too.
//
// Policies may depend on where an object is, so they need the UUID, the block
// size and inode numbers.
type FileSystem interface {
	Store
	// UUID returns the UUID of the file system as its superblock has it.
	UUID() [16]byte
	// BlockSize returns the size of a block in bytes, a power of two. It is the
	// size of data units too where a policy says no other.
	BlockSize() int
	// Ino returns the inode number of a node.
	Ino(node Node) uint64
	// OpenUnits is Open for reading, where the data units that ReadUnits counts
	// have unitSize bytes: a power of two from 512 to BlockSize, which is what
	// Open takes.
	OpenUnits(node Node, unitSize int) (File, error)
	// LookupHash is Lookup where of the name only Dirent.Hash is known, and a
	// way to tell it from the others with the same. With a hash of 0, which is
	// where there is none, all names of the directory are asked.
	LookupHash(dir Node, hash uint32, match func(name []byte) bool) (Node, Attr, error)
	// Case returns how the names in a directory are compared. Lookup finds an
	// entry by its own name in any case.
	Case(dir Node) (Case, error)
}

// Case says how the plain names in a directory are compared.
type Case uint8

const (
	// CaseSensitive names are the same if their bytes are.
	CaseSensitive Case = iota
	// CaseFolded names are the same if they casefold to the same; one that is not
	// UTF-8 is the same as nothing but itself.
	CaseFolded
	// CaseFoldedStrict is CaseFolded, where all names are UTF-8.
	CaseFoldedStrict
)

// Layout says how the data units of a file lie in the store.
type Layout uint8

const (
	// LayoutEmpty is a file of size 0 that has no context yet.
	LayoutEmpty Layout = iota
	// LayoutInline is a file of one data unit, number 0, that is as long as the
	// size rounded up to 16 bytes.
	LayoutInline
	// LayoutBlocks is a file of whole data units.
	LayoutBlocks
)

// A File is an open regular file. It is the only open File of its node that
// the caller uses at a time, and so may remember size and layout. ReadUnits may
// be called from several goroutines at once, but not during any method of
// FileWriter.
type File interface {
	io.Closer
	// Context returns the context as it is stored, nil in LayoutEmpty.
	Context() []byte
	// Size returns the plaintext size in bytes.
	Size() int64
	// Layout says how the data units lie.
	Layout() Layout
	// Attr returns the attributes of the file, linked or not.
	Attr() (Attr, error)
	// ReadUnits reads the ciphertext of data units into dst, beginning with
	// unit number first. The length of dst is a multiple of the data unit
	// size. It returns the number of bytes: up to the end of the last data
	// unit of the file, a multiple of the unit size or, in LayoutInline, of 16
	// bytes. For each unit i that is a hole, whose plaintext is zeros, it sets
	// holes[i]; for the others it clears it. holes has at least as many
	// elements as dst has units. It allocates nothing. A file that others have
	// cut since its size was read gives io.ErrUnexpectedEOF.
	ReadUnits(dst []byte, first uint64, holes []bool) (int, error)
	// Seek finds the next data (unix.SEEK_DATA) or hole (unix.SEEK_HOLE) at or
	// after the plaintext offset off, as lseek(2) does: ENXIO at or past the
	// size, and the size is a hole.
	Seek(off int64, whence int) (int64, error)
	// Reload forgets what is remembered of size, layout and context and reads
	// them again, for stores that others change too.
	Reload() error
}

// A FileWriter is a File open for writing. Its methods, and File.Close, are not
// called concurrently with any other method of the same file, except that reads
// go on during Sync.
//
// Each method goes from one consistent state of the file to another in one
// step, as far as the store keeps the order of one file's writes: a crash leaves
// the file before or after. Where an error is returned, among them ENOSPC, the
// file is consistent, and Size and Layout say how it is.
type FileWriter interface {
	File
	// SetContext gives a file in LayoutEmpty the context that its next write
	// will store.
	SetContext(context []byte)
	// InlineMax returns the largest size that LayoutInline takes, in bytes; 0
	// where the store has no such layout.
	InlineMax() int64
	// WriteInline makes ct, size rounded up to 16 bytes, the only data unit of
	// the file and size its size, in LayoutInline. size is at least 1 and at most
	// InlineMax. A file already in LayoutInline cannot shrink by it: it panics.
	WriteInline(ct []byte, size int64) error
	// WriteUnits writes whole data units, beginning with unit number first, and
	// sets the size to the larger of size and the current size; the file is in
	// LayoutBlocks afterwards. If size grows the file it lies in the last unit
	// written. If the file is in LayoutInline, first is 0 and size is at least
	// the current size. It returns the number of units written, fewer than
	// given only with an error, in which case size has grown only as far as they
	// reach. ct is not changed. Units between the old end of the file and first
	// become holes; the caller has seen to it that the plaintext of the last
	// unit past the old size is zero.
	WriteUnits(ct []byte, first uint64, size int64) (int, error)
	// Truncate sets the size of a file in LayoutBlocks, or of one in LayoutEmpty
	// that has been given a context, and leaves it in LayoutBlocks; or, with
	// size 0, of any file, and leaves it in LayoutEmpty without a context. Data
	// units past the end are gone and units that are added are holes. The
	// caller cares for the plaintext of the last unit past size: when growing,
	// before; when shrinking, afterwards with WriteUnits.
	Truncate(size int64) error
	// Punch makes n whole data units of a file in LayoutBlocks holes, beginning
	// with first. Units past the end of the file are ignored.
	Punch(first, n uint64) error
	// Allocate reserves the space that n data units need in LayoutBlocks,
	// beginning with first, and changes neither size, layout nor data: also past
	// the end of the file, and in every layout. EOPNOTSUPP where the store cannot.
	Allocate(first, n uint64) error
	// Sync returns when contents and size are on stable storage; with dataOnly
	// other attributes need not be.
	Sync(dataOnly bool) error
}

// WholeReader is a Store that reads small files in fewer steps than File does.
type WholeReader interface {
	// ReadWhole reads all data units of a regular file of the given plaintext size,
	// which is positive and fits dst, as File.ReadUnits does; it returns the context
	// and the number of bytes. If it can it leaves the time of access alone. It
	// fails if the file has another size, and is not called while the file is open.
	ReadWhole(node Node, dst []byte, size int64, holes []bool) (context []byte, n int, err error)
}

// Remote is a Store that may lie on another machine.
type Remote interface {
	// Remote reports whether it does: what is written may then fail, and be seen
	// by others, only when the file is closed.
	Remote() bool
}

// A Flusher is a FileWriter of a Remote store.
type Flusher interface {
	// Flush does what closing the file does to what has been written, and returns
	// what it says. Reads go on meanwhile, as during Sync.
	Flush() error
}

// Owner is who a new node belongs to. -1 leaves it to the store: the process's
// own identity, or that of the directory where its set-group-ID bit says so.
type Owner struct {
	UID, GID int
}

// SetAttr says which attributes to change; nil leaves one alone.
type SetAttr struct {
	Mode         *uint32 // permissions, without the type
	UID, GID     *uint32
	Atime, Mtime *time.Time
	AtimeNow     bool // the time of the change, by the store's clock; Atime is nil
	MtimeNow     bool
}

// Writer is a Store that can be written to. Creating methods fail with EEXIST
// where the name exists. Names are at most 255 bytes before they are stored; a
// store may keep longer encodings of them under names of its own.
type Writer interface {
	Store
	// Create makes an empty regular file and opens it for writing.
	Create(dir Node, name []byte, mode uint32, owner Owner) (Node, Attr, FileWriter, error)
	// Mkdir makes a directory with the given context.
	Mkdir(dir Node, name []byte, mode uint32, owner Owner, context []byte) (Node, Attr, error)
	// Symlink makes a symbolic link with an encrypted target. Of the context
	// only the nonce is stored; its policy is that of dir.
	Symlink(dir Node, name, target []byte, owner Owner, context []byte) (Node, Attr, error)
	// Mknod makes a device, a FIFO or a socket; mode holds its type.
	Mknod(dir Node, name []byte, mode uint32, rdev uint64, owner Owner) (Node, Attr, error)
	// Link makes another name for a node that is not a directory, and returns
	// the node with one reference more.
	Link(node, dir Node, name []byte) (Attr, error)
	// Unlink removes a name of a node that is not a directory.
	Unlink(dir Node, name []byte) error
	// Rmdir removes an empty directory.
	Rmdir(dir Node, name []byte) error
	// Rename moves a name; flags are those of renameat2(2): 0,
	// RENAME_NOREPLACE or RENAME_EXCHANGE.
	Rename(oldDir Node, oldName []byte, newDir Node, newName []byte, flags uint) error
	// SetAttr changes attributes of a node.
	SetAttr(node Node, set SetAttr) error
	// SyncDir returns when the entries of a directory are on stable storage.
	SyncDir(dir Node) error
}

// Xattrs is a Store that has extended attributes; names and values are as
// stored. Get and List return what getxattr(2) and listxattr(2) do.
type Xattrs interface {
	GetXattr(node Node, name string) ([]byte, error)
	ListXattr(node Node) ([]string, error)
}

// XattrWriter is a Store whose extended attributes can be changed.
type XattrWriter interface {
	Xattrs
	// SetXattr takes the flags of setxattr(2): 0, XATTR_CREATE, XATTR_REPLACE.
	SetXattr(node Node, name string, value []byte, flags int) error
	RemoveXattr(node Node, name string) error
}

// LowerNames is a Store whose entries can be reached by the names that they have
// in it, as Dirent.Lower gives them, where the encrypted name is lost or decrypts
// to nothing that can be a name.
type LowerNames interface {
	LookupLower(dir Node, lower string) (Node, Attr, error)
	UnlinkLower(dir Node, lower string) error
	RmdirLower(dir Node, lower string) error
	// RenameLower gives the entry a good name, as Rename does, but EINVAL for
	// RENAME_EXCHANGE, which would give the bad name to another.
	RenameLower(oldDir Node, lower string, newDir Node, newName []byte, flags uint) error
}

// DamagedError means that an object of the store is not as its format says.
type DamagedError struct {
	Path   string // where it lies in the store, as Node.String has it
	Detail string // what is wrong
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s: %s", e.Path, e.Detail)
}
