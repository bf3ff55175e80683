package keys

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// The lengths of a master key in bytes.
const (
	MinMasterKeySize = 16
	MaxMasterKeySize = 64
)

// ErrKeySize means a master key of the wrong length, or one that is too short for
// the modes of a policy.
var ErrKeySize = errors.New("wrong master key size")

// A MasterKey is the secret that the keys of all inodes under a policy are derived
// from, in both versions of policies. It is safe for concurrent use; it prints as
// its identifier.
type MasterKey struct {
	identifier Identifier
	descriptor Descriptor
	size       int // of the raw key, in bytes

	mu     sync.RWMutex // held for reading while secret is in use, for writing by Close
	secret *Secret      // the HKDF pseudorandom key, then the raw key; nil once closed
}

// NewMasterKey returns the master key with a copy of the 16 to 64 bytes of raw. The
// caller wipes raw. Another length is an [ErrKeySize].
func NewMasterKey(raw []byte) (*MasterKey, error) {
	if len(raw) < MinMasterKeySize || len(raw) > MaxMasterKeySize {
		return nil, fmt.Errorf("keys: %w: %d bytes, want %d to %d", ErrKeySize, len(raw), MinMasterKeySize, MaxMasterKeySize)
	}
	// One Secret for both, as each takes a page of RLIMIT_MEMLOCK.
	secret, err := NewSecret(prkSize + len(raw))
	if err != nil {
		return nil, err
	}
	b := secret.Bytes()
	copy(b[prkSize:], raw)
	hkdfExtract(b[:prkSize], raw)

	k := &MasterKey{descriptor: descriptorOf(raw), size: len(raw), secret: secret}
	hkdfExpand(k.identifier[:], b[:prkSize], infoFscrypt, hkdfKeyIdentifier)
	return k, nil
}

// Identifier returns the name that v2 policies have for the key: 16 bytes that are
// derived from it.
func (k *MasterKey) Identifier() Identifier { return k.identifier }

// Descriptor returns the name that v1 policies made by the fscrypt tools have for
// the key: the first 8 bytes of SHA-512(SHA-512(raw key)).
func (k *MasterKey) Descriptor() Descriptor { return k.descriptor }

// Size returns the length of the raw key in bytes.
func (k *MasterKey) Size() int { return k.size }

// Locked reports whether the key is kept out of swap.
func (k *MasterKey) Locked() bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.secret != nil && k.secret.Locked()
}

// Close wipes the key. It waits for derivations in progress; later ones find no
// key. File keys that were derived stay as they are. It may be called more than
// once.
func (k *MasterKey) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.secret.Close()
	k.secret = nil
}

// Raw returns a copy of the raw key, for writing it to a backup or wrapping it for
// a protector. The caller closes it. The error is [ErrNoKey] after Close.
func (k *MasterKey) Raw() (*Secret, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.secret == nil {
		return nil, fmt.Errorf("keys: %w: closed", ErrNoKey)
	}
	return CopySecret(k.raw())
}

// prk and raw are the two parts of the secret. The caller holds mu.
func (k *MasterKey) prk() []byte { return k.secret.Bytes()[:prkSize] }
func (k *MasterKey) raw() []byte { return k.secret.Bytes()[prkSize:] }

// A Place is where an inode is. Only policies with FlagIVInoLblk64 or
// FlagIVInoLblk32 depend on it.
type Place struct {
	UUID [16]byte // of the file system, as the superblock has it
	Ino  uint64   // the inode number
}

// FileKey derives the key of the inode that has the given context. mode is the
// context's contents mode for the contents of a regular file, and its filenames
// mode for the names in a directory or the target of a symbolic link; another one
// panics. It does not look whether the policy names this master key.
//
// The errors are those of [Policy.Validate], [ErrKeySize] if the master key is too
// short for the policy, and [ErrNoKey] after Close. The kernel does the same in
// setup_file_encryption_key, fs/crypto/keysetup.c.
func (k *MasterKey) FileKey(ctx Context, mode Mode, at Place) (*FileKey, error) {
	if mode != ctx.Contents && mode != ctx.Filenames {
		panic(fmt.Sprintf("keys: %v is not a mode of the policy", mode))
	}
	if err := ctx.Validate(); err != nil {
		return nil, err
	}
	// Version 1 uses as many bytes of the master key as the cipher's key has.
	// HKDF needs as much entropy as the cipher is meant to have, no more.
	least := max(ctx.Contents.Strength(), ctx.Filenames.Strength())
	if ctx.Version == 1 {
		least = max(ctx.Contents.KeySize(), ctx.Filenames.KeySize())
	}
	if k.size < least {
		return nil, fmt.Errorf("keys: %w: %d bytes, the policy needs %d", ErrKeySize, k.size, least)
	}

	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.secret == nil {
		return nil, fmt.Errorf("keys: %w: closed", ErrNoKey)
	}
	f := newFileKey(mode)
	switch ctx.Flags & flagsIV {
	case 0:
		f.rule = ivIndex
		if ctx.Version == 1 {
			deriveV1(f.Key(), k.raw(), ctx.Nonce)
		} else {
			hkdfExpand(f.Key(), k.prk(), infoFscrypt, hkdfPerFileKey, ctx.Nonce[:]...)
		}
	case FlagDirectKey:
		f.rule, f.nonce = ivNonce, ctx.Nonce
		if ctx.Version == 1 {
			copy(f.Key(), k.raw())
		} else {
			hkdfExpand(f.Key(), k.prk(), infoFscrypt, hkdfDirectKey, byte(mode))
		}
	default: // FlagIVInoLblk64 or FlagIVInoLblk32
		if at.Ino > math.MaxUint32 {
			return nil, fmt.Errorf("keys: %w: inode number %d with an IV that has room for 32 bits", ErrUnsupportedPolicy, at.Ino)
		}
		context := byte(hkdfIVInoLblk64Key)
		f.rule, f.ino = ivInode, uint32(at.Ino)
		if ctx.Flags&FlagIVInoLblk32 != 0 {
			context = hkdfIVInoLblk32Key
			f.rule, f.ino = ivHashedInode, k.hashInode(at.Ino)
		}
		tail := append([]byte{byte(mode)}, at.UUID[:]...)
		hkdfExpand(f.Key(), k.prk(), infoFscrypt, context, tail...)
	}
	return f, nil
}

// hashInode returns the low half of the inode number's keyed hash. The caller holds
// mu.
func (k *MasterKey) hashInode(ino uint64) uint32 {
	var key [16]byte
	hkdfExpand(key[:], k.prk(), infoFscrypt, hkdfInodeHashKey)
	h := sipHash24(&key, le64(ino))
	clear(key[:])
	return uint32(h)
}

// A DirectoryPurpose says what a key of a cipher directory is for.
type DirectoryPurpose uint8

// The purposes of the directory format.
const (
	HeaderTags  DirectoryPurpose = 1
	XattrNames  DirectoryPurpose = 2
	XattrValues DirectoryPurpose = 3
)

// DirectoryKeySize is the length in bytes of every key that
// [MasterKey.DeriveDirectory] derives.
const DirectoryKeySize = 32

// DeriveDirectory fills out, DirectoryKeySize bytes, with the key that all objects
// of a cipher directory share for a purpose. It is expanded as fscrypt's own keys
// are, with the info string "encfs" 00 and the purpose as one byte. It must not be
// called after Close.
func (k *MasterKey) DeriveDirectory(purpose DirectoryPurpose, out []byte) {
	if len(out) != DirectoryKeySize {
		panic(fmt.Sprintf("keys: directory key of %d bytes", len(out)))
	}
	if purpose < HeaderTags || purpose > XattrValues {
		panic(fmt.Sprintf("keys: directory purpose %d", purpose))
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.secret == nil {
		panic("keys: use of a closed MasterKey")
	}
	hkdfExpand(out, k.prk(), infoEncfs, byte(purpose))
}

// Format implements [fmt.Formatter], so that no verb prints the key.
func (k *MasterKey) Format(f fmt.State, _ rune) { io.WriteString(f, k.String()) }

// String returns "master key" and the identifier.
func (k *MasterKey) String() string {
	if k == nil {
		return "no master key"
	}
	return "master key " + k.identifier.String()
}

// GoString returns the same as String.
func (k *MasterKey) GoString() string { return k.String() }
