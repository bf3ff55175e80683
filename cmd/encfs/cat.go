package main

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/cobra"

	"encfs/fs"
	"encfs/fs/store"
)

func newCatCommand() *cobra.Command {
	var keys keyFlags
	var drivers driverFlags
	cmd := &cobra.Command{
		Use:   "cat [flags] SOURCE PATH...",
		Short: "Write files to standard output without mounting",
		Long: `Write files to standard output, one after the other, without mounting. PATH is
relative to the root of SOURCE. Needs neither FUSE nor root.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := openForReading(args[0], &keys, &drivers, consoleOf(cmd))
			if err != nil {
				return err
			}
			defer v.Close()
			return concatenate(cmd.OutOrStdout(), v, args[1:])
		},
	}
	keys.add(cmd.Flags())
	drivers.add(cmd.Flags())
	return cmd
}

// concatenate writes files to w. One that cannot be read does not keep the others
// from it; an error of w ends it.
func concatenate(w io.Writer, v *fs.Volume, paths []string) error {
	out := &outputWriter{w: w}
	var errs []error
	for _, p := range paths {
		err := writeFile(out, v, p)
		if out.err != nil {
			return fmt.Errorf("standard output: %w", out.err)
		}
		errs = append(errs, plainError(p, err))
	}
	return errors.Join(errs...)
}

func writeFile(w io.Writer, v *fs.Volume, path string) error {
	i, attr, err := v.Walk(path)
	if err != nil {
		return err
	}
	defer v.Release(i, 1)
	switch attr.Mode & store.ModeType {
	case store.ModeRegular:
		return v.ReadFile(i, w)
	case store.ModeDir:
		return syscall.EISDIR
	}
	return errNoFile
}

var errNoFile = errors.New("not a regular file")

// An outputWriter remembers the error of writing, so that it can be told from one
// of reading.
type outputWriter struct {
	w   io.Writer
	err error
}

func (o *outputWriter) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		o.err = err
	}
	return n, err
}
