package fs

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Requests about the contents of files. There are no file handles: the volume
// keeps one open file for each inode, whatever number of openings it has, and
// the kernel has checked what each opening allows. With ShortcutNoOpen it is the
// volume's business alone when that file is open.

// opened fills the reply to an opening. Nobody else changes the contents of an
// ordinary mount, so what the kernel has cached of the file holds.
func (f *FS) opened(out *fuse.OpenOut) {
	if f.cache > 0 {
		out.OpenFlags |= fuse.FOPEN_KEEP_CACHE
	}
}

// Open answers ENOSYS for ShortcutNoOpen, after which the kernel sends neither OPEN
// nor RELEASE any more.
func (f *FS) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if f.noOpen {
		return fuse.ENOSYS
	}
	write := in.Flags&syscall.O_ACCMODE != syscall.O_RDONLY
	if err := f.v.Open(f.inode(in.NodeId), write); err != nil {
		return status(err)
	}
	f.opened(out)
	return fuse.OK
}

// Release answers to nobody, so that an error, as network file systems tell it
// last, goes to the log.
func (f *FS) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	if f.noOpen {
		return // of a file that was created before the first OPEN
	}
	if err := f.v.CloseFile(f.inode(in.NodeId)); err != nil {
		f.v.opts.Log.Error("closing a file failed, perhaps with data not written", "error", err)
	}
}

// Read may be interrupted. As go-fuse uses buf again for another request,
// nothing may write to it afterwards.
func (f *FS) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	i := f.inode(in.NodeId)
	if p := i.listed.Load(); p != 0 && in.Offset == 0 && p == in.Pid && i.listed.CompareAndSwap(p, 0) {
		f.ahead.scans.hit(p)
	}
	n := 0
	err := interruptible(cancel, in.Pid, func(cancel <-chan struct{}) (err error) {
		n, err = f.v.readUntil(i, buf[:min(len(buf), int(in.Size))], int64(in.Offset), cancel)
		return err
	})
	if err != nil {
		return nil, status(err)
	}
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

func (f *FS) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	var drop func() error
	if in.WriteFlags&fuse.WRITE_KILL_SUIDGID != 0 {
		var err error
		if drop, err = f.dropping(in.NodeId); err != nil {
			return 0, status(err)
		}
	}
	n, err := f.v.WriteAt(f.inode(in.NodeId), data, int64(in.Offset))
	if drop != nil && n > 0 {
		err = drop()
	}
	return uint32(n), status(err)
}

// Writev makes go-fuse call Write; its data comes in one piece.
func (f *FS) Writev(_ <-chan struct{}, _ *fuse.WriteIn, _ [][]byte) (uint32, fuse.Status) {
	return 0, fuse.ENOSYS
}

// Flush has nothing to do on a local file system, as writes are not delayed; ENOSYS
// spares the request at each close from then on. Network file systems delay them
// until a file is closed.
func (f *FS) Flush(_ <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	if !f.remote {
		return fuse.ENOSYS
	}
	return status(f.v.Flush(f.inode(in.NodeId)))
}

func (f *FS) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	const dataOnly = 1 // FUSE_FSYNC_FDATASYNC
	return status(f.v.Sync(f.inode(in.NodeId), in.FsyncFlags&dataOnly != 0))
}

func (f *FS) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	var drop func() error
	if in.Uid != 0 { // of whom the request says no more
		var err error
		if drop, err = f.dropping(in.NodeId); err != nil {
			return status(err)
		}
	}
	err := f.v.Allocate(f.inode(in.NodeId), in.Mode, int64(in.Offset), int64(in.Length))
	if err == nil && drop != nil {
		err = drop()
	}
	return status(err)
}

func (f *FS) Lseek(_ <-chan struct{}, in *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	off, err := f.v.Seek(f.inode(in.NodeId), int64(in.Offset), int(in.Whence))
	out.Offset = uint64(off)
	return status(err)
}
