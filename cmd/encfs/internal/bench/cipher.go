package bench

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"encfs/decrypt"
)

// UnitSizes are the sizes of data units that Cipher measures with, in bytes.
var UnitSizes = []int{512, 4096, 65536}

// CipherOptions says how Cipher measures.
type CipherOptions struct {
	Runs    int           // how often everything is measured, at least 1
	Time    time.Duration // of one measurement, at least
	Cleared []string      // CPU features that were cleared, for the results
}

// A CipherResult is the speed of a driver in one direction with data units of one
// size. It is also the form that JSON has.
type CipherResult struct {
	Algorithm string    `json:"algorithm"`
	Driver    string    `json:"driver"`
	Direction string    `json:"direction"` // "encrypt" or "decrypt"
	UnitBytes int       `json:"unit_bytes"`
	MBPerS    float64   `json:"mb_per_s"`      // the median of Runs: 10^6 bytes in a second of CPU time
	Runs      []float64 `json:"runs_mb_per_s"` // one for each run, in their order
	Cleared   []string  `json:"cleared"`

	// SelfTest is what the driver's self-test took, in microseconds of CPU time; 0 if the
	// program was built without.
	SelfTest float64 `json:"selftest_us"`
}

// dataSize is the size in bytes of the data that is encrypted again and again. It fits
// the caches of a core, where ciphertext that was just read is.
const dataSize = 64 << 10

// unitsPerCall is how many data units a driver gets at once if it takes several, as
// decrypt.Contents has it.
const unitsPerCall = 32

// Cipher measures drivers, which the CPU must be able to run, on one CPU, with the
// longest key that each takes. Time is that of the CPU, so that what else the machine
// does counts little. Runs are interleaved, so that what changes on it meanwhile
// changes all alike. A driver that does not pass its self-test, an ErrSelfTest, is not
// to be used, not even for this.
func Cipher(drivers []decrypt.Driver, o CipherOptions) ([]CipherResult, error) {
	subjects := make([]*cipherSubject, len(drivers))
	var err error
	onOneCPU(func() { // for the self-tests are timed
		for i, d := range drivers {
			if subjects[i], err = newCipherSubject(d); err != nil {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	var results []CipherResult
	for i, d := range drivers {
		for _, size := range UnitSizes {
			for _, direction := range []string{"encrypt", "decrypt"} {
				results = append(results, CipherResult{
					Algorithm: d.Algorithm, Driver: d.Name, Direction: direction, UnitBytes: size,
					Cleared: o.Cleared, SelfTest: subjects[i].selfTest,
				})
			}
		}
	}
	onOneCPU(func() {
		for range o.Runs {
			for i := range results {
				r := &results[i]
				s := subjects[i/(2*len(UnitSizes))]
				r.Runs = append(r.Runs, s.measure(r.Direction == "decrypt", r.UnitBytes, o.Time))
			}
		}
	})
	for i := range results {
		results[i].MBPerS = median(results[i].Runs)
	}
	return results, nil
}

// onOneCPU runs f on one of the CPUs that the process may use, if the system lets it.
func onOneCPU(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread ends with this goroutine, as it is never unlocked.
		runtime.LockOSThread()
		var allowed, one unix.CPUSet
		if unix.SchedGetaffinity(0, &allowed) == nil {
			for cpu := range 8 * 128 {
				if allowed.IsSet(cpu) {
					one.Set(cpu)
					unix.SchedSetaffinity(0, &one)
					break
				}
			}
		}
		f()
	}()
	<-done
}

// A cipherSubject is a driver's cipher with data to encrypt. Its methods and its
// constructor stay on one thread, whose CPU time they take.
type cipherSubject struct {
	cipher   decrypt.Cipher
	several  decrypt.UnitsCipher // nil if the driver takes one data unit at a time
	ivSize   int
	selfTest float64
	data     []byte
	ivs      []byte
}

func newCipherSubject(d decrypt.Driver) (*cipherSubject, error) {
	s := &cipherSubject{data: make([]byte, dataSize)}
	start := threadTime()
	switch err := d.SelfTest(false); {
	case err == nil:
		s.selfTest = float64((threadTime() - start).Nanoseconds()) / 1e3
	case !errors.Is(err, decrypt.ErrNoSelfTests):
		return nil, err
	}
	a, err := algorithm(d.Algorithm)
	if err != nil {
		return nil, err
	}
	key := make([]byte, a.KeySizes[len(a.KeySizes)-1])
	for i := range key {
		key[i] = byte(i)
	}
	s.cipher, err = d.New(key)
	if err != nil {
		return nil, err
	}
	s.several, _ = s.cipher.(decrypt.UnitsCipher)
	s.ivSize = a.IVSize
	s.ivs = make([]byte, dataSize/UnitSizes[0]*a.IVSize)
	for i := 0; i < len(s.ivs); i += a.IVSize {
		s.ivs[i], s.ivs[i+1] = byte(i/a.IVSize), byte(i/a.IVSize>>8)
	}
	return s, nil
}

func algorithm(name string) (decrypt.Algorithm, error) {
	for _, a := range decrypt.Algorithms() {
		if a.Name == name {
			return a, nil
		}
	}
	return decrypt.Algorithm{}, fmt.Errorf("bench: algorithm %s: %w", name, decrypt.ErrNoDriver)
}

// measure returns how many megabytes are transformed in a second.
func (s *cipherSubject) measure(decrypting bool, unitSize int, atLeast time.Duration) float64 {
	s.transform(decrypting, unitSize) // once, to warm up
	start := threadTime()
	passes, took := 0, time.Duration(0)
	for took < atLeast || took <= 0 {
		s.transform(decrypting, unitSize)
		passes++
		took = threadTime() - start
	}
	return float64(passes) * dataSize / 1e6 / took.Seconds()
}

// threadTime returns the CPU time that the calling thread has had.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic("bench: " + err.Error()) // Linux has it since 2.6.12
	}
	return time.Duration(t.Nano())
}

// transform encrypts or decrypts the data once, in place.
func (s *cipherSubject) transform(decrypting bool, unitSize int) {
	rest, ivs := s.data, s.ivs
	for len(rest) > 0 {
		if s.several != nil {
			n := min(len(rest), unitsPerCall*unitSize)
			used := n / unitSize * s.ivSize
			if decrypting {
				s.several.DecryptUnits(rest[:n], rest[:n], unitSize, ivs[:used])
			} else {
				s.several.EncryptUnits(rest[:n], rest[:n], unitSize, ivs[:used])
			}
			rest, ivs = rest[n:], ivs[used:]
			continue
		}
		unit := rest[:unitSize]
		if decrypting {
			s.cipher.Decrypt(unit, unit, ivs[:s.ivSize])
		} else {
			s.cipher.Encrypt(unit, unit, ivs[:s.ivSize])
		}
		rest, ivs = rest[unitSize:], ivs[s.ivSize:]
	}
}
