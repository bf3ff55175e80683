package ext4

import (
	"fmt"
	"syscall"

	"encfs/fs/store"
)

// xattrPrefixes are what names of attributes begin with, by the index that is
// stored (EXT4_XATTR_INDEX_*). Where whole is set that is all of the name. The
// others are not shown: inline data and the context among them.
var xattrPrefixes = [...]struct {
	prefix string
	whole  bool
}{
	1: {"user.", false},
	2: {aclAccess, true},
	3: {aclDefault, true},
	4: {"trusted.", false},
	6: {"security.", false},
	7: {"system.", false},
}

// The context's attribute.
const (
	contextIndex = 9
	contextName  = "c"
)

// xattrValueMax is the kernel's XATTR_SIZE_MAX, in bytes.
const xattrValueMax = 64 << 10

// An xattrRegion is a place with extended attributes: the end of an inode, or a
// block.
type xattrRegion struct {
	name    string // for messages
	entries []byte // up to the end of the region, values included
	values  []byte // what the offsets of values count in
}

// xattrs returns the region in the inode, an empty one if there is none.
func (in *inode) xattrs() (xattrRegion, error) {
	r := xattrRegion{name: "attributes in the inode"}
	start := inodeMin + in.extra
	if in.extra == 0 || start+4 > len(in.raw) || le.Uint32(in.raw[start:]) != xattrMagic {
		return r, nil
	}
	r.entries = in.raw[start+4:]
	r.values = r.entries
	return r, nil
}

// xattrBlock returns the region in the block of an inode, an empty one if there
// is none.
func (s *Store) xattrBlock(in *inode) (xattrRegion, error) {
	nr := in.xattrBlock
	if !s.sb.incompat.has(incompat64bit) {
		nr &= 1<<32 - 1
	}
	r := xattrRegion{name: fmt.Sprintf("attribute block %d", nr)}
	if nr == 0 {
		return r, nil
	}
	if !s.dev.has(nr, 1) {
		return r, in.damaged("%s of %d", r.name, s.dev.blocks)
	}
	b, err := s.cache.block(nr)
	if err != nil {
		return r, err
	}
	r.entries, r.values = b.data[xattrBlockHeader:], b.data
	return r, b.check(in.ino, checkXattrs, func() error {
		if magic, blocks := le.Uint32(b.data), le.Uint32(b.data[8:]); magic != xattrMagic || blocks != 1 {
			return in.damaged("%s: magic number is %08x, for %d blocks", r.name, magic, blocks)
		}
		if s.sb.hasChecksums() {
			const at = 16 // h_checksum
			sum := crc32c(crc32cLE64(s.seed, nr), b.data[:at])
			sum = crc32c(crc32c(sum, []byte{0, 0, 0, 0}), b.data[at+4:])
			if stored := le.Uint32(b.data[at:]); sum != stored {
				return in.damaged("%s: checksum is %08x, but computes to %08x", r.name, stored, sum)
			}
		}
		return nil
	})
}

// each calls f for the attributes of a region, until it returns false.
func (r xattrRegion) each(in *inode, f func(e xattrEntry) bool) error {
	for rest := r.entries; len(rest) >= 4 && le.Uint32(rest) != 0; {
		if len(rest) < xattrEntryHeader {
			return in.damaged("%s: an entry does not fit", r.name)
		}
		e, nameLen := decodeXattrEntry(rest)
		size := (xattrEntryHeader + nameLen + 3) &^ 3
		if size > len(rest) {
			return in.damaged("%s: a name of %d bytes does not fit", r.name, nameLen)
		}
		e.name = rest[xattrEntryHeader:][:nameLen]
		if !f(e) {
			return nil
		}
		rest = rest[size:]
	}
	return nil
}

// find returns the attribute of a region with this name.
func (r xattrRegion) find(in *inode, index uint8, name string) (found xattrEntry, ok bool, err error) {
	err = r.each(in, func(e xattrEntry) bool {
		if ok = e.index == index && string(e.name) == name; ok {
			found = e
		}
		return !ok
	})
	return found, ok, err
}

// value returns the value of an attribute that is in the region itself.
func (r xattrRegion) value(in *inode, e xattrEntry) ([]byte, error) {
	if uint64(e.valueOffset)+uint64(e.valueSize) > uint64(len(r.values)) {
		return nil, in.damaged("%s: %d bytes of a value at %d do not fit", r.name, e.valueSize, e.valueOffset)
	}
	return r.values[e.valueOffset:][:e.valueSize], nil
}

// regions returns the places with attributes of an inode.
func (s *Store) regions(in *inode) ([2]xattrRegion, error) {
	inside, err := in.xattrs()
	if err != nil {
		return [2]xattrRegion{}, err
	}
	outside, err := s.xattrBlock(in)
	return [2]xattrRegion{inside, outside}, err
}

// xattr returns the value of an attribute, wherever it is; nil if there is none.
// The caller does not change it.
func (s *Store) xattr(in *inode, index uint8, name string) ([]byte, error) {
	// One after the other: the block is not needed for what is in the inode.
	for _, region := range []func() (xattrRegion, error){
		in.xattrs,
		func() (xattrRegion, error) { return s.xattrBlock(in) },
	} {
		r, err := region()
		if err != nil {
			return nil, err
		}
		e, ok, err := r.find(in, index, name)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if e.valueInode != 0 {
			return s.xattrInode(in, e)
		}
		value, err := r.value(in, e)
		if value == nil && err == nil {
			value = []byte{}
		}
		return value, err
	}
	return nil, nil
}

// xattrInode returns the value of an attribute that is the contents of an inode of
// its own.
func (s *Store) xattrInode(in *inode, e xattrEntry) ([]byte, error) {
	if !s.sb.incompat.has(incompatEAInode) {
		return nil, in.damaged("an attribute is in inode %d, which the file system does not have", e.valueInode)
	}
	holder, err := s.inode(e.valueInode)
	if err != nil {
		return nil, err
	}
	if size := s.size(holder); !holder.isFlag(flagEAInode) || size != int64(e.valueSize) || size > xattrValueMax {
		return nil, in.damaged("inode %d with %d bytes is said to be an attribute of %d", holder.ino, s.size(holder), e.valueSize)
	}
	value, err := s.contents(holder)
	if err != nil {
		return nil, err
	}
	// The time of access of such an inode is the checksum of the value.
	if stored, sum := le.Uint32(holder.raw[0x08:]), crc32c(s.seed, value); s.sb.hasChecksums() && stored != sum {
		return nil, holder.damaged("checksum of the attribute is %08x, but computes to %08x", stored, sum)
	}
	return value, nil
}

// Context implements store.Store, for regular files too.
func (s *Store) Context(nd store.Node) ([]byte, error) {
	in, err := s.inode(s.ino(nd))
	if err != nil {
		return nil, fmt.Errorf("ext4: context: %w", err)
	}
	context, err := s.context(in)
	if err != nil {
		return nil, fmt.Errorf("ext4: context: %w", err)
	}
	return context, nil
}

func (s *Store) context(in *inode) ([]byte, error) {
	if !in.isFlag(flagEncrypt) {
		return nil, nil
	}
	context, err := s.xattr(in, contextIndex, contextName)
	if err == nil && context == nil {
		err = in.damaged("is encrypted and has no context")
	}
	return append([]byte(nil), context...), err
}

// GetXattr implements store.Xattrs.
func (s *Store) GetXattr(nd store.Node, name string) ([]byte, error) {
	value, err := s.getXattr(nd, name)
	if err != nil {
		return nil, fmt.Errorf("ext4: get attribute %s of %v: %w", name, nd, err)
	}
	return value, nil
}

func (s *Store) getXattr(nd store.Node, name string) ([]byte, error) {
	in, err := s.inode(s.ino(nd))
	if err != nil {
		return nil, err
	}
	for index, p := range xattrPrefixes {
		if p.prefix == "" || len(name) < len(p.prefix) || name[:len(p.prefix)] != p.prefix {
			continue
		}
		rest := name[len(p.prefix):]
		if p.whole != (rest == "") || index == inlineIndex && rest == inlineName {
			continue
		}
		value, err := s.xattr(in, uint8(index), rest)
		if err != nil {
			return nil, err
		}
		if value == nil {
			return nil, syscall.ENODATA
		}
		if p.whole {
			return aclToXattr(in, value)
		}
		return append([]byte(nil), value...), nil
	}
	return nil, syscall.ENODATA
}

// ListXattr implements store.Xattrs.
func (s *Store) ListXattr(nd store.Node) ([]string, error) {
	in, err := s.inode(s.ino(nd))
	if err != nil {
		return nil, fmt.Errorf("ext4: list attributes: %w", err)
	}
	regions, err := s.regions(in)
	if err != nil {
		return nil, fmt.Errorf("ext4: list attributes: %w", err)
	}
	var names []string
	for _, r := range regions {
		err := r.each(in, func(e xattrEntry) bool {
			if int(e.index) >= len(xattrPrefixes) || e.index == inlineIndex && string(e.name) == inlineName {
				return true
			}
			if p := xattrPrefixes[e.index]; p.prefix != "" && p.whole == (len(e.name) == 0) {
				names = append(names, p.prefix+string(e.name))
			}
			return true
		})
		if err != nil {
			return nil, fmt.Errorf("ext4: list attributes: %w", err)
		}
	}
	return names, nil
}
