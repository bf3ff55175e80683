package metadata

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"
)

// FolderName is the name of the folder in the root directory of a file system or
// of a cipher directory.
const FolderName = ".fscrypt"

// MaxFileSize is the length in bytes that no file of a folder exceeds.
const MaxFileSize = 16384

const (
	policiesDir   = "policies"
	protectorsDir = "protectors"
	linkSuffix    = ".link"
	tempPrefix    = ".tmp"

	folderMode = 0o755
	fileMode   = 0o600
)

// A Dir is a .fscrypt folder. It is safe for concurrent use; of two who write one file
// the last wins, unless they use [Dir.Lock].
type Dir struct {
	name string   // of the folder, for messages
	fsys fs.FS    // the folder
	root *os.Root // the same folder, nil if it can only be read
}

// Open opens the folder in the root directory of a file system or cipher directory.
// If it is a symbolic link, which the fscrypt tool allows, Open follows it to
// wherever it leads if follow is set; otherwise it is an error. The error is an
// [ErrMissing] if there is no folder and an [ErrDamaged] if it is something else.
// The caller closes the Dir; root stays the caller's.
func Open(root *os.Root, follow bool) (*Dir, error) {
	name := filepath.Join(root.Name(), FolderName) // for messages and relative links
	info, err := root.Lstat(FolderName)
	if err != nil {
		return nil, folderError(name, err)
	}
	if info.Mode().Type() == fs.ModeSymlink {
		target, err := root.Readlink(FolderName)
		if err != nil {
			return nil, folderError(name, err)
		}
		if !follow {
			return nil, fmt.Errorf("metadata: %s: %w", name, damaged("symbolic link to %s", target))
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(root.Name(), target)
		}
		return OpenFolder(target)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("metadata: %s: %w", name, damaged("no directory"))
	}
	folder, err := root.OpenRoot(FolderName)
	if err != nil {
		return nil, folderError(name, err)
	}
	return newDir(name, folder)
}

// OpenFolder opens the .fscrypt folder that has the given path, under whatever name.
// The errors are those of [Open]; the caller closes the Dir.
func OpenFolder(name string) (*Dir, error) {
	if info, err := os.Stat(name); err != nil {
		return nil, folderError(name, err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("metadata: %s: %w", name, damaged("no directory"))
	}
	folder, err := os.OpenRoot(name)
	if err != nil {
		return nil, folderError(name, err)
	}
	return newDir(name, folder)
}

// OpenFS opens a .fscrypt folder, which is all of fsys, for reading: that of an
// image. The errors are those of [Open]. If fsys is an io.Closer, Close closes it.
func OpenFS(fsys fs.FS) (*Dir, error) {
	return checkDir(&Dir{name: FolderName, fsys: fsys})
}

// Create makes what there is not yet of the folder in the root directory of a cipher
// directory, with mode 0755, and opens it. It does not follow symbolic links.
func Create(root *os.Root) (*Dir, error) {
	// The parent of each is synced, so that files in it are not lost with it.
	for _, d := range []struct{ name, parent string }{
		{FolderName, "."},
		{filepath.Join(FolderName, policiesDir), FolderName},
		{filepath.Join(FolderName, protectorsDir), FolderName},
	} {
		if err := root.Mkdir(d.name, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("metadata: %w", err)
		}
		if err := syncDir(root, d.parent); err != nil {
			return nil, fmt.Errorf("metadata: %w", err)
		}
	}
	return Open(root, false)
}

func newDir(name string, folder *os.Root) (*Dir, error) {
	d, err := checkDir(&Dir{name: name, fsys: folder.FS(), root: folder})
	if err != nil {
		folder.Close()
	}
	return d, err
}

// checkDir checks that the folder has what the fscrypt tool calls set up.
func checkDir(d *Dir) (*Dir, error) {
	for _, name := range []string{policiesDir, protectorsDir} {
		info, err := fs.Lstat(d.fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("metadata: %w", &FileError{d.name, name, ErrMissing})
		}
		if err != nil {
			return nil, fmt.Errorf("metadata: %w", &FileError{d.name, name, err})
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("metadata: %w", &FileError{d.name, name, damaged("no directory")})
		}
	}
	return d, nil
}

// folderError says where a folder was looked for.
func folderError(where string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrMissing, err)
	}
	return fmt.Errorf("metadata: %s: %w", where, err)
}

// Close closes the folder.
func (d *Dir) Close() error {
	if d.root != nil {
		return d.root.Close()
	}
	if c, ok := d.fsys.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// read returns the contents of a file of the folder. The error is a *FileError:
// ErrMissing, or ErrDamaged for what is not a regular file of at most MaxFileSize
// bytes.
func (d *Dir) read(dir, name string) ([]byte, error) {
	name = dir + "/" + name
	b, err := d.readFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrMissing
	}
	if err != nil {
		return nil, &FileError{d.name, name, err}
	}
	return b, nil
}

// errReplaced means that a file was replaced between looking at it and opening it.
var errReplaced = damaged("it changes while it is read")

// maxReads is how often a file is looked at that is replaced each time.
const maxReads = 100

func (d *Dir) readFile(name string) (b []byte, err error) {
	for range maxReads {
		if b, err = d.readOnce(name); !errors.Is(err, errReplaced) {
			break
		}
	}
	return b, err
}

func (d *Dir) readOnce(name string) ([]byte, error) {
	named, err := fs.Lstat(d.fsys, name)
	if err != nil {
		return nil, err
	}
	if !named.Mode().IsRegular() {
		return nil, damaged("no regular file")
	}
	var f fs.File
	if d.root != nil {
		// It may have become a FIFO by now, on which opening would wait.
		f, err = d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	} else {
		f, err = d.fsys.Open(name)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if d.root != nil {
		// Opening followed a symbolic link that took the file's place, if any.
		if info, err := f.Stat(); err != nil {
			return nil, err
		} else if !os.SameFile(named, info) {
			return nil, errReplaced
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(b) > MaxFileSize {
		return nil, damaged("more than %d bytes", MaxFileSize)
	}
	return b, nil
}

// list returns the names in a directory of the folder for which accept is true,
// sorted. What else is there is none of our business: leftovers of unfinished
// writes, and files of other programs.
func (d *Dir) list(dir string, accept func(name string) bool) ([]string, error) {
	entries, err := fs.ReadDir(d.fsys, dir)
	if err != nil {
		return nil, &FileError{d.name, dir, err}
	}
	var names []string
	for _, e := range entries {
		if accept(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func isDescriptor(s string) bool { return isHex(s, descriptorDigits) }
func isPolicyName(s string) bool { return isHex(s, descriptorDigits) || isHex(s, identifierDigits) }

// Policies returns all policies, sorted by name. If some cannot be read, the others
// are returned with an error that joins a [FileError] for each.
func (d *Dir) Policies() ([]*Policy, error) {
	names, err := d.list(policiesDir, isPolicyName)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	var list []*Policy
	var errs []error
	for _, name := range names {
		p, err := d.Policy(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, p)
	}
	return list, errors.Join(errs...)
}

// Policy returns the policy whose master key has the given name, 16 or 32 lower-case
// hexadecimal digits. The error is a [FileError] with [ErrMissing], [ErrDamaged] or
// what reading it gave.
func (d *Dir) Policy(name string) (*Policy, error) {
	if !isPolicyName(name) {
		return nil, fmt.Errorf("metadata: %w: %q names no policy", ErrMissing, name)
	}
	b, err := d.read(policiesDir, name)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	p, err := parsePolicy(name, b)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", &FileError{d.name, policiesDir + "/" + name, err})
	}
	return p, nil
}

// Protectors returns all protectors, sorted by descriptor: those in the folder, and
// those that it links to if one of the others has them. If some cannot be read, the
// rest is returned with an error that joins a [FileError] or [LinkError] for each.
func (d *Dir) Protectors(others ...*Dir) ([]*Protector, error) {
	names, err := d.list(protectorsDir, func(name string) bool {
		return isDescriptor(strings.TrimSuffix(name, linkSuffix))
	})
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	var list []*Protector
	var errs []error
	last := ""
	for _, name := range names {
		descriptor := strings.TrimSuffix(name, linkSuffix)
		if descriptor == last { // the link sorts after the file
			continue
		}
		last = descriptor
		p, err := d.Protector(descriptor, others...)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, p)
	}
	return list, errors.Join(errs...)
}

// Protector returns the protector with the given descriptor, 16 lower-case
// hexadecimal digits, from the folder or else from the first of the others that has
// it. The error is a [FileError] with [ErrMissing], [ErrDamaged] or what reading it
// gave, or a [LinkError] if the folder says that it is elsewhere.
func (d *Dir) Protector(descriptor string, others ...*Dir) (*Protector, error) {
	if !isDescriptor(descriptor) {
		return nil, fmt.Errorf("metadata: %w: %q names no protector", ErrMissing, descriptor)
	}
	for _, dir := range append([]*Dir{d}, others...) {
		b, err := dir.read(protectorsDir, descriptor)
		if errors.Is(err, ErrMissing) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("metadata: %w", err)
		}
		p, err := parseProtector(descriptor, b)
		if err != nil {
			return nil, fmt.Errorf("metadata: %w", &FileError{dir.name, protectorsDir + "/" + descriptor, err})
		}
		return p, nil
	}
	link, err := d.Link(descriptor)
	if err != nil {
		if errors.Is(err, ErrMissing) {
			err = fmt.Errorf("metadata: %w", &FileError{d.name, protectorsDir + "/" + descriptor, ErrMissing})
		}
		return nil, err
	}
	return nil, fmt.Errorf("metadata: %w", &LinkError{descriptor, link})
}

// ProtectorTime returns when the file of a protector in the folder was last changed.
// The error is a [FileError] with [ErrMissing], or what the system gave.
func (d *Dir) ProtectorTime(descriptor string) (time.Time, error) {
	if !isDescriptor(descriptor) {
		return time.Time{}, fmt.Errorf("metadata: %w: %q names no protector", ErrMissing, descriptor)
	}
	name := protectorsDir + "/" + descriptor
	info, err := fs.Lstat(d.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrMissing
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("metadata: %w", &FileError{d.name, name, err})
	}
	return info.ModTime(), nil
}

// Link returns where the protector with the given descriptor is, if the folder has a
// link to it. The error is a [FileError] with [ErrMissing], [ErrDamaged] or what
// reading it gave.
func (d *Dir) Link(descriptor string) (Link, error) {
	if !isDescriptor(descriptor) {
		return Link{}, fmt.Errorf("metadata: %w: %q names no protector", ErrMissing, descriptor)
	}
	name := descriptor + linkSuffix
	b, err := d.read(protectorsDir, name)
	if err != nil {
		return Link{}, fmt.Errorf("metadata: %w", err)
	}
	l, err := parseLink(b)
	if err != nil {
		return Link{}, fmt.Errorf("metadata: %w", &FileError{d.name, protectorsDir + "/" + name, err})
	}
	return l, nil
}

// WritePolicy writes the policy's file, with mode 0600. After a crash it is the old
// or the new one; when WritePolicy returns, the new one is on the disk, and what earlier
// crashes left beside it, for more than a minute, is gone.
func (d *Dir) WritePolicy(p *Policy) error {
	return d.write(policiesDir, p.Name(), p.data)
}

// WriteProtector writes the protector's file, as [Dir.WritePolicy] does.
func (d *Dir) WriteProtector(p *Protector) error {
	return d.write(protectorsDir, p.Descriptor(), p.data)
}

// RemovePolicy removes a policy's file; files under it can then be opened with a copy
// of the key alone. The error is an [ErrMissing] if there is none.
func (d *Dir) RemovePolicy(name string) error {
	if !isPolicyName(name) {
		return fmt.Errorf("metadata: %w: %q names no policy", ErrMissing, name)
	}
	return d.remove(policiesDir, name)
}

// RemoveProtector removes a protector's file; a link is left alone. That no policy
// needs it is the caller's concern. The error is an [ErrMissing] if there is none.
func (d *Dir) RemoveProtector(descriptor string) error {
	if !isDescriptor(descriptor) {
		return fmt.Errorf("metadata: %w: %q names no protector", ErrMissing, descriptor)
	}
	return d.remove(protectorsDir, descriptor)
}

// marshal returns what a file has, which is the same each time.
func marshal(m proto.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err == nil && len(b) > MaxFileSize {
		err = fmt.Errorf("more than %d bytes", MaxFileSize)
	}
	return b, err
}

func (d *Dir) write(dir, name string, m proto.Message) error {
	b, err := marshal(m)
	if err == nil {
		err = d.replace(dir, name, b)
	}
	if err != nil {
		return fmt.Errorf("metadata: %w", &FileError{d.name, dir + "/" + name, err})
	}
	return nil
}

// replace writes a file under another name, which readers pass over, and renames it.
func (d *Dir) replace(dir, name string, b []byte) (err error) {
	if d.root == nil {
		return ErrReadOnly
	}
	random := make([]byte, 8)
	rand.Read(random)
	temp := dir + "/" + tempPrefix + hex.EncodeToString(random)
	f, err := d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			d.root.Remove(temp)
		}
	}()
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := d.root.Rename(temp, dir+"/"+name); err != nil {
		return err
	}
	if err := syncDir(d.root, dir); err != nil {
		return err
	}
	d.removeStale(dir)
	return nil
}

// staleAge is the age from which a temporary file is taken for what an interrupted
// write has left.
const staleAge = time.Minute

// removeStale removes temporary files that nobody is writing any more. One that stays
// does no harm.
func (d *Dir) removeStale(dir string) {
	temps, err := d.list(dir, func(name string) bool { return strings.HasPrefix(name, tempPrefix) })
	if err != nil {
		return
	}
	for _, name := range temps {
		name = dir + "/" + name
		if info, err := d.root.Lstat(name); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleAge {
			d.root.Remove(name)
		}
	}
}

func (d *Dir) remove(dir, name string) error {
	err := error(ErrReadOnly)
	if d.root != nil {
		err = d.root.Remove(dir + "/" + name)
		if errors.Is(err, fs.ErrNotExist) {
			err = ErrMissing
		}
		if err == nil {
			err = syncDir(d.root, dir)
		}
	}
	if err != nil {
		return fmt.Errorf("metadata: %w", &FileError{d.name, dir + "/" + name, err})
	}
	return nil
}

// syncDir makes what was created, renamed or removed in a directory last. Some file
// systems have nothing to do for it and say EINVAL.
func syncDir(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
