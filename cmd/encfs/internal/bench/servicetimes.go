package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"encfs/workqueue"
	"encfs/workqueue/simulate"
)

// ServiceTimes are how long the parts of the experiment take on a machine, each by itself
// on a CPU that has nothing else to do. In JSON times are in nanoseconds.
type ServiceTimes struct {
	Machine  simulate.Costs
	HandOver time.Duration // that the auto queue reckons with

	TarFile, TarUnit time.Duration // of tar, for a file and for each page of it

	// Of a request: in the process that asks, before and after; in the server to receive
	// it, to answer it, for each page that it answers with, and until it waits for the
	// next one.
	Send, Resume, Receive, Answer, AnswerUnit, Rest time.Duration

	Lookup, Open         time.Duration // of a LOOKUP, and of the first READ to open the file
	LowerRead, LowerUnit time.Duration // of a read of the lower file, and for each page of it

	// Move is what it takes to decrypt a data unit longer that another CPU has read, by how
	// far that is away, as workqueue.Topology.Distance counts.
	Move [workqueue.MaxDistance + 1]time.Duration

	// Decrypt is what a driver takes for a data unit of 4096 bytes, and DecryptNoAES what it
	// takes in a process that does without the CPU's AES instructions. Drivers that are
	// not in the map take no time.
	Decrypt, DecryptNoAES map[string]time.Duration
}

// TypicalTimes returns times of a machine on which they were once fitted: a virtual one
// with two CPUs of 2.6 GHz. FitServiceTimes begins with them, and what is not to be
// seen on a machine with few CPUs stays as it is here.
func TypicalTimes() ServiceTimes {
	const us = time.Microsecond
	return ServiceTimes{
		Machine: simulate.Costs{
			Wake: 8 * us, Waker: 5 * us, Switch: 3 * us, SwitchGoroutine: 1 * us, SwitchPinned: 20 * us,
			Migrate: [...]time.Duration{0, 0, 1 * us, 2 * us, 4 * us},
			Slice:   2800 * us, // EEVDF's base slice with 8 CPUs or more
			Sibling: 0.6, Contention: 0.2,
		},
		HandOver: 20 * us,
		TarFile:  10 * us, TarUnit: 750,
		Send: 6 * us, Resume: 4 * us, Receive: 20 * us, Answer: 10 * us, AnswerUnit: 1600, Rest: 20 * us,
		Lookup: 16 * us, Open: 16 * us,
		LowerRead: 2 * us, LowerUnit: 800,
		Move: [...]time.Duration{0, 0, 200, 400, 800},
	}
}

// ErrNoServiceTimes means that a file has no service times in it.
var ErrNoServiceTimes = errors.New("no service times of the model")

// ReadServiceTimes reads what Write has written.
func ReadServiceTimes(r io.Reader) (ServiceTimes, error) {
	var t ServiceTimes
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return t, fmt.Errorf("bench: %w: %w", ErrNoServiceTimes, err)
	}
	if t.Decrypt == nil || t.TarUnit <= 0 || t.Machine.Sibling < 0 || t.Machine.Contention < 0 {
		return t, fmt.Errorf("bench: %w", ErrNoServiceTimes)
	}
	return t, nil
}

// Write writes the times as JSON.
func (t ServiceTimes) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(t)
}

// Unit returns what a driver takes for a data unit, and whether that is known.
func (t *ServiceTimes) Unit(driver string, noAES bool) (time.Duration, bool) {
	times := t.Decrypt
	if noAES {
		times = t.DecryptNoAES
	}
	unit, known := times[driver]
	return unit, known
}

// SetSpeed sets what a driver takes, with the CPU's AES instructions or without, by how
// many megabytes it decrypts in a second.
func (t *ServiceTimes) SetSpeed(driver string, noAES bool, mbPerS float64) {
	times := &t.Decrypt
	if noAES {
		times = &t.DecryptNoAES
	}
	if *times == nil {
		*times = map[string]time.Duration{}
	}
	(*times)[driver] = time.Duration(pageSize / mbPerS * 1e3)
}

// SetMeasured sets what drivers take that Cipher has measured, with the CPU's AES
// instructions or without.
func (t *ServiceTimes) SetMeasured(results []CipherResult, noAES bool) {
	for _, r := range results {
		if r.Direction == "decrypt" && r.UnitBytes == pageSize {
			t.SetSpeed(r.Driver, noAES, r.MBPerS)
		}
	}
}
