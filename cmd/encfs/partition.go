package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"encfs/fs/disk"
	"encfs/fs/ext4"
)

// openers say what to do about that which has a file system behind something else.
var openers = map[string]string{
	disk.LUKS: "open it with cryptsetup first, and give the device that this makes",
	disk.LVM:  "activate its volume group with vgchange first, and give the device of a volume",
	disk.RAID: "assemble it with mdadm first, and give the device that this makes",
}

// imageFlags are the flags that say how to open an image or device.
type imageFlags struct {
	partition positive
	force     bool
}

func (f *imageFlags) add(flags *pflag.FlagSet) {
	flags.Var(&f.partition, "partition", "open partition `N` of a whole disk; without it the only one with ext4")
	flags.BoolVar(&f.force, "force", false, "open an image or device even if it is mounted, which may show it in the middle of a change")
}

// source returns the image or device with a path.
func (f *imageFlags) source(path string) imageSource {
	return imageSource{path: path, partition: int(f.partition), force: f.force}
}

// checkDirectory returns an error if there are flags that a cipher directory cannot
// have.
func (f *imageFlags) checkDirectory() error {
	if f.partition != 0 {
		return usagef("--partition: a cipher directory has none")
	}
	return nil
}

// fileSystem returns the part of a disk of size bytes in which the file system is
// that is meant: all of it, or a partition. What is wrong with the partition table
// goes to the log.
func (s imageSource) fileSystem(d io.ReaderAt, size int64, log *slog.Logger) (*io.SectionReader, error) {
	if s.known {
		log = slog.New(slog.DiscardHandler)
	}
	partitions, err := listPartitions(d, size, s.path, log)
	if err != nil {
		return nil, err
	}
	whole := io.NewSectionReader(d, 0, size)
	found, _, isExt4 := identify(whole)
	switch {
	case isExt4 && s.partition == 0 && !slices.ContainsFunc(partitions, func(p diskPartition) bool { return p.isExt4 }):
		// A boot sector may look like a table.
		return whole, nil
	case len(partitions) > 0:
		p, err := s.choose(partitions)
		if err != nil {
			return nil, err
		}
		return p.Section(d), nil
	case s.partition != 0:
		return nil, usagef("--partition: %s is not a disk with partitions", s.path)
	}
	if openers[found] != "" {
		return nil, failf(exitSource, openers[found], "source %s is %s", s.path, found)
	} else if found != "" && found != disk.ExtFileSystem {
		return nil, failf(exitSource, sourceHint, "source %s is not recognised: it looks like %s", s.path, found)
	}
	return whole, nil // which says what is there instead of ext4, or is wrong with it
}

// A diskPartition is a partition with what is in it.
type diskPartition struct {
	disk.Partition
	found  string     // as disk.Identify has it
	isExt4 bool       // and label is known
	label  ext4.Label // of the file system
}

// listPartitions returns the partitions of a disk, none if it has no table of such.
func listPartitions(d io.ReaderAt, size int64, name string, log *slog.Logger) ([]diskPartition, error) {
	table, err := disk.ReadTable(d, size)
	if errors.Is(err, disk.ErrNoTable) {
		return nil, nil
	}
	if err != nil {
		return nil, failf(exitSource, "", "source %s: %w", name, err)
	}
	for _, p := range table.Problems {
		log.Warn("partition table", "source", name, "problem", p)
	}
	var partitions []diskPartition
	for _, p := range table.Partitions {
		listed := diskPartition{Partition: p}
		listed.found, listed.label, listed.isExt4 = identify(p.Section(d))
		partitions = append(partitions, listed)
	}
	return partitions, nil
}

// identify says what a part of a disk is, as disk.Identify does, and whether it is
// ext4. What has the signature of something else is not, as a superblock may be left
// of what was there before.
func identify(part *io.SectionReader) (found string, label ext4.Label, isExt4 bool) {
	found = disk.Identify(part)
	if found == "" || found == disk.ExtFileSystem {
		label, isExt4 = ext4.ReadLabel(part)
	}
	return found, label, isExt4
}

// choose returns the partition that is meant: the one with the number that was
// given, or the only one with ext4.
func (s imageSource) choose(partitions []diskPartition) (diskPartition, error) {
	var ext []diskPartition
	for _, p := range partitions {
		if s.partition == p.Number {
			if p.isExt4 {
				return p, nil
			}
			return p, failf(exitSource, openers[p.found], "source %s: %s", s.path, p)
		}
		if p.isExt4 {
			ext = append(ext, p)
		}
	}
	switch {
	case s.partition != 0:
		return diskPartition{}, failf(exitSource, "", "source %s has no partition %d: %s", s.path, s.partition, describePartitions(partitions))
	case len(ext) == 1:
		return ext[0], nil
	case len(ext) > 1:
		return diskPartition{}, failf(exitUsage, "say with --partition which one",
			"source %s has %d partitions with ext4: %s", s.path, len(ext), describePartitions(ext))
	}
	hint := ""
	for _, p := range partitions {
		hint = cmp.Or(hint, openers[p.found])
	}
	return diskPartition{}, failf(exitSource, hint, "source %s has no partition with ext4: %s", s.path, describePartitions(partitions))
}

// String describes a partition in a sentence.
func (p diskPartition) String() string {
	return fmt.Sprintf("partition %d (%s) is %s", p.Number, p.details(), p.content())
}

func (p diskPartition) content() string {
	if p.found == "" {
		return "nothing that is known"
	}
	return p.found
}

// details returns size, and name and UUID where there are such.
func (p diskPartition) details() string {
	details := binarySize(p.Size)
	name := p.Name
	if p.label.Name != "" {
		name = p.label.Name
	}
	if name != "" {
		details += fmt.Sprintf(", %q", name)
	}
	if p.isExt4 {
		u := p.label.UUID
		details += fmt.Sprintf(", UUID %x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
	}
	return details
}

// describedMax is how many partitions a message describes.
const describedMax = 16

func describePartitions(partitions []diskPartition) string {
	var texts []string
	for n, p := range partitions {
		if n == describedMax {
			texts = append(texts, fmt.Sprintf("and %d more", len(partitions)-n))
			break
		}
		texts = append(texts, p.String())
	}
	return strings.Join(texts, ", ")
}

// binarySize returns a number of bytes as one of KiB, MiB or more.
func binarySize(n int64) string {
	unit, size := 0, float64(n)
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	for size >= 1024 && unit < len(units)-1 {
		unit, size = unit+1, size/1024
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}
