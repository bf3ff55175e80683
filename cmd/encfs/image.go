package main

import (
	"errors"
	"io"
	"log/slog"
	"os"

	"encfs/fs"
	"encfs/fs/disk"
	"encfs/fs/ext4"
	"encfs/fs/store"
	"encfs/keys"
)

// An imageSource is an image or device as it is asked for.
type imageSource struct {
	path      string
	partition int  // of a disk with partitions; 0 is the only one with ext4
	force     bool // even if others may change it meanwhile
	known     bool // it has been open before: what is odd about it has been said
}

// openImage opens the file system in a file or block device, which is only read.
// One that others may change meanwhile is refused, unless force is set. What is
// odd about it goes to the log.
func openImage(src imageSource, log *slog.Logger) (*ext4.Store, error) {
	f, err := os.Open(src.path)
	if err != nil {
		return nil, failf(exitSource, "", "source: %w", err)
	}
	st, err := func() (*ext4.Store, error) {
		if !src.force {
			if err := checkUnused(f, src.path); err != nil {
				return nil, err
			}
		}
		size, err := f.Seek(0, io.SeekEnd) // of devices too
		if err != nil {
			return nil, failf(exitSource, "", "source: %w", err)
		}
		d, err := disk.Open(f, size)
		if err != nil {
			return nil, err
		}
		part, err := src.fileSystem(d, d.Size, log)
		if err == nil {
			var st *ext4.Store
			if st, err = ext4.Open(openedPart{part, f, d}, part.Size(), ext4.Options{}); err == nil {
				return st, nil
			}
		}
		d.Close()
		return nil, err
	}()
	if err != nil {
		f.Close()
		return nil, imageError(src.path, err)
	}
	return st, nil
}

// An openedPart is a part of the disk in an open file. To close it is to close
// both.
type openedPart struct {
	*io.SectionReader
	file *os.File
	disk *disk.Image
}

func (p openedPart) Close() error { return errors.Join(p.disk.Close(), p.file.Close()) }

// imageError gives the errors of opening an image their exit codes, if they have none.
func imageError(name string, err error) error {
	if _, ok := errors.AsType[*failure](err); ok {
		return err
	}
	if e, ok := errors.AsType[*disk.UnsupportedError](err); ok {
		return failf(exitUnsupported, e.Remedy, "source %s is %w", name, e)
	}
	if errors.Is(err, disk.ErrDamaged) {
		return failf(exitSource, "", "source %s: %w", name, err)
	}
	if e, ok := errors.AsType[*ext4.NotExt4Error](err); ok {
		return failf(exitSource, sourceHint, "source %s is not recognised: %s", name, e.Found)
	}
	if e, ok := errors.AsType[*ext4.UnsupportedError](err); ok {
		return failf(exitUnsupported, "", "source %s: %w", name, e)
	}
	if e, ok := errors.AsType[*ext4.TruncatedError](err); ok {
		return failf(exitSource, "", "source %s: %w", name, e)
	}
	if e, ok := errors.AsType[*store.DamagedError](err); ok {
		return failf(exitSource, "e2fsck may repair a copy of it", "source %s: %w", name, e)
	}
	return err
}

// openImageVolume opens an image with the keys in a ring, which it takes over.
func openImageVolume(src imageSource, ring *keys.Keyring, o fs.Options) (*fs.Volume, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	st, err := openImage(src, o.Log)
	if err != nil {
		ring.Close()
		return nil, err
	}
	v, err := fs.NewVolume(st, ring, o)
	if err != nil {
		st.Close()
		ring.Close()
		return nil, err
	}
	return v, nil
}

// openImageForReading is openToRead for an image.
func openImageForReading(source string, k *keyFlags, drivers driverOptions, o fs.Options, c console) (v *fs.Volume, err error) {
	if o.Drivers, err = drivers.table(o.Log); err != nil {
		return nil, err
	}
	src := k.images.source(source)
	locked, err := openImageVolume(src, new(keys.Keyring), fs.Options{Log: o.Log})
	if err != nil {
		return nil, err
	}
	mks, err := k.unlockImage(source, locked, c)
	locked.Close()
	if err != nil {
		return nil, err
	}
	src.known = true
	return openImageVolume(src, mks.ring(), o)
}
