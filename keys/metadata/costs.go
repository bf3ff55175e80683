package metadata

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/crypto/argon2"

	"encfs/keys"
	"encfs/keys/metadata/internal/pb"
)

// Costs say how much work it is to hash a passphrase with Argon2id.
type Costs struct {
	Time        int64 // passes over the memory
	Memory      int64 // KiB
	Parallelism int64 // lanes
}

// The bounds of Costs. Memory is at least 8 KiB for each lane, as RFC 9106 has it.
// The bound on the product, in KiB, is about an hour's work; without it a damaged
// file could keep a mount busy for years.
const (
	maxLanes = math.MaxUint8
	maxWork  = 1 << 32
)

// Check returns an [ErrCosts] if Argon2id cannot have these costs, or if they would
// take hours.
func (c Costs) Check() error {
	for _, b := range []struct {
		name               string
		value, least, most int64
	}{
		{"time", c.Time, 1, maxWork},
		{"parallelism", c.Parallelism, 1, maxLanes},
		{"memory in KiB", c.Memory, 8 * c.Parallelism, math.MaxUint32},
		{"time with this memory", c.Time, 1, maxWork / max(c.Memory, 1)},
	} {
		switch {
		case b.value < b.least:
			return fmt.Errorf("metadata: %w: %s %d, less than %d", ErrCosts, b.name, b.value, b.least)
		case b.value > b.most:
			return fmt.Errorf("metadata: %w: %s %d, more than %d", ErrCosts, b.name, b.value, b.most)
		}
	}
	return nil
}

// costsOf returns the costs that a protector's file means, unchecked.
func costsOf(h *pb.HashingCosts) Costs {
	c := Costs{Time: h.GetTime(), Memory: h.GetMemory(), Parallelism: h.GetParallelism()}
	if !h.GetTruncationFixed() {
		c.Parallelism = int64(uint8(c.Parallelism)) // what Argon2 was really given
	}
	return c
}

func (c Costs) message() *pb.HashingCosts {
	return &pb.HashingCosts{Time: c.Time, Memory: c.Memory, Parallelism: c.Parallelism, TruncationFixed: true}
}

// memoryMargin is what must stay available beside the memory of Argon2id, in bytes.
const memoryMargin = 16 << 20

// largeMemory is the memory cost in KiB from which the memory is given back to the
// system at once.
const largeMemory = 1 << 10

// hash returns the wrapping key of a passphrase. The error is an ErrCosts or a
// *MemoryError.
func (c Costs) hash(passphrase, salt []byte) (*keys.Secret, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	need := uint64(c.Memory)<<10 + memoryMargin
	if available, ok := availableMemory(os.DirFS("/")); ok && need > available {
		return nil, fmt.Errorf("metadata: %w", &MemoryError{Need: need, Available: available})
	}
	if c.Memory >= largeMemory {
		// The blocks hold what the passphrase was hashed to, and are many times what
		// a mount needs. FreeOSMemory collects them and drops the pages.
		defer debug.FreeOSMemory()
	}
	key := argon2.IDKey(passphrase, salt, uint32(c.Time), uint32(c.Memory), uint8(c.Parallelism), wrappingKeySize)
	defer clear(key)
	return keys.CopySecret(key)
}

// The bounds of CalibrateCosts' memory cost in KiB.
const (
	maxCalibratedMemory = 128 << 10
	minCalibratedMemory = 1 << 10
)

// CalibrateCosts measures how long Argon2id takes on this machine and returns costs
// with which hashing a passphrase takes about target. Parallelism is the number of
// CPUs that the process may use. Memory is 128 MiB, but not more than half of what
// is available, and less if one pass over it would take longer than target.
func CalibrateCosts(target time.Duration) (Costs, error) {
	memory := int64(maxCalibratedMemory)
	if available, ok := availableMemory(os.DirFS("/")); ok {
		memory = min(memory, int64(available>>10)/2)
	}
	passphrase, salt := make([]byte, 16), make([]byte, saltSize)
	return calibrate(target, runtime.GOMAXPROCS(0), memory, func(c Costs) (time.Duration, error) {
		start := time.Now()
		key, err := c.hash(passphrase, salt)
		key.Close()
		return time.Since(start), err
	})
}

// calibrate is CalibrateCosts for a number of CPUs, at most so many KiB of memory,
// and a function that tells how long hashing takes.
func calibrate(target time.Duration, cpus int, memory int64, measure func(Costs) (time.Duration, error)) (Costs, error) {
	lanes := int64(min(cpus, maxLanes))
	least := max(8*lanes, minCalibratedMemory)
	c := Costs{Time: 1, Memory: max(memory, least), Parallelism: lanes}
	for {
		took, err := measure(c)
		if err != nil {
			return Costs{}, err
		}
		if took > target && c.Memory > least {
			c.Memory = max(c.Memory/2, least)
			continue
		}
		// Each pass takes as long as the first one.
		passes := (target + took/2) / max(took, time.Microsecond)
		c.Time = min(max(int64(passes), 1), maxWork/c.Memory)
		return c, nil
	}
}
