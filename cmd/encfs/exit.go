package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"encfs/decrypt"
	"encfs/fs/dirstore"
	"encfs/fs/store"
	"encfs/keys"
	"encfs/keys/metadata"
)

// Exit codes. Scripts depend on them.
const (
	exitDone        = 0
	exitFailure     = 1  // any other failure
	exitUsage       = 2  // wrong arguments
	exitSource      = 10 // source missing, not recognised, or damaged beyond opening
	exitMountPoint  = 11 // mount point not fit, or FUSE not available
	exitKey         = 12 // wrong, empty or no passphrase or key
	exitMetadata    = 13 // key metadata missing or damaged
	exitUnsupported = 14 // needs a feature that encfs does not have
	exitBusy        = 15
	exitSelfTest    = 20 // a self-test failed and nothing could take the driver's place
	exitProblems    = 26 // what was to be checked has problems
)

// A failure is an error that a command found itself, with its exit code and, in
// hint, what the user can do about it.
type failure struct {
	code int
	hint string
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// failf returns a failure. The hint may be empty.
func failf(code int, hint, format string, args ...any) error {
	return &failure{code: code, hint: hint, err: ownError{fmt.Errorf(format, args...)}}
}

// A usageError means that the arguments are wrong.
type usageError struct{ err error }

func (u usageError) Error() string { return u.err.Error() }
func (u usageError) Unwrap() error { return u.err }

func usagef(format string, args ...any) error {
	return usageError{ownError{fmt.Errorf(format, args...)}}
}

// report writes err to w, on one line with a remedy where there is one, and
// returns the exit code for it. Errors that were joined get a line each, and the
// first one decides. It writes nothing for nil and when the reader of a pipe has
// gone.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	// Not those that wrap several errors into a text of their own.
	if joined, ok := err.(interface{ Unwrap() []error }); ok && err.Error() == errors.Join(joined.Unwrap()...).Error() {
		code := exitDone
		for _, e := range joined.Unwrap() {
			if c := report(w, e); code == exitDone {
				code = c
			}
		}
		return code
	}
	code, hint := classify(err)
	if errors.Is(err, syscall.EPIPE) {
		return code
	}
	text := message(err)
	if hint != "" {
		text += "; " + hint
	}
	fmt.Fprintln(w, "encfs: "+printable(text))
	return code
}

// An ownError has a text that a command wrote, perhaps with a path at the beginning.
type ownError struct{ err error }

func (o ownError) Error() string { return o.err.Error() }
func (o ownError) Unwrap() error { return o.err }

// packageNames begin the texts of errors, for programmers.
var packageNames = []string{
	"bench: ", "cpufeat: ", "decrypt: ", "dirstore: ", "disk: ", "ext4: ", "fs: ", "keys: ", "metadata: ", "qcow2: ", "simulate: ",
	"workqueue: ", `workqueue "` + queueName + `": `,
}

// message returns the text of an error without the names of packages, which begin the
// texts of errors in its tree.
func message(err error) string { return withoutPackages(err.Error(), err) }

func withoutPackages(text string, err error) string {
	switch e := err.(type) {
	case *failure, usageError: // have the text of the next one
	case ownError:
		err = e.err
	default:
		inner := err.Error()
		for _, name := range packageNames {
			if bare, ok := strings.CutPrefix(inner, name); ok {
				text = strings.Replace(text, inner, bare, 1)
			}
		}
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			text = withoutPackages(text, e)
		}
	} else if next := errors.Unwrap(err); next != nil {
		text = withoutPackages(text, next)
	}
	return text
}

// classify returns the exit code of an error and what the user can do about it,
// "" if nothing is known.
func classify(err error) (code int, hint string) {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.code, f.hint
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage, "see --help"
	}
	if e, ok := errors.AsType[*dirstore.UnsupportedError](err); ok {
		return exitUnsupported, "a newer encfs may know " + e.Feature
	}
	if e, ok := errors.AsType[*store.DamagedError](err); ok {
		if e.Path == headerName {
			return exitSource, "restore it from a backup, or from the copy in an attribute of its directory: getfattr --only-values -n user.encfs.dir DIR >DIR/.encfs-dir"
		}
		return exitFailure, "the lower file is damaged; restore it from a backup"
	}
	if _, ok := errors.AsType[*metadata.LinkError](err); ok {
		return exitMetadata, "say with --metadata where that is"
	}
	if _, ok := errors.AsType[*decrypt.UnusableError](err); ok {
		return exitUnsupported, ""
	}
	if _, ok := errors.AsType[*metadata.MemoryError](err); ok {
		return exitFailure, "free some memory, or open with --key-file"
	}
	switch {
	case errors.Is(err, metadata.ErrWrongSecret):
		return exitKey, ""
	case errors.Is(err, metadata.ErrMissing), errors.Is(err, metadata.ErrDamaged), errors.Is(err, metadata.ErrCosts):
		return exitMetadata, "restore .fscrypt from a backup, perhaps with encfs key restore, or open with --key-file and the raw master key"
	case errors.Is(err, dirstore.ErrNotCipherDir):
		return exitSource, "encfs init makes one"
	case errors.Is(err, keys.ErrBadContext):
		return exitSource, "restore it from a backup"
	case errors.Is(err, keys.ErrUnsupportedPolicy), errors.Is(err, decrypt.ErrNoDriver):
		return exitUnsupported, ""
	case errors.Is(err, decrypt.ErrSelfTest):
		return exitSelfTest, "the CPU or the program is faulty; encfs selftest tells more"
	case errors.Is(err, decrypt.ErrNoSelfTests):
		return exitUnsupported, ""
	case errors.Is(err, keys.ErrPassphrase), errors.Is(err, keys.ErrKeyFile), errors.Is(err, keys.ErrNoKey):
		return exitKey, ""
	}
	return exitFailure, ""
}

// headerName is the file with the header of a directory.
const headerName = ".encfs-dir"

// pathError puts the path of a file before err, nil if err is nil.
func pathError(path string, err error) error {
	if err == nil {
		return nil
	}
	return ownError{fmt.Errorf("%s: %w", path, err)}
}

// plainError is pathError for a path in the clear. Of errors that the path explains,
// such as ENOENT, it leaves out where the object lies encrypted; of damage it does
// not.
func plainError(path string, err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok && errno != syscall.EIO {
		err = errno
	}
	return pathError(path, err)
}
