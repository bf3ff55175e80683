package dirstore

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Lower names that are not encoded names. A letter of base64url is never a dot,
// so that they cannot collide with one.
const (
	headerName    = ".encfs-dir"
	linksName     = ".encfs-links"
	longPrefix    = ".encfs-long-"
	sidecarSuffix = ".name"
	tempPrefix    = ".encfs-tmp-"
	metadataName  = ".fscrypt" // in the root
)

const (
	minName      = 16  // the shortest encrypted name, one cipher block
	maxName      = 255 // the longest, as the kernel's NAME_MAX
	maxLowerName = 255
	longHashLen  = 43 // of a SHA-256 hash in base64url
)

// encoding is strict about the bits past the last byte, so that a name has one
// encoding.
var encoding = base64.RawURLEncoding.Strict()

// A lowerName is the name of an object in the cipher directory.
type lowerName struct {
	string
	raw []byte // the encrypted name if the object has a sidecar, else nil
}

// encodeName returns the lower name for an encrypted name, ENAMETOOLONG or
// EINVAL where it is not of 16 to 255 bytes.
func encodeName(name []byte) (lowerName, error) {
	switch {
	case len(name) > maxName:
		return lowerName{}, fmt.Errorf("dirstore: encrypted name of %d bytes: %w", len(name), unix.ENAMETOOLONG)
	case len(name) < minName:
		return lowerName{}, fmt.Errorf("dirstore: encrypted name of %d bytes: %w", len(name), unix.EINVAL)
	}
	if encoding.EncodedLen(len(name)) <= maxLowerName {
		return lowerName{string: encoding.EncodeToString(name)}, nil
	}
	hash := sha256.Sum256(name)
	return lowerName{string: longPrefix + encoding.EncodeToString(hash[:]), raw: name}, nil
}

// decodeName is the inverse of encodeName for lower names without a sidecar.
func decodeName(lower string) ([]byte, error) {
	name, err := decode(lower)
	if err != nil {
		return nil, err
	}
	if len(name) < minName {
		return nil, fmt.Errorf("a name of %d bytes is too short", len(name))
	}
	return name, nil
}

var errEncoding = errors.New("not an encoded name")

// decode undoes base64url, and takes the one canonical encoding only.
func decode(s string) ([]byte, error) {
	b, err := encoding.DecodeString(s)
	// The decoder skips line feeds; the length tells.
	if err != nil || encoding.EncodedLen(len(b)) != len(s) {
		return nil, errEncoding
	}
	return b, nil
}

// tempName returns a new name for an object that is being made or removed.
func tempName() string {
	var b [12]byte
	rand.Read(b[:])
	return tempPrefix + encoding.EncodeToString(b[:])
}

// nameKind sorts the lower names of a directory.
type nameKind int

const (
	nameObject  nameKind = iota // an encoded name, or something that should be one
	nameLong                    // an object with a sidecar
	nameSidecar                 // the sidecar of a nameLong
	nameHeader                  // the directory's header
	nameTemp                    // an object that is being made or removed
	nameLinks                   // there may be long links
	nameMetadata
	nameForeign // not ours
)

func kindOf(lower string, inRoot bool) nameKind {
	switch {
	case !strings.HasPrefix(lower, "."):
		return nameObject
	case lower == headerName:
		return nameHeader
	case lower == linksName:
		return nameLinks
	case strings.HasPrefix(lower, tempPrefix):
		return nameTemp
	case strings.HasPrefix(lower, longPrefix):
		hash := strings.TrimPrefix(lower, longPrefix)
		if bare := strings.TrimSuffix(hash, sidecarSuffix); len(bare) == longHashLen {
			if bare != hash {
				return nameSidecar
			}
			return nameLong
		}
	case lower == metadataName && inRoot:
		return nameMetadata
	}
	return nameForeign
}

// readSidecar returns the encrypted name of the object with the given lower
// name of kind nameLong.
func readSidecar(dirfd int, object string) ([]byte, error) {
	var buf [maxName + 1]byte
	n, err := readSmall(dirfd, object+sidecarSuffix, buf[:])
	if err != nil {
		return nil, fmt.Errorf("sidecar: %w", err)
	}
	name := bytes.Clone(buf[:n])
	if want, err := encodeName(name); err != nil || want.string != object {
		return nil, errors.New("the sidecar does not hold the name")
	}
	return name, nil
}

// writeSidecar sees to it that a long name has its sidecar, on stable storage
// since an object must never be there without, and says whether it made it.
func (s *Store) writeSidecar(dirfd int, name lowerName) (made bool, err error) {
	if name.raw == nil {
		return false, nil
	}
	sidecar := name.string + sidecarSuffix
	switch err := writeNew(dirfd, sidecar, name.raw, true); {
	case err == nil:
		return true, nil
	case !errors.Is(err, unix.EEXIST):
		return false, fmt.Errorf("dirstore: sidecar: %w", err)
	}
	if have, err := readSidecar(dirfd, name.string); err == nil && bytes.Equal(have, name.raw) {
		return false, nil
	}
	if err := replaceFile(dirfd, sidecar, name.raw); err != nil {
		return false, fmt.Errorf("dirstore: sidecar: %w", err)
	}
	return false, nil
}

// removeSidecar removes what writeSidecar made, after its object. One that
// stays is an orphan that the check reports; no object is the worse for it.
func (s *Store) removeSidecar(dirfd int, name lowerName) {
	if name.raw == nil {
		return
	}
	unlinkat(dirfd, name.string+sidecarSuffix, 0)
	// Another mount may have made an object of this name, and taken the sidecar
	// for its own, since ours went. Both look again after they have acted.
	if s.opt.Shared && len(name.raw) > 0 && statx(dirfd, name.string, new(unix.Statx_t)) == nil {
		s.writeSidecar(dirfd, name)
	}
}

// confirmSidecar sees to it that a name that leads to an object now still has
// its sidecar, in a tree that others change too: see removeSidecar.
func (s *Store) confirmSidecar(dir *node, dirfd int, name lowerName) {
	if !s.opt.Shared {
		return
	}
	if _, err := s.writeSidecar(dirfd, name); err != nil {
		s.said.warn("its sidecar may be missing", dir.under(name.string), "error", err)
	}
}

// retractSidecar removes a sidecar that writeSidecar made for an object whose
// creation failed with err. If the object exists after all, the sidecar had
// been lost and is back now.
func (s *Store) retractSidecar(dirfd int, name lowerName, made bool, err error) {
	if made && !errors.Is(err, unix.EEXIST) {
		s.removeSidecar(dirfd, name)
	}
}
