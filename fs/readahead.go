package fs

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// setReadAhead has the kernel read as far ahead in a file as one request can carry,
// ShortcutReadAhead. In its reply to INIT a file system can only ask for less than the
// 128 KiB that the kernel begins with; more is set as for a disk, which takes root.
func setReadAhead(mountPoint string) error {
	var st unix.Stat_t
	if err := unix.Stat(mountPoint, &st); err != nil {
		return fmt.Errorf("fs: read-ahead: %w", err)
	}
	path := fmt.Sprintf("/sys/class/bdi/%d:%d/read_ahead_kb", unix.Major(st.Dev), unix.Minor(st.Dev))
	if err := os.WriteFile(path, fmt.Append(nil, maxReadAhead>>10), 0); err != nil {
		return fmt.Errorf("fs: read-ahead: %w", err)
	}
	return nil
}
