package disk

import (
	"bytes"
	"testing"

	"encfs/fs/ext4/ext4test"
)

func TestIdentify(t *testing.T) {
	at := func(off int, s string) []byte { return append(make([]byte, off), s...) }
	for _, tt := range []struct {
		name string
		b    []byte
		want string
	}{
		{"nothing", nil, ""},
		{"zeros", make([]byte, 100<<10), ""},
		{"LUKS", at(0, "LUKS\xba\xbe\x00\x02"), "a LUKS volume"},
		{"half a signature", at(0, "LUKS\xba"), ""},
		{"LUKS over ext4", append(append([]byte("LUKS\xba\xbe"), make([]byte, superblock-6)...), 0x53, 0xef), "a LUKS volume"},
		{"Btrfs", at(64<<10+64, "_BHRfS_M"), "a Btrfs file system"},
		{"LVM", at(512+24, "LVM2 001"), "an LVM physical volume"},
		{"swap", at(4086, "SWAPSPACE2"), "swap space"},
		{"FAT16", at(54, "FAT16   "), "a FAT file system"},
		{"f2fs", at(1024, "\x10\x20\xf5\xf2"), "an F2FS file system"},
		{"ext4", ext4test.Get("hash-tea").Image(t), ExtFileSystem},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Identify(bytes.NewReader(tt.b)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
