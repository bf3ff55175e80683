package dirstore

import (
	"slices"

	"golang.org/x/sys/unix"
)

// remoteTypes are the numbers, as in linux/magic.h and statfs(2), of file systems
// that may put off what they are given to write until the file is closed, and tell
// only then that it failed.
var remoteTypes = []uint32{
	unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.AFS_SUPER_MAGIC,
	unix.AFS_FS_MAGIC, unix.CODA_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC, unix.V9FS_MAGIC, unix.NCP_SUPER_MAGIC,
	unix.FUSE_SUPER_MAGIC, // of which nobody knows
}

func isRemote(st *unix.Statfs_t) bool { return slices.Contains(remoteTypes, uint32(st.Type)) }

// Remote implements store.Remote. It judges by the file system that the root is on.
func (s *Store) Remote() bool { return s.remote }

// Flush implements store.Flusher: closing any descriptor of a file flushes it.
func (f *fileWriter) Flush() error {
	fd, err := unix.FcntlInt(uintptr(f.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		if err = unix.Close(fd); err == unix.EINTR {
			err = nil // it is closed nevertheless
		}
	}
	if err != nil {
		return f.failed("flush", err)
	}
	return nil
}
