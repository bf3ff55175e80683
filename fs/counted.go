package fs

import (
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// A countedFS passes requests on and counts them, by the opcode in their header.
//
// Writev is not among them, as it answers that Write is to be called. What go-fuse
// answers itself, such as INIT, is not seen here.
type countedFS struct {
	fuse.RawFileSystem
	counters *counters
}

// A counting is a request that has begun.
type counting struct {
	counters *counters
	set      *counterSet
	op       uint32
	start    time.Duration // -1: it is not timed
}

// begin counts a request.
func (f *countedFS) begin(op uint32) counting {
	c := f.counters
	if op >= uint32(len(opcodeNames)) {
		op = 0 // none that go-fuse knows
	}
	set := c.pool.Get().(*counterSet)
	k := counting{c, set, op, -1}
	if timed(set.requests[op].Add(1)) {
		k.start = c.now()
	}
	c.pool.Put(set)
	return k
}

// end is called when the request has been answered.
func (k counting) end() {
	if k.start >= 0 {
		k.set.latency[k.op].Record(k.counters.now() - k.start)
	}
}

func (f *countedFS) Forget(node, n uint64) {
	defer f.begin(opForget).end()
	f.RawFileSystem.Forget(node, n)
}

func (f *countedFS) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	k := f.begin(in.Opcode)
	defer k.end()
	r, s := f.RawFileSystem.Read(cancel, in, buf)
	if s.Ok() {
		k.set.bytesRead.Add(uint64(r.Size()))
	}
	return r, s
}

func (f *countedFS) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	k := f.begin(in.Opcode)
	defer k.end()
	n, s := f.RawFileSystem.Write(cancel, in, data)
	k.set.bytesWritten.Add(uint64(n))
	return n, s
}

// The rest is alike.

func (f *countedFS) Lookup(cancel <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	defer f.begin(h.Opcode).end()
	return f.RawFileSystem.Lookup(cancel, h, name, out)
}

func (f *countedFS) GetAttr(cancel <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.GetAttr(cancel, in, out)
}

func (f *countedFS) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.SetAttr(cancel, in, out)
}

func (f *countedFS) Readlink(cancel <-chan struct{}, h *fuse.InHeader) ([]byte, fuse.Status) {
	defer f.begin(h.Opcode).end()
	return f.RawFileSystem.Readlink(cancel, h)
}

func (f *countedFS) Symlink(cancel <-chan struct{}, h *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	defer f.begin(h.Opcode).end()
	return f.RawFileSystem.Symlink(cancel, h, target, name, out)
}

func (f *countedFS) Mknod(cancel <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.Mknod(cancel, in, name, out)
}

func (f *countedFS) Mkdir(cancel <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.Mkdir(cancel, in, name, out)
}

func (f *countedFS) Unlink(cancel <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	defer f.begin(h.Opcode).end()
	return f.RawFileSystem.Unlink(cancel, h, name)
}

func (f *countedFS) Rmdir(cancel <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	defer f.begin(h.Opcode).end()
	return f.RawFileSystem.Rmdir(cancel, h, name)
}

func (f *countedFS) Rename(cancel <-chan struct{}, in *fuse.RenameIn, oldName, newName string) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.Rename(cancel, in, oldName, newName)
}

func (f *countedFS) Link(cancel <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.Link(cancel, in, name, out)
}

func (f *countedFS) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.Open(cancel, in, out)
}

func (f *countedFS) StatFs(cancel <-chan struct{}, h *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	defer f.begin(h.Opcode).end()
	return f.RawFileSystem.StatFs(cancel, h, out)
}

func (f *countedFS) Release(cancel <-chan struct{}, in *fuse.ReleaseIn) {
	defer f.begin(in.Opcode).end()
	f.RawFileSystem.Release(cancel, in)
}

func (f *countedFS) Fsync(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.Fsync(cancel, in)
}

func (f *countedFS) SetXAttr(cancel <-chan struct{}, in *fuse.SetXAttrIn, name string, data []byte) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.SetXAttr(cancel, in, name, data)
}

func (f *countedFS) GetXAttr(cancel <-chan struct{}, h *fuse.InHeader, name string, dest []byte) (uint32, fuse.Status) {
	defer f.begin(h.Opcode).end()
	return f.RawFileSystem.GetXAttr(cancel, h, name, dest)
}

func (f *countedFS) ListXAttr(cancel <-chan struct{}, h *fuse.InHeader, dest []byte) (uint32, fuse.Status) {
	defer f.begin(h.Opcode).end()
	return f.RawFileSystem.ListXAttr(cancel, h, dest)
}

func (f *countedFS) RemoveXAttr(cancel <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	defer f.begin(h.Opcode).end()
	return f.RawFileSystem.RemoveXAttr(cancel, h, name)
}

func (f *countedFS) Flush(cancel <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.Flush(cancel, in)
}

func (f *countedFS) OpenDir(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.OpenDir(cancel, in, out)
}

func (f *countedFS) ReadDir(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.ReadDir(cancel, in, out)
}

func (f *countedFS) ReadDirPlus(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.ReadDirPlus(cancel, in, out)
}

func (f *countedFS) ReleaseDir(in *fuse.ReleaseIn) {
	defer f.begin(in.Opcode).end()
	f.RawFileSystem.ReleaseDir(in)
}

func (f *countedFS) FsyncDir(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.FsyncDir(cancel, in)
}

func (f *countedFS) GetLk(cancel <-chan struct{}, in *fuse.LkIn, out *fuse.LkOut) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.GetLk(cancel, in, out)
}

func (f *countedFS) SetLk(cancel <-chan struct{}, in *fuse.LkIn) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.SetLk(cancel, in)
}

func (f *countedFS) SetLkw(cancel <-chan struct{}, in *fuse.LkIn) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.SetLkw(cancel, in)
}

func (f *countedFS) Access(cancel <-chan struct{}, in *fuse.AccessIn) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.Access(cancel, in)
}

func (f *countedFS) Create(cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.Create(cancel, in, name, out)
}

func (f *countedFS) Ioctl(cancel <-chan struct{}, in *fuse.IoctlIn, data []byte, out *fuse.IoctlOut, reply []byte) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.Ioctl(cancel, in, data, out, reply)
}

func (f *countedFS) Fallocate(cancel <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.Fallocate(cancel, in)
}

func (f *countedFS) Lseek(cancel <-chan struct{}, in *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.Lseek(cancel, in, out)
}

func (f *countedFS) CopyFileRange(cancel <-chan struct{}, in *fuse.CopyFileRangeIn) (uint32, fuse.Status) {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.CopyFileRange(cancel, in)
}

func (f *countedFS) Tmpfile(cancel <-chan struct{}, in *fuse.CreateIn, out *fuse.CreateOut) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.Tmpfile(cancel, in, out)
}

func (f *countedFS) Statx(cancel <-chan struct{}, in *fuse.StatxIn, out *fuse.StatxOut) fuse.Status {
	defer f.begin(in.Opcode).end()
	return f.RawFileSystem.Statx(cancel, in, out)
}
