package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrNoTable means that there is no partition table.
var ErrNoTable = errors.New("no partition table")

// A Kind is a kind of partition table.
type Kind string

// The kinds that ReadTable knows.
const (
	GPT Kind = "GPT"
	MBR Kind = "MBR"
)

// A Table lists the partitions of a disk.
type Table struct {
	Kind       Kind
	SectorSize int         // in bytes, in which the table counts
	Partitions []Partition // in the order of their numbers
	// Problems says what is wrong with the table, and was got around: a damaged
	// copy, a chain that does not end, partitions over each other.
	Problems []string
}

// A Partition is a part of a disk. It lies within it.
type Partition struct {
	Number int    // as Linux counts: from 1 in a GPT, from 5 on in an extended partition
	Start  int64  // in bytes
	Size   int64  // in bytes, at least 1, as far as the disk reaches
	Name   string // which a GPT may give it, else ""
}

// Section returns the part of the disk that a partition is.
func (p Partition) Section(disk io.ReaderAt) *io.SectionReader {
	return io.NewSectionReader(disk, p.Start, p.Size)
}

// sectorSizes are those that disks have. Images do not say which.
var sectorSizes = []int{512, 4096}

// ReadTable reads the partition table of a disk of size bytes. A GPT counts if
// the MBR says that there is one, as one that is hybrid does too, or if there is
// no MBR at all. Of a GPT whose first copy is damaged it reads the other one.
//
// Empty entries and those that begin behind the end of the disk are left out, the
// latter with a problem. The error is ErrNoTable, one of reading, or says what is
// wrong with a table of which nothing can be used.
func ReadTable(r io.ReaderAt, size int64) (*Table, error) {
	d := &reader{r, size}
	boot, hasMBR, err := d.mbr(0, sectorSizes[0])
	if err != nil {
		return nil, err
	}
	if !hasMBR || boot.protective() {
		t, err := d.gpt(hasMBR)
		if t != nil || err != nil {
			return t, err
		}
	}
	if !hasMBR {
		return nil, ErrNoTable
	}
	return d.mbrTable(boot)
}

// A reader reads a disk.
type reader struct {
	io.ReaderAt
	size int64
}

// sector returns the sector with a number, nil if the disk has none.
func (d *reader) sector(nr uint64, sectorSize int) ([]byte, error) {
	if nr >= uint64(d.size)/uint64(sectorSize) {
		return nil, nil
	}
	return d.bytes(nr*uint64(sectorSize), sectorSize)
}

// bytes returns n bytes of the disk, all of them in it.
func (d *reader) bytes(off uint64, n int) ([]byte, error) {
	b := make([]byte, n)
	if got, err := d.ReadAt(b, int64(off)); got < n {
		return nil, fmt.Errorf("disk: read %d bytes at %d: %w", n, off, err)
	}
	return b, nil
}

// add adds the partition of some sectors, of which there is at least one.
func (t *Table) add(d *reader, number int, first, count uint64, name string) {
	sectors := uint64(d.size) / uint64(t.SectorSize)
	if first >= sectors {
		t.problem("partition %d begins behind the end of the disk", number)
		return
	}
	if count > sectors-first {
		t.problem("partition %d reaches over the end of the disk", number)
		count = sectors - first
	}
	t.Partitions = append(t.Partitions, Partition{
		Number: number,
		Start:  int64(first) * int64(t.SectorSize),
		Size:   int64(count) * int64(t.SectorSize),
		Name:   name,
	})
}

// problemsMax bounds how many problems are told.
const problemsMax = 16

func (t *Table) problem(format string, args ...any) {
	if len(t.Problems) < problemsMax {
		t.Problems = append(t.Problems, fmt.Sprintf(format, args...))
	}
}

// checkOverlaps tells of partitions over each other.
func (t *Table) checkOverlaps() {
	byStart := slices.SortedFunc(slices.Values(t.Partitions), func(a, b Partition) int { return cmp.Compare(a.Start, b.Start) })
	var last Partition // the one that reaches furthest so far
	for _, p := range byStart {
		if p.Start < last.Start+last.Size {
			t.problem("partitions %d and %d overlap", min(last.Number, p.Number), max(last.Number, p.Number))
		}
		if p.Start+p.Size > last.Start+last.Size {
			last = p
		}
	}
}

// known returns how many partitions hold something that Identify knows.
func (t *Table) known(d *reader) int {
	n := 0
	for _, p := range t.Partitions {
		if Identify(p.Section(d)) != "" {
			n++
		}
	}
	return n
}
