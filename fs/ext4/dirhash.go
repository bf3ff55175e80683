package ext4

import (
	"fmt"
	"math/bits"
)

// Hash versions, EXT4_HTREE_*: of names in directories. The unsigned ones take
// bytes as unsigned.
const (
	hashLegacy = iota
	hashHalfMD4
	hashTEA
	hashLegacyUnsigned
	hashHalfMD4Unsigned
	hashTEAUnsigned
	hashSip
)

// flagUnsignedHash in the superblock's flags means the unsigned versions.
const flagUnsignedHash = 0x2

// A nameHash computes the hashes of stored names by which a directory is
// indexed. It is immutable.
type nameHash struct {
	version uint8
	seed    [4]uint32
}

// nameHash returns the hash of a version as an index names it, nil if names as
// stored have none: casefolded encrypted ones are hashed with a key.
func (s *Store) nameHash(version uint8) *nameHash {
	if version <= hashTEA && s.sb.flags&flagUnsignedHash != 0 {
		version += hashLegacyUnsigned
	}
	if version >= hashSip {
		return nil
	}
	h := &nameHash{version: version, seed: s.sb.hashSeed}
	if h.seed == [4]uint32{} {
		h.seed = [4]uint32{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}
	}
	return h
}

// dirHash returns the hash that no-key names of a directory contain, nil if there
// is none or if the entries have it: the kernel computes it where the
// directory has an index, or could get one any time.
func (s *Store) dirHash(in *inode) (*nameHash, error) {
	if s.sb.compat&compatDirIndex == 0 || in.isFlag(flagCasefold) && in.isFlag(flagEncrypt) {
		return nil, nil
	}
	if in.isFlag(flagIndex) {
		d, err := s.dirBlockAt(in, 0)
		switch {
		case err == nil:
			return s.nameHash(d.data[indexInfo+4]), nil
		case !isDamage(err): // which listing says anyway
			return nil, err
		}
		return s.nameHash(s.sb.hashVersion), nil
	}
	if in.isFlag(flagInline) || s.size(in) == int64(s.dev.blockSize) {
		return s.nameHash(s.sb.hashVersion), nil
	}
	return nil, nil
}

// sum returns the hash of a name and its minor hash, as ext4fs_dirhash in
// fs/ext4/hash.c does.
func (h *nameHash) sum(name []byte) (hash, minor uint32) {
	switch h.version {
	case hashLegacy, hashLegacyUnsigned:
		hash = h.legacy(name)
	case hashHalfMD4, hashHalfMD4Unsigned:
		buf := h.seed
		var words [8]uint32
		for ; len(name) > 0; name = name[min(len(name), 32):] {
			h.pack(words[:], name)
			halfMD4(&buf, &words)
		}
		hash, minor = buf[1], buf[2]
	case hashTEA, hashTEAUnsigned:
		buf := h.seed
		var words [4]uint32
		for ; len(name) > 0; name = name[min(len(name), 16):] {
			h.pack(words[:], name)
			tea(&buf, &words)
		}
		hash, minor = buf[0], buf[1]
	default:
		panic(fmt.Sprintf("ext4: hash version %d", h.version))
	}
	return cleanHash(hash), minor
}

// cleanHash makes a hash one that an index can have: the lowest bit has another
// meaning there, and the greatest stands for the end of a directory.
func cleanHash(hash uint32) uint32 {
	const end = 0xFFFFFFFE
	if hash &^= 1; hash == end {
		return end - 2
	}
	return hash
}

// char returns a byte of a name as the number that it is to the hash.
func (h *nameHash) char(b byte) uint32 {
	if h.version >= hashLegacyUnsigned {
		return uint32(b)
	}
	return uint32(int32(int8(b)))
}

// pack fills words with the beginning of what is left of a name, the first byte
// topmost, and with its length where the name is shorter.
func (h *nameHash) pack(words []uint32, name []byte) {
	pad := uint32(len(name)) * 0x01010101
	for i := range words {
		words[i] = pad
		part := name[min(4*i, len(name)):min(4*i+4, len(name))]
		for _, b := range part {
			words[i] = words[i]<<8 + h.char(b)
		}
	}
}

func (h *nameHash) legacy(name []byte) uint32 {
	h0, h1 := uint32(0x12a3fe2d), uint32(0x37abe8f9)
	for _, b := range name {
		next := h1 + (h0 ^ h.char(b)*7152373)
		if next&(1<<31) != 0 {
			next -= 1<<31 - 1
		}
		h0, h1 = next, h0
	}
	return h0 << 1
}

// halfMD4Rounds are the rounds of halfMD4: the order of the words, what is added
// to them, and the shifts of four steps.
var halfMD4Rounds = [3]struct {
	order [8]uint8
	add   uint32
	shift [4]uint8
}{
	{[8]uint8{0, 1, 2, 3, 4, 5, 6, 7}, 0, [4]uint8{3, 7, 11, 19}},
	{[8]uint8{1, 3, 5, 7, 0, 2, 4, 6}, 0x5A827999, [4]uint8{3, 5, 9, 13}},
	{[8]uint8{3, 7, 2, 6, 1, 5, 0, 4}, 0x6ED9EBA1, [4]uint8{3, 9, 11, 15}},
}

// halfMD4 is the compression function of MD4 (RFC 1320) with half as many steps
// in each round.
func halfMD4(buf *[4]uint32, in *[8]uint32) {
	a, b, c, d := buf[0], buf[1], buf[2], buf[3]
	for r := range halfMD4Rounds {
		round := &halfMD4Rounds[r]
		for i, word := range round.order {
			var f uint32
			switch r {
			case 0:
				f = d ^ b&(c^d)
			case 1:
				f = b&c + (b^c)&d
			case 2:
				f = b ^ c ^ d
			}
			a = bits.RotateLeft32(a+f+in[word]+round.add, int(round.shift[i%4]))
			a, b, c, d = d, a, b, c
		}
	}
	buf[0] += a
	buf[1] += b
	buf[2] += c
	buf[3] += d
}

// tea is 16 rounds of TEA, the Tiny Encryption Algorithm, with in as the key.
func tea(buf *[4]uint32, in *[4]uint32) {
	b0, b1, sum := buf[0], buf[1], uint32(0)
	for range 16 {
		sum += 0x9E3779B9
		b0 += (b1<<4 + in[0]) ^ (b1 + sum) ^ (b1>>5 + in[1])
		b1 += (b0<<4 + in[2]) ^ (b0 + sum) ^ (b0>>5 + in[3])
	}
	buf[0] += b0
	buf[1] += b1
}
