package ext4

import (
	"fmt"

	"encfs/fs/store"
)

// A NotExt4Error means that there is no ext4 file system.
type NotExt4Error struct {
	Found string // what is there instead
}

func (e *NotExt4Error) Error() string { return "not an ext4 file system: " + e.Found }

// An UnsupportedError means a file system with a feature without which it
// cannot be read.
type UnsupportedError struct {
	Feature string
}

func (e *UnsupportedError) Error() string { return "unsupported ext4 feature: " + e.Feature }

// A TruncatedError means that the image ends before the file system does.
type TruncatedError struct {
	Size, Want int64 // of the image and of the file system, in bytes
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("truncated: %d bytes of a file system of %d", e.Size, e.Want)
}

// damaged returns a store.DamagedError.
func damaged(path, format string, args ...any) error {
	return &store.DamagedError{Path: path, Detail: fmt.Sprintf(format, args...)}
}

// damaged returns a store.DamagedError for an inode.
func (in *inode) damaged(format string, args ...any) error {
	return damaged(node(in.ino).String(), format, args...)
}
