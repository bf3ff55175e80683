package ext4

import (
	"bytes"
	"fmt"
	"syscall"

	"encfs/fs/store"
)

// targetHeader is how many bytes with its length precede an encrypted target,
// struct fscrypt_symlink_data.
const targetHeader = 2

// Readlink implements store.Store.
func (s *Store) Readlink(nd store.Node) ([]byte, error) {
	in, err := s.inode(s.ino(nd))
	if err != nil {
		return nil, fmt.Errorf("ext4: read link: %w", err)
	}
	if !in.isType(store.ModeSymlink) {
		return nil, fmt.Errorf("ext4: read link %v: %w", nd, syscall.EINVAL)
	}
	target, err := s.target(in)
	if err != nil {
		return nil, fmt.Errorf("ext4: read link: %w", err)
	}
	return target, nil
}

func (s *Store) target(in *inode) ([]byte, error) {
	size := s.size(in)
	if size == 0 || size > int64(s.dev.blockSize) {
		return nil, in.damaged("a symbolic link of %d bytes", size)
	}
	var stored []byte
	if size < inodeBlock && !in.isFlag(flagInline) {
		stored = append(stored, in.block[:size]...)
	} else {
		var err error
		if stored, err = s.contents(in); err != nil {
			return nil, err
		}
	}
	if !in.isFlag(flagEncrypt) {
		if bytes.IndexByte(stored, 0) >= 0 {
			return nil, in.damaged("the target contains a NUL")
		}
		return stored, nil
	}
	if size < targetHeader {
		return nil, in.damaged("an encrypted target of %d bytes", size)
	}
	if length := int64(le.Uint16(stored)); length == 0 || length != size-targetHeader {
		return nil, in.damaged("an encrypted target of %d bytes in %d", length, size)
	}
	return stored[targetHeader:], nil
}
