package keys

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A FileKey is the key of one inode for one mode, and the rule by which the IVs of
// its data units are made.
//
// The key lies on Go's heap, as there is one for each inode in use: it is wiped
// by Wipe but may be swapped out before. It never prints.
type FileKey struct {
	mode  Mode
	rule  ivRule
	ino   uint32 // ivInode: the inode number; ivHashedInode: its hash
	nonce Nonce  // ivNonce

	// bytes returns the key. It is a function because fmt, when it prints a struct
	// that has a FileKey in a field, cannot call Format and shows what it can reach.
	bytes func() []byte
}

// An ivRule says what is in the first 24 bytes of an IV. It follows the policy's
// flags; see fscrypt_generate_iv in fs/crypto/crypto.c.
type ivRule uint8

const (
	ivIndex       ivRule = iota // le64(index)
	ivNonce                     // le64(index), nonce
	ivInode                     // le32(index), le32(inode number)
	ivHashedInode               // le32(hash + index)
)

func newFileKey(mode Mode) *FileKey {
	key := make([]byte, mode.KeySize())
	return &FileKey{mode: mode, bytes: func() []byte { return key }}
}

// Mode returns the mode that the key is for.
func (f *FileKey) Mode() Mode { return f.mode }

// Key returns the key itself, KeySize bytes of the mode. It is zeros after Wipe.
func (f *FileKey) Key() []byte { return f.bytes() }

// PutIV writes the IV of a data unit to iv, which has the IVSize bytes of the mode.
// unit is the index of the data unit in the file, counted from 0; names and
// targets of symbolic links use 0. Where the policy's flags leave 32 bits for the
// index it is taken modulo 2^32.
//
// PutIV is safe for concurrent use, also with Wipe, and allocates nothing.
func (f *FileKey) PutIV(iv []byte, unit uint64) {
	if len(iv) != f.mode.IVSize() {
		panic(fmt.Sprintf("keys: IV of %d bytes for %v", len(iv), f.mode))
	}
	clear(iv)
	switch f.rule {
	case ivIndex:
		binary.LittleEndian.PutUint64(iv, unit)
	case ivNonce:
		binary.LittleEndian.PutUint64(iv, unit)
		copy(iv[8:], f.nonce[:])
	case ivInode:
		binary.LittleEndian.PutUint32(iv, uint32(unit))
		binary.LittleEndian.PutUint32(iv[4:], f.ino)
	case ivHashedInode:
		binary.LittleEndian.PutUint32(iv, f.ino+uint32(unit))
	}
}

// Wipe overwrites the key with zeros. It is called when a cipher has taken the key;
// PutIV goes on working.
func (f *FileKey) Wipe() { clear(f.bytes()) }

// Format implements [fmt.Formatter], so that no verb prints the key.
func (f FileKey) Format(s fmt.State, _ rune) { io.WriteString(s, f.String()) }

// String returns the mode and "file key".
func (f FileKey) String() string { return f.mode.String() + " file key" }

// GoString returns the same as String.
func (f FileKey) GoString() string { return f.String() }

func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
