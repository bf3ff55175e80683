package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// argsOfUse checks arguments against the line of use of their command, in which "..."
// follows what may be repeated and brackets are around what may be left out.
func argsOfUse(cmd *cobra.Command, args []string) error {
	names := slices.DeleteFunc(strings.Fields(cmd.Use)[1:], func(word string) bool { return word == "[flags]" })
	repeated := "" // the name of what may be
	for i, name := range names {
		optional := strings.HasPrefix(name, "[")
		if name, ok := strings.CutSuffix(name, "..."); ok {
			repeated = strings.Trim(name, "[]")
		}
		name = strings.Trim(name, "[].")
		switch {
		case i >= len(args) && !optional:
			return fmt.Errorf("%s is missing", name)
		case i < len(args) && args[i] == "":
			return fmt.Errorf("%s is empty", name)
		}
	}
	switch {
	case repeated != "" && slices.Contains(args, ""):
		return fmt.Errorf("%s is empty", repeated)
	case repeated == "" && len(args) > len(names):
		return fmt.Errorf("%q is one argument too many", args[len(names)])
	}
	return nil
}

// argsOfGroup is for commands that do nothing without one of their subcommands.
func argsOfGroup(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			known = append(known, c.Name())
		}
	}
	if len(known) == 0 {
		return fmt.Errorf("%s has no commands below it", cmd.CommandPath())
	}
	return fmt.Errorf("unknown command %q for %q; known are %s", args[0], cmd.CommandPath(), strings.Join(known, ", "))
}

// refuseUnknown gives argsOfGroup to the command that cobra makes for completions,
// which would print its help otherwise.
func refuseUnknown(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if cmd, _, err := root.Find([]string{"completion"}); err == nil {
		cmd.Args = argsOfGroup
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]...",
		Short: "Describe a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err == nil {
				err = argsOfGroup(about, rest)
			}
			if err != nil {
				return usageError{err}
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// emptyFlags are the flags to which an empty value means something.
var emptyFlags = []string{"clear-cpu", "options"}

// checkFlags refuses flags whose value is empty, which would count as not given.
func checkFlags(flags *pflag.FlagSet) error {
	var err error
	flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if several, ok := f.Value.(pflag.SliceValue); ok {
			values = several.GetSlice()
		}
		if slices.Contains(values, "") && !slices.Contains(emptyFlags, f.Name) {
			err = fmt.Errorf("--%s: must not be empty", f.Name)
		}
	})
	return err
}

// flagError says what is wrong with the value of a flag in the words of this program.
func flagError(_ *cobra.Command, err error) error {
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	why, kind := bad.Unwrap(), bad.GetFlag().Value.Type()
	switch {
	case errors.Is(why, strconv.ErrRange) && strings.HasPrefix(bad.GetValue(), "-"):
		why = errors.New("too small")
	case errors.Is(why, strconv.ErrRange):
		why = errors.New("too large")
	case kind == "duration":
		why = errors.New("not a duration such as 20ms or 1.5s")
	case errors.Is(why, strconv.ErrSyntax) && kind == "bool":
		why = errors.New("neither true nor false")
	case errors.Is(why, strconv.ErrSyntax) && kind == "float64":
		why = errors.New("not a number")
	case errors.Is(why, strconv.ErrSyntax):
		why = errors.New("not a whole number")
	}
	return fmt.Errorf("--%s %s: %w", bad.GetFlag().Name, bad.GetValue(), why)
}
