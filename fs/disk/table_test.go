package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"encfs/fs/ext4/ext4test"
)

// testDisk returns a disk in testdata.
func testDisk(tb testing.TB, name string) []byte {
	tb.Helper()
	return ext4test.Unpack(tb, filepath.Join("testdata", name+".img.zst"))
}

func readTable(b []byte) (*Table, error) { return ReadTable(bytes.NewReader(b), int64(len(b))) }

// TestTables compares with what sfdisk says.
func TestTables(t *testing.T) {
	for _, name := range []string{"gpt", "gpt-4096", "hybrid", "mbr", "mbr-4096"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				PartitionTable struct {
					Label      string
					SectorSize int
					Partitions []struct {
						Node        string
						Start, Size int64
						Type, Name  string
					}
				}
			}
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			p := want.PartitionTable
			got, err := readTable(testDisk(t, name))
			if err != nil {
				t.Fatal(err)
			}
			kind := map[string]Kind{"gpt": GPT, "dos": MBR}[p.Label]
			if got.Kind != kind || got.SectorSize != p.SectorSize || len(got.Problems) > 0 {
				t.Errorf("got %s in sectors of %d, problems %q; want %s, %d", got.Kind, got.SectorSize, got.Problems, kind, p.SectorSize)
			}
			var partitions []Partition
			for _, w := range p.Partitions {
				if w.Type == "5" {
					continue
				}
				n, err := strconv.Atoi(w.Node[len(w.Node)-1:])
				if err != nil {
					t.Fatal(err)
				}
				size := int64(p.SectorSize)
				partitions = append(partitions, Partition{n, w.Start * size, w.Size * size, w.Name})
			}
			if !slices.Equal(got.Partitions, partitions) {
				t.Errorf("partitions:\n got %+v\nwant %+v", got.Partitions, partitions)
			}
		})
	}
}

// resum makes the checksums of the first GPT right again.
func resum(b []byte, sector int) {
	h := b[sector:][:92]
	entries := b[int(le.Uint64(h[72:]))*sector:][:le.Uint32(h[80:])*le.Uint32(h[84:])]
	le.PutUint32(h[88:], crc32.ChecksumIEEE(entries))
	resumHeader(h)
}

func resumHeader(h []byte) {
	clear(h[16:20])
	le.PutUint32(h[16:], crc32.ChecksumIEEE(h))
}

// TestDamagedGPT changes a sound disk.
func TestDamagedGPT(t *testing.T) {
	const sector, entries = 512, 1024
	sound := testDisk(t, "gpt")
	for _, tt := range []struct {
		name    string
		change  func(b []byte)
		numbers []int  // of the partitions, nil for an error
		want    string // in a problem or the error; "" for none
	}{
		{"sound", func(b []byte) {}, []int{1, 2, 5}, ""},
		{"checksum of the header", func(b []byte) { b[sector+40]++ }, []int{1, 2, 5}, "GPT in sector 1: checksum is"},
		{"checksum of the entries", func(b []byte) { b[entries+32]++ }, []int{1, 2, 5}, "GPT in sector 1: checksum of the entries is"},
		{"first copy wiped", func(b []byte) { clear(b[sector:][:33*sector]) }, []int{1, 2, 5}, "GPT in sector 1: there is none; its backup is used"},
		{"backup wiped", func(b []byte) { clear(b[len(b)-33*sector:]) }, []int{1, 2, 5}, ""},
		{"both wiped", func(b []byte) { clear(b[sector:][:33*sector]); clear(b[len(b)-33*sector:]) }, []int{}, "the MBR announces a GPT, and there is none"},
		{"both damaged", func(b []byte) { b[sector+40]++; b[len(b)-sector+40]++ }, nil, "the GPT is damaged: in sector 1, and its backup in sector 16383: checksum is"},
		{"header of another sector", func(b []byte) { le.PutUint64(b[sector+24:], 2); resum(b, sector) }, []int{1, 2, 5}, "it claims to be in sector 2"},
		{"long header", func(b []byte) { le.PutUint32(b[sector+12:], 513) }, []int{1, 2, 5}, "it claims to have 513 bytes"},
		{"short header", func(b []byte) { le.PutUint32(b[sector+12:], 91) }, []int{1, 2, 5}, "it claims to have 91 bytes"},
		{"entries of no size", func(b []byte) { le.PutUint32(b[sector+84:], 0); resumHeader(b[sector:][:92]) }, []int{1, 2, 5}, "entries have 0 bytes"},
		{"billions of entries", func(b []byte) { le.PutUint32(b[sector+80:], 1<<32-1); resumHeader(b[sector:][:92]) }, []int{1, 2, 5}, "it claims to have 4294967295 entries"},
		{"entries behind the end", func(b []byte) { le.PutUint64(b[sector+72:], 1<<63); resumHeader(b[sector:][:92]) }, []int{1, 2, 5}, "behind the end of the disk"},
		{"partition behind the end", func(b []byte) {
			le.PutUint64(b[entries+32:], 16384)
			le.PutUint64(b[entries+40:], 20000)
			resum(b, sector)
		}, []int{2, 5}, "partition 1 begins behind the end of the disk"},
		{"partition over the end", func(b []byte) { le.PutUint64(b[entries+4*128+40:], 1<<64-1); resum(b, sector) }, []int{1, 2, 5}, "partition 5 reaches over the end of the disk"},
		{"whole number space", func(b []byte) {
			le.PutUint64(b[entries+32:], 0)
			le.PutUint64(b[entries+40:], 1<<64-1)
			resum(b, sector)
		}, []int{1, 2, 5}, "partitions 1 and 2 overlap"},
		{"partition of no size", func(b []byte) { le.PutUint64(b[entries+40:], 2047); resum(b, sector) }, []int{2, 5}, "partition 1 ends before it begins"},
		{"overlapping partitions", func(b []byte) { le.PutUint64(b[entries+40:], 4096); resum(b, sector) }, []int{1, 2, 5}, "partitions 1 and 2 overlap"},
		{"without an MBR", func(b []byte) { clear(b[:sector]) }, []int{1, 2, 5}, ""},
		{"stale, behind another MBR", func(b []byte) { b[mbrEntries+4] = 0x83 }, []int{1}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := bytes.Clone(sound)
			tt.change(b)
			got, err := readTable(b)
			if (err != nil) != (tt.numbers == nil) {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				if !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %q, want %q", err, tt.want)
				}
				return
			}
			checkTable(t, got, len(b), tt.numbers, tt.want)
		})
	}
}

func checkTable(t *testing.T, got *Table, size int, numbers []int, problem string) {
	t.Helper()
	found := []int{}
	for _, p := range got.Partitions {
		found = append(found, p.Number)
		if p.Start < 0 || p.Size <= 0 || p.Size > int64(size)-p.Start {
			t.Errorf("partition %+v of a disk of %d bytes", p, size)
		}
	}
	if !slices.Equal(found, numbers) {
		t.Errorf("partitions %v, want %v", found, numbers)
	}
	if problems := strings.Join(got.Problems, "; "); (problem == "") != (problems == "") || !strings.Contains(problems, problem) {
		t.Errorf("problems %q, want %q", problems, problem)
	}
}

// TestDamagedMBR changes a sound disk. Its extended partition begins in sector 6144,
// where the entry of the first logical partition is.
func TestDamagedMBR(t *testing.T) {
	const extended = 6144 * 512
	link := func(b []byte, sector int) []byte { return b[sector*512+mbrEntries+mbrEntrySize:] } // the second entry
	sound := testDisk(t, "mbr")
	second := 6144 + int(le.Uint32(link(sound, 6144)[8:]))
	for _, tt := range []struct {
		name    string
		change  func(b []byte)
		numbers []int
		want    string
	}{
		{"sound", func(b []byte) {}, []int{1, 2, 5, 6, 7}, ""},
		{"chain to itself", func(b []byte) { le.PutUint32(link(b, 6144)[8:], 0) }, []int{1, 2, 5}, "comes back to sector 6144"},
		{"chain in a circle", func(b []byte) { le.PutUint32(link(b, second)[8:], uint32(second-6144)) }, []int{1, 2, 5, 6}, "comes back to sector"},
		{"chain behind the end", func(b []byte) { le.PutUint32(link(b, 6144)[8:], 1<<32-1) }, []int{1, 2, 5}, "leads to sector 4294973439, which has none"},
		{"chain to nothing", func(b []byte) { clear(b[second*512:][:512]) }, []int{1, 2, 5}, "which has none"},
		{"empty extended partition", func(b []byte) { clear(b[extended:][:512]) }, []int{1, 2}, ""},
		{"extended partition behind the end", func(b []byte) { le.PutUint32(b[mbrEntries+2*16+8:], 1<<31) }, []int{1, 2}, ""},
		{"partition behind the end", func(b []byte) { le.PutUint32(b[mbrEntries+8:], 1<<31) }, []int{2, 5, 6, 7}, "partition 1 begins behind the end of the disk"},
		{"partition over the end", func(b []byte) { le.PutUint32(b[mbrEntries+16+12:], 1<<31) }, []int{1, 2, 5, 6, 7}, "partition 2 reaches over the end of the disk"},
		{"partition of no size", func(b []byte) { le.PutUint32(b[mbrEntries+12:], 0) }, []int{2, 5, 6, 7}, ""},
		{"overlapping partitions", func(b []byte) { le.PutUint32(b[mbrEntries+12:], 2049) }, []int{1, 2, 5, 6, 7}, "partitions 1 and 2 overlap"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := bytes.Clone(sound)
			tt.change(b)
			got, err := readTable(b)
			if err != nil {
				t.Fatal(err)
			}
			checkTable(t, got, len(b), tt.numbers, tt.want)
		})
	}
}

// TestLongChain ends a chain of logical partitions that goes on and on.
func TestLongChain(t *testing.T) {
	for _, tt := range []struct {
		name string
		kind byte // of the partition in each sector; 0 for none
		want int  // partitions
	}{
		{"of partitions", 0x83, logicalMax},
		{"of nothing", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const sectors = 1000
			b := make([]byte, sectors*512)
			for n := range sectors {
				s := b[n*512:][:512]
				s[510], s[511] = 0x55, 0xAA
				s[mbrEntries+4] = tt.kind
				le.PutUint32(s[mbrEntries+8:], 1)
				le.PutUint32(s[mbrEntries+12:], 1)
				next := s[mbrEntries+mbrEntrySize:]
				next[4] = 5
				le.PutUint32(next[8:], uint32(n)) // from sector 1 on
				le.PutUint32(next[12:], 1)
			}
			clear(b[mbrEntries:][:mbrEntrySize])
			le.PutUint32(b[mbrEntries+mbrEntrySize+8:], 1)
			got, err := readTable(b)
			if err != nil || len(got.Partitions) != tt.want || !strings.Contains(strings.Join(got.Problems, ";"), "more than 256") {
				t.Errorf("%+v, error %v", got, err)
			}
		})
	}
}

func TestNoTable(t *testing.T) {
	boot := make([]byte, 4096)
	boot[510], boot[511] = 0x55, 0xAA
	code := bytes.Clone(boot)
	copy(code[mbrEntries:], "boot code where entries would be")
	for _, tt := range []struct {
		name string
		b    []byte
	}{
		{"empty", nil},
		{"one byte", []byte{1}},
		{"less than a sector", boot[:511]},
		{"no entries", boot},
		{"boot sector", code},
		{"zeros", make([]byte, 1<<20)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := readTable(tt.b); !errors.Is(err, ErrNoTable) {
				t.Errorf("%+v, error %v", got, err)
			}
		})
	}
}

// failing is a disk that cannot be read from some place on.
type failing struct {
	io.ReaderAt
	from int64
}

func (f failing) ReadAt(b []byte, off int64) (int, error) {
	if off+int64(len(b)) > f.from {
		return 0, io.ErrNoProgress
	}
	return f.ReaderAt.ReadAt(b, off)
}

func TestUnreadable(t *testing.T) {
	for name, froms := range map[string][]int64{"gpt": {0, 512, 1024}, "mbr": {0, 6144 * 512}} {
		b := testDisk(t, name)
		for _, from := range froms {
			if got, err := ReadTable(failing{bytes.NewReader(b), from}, int64(len(b))); !errors.Is(err, io.ErrNoProgress) {
				t.Errorf("%s, unreadable from %d on: %+v, error %v", name, from, got, err)
			}
		}
	}
}

func FuzzTable(f *testing.F) {
	for _, name := range []string{"gpt", "gpt-4096", "hybrid", "mbr"} {
		b := testDisk(f, name)
		f.Add(b[:40<<10], b[len(b)-20<<10:])
		f.Add(b[:512], b[6144*512:][:2048])
	}
	f.Fuzz(func(t *testing.T, begin, end []byte) {
		b := append(bytes.Clone(begin[:min(len(begin), 1<<20)]), end[:min(len(end), 1<<20)]...)
		got, err := readTable(b)
		if err != nil {
			return
		}
		if len(got.Partitions) > gptEntriesMax/gptEntrySizeMin || len(got.Problems) > problemsMax {
			t.Errorf("%d partitions, %d problems", len(got.Partitions), len(got.Problems))
		}
		for _, p := range got.Partitions {
			if p.Start < 0 || p.Size <= 0 || p.Size > int64(len(b))-p.Start || p.Number < 1 {
				t.Errorf("partition %+v of a disk of %d bytes", p, len(b))
			}
		}
	})
}
