package ext4

import "bytes"

// signatures are those of what people have instead of an ext4 file system, within
// the first sectors.
var signatures = []struct {
	offset int
	bytes  string
	name   string
}{
	{0, "LUKS\xBA\xBE", "a LUKS volume, which has to be opened first"},
	{0, "XFSB", "an XFS file system"},
	{0, "hsqs", "a squashfs file system"},
	{0, "QFI\xFB", "a qcow2 image"},
	{0, "KDMV", "a VMDK image"},
	{0, "\x1F\x8B", "gzip data"},
	{0, "\x28\xB5\x2F\xFD", "zstd data"},
	{0, "\xFD7zXZ\x00", "xz data"},
	{0, "BZh", "bzip2 data"},
	{0, "\x3A\xFF\x26\xED", "an Android sparse image"},
	{1024, "\x10\x20\xF5\xF2", "an f2fs file system"},
	{512, "EFI PART", "a disk with a GPT partition table"},
	{510, "\x55\xAA", "a disk with a partition table, or a boot sector"},
}

// found says what begins with b, which is not an ext4 file system.
func found(b []byte) string {
	if len(b) == 0 {
		return "it is empty"
	}
	for _, s := range signatures {
		if len(b) > s.offset && bytes.HasPrefix(b[s.offset:], []byte(s.bytes)) {
			return "it looks like " + s.name
		}
	}
	if len(bytes.Trim(b, "\x00")) == 0 {
		return "it begins with zeros"
	}
	if len(b) < superblockOffset+superblockSize {
		return "it is too short"
	}
	return "there is no superblock"
}
