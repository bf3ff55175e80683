package main

import (
	"cmp"
	"errors"
	iofs "io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
)

// checkSource finds out what a source is: a directory, or else a file or block
// device with an image in it. Everything else is refused.
func checkSource(path string) (isImage bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return false, failf(exitSource, "", "source %s does not exist", path)
	case errors.Is(err, unix.ENOTCONN):
		return false, failf(exitSource, "clean up with: encfs umount "+path,
			"source %s is a mount, and the program that served it is gone", path)
	case err != nil: // perhaps as it is another user's mount
		return false, cmp.Or(notMount(path), failf(exitSource, "", "source: %w", err))
	case info.IsDir():
		return false, notMount(path)
	}
	if !info.Mode().IsRegular() && info.Mode()&iofs.ModeType != iofs.ModeDevice {
		return false, failf(exitSource, sourceHint, "source %s is neither a directory nor a file or block device", path)
	}
	return true, nil
}

const sourceHint = "a source is a directory that encfs init made, or an ext4 image or device"

// openStore opens a cipher directory. The caller closes it.
func openStore(source string, o dirstore.Options) (*dirstore.Store, error) {
	isImage, err := checkSource(source)
	if err != nil {
		return nil, err
	}
	if isImage {
		return nil, failf(exitUnsupported, "", "%s is not a cipher directory, and images are only read", source)
	}
	st, err := dirstore.Open(source, o)
	if lost, ok := errors.AsType[*dirstore.LostHeaderError](err); ok {
		return nil, headerLost(source, lost)
	}
	if err != nil {
		if _, isErrno := errors.AsType[unix.Errno](err); isErrno {
			return nil, failf(exitSource, "", "%w", err)
		}
		return nil, err
	}
	return st, nil
}

// lockPatience is how long a lock that somebody else has is tried: a server that
// was just unmounted has it a little longer, and umount has it for an instant.
const lockPatience = 2 * time.Second

// lockStore takes the lock of a cipher directory until the store is closed.
func lockStore(st *dirstore.Store, source string, shared bool) error {
	at, patience := mountedAt(source), lockPatience
	if at != "" {
		patience = 0
	}
	err := lockWithin(st, shared, patience)
	if errors.Is(err, unix.EWOULDBLOCK) {
		if at == "" {
			at = ", or being extracted"
		}
		return failf(exitBusy, "unmount it there, or mount with --shared in both places", "%s is mounted already%s", source, at)
	}
	return err
}

// lockWithin locks a store, and while somebody else has it tries again until the
// time is over.
func lockWithin(st *dirstore.Store, shared bool, timeout time.Duration) error {
	end := time.Now().Add(timeout)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		err := st.Lock(shared)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			return err
		}
		time.Sleep(pause)
	}
}

// mountedAt says where this machine has a cipher directory mounted, "" if it has
// not.
func mountedAt(source string) string {
	resolved, err := resolve(source)
	if err != nil {
		return ""
	}
	mounts, _ := readMounts()
	for _, m := range mounts {
		if m.fsType == fuseType && m.source == resolved {
			return ", at " + m.point
		}
	}
	return ""
}

// masterKeys are the master keys of a source: one of a cipher directory, any number
// of an image.
type masterKeys []*keys.MasterKey

func (m masterKeys) close() {
	for _, mk := range m {
		mk.Close()
	}
}

// ring returns a keyring that owns the keys.
func (m masterKeys) ring() *keys.Keyring {
	ring := new(keys.Keyring)
	for _, mk := range m {
		ring.Add(mk)
	}
	return ring
}

// A locking says what openVolume does about others who change a cipher directory.
type locking int

const (
	noLock   locking = iota // nothing
	mustLock                // keep them out, or fail
	tryLock                 // keep them out, or else remember nothing of what is read
)

// openVolume opens a cipher directory with its master key, which it takes over.
func openVolume(source string, mk *keys.MasterKey, lock locking, o fs.Options) (*fs.Volume, error) {
	ring := masterKeys{mk}.ring()
	st, err := openStore(source, dirstore.Options{ReadOnly: o.ReadOnly, Shared: o.Shared, Log: o.Log})
	if err != nil {
		ring.Close()
		return nil, err
	}
	v, err := func() (*fs.Volume, error) {
		switch lock {
		case mustLock:
			if err := lockStore(st, source, o.ReadOnly || o.Shared); err != nil {
				return nil, err
			}
		case tryLock:
			o.Shared = st.Lock(true) != nil
		}
		if err := st.Unlock(fs.NewHeaderAuthenticator(mk)); err != nil {
			return nil, err
		}
		return fs.NewVolume(st, ring, o)
	}()
	if err != nil {
		st.Close()
		ring.Close()
		return nil, err
	}
	return v, nil
}

// openForReading asks for the key of a source and opens it without FUSE, for
// commands that only read. It may be mounted at the same time.
func openForReading(source string, k *keyFlags, f *driverFlags, c console) (*fs.Volume, error) {
	drivers, err := f.parse()
	if err != nil {
		return nil, err
	}
	return openToRead(source, k, drivers, noLock, fs.Options{Shared: true}, c)
}

// openToRead is openForReading with options, to which it adds the drivers and, if there
// is none, the log.
func openToRead(source string, k *keyFlags, drivers driverOptions, lock locking, o fs.Options, c console) (*fs.Volume, error) {
	if err := keys.DisableCoreDumps(); err != nil {
		return nil, err
	}
	isImage, err := checkSource(source)
	if err != nil {
		return nil, err
	}
	o.ReadOnly = true
	if o.Log == nil {
		o.Log = foregroundLog(c.err)
	}
	if isImage {
		o.Shared = false
		return openImageForReading(source, k, drivers, o, c)
	}
	if err := k.images.checkDirectory(); err != nil {
		return nil, err
	}
	policy, err := readPolicy(source)
	if err != nil {
		return nil, err
	}
	if o.Drivers, err = drivers.forPolicy(policy, o.Log); err != nil {
		return nil, err
	}
	mk, err := unlockSource(source, k, c)
	if err != nil {
		return nil, err
	}
	return openVolume(source, mk, lock, o)
}

// unlockSource asks for the key of a cipher directory and returns its master key.
func unlockSource(source string, k *keyFlags, c console) (*keys.MasterKey, error) {
	st, err := openStore(source, dirstore.Options{ReadOnly: true, Shared: true})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return k.unlock(source, st, c)
}

// rootPolicy returns the policy of a cipher directory as its header has it, which
// nothing vouches for before the key is there.
func rootPolicy(source string, st *dirstore.Store) (keys.Policy, error) {
	policy, err := contextPolicy(st.RootContext())
	if err != nil {
		return keys.Policy{}, pathError(source+"/.encfs-dir", err)
	}
	return policy, nil
}

// contextPolicy returns the policy of a context, if that is a sound one.
func contextPolicy(raw []byte) (keys.Policy, error) {
	ctx, err := keys.ParseContext(raw)
	if err == nil {
		err = ctx.Validate()
	}
	return ctx.Policy, err
}

// notMount returns an error for a mount point of encfs, of which the other side is
// meant.
func notMount(path string) error {
	resolved, err := resolve(path)
	if err != nil {
		return nil
	}
	mounts, _ := readMounts()
	if m, ok := findMount(mounts, resolved); ok && m.fsType == fuseType {
		return failf(exitSource, "use "+m.source, "%s is a mount of %s", path, m.source)
	}
	return nil
}

// headerLost is the error for a source whose root has lost its header.
func headerLost(source string, e *dirstore.LostHeaderError) error {
	hint := "restore it from a backup"
	switch {
	case e.Copy:
		dir := shellWord(source)
		hint = "restore it with: getfattr --only-values -n user.encfs.dir " + dir + " >" + shellWord(source+"/"+headerName)
	case e.Empty:
		hint += ", or repeat the init that was interrupted"
	}
	return failf(exitSource, hint, "source %s: %w", source, e)
}

// shellWord quotes a word for a shell, if it has to be.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_./,:+-=@%", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
