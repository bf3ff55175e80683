package fs

import (
	"errors"
	"fmt"

	"encfs/decrypt"
	"encfs/keys"
	"encfs/workqueue"
)

// A Measurement is what a Volume does otherwise than its source says, to be measured
// with it. The zero value is nothing.
type Measurement struct {
	// Contents encrypts contents in place of the cipher of the policy, which stays
	// as it is: ciphers that no mode stands for are measured that way. It takes keys
	// and IVs of the length of that mode's. The source must be a tree
	// with MeasurementKey's master key, which no cipher directory has that somebody
	// keeps files in; the error is an ErrMeasurement otherwise. Nil is the cipher of
	// the policy.
	Contents *decrypt.Driver

	// Completion is a bound queue on whose CPUs ciphertext arrives: items of it read
	// the lower file, and queue the decryption on a bound or unbound queue, as the
	// completion of a block device's request does on the CPU that got the interrupt.
	// The caller closes it after the volume. Nil is the reading goroutine, wherever
	// that runs.
	Completion *workqueue.Queue
}

// ErrMeasurement means that a source is not one that was made to be measured with
// another cipher.
var ErrMeasurement = errors.New("not a tree for measurements")

// MeasurementKey returns the master key of trees for measurements, which everybody
// knows. The caller closes it.
func MeasurementKey() (*keys.MasterKey, error) {
	raw := make([]byte, keys.MaxMasterKeySize)
	copy(raw, "This key is public: it protects nothing, and is to be measured.")
	return keys.NewMasterKey(raw)
}

// measured puts the cipher to be measured in place of that of the policy.
func (v *Volume) measured(d decrypt.Driver) error {
	mk, err := MeasurementKey()
	if err != nil {
		return err
	}
	defer mk.Close()
	if v.policy.Identifier != mk.Identifier() {
		return fmt.Errorf("fs: root: %w: it is encrypted with another master key", ErrMeasurement)
	}
	d.Algorithm = v.policy.Contents.Algorithm() // for which it stands in
	v.driver = d
	return nil
}

// An arrival is the item by which the CPU that ciphertext arrives on reads it.
type arrival struct {
	workqueue.Work
	volume *Volume
	inode  *Inode // whose lock the one who waits holds for reading
	buf    []byte
	span   span
	watch  stopwatch
	err    error
}

// complete does what fetch does on a CPU on which ciphertext arrives. There the
// decryption is queued as well, unless the caller has a part in that, and complete
// waits for it. It returns the watch, which has had its lap.
func (v *Volume) complete(r *reading, i *Inode, buf []byte, s span, watch stopwatch) (stopwatch, error) {
	a := &r.arrival
	a.volume, a.inode, a.buf, a.span, a.watch = v, i, buf, s, watch
	r.loop.StartBy(v.opts.Measure.Completion, &a.Work)
	err := r.loop.Wait()
	if err == nil {
		err = a.err
	}
	watch = a.watch
	a.volume, a.inode, a.buf, a.err = nil, nil, nil, nil
	return watch, err
}

// arrive is what an arrival does.
func (r *reading) arrive(*workqueue.Work) {
	a := &r.arrival
	if a.err = r.fetch(a.inode, a.buf, a.span); a.err != nil {
		return
	}
	a.watch.lap(lowerRead)
	q := a.volume.opts.Queue
	if r.contents == nil || r.full == 0 || q == nil {
		return
	}
	if kind := q.Attrs().Kind; kind == workqueue.Bound || kind == workqueue.Unbound {
		r.done = true
		r.loop.Start(q, r.units, r.perItem())
	}
}
