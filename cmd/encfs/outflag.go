package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
)

// An outFlag is the flag --out: a file for results that take long to get. A regular file
// has all of them or is as it was before; anything else, such as a pipe, is written to.
type outFlag struct {
	name   string // "" for standard output
	file   newFile
	opened *os.File // what is no regular file
}

func (o *outFlag) add(flags *pflag.FlagSet) {
	flags.StringVar(&o.name, "out", "", "write the results to `FILE` rather than standard output")
}

// prepare checks that the results can be written, before they are measured. The report is
// the other file that is going to be.
func (o *outFlag) prepare(report reportFlag) error {
	if o.name == "" {
		return nil
	}
	if report.name != "" && sameName(o.name, report.name) {
		return usagef("--out and --report are the same file")
	}
	info, err := os.Stat(o.name)
	if err == nil && !info.Mode().IsRegular() {
		o.opened, err = os.OpenFile(o.name, os.O_WRONLY, 0)
	} else {
		o.file, err = prepareFile(o.name, nil)
	}
	return o.explain(err)
}

// sameName reports whether two paths lead to the same place, where there may be nothing.
func sameName(a, b string) bool {
	a, errA := resolve(a)
	b, errB := resolve(b)
	return errA == nil && errB == nil && a == b
}

// write writes what results writes. If the file cannot take it, standard output gets it, so
// that it is not lost, and the error says so.
func (o *outFlag) write(stdout io.Writer, results func(io.Writer) error) error {
	var err error
	switch {
	case o.name == "":
		return results(stdout)
	case o.opened != nil:
		err = errors.Join(results(o.opened), o.opened.Close())
	default:
		err = o.file.write(results)
	}
	if err == nil {
		return nil
	}
	return errors.Join(o.explain(fmt.Errorf("%w: the results are on standard output", bareError(err))), results(stdout))
}

// explain says which flag an error is about.
func (o *outFlag) explain(err error) error {
	if err == nil {
		return nil
	}
	return ownError{fmt.Errorf("--out %s: %w", o.name, bareError(err))}
}
