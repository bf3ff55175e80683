package fs_test

import (
	"bytes"
	"errors"
	"testing"

	"encfs/decrypt"
	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/fs/ext4"
	"encfs/fs/ext4/ext4test"
	"encfs/keys"
	"encfs/workqueue"
)

// newMeasurementTree makes an empty cipher directory for measurements.
func newMeasurementTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	k := measurementKey(t)
	defer k.Close()
	ctx := keys.Context{Policy: keys.Policy{
		Version: 2, Contents: keys.AES256XTS, Filenames: keys.AES256CTS, Log2DataUnitSize: 12, Identifier: k.Identifier(),
	}}
	if err := dirstore.Create(dir, ctx.Marshal(), fs.NewHeaderAuthenticator(k)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func measurementKey(t *testing.T) *keys.MasterKey {
	t.Helper()
	k, err := fs.MeasurementKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// openMeasurementTree opens a cipher directory with the key for measurements; close
// closes it.
func openMeasurementTree(t *testing.T, dir string, o fs.Options) (v *fs.Volume, close func()) {
	t.Helper()
	st, err := dirstore.Open(dir, dirstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := measurementKey(t)
	if err := st.Unlock(fs.NewHeaderAuthenticator(k)); err != nil {
		t.Fatal(err)
	}
	ring := new(keys.Keyring)
	ring.Add(k)
	if v, err = fs.NewVolume(st, ring, o); err != nil {
		t.Fatal(err)
	}
	return v, func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Another cipher takes the place of the policy's, in both directions.
func TestMeasuredContents(t *testing.T) {
	speck, err := decrypt.LookupName("xts-speck128-generic")
	if err != nil {
		t.Fatal(err)
	}
	null := decrypt.NullDriver()
	for _, d := range []decrypt.Driver{speck, null} {
		t.Run(d.Name, func(t *testing.T) {
			dir := newMeasurementTree(t)
			o := fs.Options{Measure: &fs.Measurement{Contents: &d}}
			v, done := openMeasurementTree(t, dir, o)
			if got := v.ContentsDriver(); got != d.Name {
				t.Errorf("ContentsDriver: got %s, want %s", got, d.Name)
			}
			data := pattern(3*4096, 1)
			i := create(t, v, "f", data)
			v.CloseFile(i)
			v.Release(i, 1)
			done()

			for _, measure := range []*fs.Measurement{o.Measure, nil} {
				v, done := openMeasurementTree(t, dir, fs.Options{Measure: measure})
				i, _, err := v.Lookup(v.Root(), "f")
				if err != nil {
					t.Fatal(err)
				}
				if got := contents(t, v, i); bytes.Equal(got, data) != (measure != nil) {
					t.Errorf("with %v: contents are the same: %v", measure, measure == nil)
				}
				v.Release(i, 1)
				done()
			}
		})
	}
}

// What somebody keeps files in is never opened with another cipher.
func TestMeasurementRefusesOthers(t *testing.T) {
	dir := newTree(t, keys.AES256XTS, keys.AES256CTS)
	st, err := dirstore.Open(dir, dirstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	k := testKey(t, "test")
	if err := st.Unlock(fs.NewHeaderAuthenticator(k)); err != nil {
		t.Fatal(err)
	}
	ring := new(keys.Keyring)
	ring.Add(k)
	defer ring.Close()
	null := decrypt.NullDriver()
	if _, err := fs.NewVolume(st, ring, fs.Options{Measure: &fs.Measurement{Contents: &null}}); !errors.Is(err, fs.ErrMeasurement) {
		t.Errorf("got %v, want ErrMeasurement", err)
	}
}

// Nor is a file system, whose objects have policies of their own.
func TestMeasurementRefusesFileSystems(t *testing.T) {
	img := ext4test.Get("no-encryption").Image(t)
	st, err := ext4.Open(bytes.NewReader(img), int64(len(img)), ext4.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	null := decrypt.NullDriver()
	if _, err := fs.NewVolume(st, new(keys.Keyring), fs.Options{Measure: &fs.Measurement{Contents: &null}}); !errors.Is(err, fs.ErrMeasurement) {
		t.Errorf("got %v, want ErrMeasurement", err)
	}
}

// Ciphertext arrives on the CPUs that were asked for, and what is read is the same.
func TestCompletion(t *testing.T) {
	data := pattern(1<<20+777, 3)
	dir := newTree(t, keys.AES256XTS, keys.AES256CTS)
	v, done := openTree(t, dir, fs.Options{}, dirstore.Options{})
	i := create(t, v, "f", data)
	if err := v.Allocate(i, 0x02|0x01, 100*4096, 5*4096); err != nil {
		t.Fatal(err)
	}
	v.CloseFile(i)
	v.Release(i, 1)
	done()
	clear(data[100*4096 : 105*4096])

	all, err := workqueue.New(workqueue.Attrs{})
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	cpu := all.Stats().ByCPU[0].CPU
	for name, q := range queues(t) {
		t.Run(name, func(t *testing.T) {
			only, err := workqueue.New(workqueue.Attrs{Kind: workqueue.Bound, CPUs: []int{cpu}})
			if err != nil {
				t.Fatal(err)
			}
			defer only.Close()
			v, done := openTree(t, dir, fs.Options{Queue: q, Measure: &fs.Measurement{Completion: only}}, dirstore.Options{})
			defer done()
			i, _, err := v.Lookup(v.Root(), "f")
			if err != nil {
				t.Fatal(err)
			}
			defer v.Release(i, 1)
			for range 3 {
				if got := contents(t, v, i); !bytes.Equal(got, data) {
					t.Fatal("contents differ")
				}
			}
			if got := only.Stats(); got.Executed == 0 || got.Unpinned == 0 && got.ByCPU[0].Executed != got.Executed {
				t.Errorf("ciphertext arrived %d times, on CPU %d: %+v", got.Executed, cpu, got.ByCPU)
			}
			if q == nil || q.Attrs().Kind != workqueue.Bound {
				return
			}
			for _, c := range v.Stats().Queue.ByCPU {
				if c.CPU != cpu && c.Executed > 0 && only.Stats().Unpinned == 0 {
					t.Errorf("CPU %d executed %d items, which were queued on CPU %d", c.CPU, c.Executed, cpu)
				}
			}
		})
	}
}

// Nor does a read that completes elsewhere allocate anything.
func TestCompletionAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop objects")
	}
	completion, err := workqueue.New(workqueue.Attrs{Kind: workqueue.Bound})
	if err != nil {
		t.Fatal(err)
	}
	defer completion.Close()
	for name, q := range queues(t) {
		t.Run(name, func(t *testing.T) {
			v, done := openTree(t, newTree(t, keys.AES256XTS, keys.AES256CTS), fs.Options{Queue: q, Measure: &fs.Measurement{Completion: completion}}, dirstore.Options{})
			defer done()
			i := create(t, v, "f", pattern(1<<20, 1))
			defer v.Release(i, 1)
			defer v.CloseFile(i)
			buf := make([]byte, 1<<18)
			if got := testing.AllocsPerRun(100, func() {
				if _, err := v.ReadAt(i, buf, 0); err != nil {
					t.Fatal(err)
				}
			}); got != 0 {
				t.Errorf("a read makes %v allocations, want none", got)
			}
		})
	}
}
