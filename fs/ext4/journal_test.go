package ext4

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"encfs/fs/store"
)

// A tinyLog writes the journal of a tiny image.
type tinyLog struct {
	*tiny
	incompat uint32
	sequence uint32
	at       int // in the journal
}

// Where the journal is in the image, and its own numbers.
const (
	logStart  = 64 // block of the image
	logBlocks = 32
	logFirst  = 1
)

// newTinyLog makes an empty journal that begins at a position.
func newTinyLog(incompat uint32, start int) *tinyLog {
	l := &tinyLog{tiny: newTiny(128), incompat: incompat, sequence: 7, at: start}
	l.setSuper(func(sb []byte) { le.PutUint32(sb[0x60:], le.Uint32(sb[0x60:])|uint32(incompatRecover)) })
	l.setInode(8, store.ModeRegular|0o600, logBlocks*tinyBlock, flagExtents, tinyExtent(0, logBlocks, logStart))
	b := l.log(0)
	for i, v := range []uint32{journalMagic, journalSuperV2, 0, tinyBlock, logBlocks, logFirst, l.sequence, uint32(start), 0, 0, incompat} {
		be.PutUint32(b[4*i:], v)
	}
	copy(b[0x30:], "the journal UUID")
	b[0x50] = 4
	be.PutUint32(b[0xFC:], crc32c(crcStart, b)) // with zeros in its place
	return l
}

func (l *tinyLog) log(nr int) []byte { return l.block(logStart + nr) }

func (l *tinyLog) has(feature uint32) bool { return l.incompat&feature != 0 }

func (l *tinyLog) seed() uint32 { return crc32c(crcStart, []byte("the journal UUID")) }

// next returns the next block of the log.
func (l *tinyLog) next() []byte {
	b := l.log(l.at)
	if l.at++; l.at == logBlocks {
		l.at = logFirst
	}
	return b
}

func (l *tinyLog) header(typ uint32) []byte {
	b := l.next()
	clear(b)
	be.PutUint32(b, journalMagic)
	be.PutUint32(b[4:], typ)
	be.PutUint32(b[8:], l.sequence)
	return b
}

func (l *tinyLog) sign(b []byte, at int) {
	if l.has(journalCsumV2 | journalCsumV3) {
		be.PutUint32(b[at:], crc32c(l.seed(), b)) // with zeros in its place
	}
}

// write logs new contents for blocks.
func (l *tinyLog) write(blocks map[uint64][]byte) {
	d := l.header(journalDescriptor)
	tag := d[journalHeaderSize:]
	var order []uint64
	for nr := range blocks {
		order = append(order, nr)
	}
	slices.Sort(order)
	for i, nr := range order {
		data := l.next()
		copy(data, blocks[nr])
		flags := uint32(0)
		if bytes.HasPrefix(data, journalMagicBytes) {
			clear(data[:4])
			flags |= tagEscaped
		}
		if i > 0 {
			flags |= tagSameUUID
		}
		if i == len(order)-1 {
			flags |= tagLast
		}
		sum := crc32c(crc32c(l.seed(), be.AppendUint32(nil, l.sequence)), data)
		size := 8
		be.PutUint32(tag, uint32(nr))
		if l.has(journalCsumV3) {
			size = 16
			be.PutUint32(tag[4:], flags)
			be.PutUint32(tag[8:], uint32(nr>>32))
			be.PutUint32(tag[12:], sum)
		} else {
			be.PutUint16(tag[6:], uint16(flags))
			if l.has(journal64bit) {
				size = 12
				be.PutUint32(tag[8:], uint32(nr>>32))
			}
			if l.has(journalCsumV2) {
				size += 2
				be.PutUint16(tag[4:], uint16(sum))
			}
		}
		if i == 0 {
			size += journalUUIDSize
		}
		tag = tag[size:]
	}
	l.sign(d, len(d)-journalTailSize)
}

func (l *tinyLog) revoke(blocks ...uint64) {
	b := l.header(journalRevoke)
	entries := []byte(nil)
	for _, nr := range blocks {
		if l.has(journal64bit) {
			entries = be.AppendUint64(entries, nr)
		} else {
			entries = be.AppendUint32(entries, uint32(nr))
		}
	}
	copy(b[16:], entries)
	be.PutUint32(b[12:], uint32(16+len(entries)))
	l.sign(b, len(b)-journalTailSize)
}

func (l *tinyLog) commit() {
	b := l.header(journalCommit)
	be.PutUint64(b[commitTime:], uint64(l.sequence))
	l.sign(b, 16)
	l.sequence++
}

// fill returns a block full of a byte.
func fill(c byte) []byte { return bytes.Repeat([]byte{c}, tinyBlock) }

// TestReplay compares blocks after replay of logs that no fixture has, with all
// forms of tags and checksums.
func TestReplay(t *testing.T) {
	const a, b, c = 40, 41, 42
	escaped := append(bytes.Clone(journalMagicBytes), fill('e')[4:]...)
	for _, tt := range []struct {
		name  string
		start int
		log   func(l *tinyLog)
		want  string // the first bytes of blocks a, b and c; "-" as in the image
	}{
		{"nothing", 1, func(l *tinyLog) {}, "---"},
		{"one transaction", 1, func(l *tinyLog) {
			l.write(map[uint64][]byte{a: fill('1'), b: fill('2')})
			l.commit()
		}, "12-"},
		{"never committed", 1, func(l *tinyLog) {
			l.write(map[uint64][]byte{a: fill('1')})
		}, "---"},
		{"the last one never committed", 1, func(l *tinyLog) {
			l.write(map[uint64][]byte{a: fill('1')})
			l.commit()
			l.write(map[uint64][]byte{a: fill('2'), b: fill('2')})
		}, "1--"},
		{"later copies win", 1, func(l *tinyLog) {
			for _, v := range "123" {
				l.write(map[uint64][]byte{a: fill(byte(v)), b: fill('x')})
				l.commit()
			}
		}, "3x-"},
		{"revoked later", 1, func(l *tinyLog) {
			l.write(map[uint64][]byte{a: fill('1'), b: fill('2')})
			l.commit()
			l.revoke(a, c)
			l.commit()
		}, "-2-"},
		{"revoked in the same transaction", 1, func(l *tinyLog) {
			l.revoke(a)
			l.write(map[uint64][]byte{a: fill('1'), b: fill('2')})
			l.commit()
		}, "-2-"},
		{"revoked and written again", 1, func(l *tinyLog) {
			l.write(map[uint64][]byte{a: fill('1')})
			l.commit()
			l.revoke(a)
			l.commit()
			l.write(map[uint64][]byte{a: fill('3')})
			l.commit()
		}, "3--"},
		{"revoked, not committed", 1, func(l *tinyLog) {
			l.write(map[uint64][]byte{a: fill('1')})
			l.commit()
			l.revoke(a)
		}, "1--"},
		{"escaped", 1, func(l *tinyLog) {
			l.write(map[uint64][]byte{a: escaped, b: fill('2')})
			l.commit()
		}, "\xC02-"},
		{"round the end of the log", logBlocks - 2, func(l *tinyLog) {
			for _, v := range "12345" {
				l.write(map[uint64][]byte{a: fill(byte(v)), b: fill('x')})
				l.commit()
			}
		}, "5x-"},
		{"two descriptors", 1, func(l *tinyLog) {
			l.write(map[uint64][]byte{a: fill('1')})
			l.write(map[uint64][]byte{b: fill('2'), c: fill('3')})
			l.commit()
		}, "123"},
		{"an old transaction behind", 1, func(l *tinyLog) {
			l.write(map[uint64][]byte{a: fill('1')})
			l.commit()
			l.sequence -= 5
			l.write(map[uint64][]byte{a: fill('2')})
			l.commit()
		}, "1--"},
	} {
		for _, incompat := range []uint32{0, journalRevokes, journal64bit, journalCsumV2, journalCsumV2 | journal64bit, journalCsumV3, journalCsumV3 | journal64bit} {
			t.Run(fmt.Sprintf("%s/%#x", tt.name, incompat), func(t *testing.T) {
				l := newTinyLog(incompat, tt.start)
				tt.log(l)
				s := l.mustOpen(t)
				got := make([]byte, 3*tinyBlock)
				if err := s.dev.readAt(got, a*tinyBlock); err != nil {
					t.Fatal(err)
				}
				for i, want := range []byte(tt.want) {
					whole := fill(want)
					switch want {
					case '-':
						whole = fill(0)
					case 0xC0:
						whole = escaped
					}
					if !bytes.Equal(got[i*tinyBlock:][:tinyBlock], whole) {
						t.Errorf("block %d: got %.8q, want %.8q", a+i, got[i*tinyBlock:], whole)
					}
				}
				part := make([]byte, 2) // within the bytes that may be escaped
				if err := s.dev.readAt(part, a*tinyBlock+3); err != nil || !bytes.Equal(part, got[3:5]) {
					t.Errorf("part of block %d: got %x and error %v, want %x", a, part, err, got[3:5])
				}
			})
		}
	}
}

// TestReplaySuperblock sees that what the log has of the superblock counts.
func TestReplaySuperblock(t *testing.T) {
	l := newTinyLog(0, 1)
	sb := bytes.Clone(l.block(1))
	copy(sb[0x68:], "another UUID    ")
	l.write(map[uint64][]byte{1: sb})
	l.commit()
	if got := l.mustOpen(t).UUID(); string(got[:]) != "another UUID    " {
		t.Errorf("UUID is %q", got)
	}
}

func TestReplayRefused(t *testing.T) {
	damage := func(want string, change func(l *tinyLog)) func(t *testing.T) {
		return func(t *testing.T) {
			l := newTinyLog(journalCsumV3, 1)
			l.write(map[uint64][]byte{40: fill('1')})
			l.revoke(50)
			l.commit()
			change(l)
			_, err := l.open()
			if e, ok := errors.AsType[*store.DamagedError](err); !ok || !strings.Contains(e.Error(), want) {
				t.Errorf("got %v, want damage: %s", err, want)
			}
		}
	}
	t.Run("superblock", damage("superblock", func(l *tinyLog) { l.log(0)[0x100] ^= 1 }))
	t.Run("descriptor", damage("descriptor", func(l *tinyLog) { l.log(1)[0x100] ^= 1 }))
	t.Run("data", damage("contents for block 40", func(l *tinyLog) { l.log(2)[0x100] ^= 1 }))
	t.Run("revoke", damage("revoked", func(l *tinyLog) { l.log(3)[0x100] ^= 1 }))
	t.Run("commit", damage("commit", func(l *tinyLog) { l.log(4)[20] ^= 1 }))
	t.Run("length", damage("blocks in a file", func(l *tinyLog) { be.PutUint32(l.log(0)[0x10:], logBlocks+1) }))

	t.Run("fast commit", func(t *testing.T) {
		_, err := newTinyLog(journalFastCommit, 1).open()
		if e, ok := errors.AsType[*UnsupportedError](err); !ok || !strings.Contains(e.Feature, "fast_commit") {
			t.Errorf("got %v, want an UnsupportedError for fast_commit", err)
		}
	})
	t.Run("unknown feature", func(t *testing.T) {
		_, err := newTinyLog(0x40, 1).open()
		if e, ok := errors.AsType[*UnsupportedError](err); !ok || !strings.Contains(e.Feature, "0x40") {
			t.Errorf("got %v, want an UnsupportedError for 0x40", err)
		}
	})
}

// TestReplayHalfCommit takes a commit block of which only the first sector was
// written, and drops a transaction whose descriptor was not written.
func TestReplayHalfCommit(t *testing.T) {
	l := newTinyLog(journalCsumV3, 1)
	l.write(map[uint64][]byte{40: fill('1')})
	l.commit()
	copy(l.log(3)[512:], fill('?'))
	l.write(map[uint64][]byte{40: fill('2')})
	l.log(4)[0x100] ^= 1
	got := make([]byte, tinyBlock)
	if err := l.mustOpen(t).dev.readAt(got, 40*tinyBlock); err != nil || got[0] != '1' {
		t.Errorf("got %.3q, %v", got, err)
	}
}
