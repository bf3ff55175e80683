package fs

import (
	"sync"
	"time"

	"encfs/decrypt"
)

// A calibration is a sample of data units and a time for measuring a cipher: long
// enough for a CPU to get to its speed, and no more than is noticed when a file is
// opened.
const (
	calibrationUnits = 8
	calibrationTime  = 500 * time.Microsecond
)

// moveTime is what it costs to have another CPU decrypt a data unit that this one
// has just read: to bring it from one cache to the other, at about 10 GB/s. It is
// no time for a slow cipher, and more than the fastest ones take. What it really is
// depends on which caches the two CPUs share, and on a virtual machine changes;
// docs/workqueue.md has what a smaller one would win and lose.
const moveTime = 400 * time.Nanosecond

// ShareableWork returns how much of a reader's time others could save that takes so long
// for each of its data units of 4096 bytes: the work that a workqueue.Loop is told of.
func ShareableWork(units int, unitTime time.Duration) time.Duration {
	return time.Duration(units) * max(0, unitTime-moveTime)
}

// A speedometer measures how long ciphers take, once for each driver. Its method
// may be called concurrently.
type speedometer struct {
	mu       sync.Mutex
	unitTime map[string]time.Duration // by driver, guarded by mu
}

// of returns how long c, which is of the driver, takes to decrypt a data unit.
func (s *speedometer) of(driver string, c *decrypt.Contents) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.unitTime[driver]
	if !ok {
		t = calibrate(c)
		if s.unitTime == nil {
			s.unitTime = map[string]time.Duration{}
		}
		s.unitTime[driver] = t
	}
	return t
}

// calibrate measures how long a cipher takes to decrypt a data unit. Of several
// runs the shortest counts, as it is the one that nothing interrupted.
func calibrate(c *decrypt.Contents) time.Duration {
	buf := make([]byte, calibrationUnits*unitSize)
	best := time.Duration(-1)
	for start := time.Now(); ; {
		before := time.Now()
		c.DecryptUnits(buf, buf, 0)
		if d := time.Since(before); best < 0 || d < best {
			best = d
		}
		if time.Since(start) >= calibrationTime {
			return max(1, best/calibrationUnits)
		}
	}
}
