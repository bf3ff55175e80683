package disk

import (
	"bytes"
	"io"
)

// ExtFileSystem is what Identify calls ext2, ext3 and ext4, which share a
// superblock.
const ExtFileSystem = "an ext4 file system"

// What Identify calls that which has to be opened by other programs first: an
// encrypted volume of dm-crypt, and parts of what LVM and Linux's RAID make.
const (
	LUKS = "a LUKS volume"
	LVM  = "an LVM physical volume"
	RAID = "a member of a Linux RAID"
)

// A signature is some bytes that tell what begins at a place.
type signature struct {
	offset int // of the bytes, from there
	bytes  string
	name   string
}

// contents are what partitions and disks hold. What can be at the beginning of
// another one, such as the remains of what was there before, comes first.
var contents = []signature{
	{0, "LUKS\xBA\xBE", LUKS},
	{3, "-FVE-FS-", "a BitLocker volume"},
	{4096, "\xFC\x4E\x2B\xA9", RAID},
	{0, "\xFC\x4E\x2B\xA9", RAID},
	{512 + 24, "LVM2 001", LVM},
	{0, "XFSB", "an XFS file system"},
	{64<<10 + 64, "_BHRfS_M", "a Btrfs file system"},
	{1024, "\x10\x20\xF5\xF2", "an F2FS file system"},
	{1024, "\xE2\xE1\xF5\xE0", "an EROFS file system"},
	{0, "hsqs", "a SquashFS file system"},
	{4096 - 10, "SWAPSPACE2", "swap space"},
	{3, "NTFS    ", "an NTFS file system"},
	{3, "EXFAT   ", "an exFAT file system"},
	{82, "FAT32   ", "a FAT file system"},
	{54, "FAT1", "a FAT file system"},
	{superblock, "\x53\xEF", ExtFileSystem},
	{32<<10 + 1, "CD001", "an ISO 9660 file system"},
}

// superblock is the offset of the magic number in the superblock of ext4.
const superblock = 1024 + 0x38

// identifySize is how much of a place Identify looks at, in bytes.
const identifySize = 64<<10 + 128

// Identify says what begins with the first bytes of r, as "an XFS file system",
// or "" if it is nothing known. It looks at no more than 65 KiB.
func Identify(r io.ReaderAt) string {
	b := make([]byte, identifySize)
	n, _ := r.ReadAt(b, 0)
	return match(contents, b[:n])
}

// match returns the name of the first signature that b begins with, "" if there
// is none.
func match(signatures []signature, b []byte) string {
	for _, s := range signatures {
		if len(b) > s.offset && bytes.HasPrefix(b[s.offset:], []byte(s.bytes)) {
			return s.name
		}
	}
	return ""
}
