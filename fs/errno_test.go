package fs

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"

	"encfs/fs/store"
	"encfs/keys"
	"encfs/workqueue"
)

func TestErrno(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want syscall.Errno
	}{
		{"none", nil, 0},
		{"an errno", syscall.ENOSPC, syscall.ENOSPC},
		{"a wrapped errno", fmt.Errorf("write: %w", fmt.Errorf("pwritev: %w", syscall.EDQUOT)), syscall.EDQUOT},
		{"damage", &store.DamagedError{Path: "x", Detail: "wrong tag"}, syscall.EIO},
		{"no key", fmt.Errorf("open: %w", keys.ErrNoKey), syscall.ENOKEY},
		{"a file cut short", io.ErrUnexpectedEOF, syscall.EIO},
		{"canceled", fmt.Errorf("read: %w", workqueue.ErrCanceled), syscall.EINTR},
		{"unknown", errors.New("?"), syscall.EIO},
		{"never ENOSYS", syscall.ENOSYS, syscall.EIO},
		{"never success", syscall.Errno(0), syscall.EIO},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Errno(tt.err); got != tt.want {
				t.Errorf("Errno(%v) = %v, want %v", tt.err, got, tt.want)
			}
		})
	}
}
