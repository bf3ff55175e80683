package main

import (
	"errors"
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
	switch {
	case err == nil && n < 1:
		return errors.New("less than 1KiB")
	case errors.Is(err, strconv.ErrRange), err == nil && n > math.MaxInt64/unit:
		return errors.New("too large")
	case err != nil:
		return errors.New("not a number of KiB, or one with KiB, MiB or GiB behind it")
	}
	*k = kibibytes(n * unit)
	return nil
}

// A positive is the value of a flag that takes a whole number from 1 on; 0 is not
// given.
type positive int64

func (p *positive) String() string { return strconv.FormatInt(int64(*p), 10) }

// Type returns what the help calls the value, and pflag the type.
func (p *positive) Type() string { return "int64" }

// Set parses s.
func (p *positive) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil:
		return err
	case n < 1:
		return errors.New("less than 1")
	}
	*p = positive(n)
	return nil
}
