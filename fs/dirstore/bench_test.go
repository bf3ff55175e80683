package dirstore

import (
	"encoding/binary"
	"testing"
)

func BenchmarkLookup(b *testing.B) {
	s := open(b, newTree(b), Options{})
	defer s.Close()
	n, f := create(b, s, s.Root(), testName("file"))
	must(b, f.Close())
	s.Release(n, 1)
	name := testName("file")
	b.ReportAllocs()
	for b.Loop() {
		s.Release(lookup(b, s, s.Root(), name), 1)
	}
}

// BenchmarkSmallFiles makes files as an unpacking archiver does, with one write
// each.
func BenchmarkSmallFiles(b *testing.B) {
	s := open(b, newTree(b), Options{})
	defer s.Close()
	name, ct := testName("file"), units(1, 1)[:1008]
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		binary.LittleEndian.PutUint64(name[16:], i)
		n, f := create(b, s, s.Root(), name)
		f.SetContext(testContext)
		must(b, f.WriteInline(ct, 1000))
		must(b, f.Close())
		s.Release(n, 1)
	}
}

func BenchmarkReadUnits(b *testing.B) {
	s := open(b, newTree(b), Options{})
	defer s.Close()
	n, f := create(b, s, s.Root(), testName("file"))
	f.SetContext(testContext)
	const count = 32
	_, err := f.WriteUnits(units(count, 1), 0, count*unitSize)
	must(b, err)
	buf, holes := make([]byte, count*unitSize), make([]bool, count)
	b.SetBytes(count * unitSize)
	b.ReportAllocs()
	for b.Loop() {
		_, err := f.ReadUnits(buf, 0, holes)
		must(b, err)
	}
	must(b, f.Close())
	s.Release(n, 1)
}
