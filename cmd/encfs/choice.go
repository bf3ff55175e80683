package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// A choice is the value of a flag that takes one of a few words.
type choice struct {
	value string
	known []string
}

// newChoice returns a choice among known, of which the first is the default.
func newChoice(known ...string) choice {
	return choice{value: known[0], known: known}
}

func (c *choice) String() string { return c.value }

// Type returns what the help calls the value.
func (c *choice) Type() string { return "NAME" }

// Set takes s if it is one of the known words, in either case.
func (c *choice) Set(s string) error {
	word := strings.ToLower(s)
	if !slices.Contains(c.known, word) {
		return fmt.Errorf("known are %s", strings.Join(c.known, ", "))
	}
	c.value = word
	return nil
}

// add adds the flag with a help text that ends with the known words.
func (c *choice) add(flags *pflag.FlagSet, name, usage string) {
	flags.Var(c, name, usage+": "+strings.Join(c.known, ", "))
}
