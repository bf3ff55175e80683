package dirstore

import (
	"fmt"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// A long link is a symbolic link whose target, encoded, is more than a link of
// the lower file system holds. It is a regular file there: a header, the
// encrypted target of c bytes behind it, and a size of 4096 + c, which no other
// regular file has. So its type is seen where its size is.
//
// Listing a directory tells no sizes. One that may hold long links therefore has
// the file linksName in it, and the types of entries are looked up there. If it
// is lost, listings call long links regular files, and nothing else is wrong.

// targetMax is the longest encrypted target, in bytes.
const targetMax = unitSize - 1

// showLongLink makes the type in the attributes of a long link that of a symbolic
// link. The size stays, and tells it from other links.
func showLongLink(st *unix.Statx_t) {
	if st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size > bodyOffset && st.Size <= bodyOffset+targetMax {
		st.Mode = unix.S_IFLNK | st.Mode&0o7777
	}
}

// isLongLink reports whether attributes are those of a long link; other links
// are shorter.
func isLongLink(st *unix.Statx_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFLNK && st.Size > bodyOffset
}

// looksLong reports whether attributes are those of a long link while n is known
// to be a regular file: one that others have cut, or that a full disk has for a
// moment.
func (n *node) looksLong(st *unix.Statx_t) bool {
	return n.mode == unix.S_IFREG && isLongLink(st)
}

// attr returns the attributes of n. A regular file stays one.
func (n *node) attr(st *unix.Statx_t) store.Attr {
	a := attrOf(st)
	if n.looksLong(st) {
		a.Mode, a.Size = unix.S_IFREG|uint32(st.Mode)&0o7777, 0
	}
	return a
}

// symlinkLong makes a long link, under a temporary name, which it has on stable
// storage before the real one.
func (s *Store) symlinkLong(dirfd int, lower string, target, context []byte) error {
	if len(target) > targetMax {
		return unix.ENAMETOOLONG
	}
	contents := make([]byte, bodyOffset+len(target))
	copy(contents, newHeader(typeLink, context, s.auth)[:])
	copy(contents[headerSize:], target)
	temp := tempName()
	err := markLinks(dirfd)
	if err == nil {
		err = writeNew(dirfd, temp, contents, true)
	}
	if err == nil {
		if err = renameNew(dirfd, temp, dirfd, lower); err != nil {
			unlinkat(dirfd, temp, 0)
		}
	}
	return err
}

// markLinks says that a directory may hold long links.
func markLinks(dirfd int) error {
	err := writeNew(dirfd, linksName, nil, false)
	if err == unix.EEXIST {
		return nil
	}
	return err
}

// carryMark goes before an object with the given attributes gets a name in a
// directory that it was not in.
func (s *Store) carryMark(dir *node, dirfd int, st *unix.Statx_t) {
	if !isLongLink(st) {
		return
	}
	if err := markLinks(dirfd); err != nil {
		s.said.warn("listings will call long symbolic links regular files", dir.String(), "error", err)
	}
}

// findLongLinks corrects the types of entries of a directory.
func findLongLinks(fd int, entries []store.Dirent) {
	for i := range entries {
		e := &entries[i]
		var st unix.Statx_t
		if e.Type == unix.S_IFREG && statx(fd, e.Lower, &st) == nil {
			e.Type = uint32(st.Mode) & unix.S_IFMT
		}
	}
}

// readLongLink returns what readlink does, nonce and encrypted target.
func (s *Store) readLongLink(n *node) ([]byte, error) {
	var buf [headerSize + targetMax]byte
	var st unix.Statx_t
	err := s.withFD(n, func(path int) error {
		fd, err := s.reopen(path, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK, unix.S_IRUSR)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := statx(fd, "", &st); err != nil {
			return err
		}
		_, err = pread(fd, buf[:], 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !isLongLink(&st) {
		return nil, unix.ESTALE
	}
	h := (*header)(buf[:headerSize])
	if bad := h.check(typeLink); bad != nil {
		return nil, s.badForm(bad, n.String())
	}
	if !h.verify(s.auth) {
		return nil, &store.DamagedError{Path: n.String(), Detail: wrongTag}
	}
	size := int(st.Size) - bodyOffset
	if size < minName {
		return nil, &store.DamagedError{Path: n.String(), Detail: fmt.Sprintf("a target of %d bytes is too short", size)}
	}
	nonce := h.context()[contextSize-nonceSize:]
	return append(append([]byte(nil), nonce...), buf[headerSize:headerSize+size]...), nil
}
