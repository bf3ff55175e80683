// Package fs is the file system: a store of encrypted objects with keys
// applied to it.
//
// A Volume is that without FUSE. It finds objects by their plain names, reads
// and writes plain contents, and keeps, for each Inode in use, what costs time
// to set up: the cipher of its names or contents and the open file of the
// store. An FS is a Volume that the kernel's FUSE client talks to; its methods
// translate requests and nothing more, and Mount puts it at a mount point.
//
// The words are fscrypt's: contents are cut into data units, each of which is
// encrypted on its own under the key of its inode; names are encrypted under
// the key of the directory that holds them.
package fs

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"

	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/fs/store"
	"encfs/keys"
	"encfs/workqueue"
)

// NameMax is the longest name of an entry, in bytes.
const NameMax = 255

// targetMax is the longest target of a symbolic link, in bytes: PATH_MAX without
// the NUL.
const targetMax = 4095

// Options says how a Volume works. The zero value is a volume that decrypts in
// the reading goroutine, with the best drivers, and logs nothing.
type Options struct {
	Queue    *workqueue.Queue // decrypts data units; nil means in the request itself
	Drivers  *decrypt.Table   // nil: all that this CPU can run, tested before their first use
	ReadOnly bool             // change nothing, even if the store can be written to
	Shared   bool             // others change the store too: nothing is remembered
	ShowBad  bool             // show entries whose name does not decode, removable, under their lower name
	Log      *slog.Logger     // nil: nowhere
	Measure  *Measurement     // nil, except in benchmarks
}

// Attr holds the attributes of an inode. The size of a symbolic link is the
// length of its plain target.
type Attr = store.Attr

// Volume is a store with keys applied. Its methods may be called concurrently.
// Errors wrap a syscall.Errno, a store.DamagedError, keys.ErrNoKey or what else
// Errno knows.
type Volume struct {
	store  store.Store
	writer store.Writer     // nil: read-only
	xattrs store.Xattrs     // nil: no extended attributes
	lowers store.LowerNames // nil: no way around encrypted names
	system store.FileSystem // nil: a tree with one policy
	ring   *keys.Keyring
	opts   Options
	policy keys.Policy    // of the root; of a tree only
	driver decrypt.Driver // for the contents of a tree
	attrs  *xattrCipher   // of a tree only
	root   *Inode

	reported reporter
	folded   foldedNames
	speeds   speedometer
	counters *counters
	files    openFiles

	mu     sync.Mutex
	inodes map[store.Node]*Inode // guarded by mu
}

// NewVolume applies the keys of ring to a store. The volume takes over both, and
// Close closes them; after an error they are still the caller's. It fails if a
// driver that it needs is not there or does not pass its self-test.
//
// If the store is a store.FileSystem, each object has its own policy or none, and
// what the ring has no key for is shown as the kernel shows it then. Any other
// store is a tree with the policy of its root, and it fails if the key of that is
// not in the ring.
func NewVolume(st store.Store, ring *keys.Keyring, o Options) (*Volume, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Drivers == nil {
		var err error
		if o.Drivers, err = decrypt.NewTable(cpufeat.Host(), decrypt.SelfTestLazy, o.Log); err != nil {
			return nil, err
		}
	}
	v := &Volume{store: st, ring: ring, opts: o, inodes: map[store.Node]*Inode{}, counters: newCounters()}
	v.reported.log = o.Log
	if !o.ReadOnly {
		v.writer, _ = st.(store.Writer)
	}
	v.xattrs, _ = st.(store.Xattrs)
	v.lowers, _ = st.(store.LowerNames)
	v.root = v.newInode(st.Root(), store.ModeDir)
	v.root.refs = 1
	v.inodes[st.Root()] = v.root
	if err := o.Drivers.TestKDFs(); err != nil {
		return nil, err
	}
	if v.system, _ = st.(store.FileSystem); v.system == nil {
		if err := v.openTree(); err != nil {
			return nil, err
		}
	} else if o.Measure != nil && o.Measure.Contents != nil {
		return nil, fmt.Errorf("fs: root: %w: it is a file system", ErrMeasurement)
	}
	return v, nil
}

// openTree prepares a tree with one policy.
func (v *Volume) openTree() error {
	st, ring, o := v.store, v.ring, v.opts
	raw, err := st.Context(st.Root())
	if err != nil {
		return fmt.Errorf("fs: root: %w", err)
	}
	ctx, err := keys.ParseContext(raw)
	if err != nil {
		return fmt.Errorf("fs: root: %w", err)
	}
	if err := checkPolicy(ctx.Policy); err != nil {
		return fmt.Errorf("fs: root: %w", err)
	}
	v.policy = ctx.Policy
	mk, err := ring.Find(v.policy)
	if err != nil {
		return fmt.Errorf("fs: root: %w", err)
	}
	if v.driver, err = o.Drivers.Lookup(v.policy.Contents.Algorithm()); err != nil {
		return err
	}
	if o.Measure != nil && o.Measure.Contents != nil {
		if err := v.measured(*o.Measure.Contents); err != nil {
			return err
		}
	}
	if v.attrs, err = newXattrCipher(mk, v.policy.Padding(), o.Drivers); err != nil {
		return err
	}
	if _, err := v.naming(v.root); err != nil {
		return fmt.Errorf("fs: root: %w", err)
	}
	return nil
}

// checkPolicy returns an error for a policy that a cipher directory cannot have:
// its inode numbers are not stable, so that no IV may come from them, and its
// data units are of 4096 bytes, whether the policy says so or leaves it at 0.
func checkPolicy(p keys.Policy) error {
	if err := p.Validate(); err != nil {
		return err
	}
	switch {
	case p.Version != 2:
		return fmt.Errorf("%w: version %d in a cipher directory", keys.ErrUnsupportedPolicy, p.Version)
	case p.Flags&^keys.FlagPadMask != 0:
		return fmt.Errorf("%w: flags %#x in a cipher directory", keys.ErrUnsupportedPolicy, uint8(p.Flags))
	case p.Log2DataUnitSize != 0 && p.Log2DataUnitSize != unitShift:
		return fmt.Errorf("%w: data units of %d bytes in a cipher directory", keys.ErrUnsupportedPolicy, 1<<p.Log2DataUnitSize)
	}
	return nil
}

// Close releases the volume, its store and its keys. All inodes and files must
// have been released before.
func (v *Volume) Close() error {
	v.mu.Lock()
	for _, i := range v.inodes {
		v.closeForGood(i)
	}
	clear(v.inodes)
	v.mu.Unlock()
	err := v.store.Close()
	v.ring.Close()
	return err
}

// Policy returns the encryption policy of the root, the zero Policy for a file
// system, whose objects have their own.
func (v *Volume) Policy() keys.Policy { return v.policy }

// ContentsDriver returns the name of the driver that decrypts contents. For a file
// system it is "", as the policies decide.
func (v *Volume) ContentsDriver() string { return v.driver.Name }

// ReadOnly reports whether the volume cannot be written to.
func (v *Volume) ReadOnly() bool { return v.writer == nil }

// auto reports whether the queue wants to know how long decrypting takes.
func (v *Volume) auto() bool {
	return v.opts.Queue != nil && v.opts.Queue.Attrs().Kind == workqueue.Auto
}

// Root returns the root directory. It needs no Release.
func (v *Volume) Root() *Inode { return v.root }

// Statfs describes the space of the store.
func (v *Volume) Statfs() (store.Statfs, error) { return v.store.Statfs() }

// master returns the master key of a context. In a tree with one policy an object
// under another key is damage.
func (v *Volume) master(node store.Node, ctx keys.Context) (*keys.MasterKey, error) {
	if v.system != nil {
		return v.ring.Find(ctx.Policy)
	}
	if ctx.Version != v.policy.Version || ctx.Identifier != v.policy.Identifier || ctx.Descriptor != v.policy.Descriptor {
		return nil, &store.DamagedError{Path: node.String(), Detail: "is encrypted with another master key, " + ctx.Identifier.String()}
	}
	return v.ring.Find(ctx.Policy)
}

// fileKey derives the key of an inode for a mode from its stored context.
func (v *Volume) fileKey(node store.Node, raw []byte, mode func(keys.Policy) keys.Mode) (*keys.FileKey, keys.Context, error) {
	ctx, err := v.context(node, raw)
	if err != nil {
		return nil, ctx, err
	}
	mk, err := v.master(node, ctx)
	if err != nil {
		return nil, ctx, err
	}
	k, err := mk.FileKey(ctx, mode(ctx.Policy), v.place(node))
	return k, ctx, err
}

// context parses a stored context and checks its policy.
func (v *Volume) context(node store.Node, raw []byte) (keys.Context, error) {
	ctx, err := keys.ParseContext(raw)
	if err == nil && v.system != nil {
		err = v.checkSystemPolicy(ctx.Policy)
	} else if err == nil {
		err = checkPolicy(ctx.Policy)
	}
	if err != nil {
		return ctx, &store.DamagedError{Path: node.String(), Detail: err.Error()}
	}
	return ctx, nil
}

func contentsMode(p keys.Policy) keys.Mode  { return p.Contents }
func filenamesMode(p keys.Policy) keys.Mode { return p.Filenames }

// newNames returns the cipher of names, or of a target, under a context.
func (v *Volume) newNames(node store.Node, raw []byte) (*decrypt.Names, error) {
	k, ctx, err := v.fileKey(node, raw, filenamesMode)
	if err != nil {
		return nil, err
	}
	defer k.Wipe()
	d, err := v.opts.Drivers.Lookup(ctx.Filenames.Algorithm())
	if err != nil {
		return nil, err
	}
	return decrypt.NewNames(k, d, ctx.Padding())
}

// newContents returns the cipher of a file's data units under a context, and the
// name of its driver.
func (v *Volume) newContents(node store.Node, raw []byte) (*decrypt.Contents, string, error) {
	k, ctx, err := v.fileKey(node, raw, contentsMode)
	if err != nil {
		return nil, "", err
	}
	defer k.Wipe()
	d := v.driver
	if ctx.Contents.Algorithm() != d.Algorithm {
		if d, err = v.opts.Drivers.Lookup(ctx.Contents.Algorithm()); err != nil {
			return nil, "", err
		}
	}
	c, err := decrypt.NewContents(k, d, v.unitSize(ctx.Policy))
	return c, d.Name, err
}

// naming returns how the names in a directory are stored.
func (v *Volume) naming(dir *Inode) (*naming, error) {
	if dir.typ != store.ModeDir {
		return nil, syscall.ENOTDIR
	}
	if n := dir.naming.Load(); n != nil {
		return n, nil
	}
	raw, err := v.store.Context(dir.node)
	if err != nil {
		return nil, v.report(err)
	}
	n, err := v.newNaming(dir.node, raw)
	if err != nil {
		return nil, v.report(err)
	}
	if v.system != nil {
		if n.cases, err = v.system.Case(dir.node); err != nil {
			return nil, v.report(err)
		}
	}
	dir.naming.Store(n)
	return n, nil
}

// seal returns how a name is stored in a directory.
func (v *Volume) seal(dir *Inode, name string) ([]byte, error) {
	n, err := v.naming(dir)
	if err != nil {
		return nil, err
	}
	return n.seal(name)
}

// report passes an error on, and logs it if it says that something is damaged.
func (v *Volume) report(err error) error {
	if d, ok := errors.AsType[*store.DamagedError](err); ok {
		v.reported.once(d.Path, d.Detail)
	}
	return err
}

// reporter logs each lower path once, so that a listing that meets a damaged
// entry again and again does not fill the log.
type reporter struct {
	log  *slog.Logger
	mu   sync.Mutex
	seen map[string]string // path to detail, guarded by mu
}

// reportedMax bounds the memory of a reporter; past it, it begins anew.
const reportedMax = 10000

func (r *reporter) once(path, detail string) {
	if r.first(path, detail) {
		r.log.Error("damaged", "lower", path, "detail", detail)
	}
}

// first reports whether this detail of a path is new.
func (r *reporter) first(path, detail string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, ok := r.seen[path]
	known := ok && was == detail
	if !known {
		if r.seen == nil || len(r.seen) >= reportedMax {
			r.seen = map[string]string{}
		}
		r.seen[path] = detail
	}
	return !known
}
