package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A kibibytes is the value of a flag that takes an amount of memory in KiB,
// or with the suffix KiB, MiB or GiB.
type kibibytes int64

func (k *kibibytes) String() string {
	if *k == 0 {
		return "0" // which the help takes for no default
	}
	return strconv.FormatInt(int64(*k), 10) + "KiB"
}

// Type returns what the help calls the value.
func (k *kibibytes) Type() string { return "SIZE" }

// Set parses s.
func (k *kibibytes) Set(s string) error {
	number, unit := s, int64(1)
	for _, suffix := range []struct {
		name string
		unit int64
	}{{"KiB", 1}, {"MiB", 1 << 10}, {"GiB", 1 << 20}} {
		if rest, ok := strings.CutSuffix(s, suffix.name); ok {
			number, unit = rest, suffix.unit
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64/unit {
		return fmt.Errorf("not a positive number of KiB, or one with KiB, MiB or GiB behind it")
	}
	*k = kibibytes(n * unit)
	return nil
}
