package ext4

import "bytes"

// found says what begins with b, which is not an ext4 file system.
func found(b []byte) string {
	switch {
	case len(b) == 0:
		return "it is empty"
	case len(bytes.Trim(b, "\x00")) == 0:
		return "it begins with zeros"
	case len(b) < superblockOffset+superblockSize:
		return "it is too short"
	}
	return "there is no superblock"
}
