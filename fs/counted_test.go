package fs

import (
	"reflect"
	"slices"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Every request is counted by the opcode in its header, whatever comes of it.
func TestEveryRequestIsCounted(t *testing.T) {
	// Methods that are no requests, and Writev, which makes go-fuse call Write.
	without := []string{"String", "SetDebug", "Init", "OnUnmount", "Writev"}
	const op = 36 // which no method has
	methods := reflect.TypeFor[fuse.RawFileSystem]()
	for m := range methods.Methods() {
		if slices.Contains(without, m.Name) {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			f := &countedFS{fuse.NewDefaultRawFileSystem(), newCounters()}
			want := opcodeNames[op]
			if m.Name == "Forget" {
				want = "FORGET"
			}
			var args []reflect.Value
			for in := range m.Type.Ins() {
				arg := reflect.Zero(in)
				if in.Kind() == reflect.Pointer {
					arg = reflect.New(in.Elem())
					header := arg.Elem()
					if h := header.FieldByName("InHeader"); h.IsValid() {
						header = h
					}
					if o := header.FieldByName("Opcode"); o.IsValid() {
						o.SetUint(op)
					}
				}
				args = append(args, arg)
			}
			func() {
				defer func() { recover() }() // some look into what they get
				reflect.ValueOf(f).MethodByName(m.Name).Call(args)
			}()
			s := f.counters.stats()
			if len(s.Requests) != 1 || s.Requests[want] != 1 {
				t.Errorf("counted %v, want one %s", s.Requests, want)
			}
			if l := s.Latency[want]; l.Count() != 1 {
				t.Errorf("timed %d of one", l.Count())
			}
		})
	}
}

// What happens often is counted each time and timed now and then.
func TestTimed(t *testing.T) {
	f := &countedFS{fuse.NewDefaultRawFileSystem(), newCounters()}
	const n = 100 * alwaysTimed
	for range n {
		f.Lookup(nil, &fuse.InHeader{Opcode: 1}, "name", nil)
	}
	s := f.counters.stats()
	l := s.Latency["LOOKUP"]
	if s.Requests["LOOKUP"] != n || l.Count() < n/timedEach || l.Count() > n/4 {
		t.Errorf("counted %d, timed %d of %d", s.Requests["LOOKUP"], l.Count(), n)
	}
}

func TestUnknownOpcode(t *testing.T) {
	f := &countedFS{fuse.NewDefaultRawFileSystem(), newCounters()}
	for _, op := range []uint32{0, uint32(len(opcodeNames)), 4096} {
		f.Lookup(nil, &fuse.InHeader{Opcode: op}, "name", nil)
	}
	if s := f.counters.stats(); len(s.Requests) != 0 {
		t.Errorf("counted %v", s.Requests)
	}
}

// nothing answers reads at once.
type nothing struct{ fuse.RawFileSystem }

func (nothing) Read(<-chan struct{}, *fuse.ReadIn, []byte) (fuse.ReadResult, fuse.Status) {
	return readNothing, fuse.OK
}

var readNothing = fuse.ReadResultData(nil)

// BenchmarkCounting measures what counting adds to a read.
func BenchmarkCounting(b *testing.B) {
	in := &fuse.ReadIn{InHeader: fuse.InHeader{Opcode: 15}}
	plain := fuse.RawFileSystem(nothing{fuse.NewDefaultRawFileSystem()})
	for _, bb := range []struct {
		name string
		fs   fuse.RawFileSystem
	}{{"without", plain}, {"with", &countedFS{plain, newCounters()}}} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bb.fs.Read(nil, in, nil)
			}
		})
	}
	b.Run("parts", func(b *testing.B) {
		c := newCounters()
		for b.Loop() {
			w := c.startRead()
			w.lap(lowerRead)
			w.lap(decrypted)
		}
	})
}
