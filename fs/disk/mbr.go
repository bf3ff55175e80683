package disk

// The partition table of the PC, which has no standard; this is what fdisk and
// the kernel (block/partitions/msdos.c) agree on. A sector with four entries,
// one of which may be an extended partition: a chain of such sectors, each with a
// logical partition and the place of the next sector.
const (
	mbrEntries   = 446
	mbrEntrySize = 16
	mbrCount     = 4
	mbrSize      = 512 // of sectors of 4096 bytes it is the beginning

	mbrActive     = 0x80
	mbrProtective = 0xEE

	// logicalFirst is the number of the first logical partition.
	logicalFirst = mbrCount + 1
	// logicalMax is how many logical partitions are read.
	logicalMax = 256
)

// An mbr is the four entries of a sector.
type mbr [mbrCount]mbrEntry

// An mbrEntry is a partition, or empty. Numbers are in sectors.
type mbrEntry struct {
	kind         byte
	first, count uint64
}

func (e mbrEntry) isEmpty() bool { return e.kind == 0 || e.count == 0 }

// isExtended reports whether the entry is a chain of logical partitions.
func (e mbrEntry) isExtended() bool {
	switch e.kind {
	case 0x05, 0x0F, 0x85:
		return !e.isEmpty()
	}
	return false
}

// protective reports whether the entries say that there is a GPT.
func (m *mbr) protective() bool {
	for _, e := range m {
		if e.kind == mbrProtective {
			return true
		}
	}
	return false
}

// mbr returns the entries of a sector, and whether it has such: the signature,
// and nothing that entries do not have. The boot sectors of some file systems
// have the signature too.
func (d *reader) mbr(sector uint64, sectorSize int) (m mbr, ok bool, err error) {
	b, err := d.sector(sector, sectorSize)
	if b == nil || err != nil || b[mbrSize-2] != 0x55 || b[mbrSize-1] != 0xAA {
		return m, false, err
	}
	used := false
	for n := range m {
		e := b[mbrEntries+n*mbrEntrySize:]
		if e[0]&^mbrActive != 0 {
			return m, false, nil
		}
		m[n] = mbrEntry{e[4], uint64(le.Uint32(e[8:])), uint64(le.Uint32(e[12:]))}
		used = used || !m[n].isEmpty()
	}
	return m, used, nil
}

// mbrTable returns the table of a disk with an MBR. In sectors of which size it
// counts it does not say: those in which more of what is on the disk shows.
func (d *reader) mbrTable(boot mbr) (*Table, error) {
	var best *Table
	known := 0
	for _, size := range sectorSizes {
		t := &Table{Kind: MBR, SectorSize: size}
		if err := t.readMBR(d, boot); err != nil {
			return nil, err
		}
		if n := t.known(d); best == nil || n > known {
			best, known = t, n
		}
	}
	if boot.protective() {
		best.problem("the MBR announces a GPT, and there is none")
	}
	return best, nil
}

// readMBR adds the partitions of an MBR.
func (t *Table) readMBR(d *reader, boot mbr) error {
	for n, e := range boot {
		if !e.isEmpty() && !e.isExtended() && e.kind != mbrProtective {
			t.add(d, n+1, e.first, e.count, "")
		}
	}
	number := logicalFirst
	for _, e := range boot {
		if e.isExtended() {
			if err := t.readExtended(d, e, &number); err != nil {
				return err
			}
		}
	}
	t.checkOverlaps()
	return nil
}

// readExtended adds the logical partitions of an extended one. Where they begin is
// said from the sector that describes them, and where the next such sector is from
// the beginning of the extended partition.
func (t *Table) readExtended(d *reader, extended mbrEntry, number *int) error {
	seen := map[uint64]bool{}
	for at := extended.first; ; {
		if seen[at] {
			t.problem("the chain of logical partitions comes back to sector %d", at)
			return nil
		}
		if seen[at] = true; len(seen) > logicalMax || *number >= logicalFirst+logicalMax {
			t.problem("there are more than %d logical partitions", logicalMax)
			return nil
		}
		m, ok, err := d.mbr(at, t.SectorSize)
		if err != nil {
			return err
		}
		if !ok {
			// fdisk leaves the first sector empty where there is no partition yet.
			if at != extended.first {
				t.problem("the chain of logical partitions leads to sector %d, which has none", at)
			}
			return nil
		}
		next := uint64(0)
		for _, e := range m {
			switch {
			case e.isEmpty():
			case e.isExtended():
				if next == 0 {
					next = extended.first + e.first
				}
			default:
				t.add(d, *number, at+e.first, e.count, "")
				*number++
			}
		}
		if next == 0 {
			return nil
		}
		at = next
	}
}
