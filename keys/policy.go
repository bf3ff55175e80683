package keys

import (
	"encoding/hex"
	"errors"
	"fmt"
)

// An Identifier names a v2 master key. It is derived from the key, so a wrong key
// never has the right one.
type Identifier [16]byte

// String returns the 32 lower-case hexadecimal digits.
func (id Identifier) String() string { return hex.EncodeToString(id[:]) }

// ParseIdentifier is the inverse of [Identifier.String]. Capital digits are an
// error.
func ParseIdentifier(s string) (Identifier, error) {
	var id Identifier
	if err := parseHex(id[:], s); err != nil {
		return Identifier{}, fmt.Errorf("keys: master key identifier: %w", err)
	}
	return id, nil
}

// A Descriptor names a v1 master key. The kernel takes any 8 bytes for it; the
// fscrypt tools and this package use a hash of the key. See
// [MasterKey.Descriptor].
type Descriptor [8]byte

// String returns the 16 lower-case hexadecimal digits.
func (d Descriptor) String() string { return hex.EncodeToString(d[:]) }

// ParseDescriptor is the inverse of [Descriptor.String]. Capital digits are an
// error.
func ParseDescriptor(s string) (Descriptor, error) {
	var d Descriptor
	if err := parseHex(d[:], s); err != nil {
		return Descriptor{}, fmt.Errorf("keys: master key descriptor: %w", err)
	}
	return d, nil
}

// parseHex fills dst from exactly 2·len(dst) lower-case digits.
func parseHex(dst []byte, s string) error {
	if len(s) != 2*len(dst) {
		return fmt.Errorf("%d characters, want %d", len(s), 2*len(dst))
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return fmt.Errorf("%q is not a lower-case hexadecimal digit", c)
		}
	}
	_, err := hex.Decode(dst, []byte(s))
	return err
}

// Flags are the FSCRYPT_POLICY_FLAG* bits of a policy, as in
// include/uapi/linux/fscrypt.h.
type Flags uint8

// The two lowest bits are the padding of file names, 4 bytes if both are clear.
// At most one of the other flags is set.
const (
	FlagPad8        Flags = 0x01
	FlagPad16       Flags = 0x02
	FlagPad32       Flags = 0x03
	FlagPadMask     Flags = 0x03
	FlagDirectKey   Flags = 0x04 // one key a mode; the nonce is in the IV
	FlagIVInoLblk64 Flags = 0x08 // one key a mode and file system; the inode number is in the IV
	FlagIVInoLblk32 Flags = 0x10 // the same with a 32-bit IV, the inode number hashed

	flagsIV  = FlagDirectKey | FlagIVInoLblk64 | FlagIVInoLblk32
	flagsAll = FlagPadMask | flagsIV
)

// Padding returns the multiple of bytes that file names are padded to: 4, 8, 16
// or 32.
func (f Flags) Padding() int { return 4 << (f & FlagPadMask) }

// A Policy says how a directory tree is encrypted, without the nonce that each
// inode has. It is fscrypt_policy_v1 or fscrypt_policy_v2.
type Policy struct {
	Version   uint8 // 1 or 2 (in the ioctl structures of the kernel v1 is 0)
	Contents  Mode
	Filenames Mode
	Flags     Flags

	// Log2DataUnitSize is the binary logarithm of the data unit size in bytes, or
	// 0 for data units of one file system block. Always 0 in version 1.
	Log2DataUnitSize uint8

	Descriptor Descriptor // the master key of version 1
	Identifier Identifier // the master key of version 2
}

// Padding returns the multiple of bytes that file names are padded to: 4, 8, 16
// or 32.
func (p Policy) Padding() int { return p.Flags.Padding() }

// ErrUnsupportedPolicy means a policy that the kernel would not take either, or
// that is newer than this package.
var ErrUnsupportedPolicy = errors.New("unsupported encryption policy")

// modePairs are the contents and filenames modes that may stand together, with
// the lowest policy version that takes them (fscrypt_valid_enc_modes_v1 and _v2
// in fs/crypto/policy.c).
var modePairs = []struct {
	contents, filenames Mode
	since               uint8
}{
	{AES256XTS, AES256CTS, 1},
	{AES128CBCESSIV, AES128CTS, 1},
	{Adiantum, Adiantum, 1},
	{AES256XTS, AES256HCTR2, 2},
	{SM4XTS, SM4CTS, 2},
}

// Validate checks those rules of fscrypt_supported_policy in fs/crypto/policy.c
// that need no file system: version, pair of modes, flags, and a data unit size
// of 512 bytes to 64 KiB. The error is an [ErrUnsupportedPolicy], and an
// [ErrUnknownMode] too if that is the reason.
//
// What depends on the file system is left to the caller: data units are no
// larger than its blocks, and with FlagIVInoLblk64 or FlagIVInoLblk32 inode
// numbers never change.
func (p Policy) Validate() error {
	unsupported := func(format string, args ...any) error {
		return fmt.Errorf("keys: %w: "+format, append([]any{ErrUnsupportedPolicy}, args...)...)
	}
	if p.Version != 1 && p.Version != 2 {
		return unsupported("version %d", p.Version)
	}
	for _, m := range []Mode{p.Contents, p.Filenames} {
		if !m.Known() {
			return unsupported("%w %d", ErrUnknownMode, uint8(m))
		}
	}
	pair := false
	for _, q := range modePairs {
		pair = pair || p.Contents == q.contents && p.Filenames == q.filenames && p.Version >= q.since
	}
	if !pair {
		return unsupported("%v for contents with %v for file names in version %d", p.Contents, p.Filenames, p.Version)
	}

	if p.Flags&^flagsAll != 0 {
		return unsupported("flags %#02x", uint8(p.Flags))
	}
	switch p.Flags & flagsIV {
	case 0:
	case FlagDirectKey:
		// The IV must have room for the index of the data unit and the nonce.
		if p.Contents != p.Filenames || p.Contents.IVSize() < 8+NonceSize {
			return unsupported("DIRECT_KEY with %v and %v", p.Contents, p.Filenames)
		}
	case FlagIVInoLblk64, FlagIVInoLblk32:
		if p.Version == 1 {
			return unsupported("flags %#02x in version 1", uint8(p.Flags))
		}
		if p.Contents != AES256XTS {
			return unsupported("IV_INO_LBLK with %v", p.Contents)
		}
	default:
		return unsupported("flags %#02x exclude each other", uint8(p.Flags))
	}

	switch {
	case p.Log2DataUnitSize == 0:
	case p.Version == 1:
		return unsupported("a data unit size in version 1")
	case p.Log2DataUnitSize < 9 || p.Log2DataUnitSize > 16:
		return unsupported("data units of 2^%d bytes", p.Log2DataUnitSize)
	}
	return nil
}
