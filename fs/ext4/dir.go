package ext4

import (
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"syscall"

	"encfs/fs/store"
)

// dirTypes are the S_IFMT bits for the types of entries, EXT4_FT_*.
var dirTypes = [...]uint32{
	1: store.ModeRegular,
	2: store.ModeDir,
	3: store.ModeChar,
	4: store.ModeBlock,
	5: store.ModeFIFO,
	6: store.ModeSocket,
	7: store.ModeSymlink,
}

// A dirBlock is what holds entries of a directory: a block of it, or a part of
// its inline data.
type dirBlock struct {
	nr     uint64 // in the directory, or of the part
	inline bool
	data   []byte
}

func (d dirBlock) String() string {
	if d.inline {
		return fmt.Sprintf("inline data %d", d.nr)
	}
	return fmt.Sprintf("block %d", d.nr)
}

// ReadDir implements store.Store. What is damaged in a block is an entry with an
// error, behind those before it; the other blocks are read.
func (s *Store) ReadDir(dir store.Node) ([]store.Dirent, error) {
	in, err := s.dirInode(dir)
	if err != nil {
		return nil, fmt.Errorf("ext4: read directory: %w", err)
	}
	hash, err := s.dirHash(in)
	if err != nil {
		return nil, fmt.Errorf("ext4: read directory: %w", err)
	}
	var entries []store.Dirent
	for b, err := range s.dirBlocks(in) {
		if err != nil {
			entries = append(entries, store.Dirent{Lower: b.String(), Err: err})
			if !isDamage(err) {
				return nil, fmt.Errorf("ext4: read directory: %w", err)
			}
			continue
		}
		names := make([]byte, 0, len(b.data)) // the cache keeps its own
		for e, err := range s.entries(in, b) {
			if err != nil {
				entries = append(entries, store.Dirent{Lower: b.String(), Err: err})
				break
			}
			names = append(names, e.name...)
			d := store.Dirent{
				Name: names[len(names)-len(e.name) : len(names) : len(names)],
				Ino:  uint64(e.ino), Hash: e.hash, Minor: e.minor,
			}
			if int(e.typ) < len(dirTypes) {
				d.Type = dirTypes[e.typ]
			}
			d.Lower = string(d.Name)
			if in.isFlag(flagEncrypt) {
				d.Lower = base64.RawURLEncoding.EncodeToString(d.Name)
				if hash != nil {
					d.Hash, d.Minor = hash.sum(d.Name)
				}
			}
			entries = append(entries, d)
		}
	}
	return entries, nil
}

func isDamage(err error) bool {
	_, ok := errors.AsType[*store.DamagedError](err)
	return ok
}

// dirInode returns the inode of a directory, ENOTDIR if the node is not one.
func (s *Store) dirInode(dir store.Node) (*inode, error) {
	in, err := s.inode(s.ino(dir))
	if err != nil {
		return nil, err
	}
	if !in.isType(store.ModeDir) {
		return nil, syscall.ENOTDIR
	}
	return in, nil
}

const (
	encodingUTF8   = 1 // the only encoding, EXT4_ENC_UTF8_12_1
	encodingStrict = 1 // the flag that all names are valid in it
)

// Case implements store.FileSystem.
func (s *Store) Case(dir store.Node) (store.Case, error) {
	in, err := s.dirInode(dir)
	switch {
	case err != nil:
		return 0, fmt.Errorf("ext4: %w", err)
	case !in.isFlag(flagCasefold) || !s.sb.incompat.has(incompatCasefold) || s.sb.encoding != encodingUTF8:
		return store.CaseSensitive, nil
	case s.sb.encodingFlags&encodingStrict != 0:
		return store.CaseFoldedStrict, nil
	}
	return store.CaseFolded, nil
}

// dirBlocks yields the blocks of a directory in order, or for each that cannot be
// read the error. Holes are left out.
func (s *Store) dirBlocks(in *inode) iter.Seq2[dirBlock, error] {
	if in.isFlag(flagInline) {
		return s.inlineDirBlocks(in)
	}
	return func(yield func(dirBlock, error) bool) {
		count := uint64(s.size(in)) >> s.dev.log2
		seen := map[uint64]bool{} // physical blocks, lest a few of them make an endless directory
		for nr := uint64(0); nr < count; {
			r, err := s.mapBlock(in, nr)
			if err != nil {
				// How much of the directory is lost by that is not known.
				yield(dirBlock{nr: nr}, err)
				return
			}
			r.blocks = min(r.blocks, count-nr)
			if r.isHole() {
				nr += r.blocks
				continue
			}
			for i := range r.blocks {
				physical := r.physical + i
				if seen[physical] {
					yield(dirBlock{nr: nr}, in.damaged("directory block %d is block %d, as another one is", nr, physical))
					return
				}
				seen[physical] = true
				if !yield(s.dirBlock(in, nr, physical)) {
					return
				}
				nr++
			}
		}
	}
}

// dirBlockAt returns a block of a directory by its number in it.
func (s *Store) dirBlockAt(in *inode, nr uint64) (dirBlock, error) {
	if nr >= uint64(s.size(in))>>s.dev.log2 {
		return dirBlock{}, in.damaged("directory block %d is past its end", nr)
	}
	r, err := s.mapBlock(in, nr)
	if err != nil {
		return dirBlock{}, err
	}
	if r.isHole() {
		return dirBlock{}, in.damaged("directory block %d is a hole", nr)
	}
	return s.dirBlock(in, nr, r.physical)
}

// dirBlock returns a block of a directory that is at a place in the file system.
// Its checksum is right if it has one.
func (s *Store) dirBlock(in *inode, nr, physical uint64) (dirBlock, error) {
	d := dirBlock{nr: nr}
	b, err := s.cache.block(physical)
	if err != nil {
		return d, err
	}
	d.data = b.data
	kind := uint64(checkEntries)
	if in.isIndexBlock(d) {
		kind = checkIndex
	}
	err = b.check(in.ino, kind, func() error { return s.checkDirBlock(in, d, kind, physical) })
	return d, err
}

// checkDirBlock verifies the checksum of a block of a directory.
func (s *Store) checkDirBlock(in *inode, d dirBlock, kind, physical uint64) error {
	if !s.sb.hasChecksums() {
		return nil
	}
	if kind == checkIndex {
		_, err := s.parseIndex(in, d)
		return err
	}
	tail := len(d.data) - dirTailSize
	if t := d.data[tail:]; le.Uint32(t) != 0 || le.Uint16(t[4:]) != dirTailSize || t[6] != 0 || t[7] != 0xDE {
		return in.damaged("directory block %d (%d): there is no checksum", d.nr, physical)
	}
	if stored, sum := le.Uint32(d.data[tail+8:]), crc32c(s.own(in), d.data[:tail]); sum != stored {
		return in.damaged("directory block %d (%d): checksum is %08x, but computes to %08x", d.nr, physical, stored, sum)
	}
	return nil
}

// isIndexBlock reports whether a block belongs to the index of its directory. As
// entries there are "." and ".." in the root and nothing in the others.
func (in *inode) isIndexBlock(d dirBlock) bool {
	if !in.isFlag(flagIndex) {
		return false
	}
	return d.nr == 0 || le.Uint32(d.data) == 0 && recLen(le.Uint16(d.data[4:])) == len(d.data)
}

// recLen returns the length that the field rec_len stands for; 64 KiB, for which
// it has no room, is 0 or 65535.
func recLen(field uint16) int {
	if field == 0 || field == 0xFFFF {
		return 1 << 16
	}
	return int(field)
}

// entries yields the entries of a block that are in use, except "." and "..", up
// to the first that is damaged.
func (s *Store) entries(in *inode, d dirBlock) iter.Seq2[dirEntry, error] {
	return func(yield func(dirEntry, error) bool) {
		for offset := 0; offset < len(d.data); {
			e, problem := s.parseEntry(in, d.data[offset:])
			if problem != "" {
				yield(e, in.damaged("directory %v, entry at %d: %s", d, offset, problem))
				return
			}
			offset += e.recLen
			if e.ino == 0 || string(e.name) == "." || string(e.name) == ".." {
				continue
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// parseEntry returns the entry that b begins with, or says what is wrong with it.
func (s *Store) parseEntry(in *inode, b []byte) (e dirEntry, problem string) {
	if len(b) < dirEntryHeader {
		return e, "it does not fit"
	}
	e = dirEntry{ino: le.Uint32(b), recLen: recLen(le.Uint16(b[4:]))}
	nameLen := int(le.Uint16(b[6:]))
	if s.sb.incompat.has(incompatFiletype) {
		nameLen, e.typ = int(b[6]), b[7]&0xF // the upper bits are for others
	}
	need := dirEntryHeader + nameLen
	hashed := in.isFlag(flagEncrypt) && in.isFlag(flagCasefold)
	switch {
	case e.recLen%4 != 0 || e.recLen < dirEntryHeader || e.recLen > len(b):
		return e, fmt.Sprintf("its length is %d", e.recLen)
	case need > e.recLen || nameLen > 255:
		return e, fmt.Sprintf("its name has %d bytes", nameLen)
	case e.ino == 0:
		return e, ""
	case nameLen == 0:
		return e, "it has no name"
	case e.ino > s.sb.inodes:
		return e, fmt.Sprintf("inode %d of %d", e.ino, s.sb.inodes)
	}
	e.name = b[dirEntryHeader:need]
	if hashed && string(e.name) != "." && string(e.name) != ".." {
		at := (need + 3) &^ 3
		if at+dirHashSize > e.recLen {
			return e, "it has no room for its hash"
		}
		e.hash, e.minor = le.Uint32(b[at:]), le.Uint32(b[at+4:])
	}
	return e, ""
}
