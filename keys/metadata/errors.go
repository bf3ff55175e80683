package metadata

import (
	"errors"
	"fmt"
)

var (
	// ErrMissing means that a folder, policy or protector is not there.
	ErrMissing = errors.New("key metadata missing")

	// ErrDamaged means a file that is not what its place says.
	ErrDamaged = errors.New("key metadata damaged")

	// ErrWrongSecret means that a passphrase or key does not open a protector or
	// policy. Damage to the wrapped key looks the same, where a wrong secret is
	// possible.
	ErrWrongSecret = errors.New("wrong passphrase or key")

	// ErrCosts means costs of passphrase hashing that no Argon2id has, or that
	// would take hours.
	ErrCosts = errors.New("passphrase hashing costs out of range")

	// ErrReadOnly means that a Dir cannot be written, as it is in an image.
	ErrReadOnly = errors.New("key metadata is read-only")
)

// A FileError says which file of a .fscrypt folder is at fault.
type FileError struct {
	Folder string // as it was opened, such as "secret/.fscrypt"; ".fscrypt" in an image
	Name   string // within the folder, such as "policies/0123456789abcdef"
	Err    error
}

func (e *FileError) Error() string { return e.Folder + "/" + e.Name + ": " + e.Err.Error() }

func (e *FileError) Unwrap() error { return e.Err }

// A LinkError says that a protector is on another file system, whose .fscrypt
// folder was not among those that were given. It is an [ErrMissing].
type LinkError struct {
	Descriptor string
	Link       Link
}

func (e *LinkError) Error() string {
	return fmt.Sprintf("protector %s is on another file system (%v)", e.Descriptor, e.Link)
}

func (e *LinkError) Unwrap() error { return ErrMissing }

// A MemoryError says that hashing a passphrase needs more memory than can be had
// without the system killing processes.
type MemoryError struct {
	Need      uint64 // bytes
	Available uint64 // bytes
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("hashing this passphrase needs %d MiB of memory, %d MiB are available", e.Need>>20, e.Available>>20)
}

// damaged returns an ErrDamaged with the reason.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}
