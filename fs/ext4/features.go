package ext4

import (
	"fmt"
	"strings"
)

// incompat are the features without which a file system must not be read
// (EXT4_FEATURE_INCOMPAT_*).
type incompat uint32

const (
	incompatCompression incompat = 0x1
	incompatFiletype    incompat = 0x2
	incompatRecover     incompat = 0x4
	incompatJournalDev  incompat = 0x8
	incompatMetaBG      incompat = 0x10
	incompatExtents     incompat = 0x40
	incompat64bit       incompat = 0x80
	incompatMMP         incompat = 0x100
	incompatFlexBG      incompat = 0x200
	incompatEAInode     incompat = 0x400
	incompatDirdata     incompat = 0x1000
	incompatCsumSeed    incompat = 0x2000
	incompatLargeDir    incompat = 0x4000
	incompatInlineData  incompat = 0x8000
	incompatEncrypt     incompat = 0x10000
	incompatCasefold    incompat = 0x20000

	incompatSupported = incompatFiletype | incompatRecover | incompatMetaBG | incompatExtents | incompat64bit |
		incompatMMP | incompatFlexBG | incompatEAInode | incompatCsumSeed | incompatLargeDir |
		incompatInlineData | incompatEncrypt | incompatCasefold
)

// Of the other features those that matter to a reader.
const (
	compatHasJournal   = 0x4
	compatDirIndex     = 0x20
	compatSparseSuper2 = 0x200

	roCompatSparseSuper  = 0x1
	roCompatHugeFile     = 0x8
	roCompatGDTCsum      = 0x10
	roCompatMetadataCsum = 0x400
)

func (f incompat) has(g incompat) bool { return f&g == g }

// unsupported returns the names of the features that this package does not
// know, as e2fsprogs writes them; "" if it knows all.
func (f incompat) unsupported() string {
	var names []string
	for rest := f &^ incompatSupported; rest != 0; rest &= rest - 1 {
		switch bit := rest & -rest; bit {
		case incompatCompression:
			names = append(names, "compression")
		case incompatJournalDev:
			names = append(names, "journal_dev")
		case incompatDirdata:
			names = append(names, "dirdata")
		default:
			names = append(names, fmt.Sprintf("incompat bit %#x", uint32(bit)))
		}
	}
	return strings.Join(names, ", ")
}
