package fs_test

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
	"encfs/workqueue"
)

// BenchmarkQueues compares the kinds of queues: readers read a file each, in
// requests of a size, from the page cache. The kinds take turns, as on a machine
// that does other things, too, only what is measured at the same time can be
// compared; the figures are medians over the turns. auto/best is the time of
// the auto queue over that of the best of the others in the same turn, and
// cpu the same of the CPU time.
func BenchmarkQueues(b *testing.B) {
	for _, driver := range []string{"xts-aes-vaes-avx512", "xts-aes-bs-avx2", "xts-aes-generic", "adiantum-generic"} {
		for _, size := range []int{4 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10, 1 << 20} {
			for _, readers := range []int{1, 2, 4} {
				b.Run(fmt.Sprintf("driver=%s/size=%dKiB/readers=%d", driver, size>>10, readers), func(b *testing.B) {
					benchmarkQueues(b, driver, size, readers)
				})
			}
		}
	}
}

func benchmarkQueues(b *testing.B, driver string, size, readers int) {
	d, err := decrypt.LookupName(driver)
	if err != nil {
		b.Skip(err)
	}
	if !cpufeat.Host().Has(d.Needs) {
		b.Skipf("the CPU lacks %s", d.Needs&^cpufeat.Host())
	}
	drivers, err := decrypt.NewTable(cpufeat.Host(), decrypt.SelfTestOff, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	if err := drivers.Choose(driver); err != nil {
		b.Fatal(err)
	}
	mode := keys.AES256XTS
	if d.Algorithm == keys.Adiantum.Algorithm() {
		mode = keys.Adiantum
	}
	names := keys.AES256CTS
	if mode == keys.Adiantum {
		names = keys.Adiantum
	}
	// All kinds read the same files to the same buffers, as it matters which pages
	// of memory those have.
	dir := newTree(b, mode, names)
	v, done := openTree(b, dir, fs.Options{Drivers: drivers}, dirstore.Options{})
	var bufs [][]byte
	for r := range readers {
		i := create(b, v, fmt.Sprint(r), pattern(1<<20, 1))
		v.CloseFile(i)
		v.Release(i, 1)
		bufs = append(bufs, pattern(size, 1))
	}
	done()

	kinds := []workqueue.Kind{workqueue.Bound, workqueue.Unbound, workqueue.Inline, workqueue.Auto}
	turns := make([]func() (wall, cpu time.Duration), len(kinds))
	reads := 1 // of each reader in a turn
	for k, kind := range kinds {
		q, err := workqueue.New(workqueue.Attrs{Kind: kind})
		if err != nil {
			b.Fatal(err)
		}
		defer q.Close()
		v, _ := openTree(b, dir, fs.Options{Queue: q, Drivers: drivers, ReadOnly: true}, dirstore.Options{ReadOnly: true})
		var files []*fs.Inode
		for r := range readers {
			i, _, err := v.Lookup(v.Root(), fmt.Sprint(r))
			if err != nil {
				b.Fatal(err)
			}
			defer v.Release(i, 1)
			if err := v.Open(i, false); err != nil {
				b.Fatal(err)
			}
			defer v.CloseFile(i)
			files = append(files, i)
		}
		turns[k] = func() (wall, cpu time.Duration) {
			cpu = cpuTime(b)
			start := time.Now()
			var wg sync.WaitGroup
			for r, i := range files {
				wg.Go(func() {
					for n := range reads {
						if _, err := v.ReadAt(i, bufs[r], int64(n*size)%(1<<20)); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			return time.Since(start) / time.Duration(reads), (cpuTime(b) - cpu) / time.Duration(reads)
		}
		turns[k]()
	}
	for reads < 1<<16 {
		if wall, _ := turns[0](); wall*time.Duration(reads) > 4*time.Millisecond {
			break
		}
		reads *= 2
	}
	walls, cpus := make([][]float64, len(kinds)), make([][]float64, len(kinds))
	round := 0
	for b.Loop() {
		for k := range kinds {
			k = (k + round) % len(kinds)
			wall, cpu := turns[k]()
			walls[k], cpus[k] = append(walls[k], float64(wall)), append(cpus[k], float64(cpu))
		}
		round++
	}
	b.ReportMetric(0, "ns/op")
	best, bestCPU := 0.0, 0.0
	for k, kind := range kinds {
		wall, cpu := median(walls[k]), median(cpus[k])
		b.ReportMetric(wall/1000, kind.String()+"-µs")
		b.ReportMetric(cpu/1000, kind.String()+"-cpu-µs")
		if kind == workqueue.Auto {
			b.ReportMetric(wall/best, "auto/best")
			b.ReportMetric(cpu/bestCPU, "auto/best-cpu")
		} else if k == 0 || wall < best {
			best, bestCPU = wall, cpu
		}
	}
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// cpuTime returns the CPU time that the process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
