package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"encfs/cmd/encfs/internal/htmlreport"
	"encfs/cpufeat"
)

// A reportFlag is the flag --report of the commands that measure.
type reportFlag struct {
	name string // "" for no report
	file newFile
}

// add adds the flag to a command. Before the command does anything, it checks that the
// file can be written, so that nothing is measured in vain.
func (r *reportFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.name, "report", "", "write a page for browsers to `FILE`, with tables, plots and what the machine is")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if r.name == "" {
			return nil
		}
		var err error
		r.file, err = prepareFile(r.name, isReport)
		return r.explain(err)
	}
}

// write writes the page, if one was asked for. It fills in what is the same for all
// commands.
func (r *reportFlag) write(cmd *cobra.Command, page htmlreport.Page) error {
	if r.name == "" {
		return nil
	}
	page.Title = cmd.CommandPath()
	page.Command = commandLine(cmd)
	page.Date = time.Now()
	page.Machine = append(htmlreport.Machine(os.DirFS("/"), cpufeat.Host()), htmlreport.Fact{Name: "encfs", Value: programVersion()})
	return r.explain(r.file.write(func(w io.Writer) error { return htmlreport.Write(w, page) }))
}

// explain says which flag an error is about.
func (r *reportFlag) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNotReplaceable):
		return usagef("--report %s: %w; choose another name", r.name, err)
	}
	return ownError{fmt.Errorf("--report %s: %w", r.name, err)}
}

// isReport reports whether a file begins as reports do, or is empty.
func isReport(f io.Reader) bool {
	const doctype = "<!doctype html"
	start := make([]byte, len(doctype))
	n, err := io.ReadFull(f, start)
	return errors.Is(err, io.EOF) || n == len(start) && strings.EqualFold(string(start), doctype)
}

// commandLine returns a command line that does what this one did, for a shell, but for
// the values of flags that may have a secret in them.
func commandLine(cmd *cobra.Command) string {
	line := []string{cmd.CommandPath()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if several, ok := f.Value.(pflag.SliceValue); ok {
			values = several.GetSlice()
		}
		for _, v := range values {
			switch {
			case f.Name == "extpass":
				line = append(line, "--extpass …")
			case f.Value.Type() == "bool" && v == "true":
				line = append(line, "--"+f.Name)
			case f.NoOptDefVal != "":
				line = append(line, "--"+f.Name+"="+shellWord(v))
			default:
				line = append(line, "--"+f.Name, shellWord(v))
			}
		}
	})
	for _, arg := range cmd.Flags().Args() {
		line = append(line, shellWord(arg))
	}
	return strings.Join(line, " ")
}
