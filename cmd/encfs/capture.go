package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// captureErrors keeps in memory what programs that this process starts, such as
// fusermount3, write to standard error. The function that it returns ends that:
// it puts /dev/null in the place of standard error and returns the text, on one
// line.
func captureErrors() (end func() string, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("errors", unix.MFD_CLOEXEC)
	if err != nil {
		null.Close()
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	memory := os.NewFile(uintptr(fd), "errors")
	if err := unix.Dup3(fd, 2, 0); err != nil {
		null.Close()
		memory.Close()
		return nil, fmt.Errorf("dup3: %w", err)
	}
	return func() string {
		defer null.Close()
		defer memory.Close()
		unix.Dup3(int(null.Fd()), 2, 0)
		text := make([]byte, 4096)
		n, _ := memory.ReadAt(text, 0)
		return strings.Join(strings.Fields(string(text[:n])), " ")
	}, nil
}
