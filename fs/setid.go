package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"

	"encfs/fs/store"
)

// With ShortcutKillPriv the kernel leaves it to us to take set-ID bits from a file
// when somebody changes its contents who might not set them (FUSE_HANDLE_KILLPRIV_V2).
// It then asks once for security.capability rather than before each write. What has
// capabilities loses them in the store, as does what changes its owner.
//
// A write of our own that is not root's takes the bits in the store; root's does not.

const (
	modeSetUID  = 0o4000
	modeGroupEx = 0o010
)

// setIDBits returns the bits of a file that its change takes away.
func setIDBits(a *Attr) (bits uint32) {
	if a.Mode&store.ModeType != store.ModeRegular {
		return 0
	}
	bits = a.Mode & modeSetUID
	if a.Mode&modeGroupEx != 0 {
		bits |= a.Mode & modeSetGID // without it, it stands for mandatory locking
	}
	return bits
}

// dropping is called before the contents of a file change for the sake of somebody
// who might not set set-ID bits, and what it returns afterwards, unless that is nil.
func (f *FS) dropping(number uint64) (drop func() error, err error) {
	if !f.killPriv {
		return nil, nil
	}
	i := f.inode(number)
	a, err := f.v.Attr(i)
	if err != nil {
		return nil, err
	}
	bits := setIDBits(&a)
	if bits == 0 {
		return nil, nil
	}
	return func() error {
		mode := a.Mode &^ (store.ModeType | bits)
		if err := f.v.SetAttr(i, store.SetAttr{Mode: &mode}); err != nil {
			return err
		}
		// The kernel goes on to take it for a program with the bits, until it asks.
		if f.server != nil {
			f.server.InodeNotify(number, -1, 0)
		}
		return nil
	}, nil
}

// Init is called by go-fuse before any request.
func (f *FS) Init(server *fuse.Server) { f.server = server }
