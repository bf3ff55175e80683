package dirstore

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// LookupLower implements store.LowerNames.
func (s *Store) LookupLower(nd store.Node, lower string) (store.Node, store.Attr, error) {
	dir := s.node(nd)
	name, err := s.objectName(dir, lower)
	if err != nil {
		return nil, store.Attr{}, err
	}
	return s.lookup(dir, name)
}

// UnlinkLower implements store.LowerNames.
func (s *Store) UnlinkLower(nd store.Node, lower string) error {
	dir := s.node(nd)
	name, err := s.objectName(dir, lower)
	if err != nil {
		return err
	}
	return s.remove("unlink", dir, name, s.unlink)
}

// RmdirLower implements store.LowerNames.
func (s *Store) RmdirLower(nd store.Node, lower string) error {
	dir := s.node(nd)
	name, err := s.objectName(dir, lower)
	if err != nil {
		return err
	}
	s.wide.Lock()
	defer s.wide.Unlock()
	return s.remove("rmdir", dir, name, s.rmdir)
}

// RenameLower implements store.LowerNames.
func (s *Store) RenameLower(oldDir store.Node, lower string, newDir store.Node, newName []byte, flags uint) error {
	dir := s.node(oldDir)
	name, err := s.objectName(dir, lower)
	if err != nil {
		return err
	}
	if flags&unix.RENAME_EXCHANGE != 0 {
		return fmt.Errorf("dirstore: exchange %s: %w", dir.under(lower), unix.EINVAL)
	}
	return s.renameFrom(&renameEnd{dir: dir, lower: name}, newDir, newName, flags)
}

// objectName takes only what ReadDir could have given: never the bookkeeping of
// the directory, what is not ours, or a path.
func (s *Store) objectName(dir *node, lower string) (lowerName, error) {
	if lower != "" && len(lower) <= maxLowerName && !strings.ContainsAny(lower, "/\x00") {
		switch kindOf(lower, dir == s.root) {
		case nameObject:
			return lowerName{string: lower}, nil
		case nameLong:
			return lowerName{string: lower, raw: []byte{}}, nil // has a sidecar to remove
		}
	}
	return lowerName{}, fmt.Errorf("dirstore: %q: %w", lower, unix.ENOENT)
}
