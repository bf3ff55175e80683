package dirstore

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// A LostHeaderError means a root without its header that has the rest of a cipher
// directory.
type LostHeaderError struct {
	// Copy says that the directory has a copy of the header in the extended attribute
	// user.encfs.dir. Nothing has vouched for it yet.
	Copy bool
	// Empty says that there are no objects, as an interrupted init leaves it.
	Empty bool
}

func (e *LostHeaderError) Error() string { return "the header " + headerName + " is missing" }

// withoutHeader returns the error for a directory without a header: a
// *LostHeaderError, or ErrNotCipherDir for one that is none. fd is of O_PATH.
func withoutHeader(fd int) error {
	dir, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotCipherDir, err)
	}
	defer unix.Close(dir)
	metadata, objects, others := false, 0, 0
	err = eachEntry(dir, func(name string, _ uint64, _ uint32) bool {
		switch kindOf(name, true) {
		case nameMetadata:
			metadata = true
		case nameLong:
			objects++
		case nameObject:
			if looksEncoded(name) {
				objects++
			} else {
				others++
			}
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotCipherDir, err)
	}
	value, err := getxattr(dir, headerXattr)
	e := &LostHeaderError{Copy: err == nil && len(value) == headerSize, Empty: objects+others == 0}
	if e.Copy || metadata || objects > 0 && others == 0 {
		return e
	}
	return ErrNotCipherDir
}

// looksEncoded reports whether a name is likely to be that of an object and not any
// word of letters and digits: encrypted names have whole units of the least padding.
func looksEncoded(lower string) bool {
	name, err := decodeName(lower)
	return err == nil && len(name)%minPadding == 0 && strings.ToLower(lower) != lower
}

// minPadding is the least that a policy pads names to, in bytes.
const minPadding = 4
