package disk

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"unicode/utf16"
)

// The GUID partition table, as the UEFI specification, chapter 5, has it: a
// header in sector 1 that says where the entries are, and copies of both at the
// end of the disk. Numbers are little-endian.
const (
	gptSignature     = "EFI PART"
	gptHeaderSizeMin = 92
	gptEntrySizeMin  = 128
	gptEntrySizeMax  = 4096
	// gptEntriesMax is how many bytes of entries are read; most tables have 16 KiB.
	gptEntriesMax = 4 << 20
)

var le = binary.LittleEndian

// A gptHeader is what is used of a header.
type gptHeader struct {
	other      uint64 // sector of the other copy
	entries    uint64 // first sector of the entries
	count      uint32
	entrySize  uint32
	entriesSum uint32
}

// parseGPTHeader returns the header in a sector, or says what is wrong with it.
func parseGPTHeader(b []byte, sector uint64) (h gptHeader, problem string) {
	if !isGPTHeader(b) {
		return h, "there is none"
	}
	size := le.Uint32(b[12:])
	if size < gptHeaderSizeMin || int64(size) > int64(len(b)) {
		return h, fmt.Sprintf("it claims to have %d bytes", size)
	}
	counted := bytes.Clone(b[:size])
	clear(counted[16:20]) // the checksum itself
	if sum := crc32.ChecksumIEEE(counted); sum != le.Uint32(b[16:]) {
		return h, fmt.Sprintf("checksum is %08x, but computes to %08x", le.Uint32(b[16:]), sum)
	}
	if self := le.Uint64(b[24:]); self != sector {
		return h, fmt.Sprintf("it claims to be in sector %d, and is in %d", self, sector)
	}
	h = gptHeader{
		other:      le.Uint64(b[32:]),
		entries:    le.Uint64(b[72:]),
		count:      le.Uint32(b[80:]),
		entrySize:  le.Uint32(b[84:]),
		entriesSum: le.Uint32(b[88:]),
	}
	if h.entrySize < gptEntrySizeMin || h.entrySize > gptEntrySizeMax || h.entrySize&(h.entrySize-1) != 0 {
		return h, fmt.Sprintf("entries have %d bytes", h.entrySize)
	}
	if uint64(h.count)*uint64(h.entrySize) > gptEntriesMax {
		return h, fmt.Sprintf("it claims to have %d entries", h.count)
	}
	return h, ""
}

func isGPTHeader(b []byte) bool { return bytes.HasPrefix(b, []byte(gptSignature)) }

// gpt returns the table, nil if there is none. announced means that the MBR says
// that there is one; only then the copy at the end counts where nothing is at the
// beginning, as that is where a copy stays behind when a disk gets another use.
func (d *reader) gpt(announced bool) (*Table, error) {
	for _, size := range sectorSizes {
		b, err := d.sector(1, size)
		if err != nil {
			return nil, err
		}
		if isGPTHeader(b) {
			return d.gptOf(size, b)
		}
	}
	if !announced {
		return nil, nil
	}
	for _, size := range sectorSizes {
		b, err := d.sector(d.lastSector(size), size)
		if err != nil {
			return nil, err
		}
		if isGPTHeader(b) {
			return d.gptOf(size, nil)
		}
	}
	return nil, nil // nor is there more than the MBR to go by
}

// lastSector returns the number of the last sector.
func (d *reader) lastSector(sectorSize int) uint64 {
	return max(uint64(d.size)/uint64(sectorSize), 1) - 1
}

// gptOf returns the table of a disk on which at least one of the copies is.
// primary is sector 1.
func (d *reader) gptOf(sectorSize int, primary []byte) (*Table, error) {
	t := &Table{Kind: GPT, SectorSize: sectorSize}
	backup := d.lastSector(sectorSize)
	h, problem := parseGPTHeader(primary, 1)
	if problem == "" {
		problem, err := t.readEntries(d, h)
		if problem == "" || err != nil {
			return t, err
		}
		t.problem("GPT in sector 1: %s; its backup is used", problem)
		backup = h.other
	} else {
		t.problem("GPT in sector 1: %s; its backup is used", problem)
	}
	b, err := d.sector(backup, sectorSize)
	if err != nil {
		return nil, err
	}
	h, problem = parseGPTHeader(b, backup)
	if problem == "" {
		if problem, err = t.readEntries(d, h); err != nil {
			return nil, err
		}
	}
	if problem != "" {
		return nil, fmt.Errorf("disk: the GPT is damaged: in sector 1, and its backup in sector %d: %s", backup, problem)
	}
	return t, nil
}

// readEntries adds the partitions that a header leads to, or says what is wrong
// with the entries.
func (t *Table) readEntries(d *reader, h gptHeader) (problem string, err error) {
	size := uint64(h.count) * uint64(h.entrySize)
	sectors := uint64(d.size) / uint64(t.SectorSize)
	if h.entries >= sectors || size > (sectors-h.entries)*uint64(t.SectorSize) {
		return fmt.Sprintf("%d entries from sector %d on are behind the end of the disk", h.count, h.entries), nil
	}
	b, err := d.bytes(h.entries*uint64(t.SectorSize), int(size))
	if err != nil {
		return "", err
	}
	if sum := crc32.ChecksumIEEE(b); sum != h.entriesSum {
		return fmt.Sprintf("checksum of the entries is %08x, but computes to %08x", h.entriesSum, sum), nil
	}
	for n := range int(h.count) {
		e := b[n*int(h.entrySize):][:gptEntrySizeMin]
		if [16]byte(e) == [16]byte{} { // no type
			continue
		}
		first, last := le.Uint64(e[32:]), le.Uint64(e[40:])
		if last < first {
			t.problem("partition %d ends before it begins", n+1)
			continue
		}
		count := last - first
		if count+1 != 0 {
			count++
		}
		t.add(d, n+1, first, count, gptName(e[56:]))
	}
	t.checkOverlaps()
	return "", nil
}

// gptName returns the name of a partition: UTF-16 up to a zero.
func gptName(b []byte) string {
	var name []uint16
	for ; len(b) >= 2 && le.Uint16(b) != 0; b = b[2:] {
		name = append(name, le.Uint16(b))
	}
	return string(utf16.Decode(name))
}
