package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"encfs/decrypt"
	"encfs/fs/dirstore"
	"encfs/fs/store"
	"encfs/keys"
	"encfs/keys/metadata"
)

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want int
	}{
		{"other", errors.New("x"), exitFailure},
		{"errno", syscall.ENOSPC, exitFailure},
		{"failure", failf(exitBusy, "", "x"), exitBusy},
		{"failure of another error", failf(exitMountPoint, "", "%w", keys.ErrNoKey), exitMountPoint},
		{"usage", usagef("x"), exitUsage},
		{"driver and CPU", &decrypt.UnusableError{}, exitUnsupported},
		{"self-test", decrypt.ErrSelfTest, exitSelfTest},
		{"no self-tests", decrypt.ErrNoSelfTests, exitUnsupported},
		{"no cipher directory", dirstore.ErrNotCipherDir, exitSource},
		{"root header", &store.DamagedError{Path: ".encfs-dir", Detail: "x"}, exitSource},
		{"other header", &store.DamagedError{Path: "a/.encfs-dir", Detail: "x"}, exitFailure},
		{"context", keys.ErrBadContext, exitSource},
		{"version", &dirstore.UnsupportedError{Path: ".encfs-dir", Feature: "format version 2"}, exitUnsupported},
		{"policy", keys.ErrUnsupportedPolicy, exitUnsupported},
		{"cipher", decrypt.ErrNoDriver, exitUnsupported},
		{"passphrase", keys.ErrPassphrase, exitKey},
		{"key file", keys.ErrKeyFile, exitKey},
		{"no key", keys.ErrNoKey, exitKey},
		{"wrong secret", metadata.ErrWrongSecret, exitKey},
		{"no metadata", metadata.ErrMissing, exitMetadata},
		{"no file of metadata", &metadata.FileError{Name: "x", Err: metadata.ErrMissing}, exitMetadata},
		{"damaged metadata", metadata.ErrDamaged, exitMetadata},
		{"link", &metadata.LinkError{}, exitMetadata},
		{"costs", metadata.ErrCosts, exitMetadata},
		{"memory", &metadata.MemoryError{}, exitFailure},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, _ := classify(fmt.Errorf("wrapped: %w", tt.err)); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestReport(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		code int
		text string
	}{
		{"none", nil, exitDone, ""},
		{"plain", errors.New("x"), exitFailure, "x"},
		{"hint", failf(exitBusy, "wait", "busy"), exitBusy, "busy; wait"},
		{"package", fmt.Errorf("dirstore: open a: %w", errors.New("keys: bad")), exitFailure, "open a: bad"},
		{"package in a failure", failf(exitBusy, "", "a: %w", fmt.Errorf("fs: mount: %w", errors.New("x"))), exitBusy, "a: mount: x"},
		{"package in usage", usageError{errors.New("workqueue: x")}, exitUsage, "x; see --help"},
		{"packages side by side", fmt.Errorf("decrypt: %w: %w", errors.New("keys: a"), errors.New("metadata: b")), exitFailure, "a: b"},
		{"path like a package", pathError("keys: a", errors.New("keys: b")), exitFailure, "keys: a: b"},
		{"failure with such a path", failf(exitBusy, "", "%s: %w", "fs: a", errors.New("fs: b")), exitBusy, "fs: a: b"},
		{"one line", errors.New("a\nb\x1b[2J"), exitFailure, `a\nb\x1b[2J`},
		{"first of several", errors.Join(failf(exitKey, "", "a"), failf(exitBusy, "", "b")), exitKey, "a\nencfs: b"},
		{"several in several", errors.Join(nil, errors.Join(failf(exitKey, "", "a")), errors.New("b")), exitKey, "a\nencfs: b"},
		{"reader gone", fmt.Errorf("standard output: %w", syscall.EPIPE), exitFailure, ""},
	} {
		t.Run(tt.name, func(t *testing.T) { checkReport(t, tt.err, tt.code, tt.text) })
	}
}

func TestPlainError(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"none", nil, ""},
		{"explained by the path", fmt.Errorf("dirstore: lookup XyZ: %w", syscall.ENOENT), "a/b: no such file or directory"},
		{"of the lower file", &fs.PathError{Op: "read", Path: "XyZ", Err: syscall.EIO}, "a/b: read XyZ: input/output error"},
		{"damage", &store.DamagedError{Path: "XyZ", Detail: "bad"}, "a/b: XyZ: bad"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := plainError("a/b", tt.err)
			checkError(t, err, tt.want)
			if err != nil && err.Error() != tt.want {
				t.Errorf("got %q, want %q", err, tt.want)
			}
		})
	}
}

// checkReport checks the exit code and the message of an error, which is empty
// for none.
func checkReport(t *testing.T, err error, code int, text string) {
	t.Helper()
	var out bytes.Buffer
	if got := report(&out, err); got != code {
		t.Errorf("exit code: got %d, want %d", got, code)
	}
	want := "encfs: " + text + "\n"
	if text == "" {
		want = ""
	}
	if got := out.String(); got != want {
		t.Errorf("message:\n got %q\nwant %q", got, want)
	}
}
