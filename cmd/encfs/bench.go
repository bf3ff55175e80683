package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"encfs/cpufeat"
)

func newBenchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure, and compare measurements",
		Args:  argsOfGroup,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newBenchCipherCommand(),
		newBenchStressCommand(),
		newBenchTarCommand(),
		newBenchSimulateCommand(),
		newBenchCompareCommand(),
	)
	return cmd
}

// A cell is a set of CPU features that a benchmark is run with.
type cell struct {
	have    cpufeat.Set
	cleared []string // as it was asked for, not what depends on it; never nil
}

// cellFlags are the flags that make cells.
type cellFlags struct{ clear []string }

func (c *cellFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&c.clear, "clear-cpu", nil, "do without the CPU features in `LIST`, such as aes,avx2; repeated, measure with each of the lists, of which one may be empty")
}

// cells returns a cell for each list of features. Its errors are of usage.
func (c *cellFlags) cells() ([]cell, error) {
	lists := c.clear
	if len(lists) == 0 {
		lists = []string{""}
	}
	var cells []cell
	for _, list := range lists {
		clear, err := cpufeat.Parse(list)
		if err != nil {
			return nil, usagef("--clear-cpu: %w", err)
		}
		cells = append(cells, cell{cpufeat.Host().Clear(clear), featureNames(clear)})
	}
	return cells, nil
}

// splitList splits a list at the commas that are not in parentheses, as algorithms have
// them. An empty list has nothing in it.
func splitList(list string) []string {
	var words []string
	depth, start := 0, 0
	for i, c := range list + "," {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth <= 0:
			if word := strings.TrimSpace((list + ",")[start:i]); word != "" {
				words = append(words, word)
			}
			start = i + 1
		}
	}
	return words
}

// writeResults writes the results of a benchmark in one of its formats.
func writeResults[T any](w io.Writer, format string, results []T, table, benchfmt func(io.Writer, []T) error) error {
	switch format {
	case "json":
		return writeJSON(w, results)
	case "benchfmt":
		return benchfmt(w, results)
	}
	return table(w, results)
}
