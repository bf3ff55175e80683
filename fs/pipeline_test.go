package fs_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
	"encfs/workqueue"
)

// queues are the ways to decrypt; nil is in the request itself.
func queues(t testing.TB) map[string]*workqueue.Queue {
	t.Helper()
	m := map[string]*workqueue.Queue{"none": nil}
	for _, k := range []workqueue.Kind{workqueue.Bound, workqueue.Unbound, workqueue.Inline, workqueue.Auto} {
		q, err := workqueue.New(workqueue.Attrs{Name: t.Name(), Kind: k})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(q.Close)
		m[k.String()] = q
	}
	return m
}

func TestReadThroughEveryQueue(t *testing.T) {
	const size = 3<<20 + 777
	data := pattern(size, 5)
	for _, p := range testPolicies {
		dir := newTree(t, p.contents, p.filenames)
		v, done := openTree(t, dir, fs.Options{}, dirstore.Options{})
		i := create(t, v, "big", data)
		// A hole among the data, so that runs are cut short.
		if err := v.Allocate(i, 0x02|0x01, 100*4096, 5*4096); err != nil {
			t.Fatal(err)
		}
		v.CloseFile(i)
		v.Release(i, 1)
		done()
		want := bytes.Clone(data)
		clear(want[100*4096 : 105*4096])

		for name, q := range queues(t) {
			t.Run(p.name+"/"+name, func(t *testing.T) {
				v, _ := openTree(t, dir, fs.Options{Queue: q}, dirstore.Options{})
				i, _, err := v.Lookup(v.Root(), "big")
				if err != nil {
					t.Fatal(err)
				}
				defer v.Release(i, 1)
				if err := v.Open(i, false); err != nil {
					t.Fatal(err)
				}
				defer v.CloseFile(i)
				buf := make([]byte, 1<<20)
				for _, r := range []struct{ off, n int }{
					{0, 1}, {0, 4096}, {0, 1 << 20}, {1, 4096}, {4095, 2}, {4096, 65536}, {12345, 1 << 19},
					{99 * 4096, 8 * 4096}, {100 * 4096, 4096}, {101*4096 + 5, 100},
					{size - 1, 1}, {size - 1, 4096}, {size - 778, 5000}, {size, 1}, {size + 4096, 4096}, {2 << 20, 1 << 20},
				} {
					n, err := v.ReadAt(i, buf[:r.n], int64(r.off))
					wantN := max(0, min(r.n, size-r.off))
					if err != nil || n != wantN {
						t.Errorf("ReadAt(%d at %d) = %d, %v, want %d", r.n, r.off, n, err, wantN)
					} else if n > 0 && !bytes.Equal(buf[:n], want[r.off:r.off+n]) {
						t.Errorf("ReadAt(%d at %d): contents differ", r.n, r.off)
					}
				}
			})
		}
	}
}

func TestReadAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop objects")
	}
	for name, q := range queues(t) {
		for _, n := range []int{100, 4096, 1 << 17, 1 << 20} {
			t.Run(fmt.Sprint(name, "/", n), func(t *testing.T) {
				v, _ := openTree(t, newTree(t, keys.AES256XTS, keys.AES256CTS), fs.Options{Queue: q}, dirstore.Options{})
				i := create(t, v, "f", pattern(1<<20, 1))
				defer v.Release(i, 1)
				defer v.CloseFile(i)
				buf := make([]byte, n)
				if got := testing.AllocsPerRun(100, func() {
					if _, err := v.ReadAt(i, buf, 0); err != nil {
						t.Fatal(err)
					}
				}); got != 0 {
					t.Errorf("a read of %d bytes makes %v allocations, want none", n, got)
				}
			})
		}
	}
}

// TestReadersAndWriters reads a file from many places while it is written,
// truncated and grown: each 16 bytes read are of one version or zeros.
func TestReadersAndWriters(t *testing.T) {
	for name, q := range queues(t) {
		t.Run(name, func(t *testing.T) {
			v, _ := openTree(t, newTree(t, keys.AES256XTS, keys.AES256CTS), fs.Options{Queue: q}, dirstore.Options{})
			const size = 300000
			i := create(t, v, "f", bytes.Repeat([]byte{1}, size))
			defer v.Release(i, 1)
			defer v.CloseFile(i)
			var writers, readers sync.WaitGroup
			stop := make(chan struct{})
			for r := range 8 {
				readers.Go(func() {
					rnd := rand.New(rand.NewPCG(uint64(r), 1))
					buf := make([]byte, 40000)
					for {
						select {
						case <-stop:
							return
						default:
						}
						off := rnd.Int64N(size)
						n, err := v.ReadAt(i, buf, off)
						if err != nil {
							t.Errorf("ReadAt: %v", err)
							return
						}
						for k, b := range buf[:n] {
							if b > 4 {
								t.Errorf("byte %#x at %d was never written", b, off+int64(k))
								return
							}
						}
					}
				})
			}
			for w := range byte(4) {
				writers.Go(func() {
					rnd := rand.New(rand.NewPCG(uint64(w), 2))
					for range 60 {
						off, n := rnd.Int64N(size), 1+rnd.IntN(30000)
						if _, err := v.WriteAt(i, bytes.Repeat([]byte{w + 1}, n), off); err != nil {
							t.Errorf("WriteAt: %v", err)
						}
						if rnd.IntN(4) == 0 {
							if err := v.Truncate(i, rnd.Int64N(size)); err != nil {
								t.Errorf("Truncate: %v", err)
							}
						}
					}
				})
			}
			writers.Wait()
			close(stop)
			readers.Wait()
		})
	}
}

func BenchmarkReadAt(b *testing.B) {
	for name, q := range queues(b) {
		for _, n := range []int{4096, 1 << 17, 1 << 20} {
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				v, _ := openTree(b, newTree(b, keys.AES256XTS, keys.AES256CTS), fs.Options{Queue: q}, dirstore.Options{})
				i := create(b, v, "f", pattern(1<<20, 1))
				defer v.Release(i, 1)
				defer v.CloseFile(i)
				buf := make([]byte, n)
				b.SetBytes(int64(n))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := v.ReadAt(i, buf, 0); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
