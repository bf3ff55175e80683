package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/keys"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the driver of the default cipher, and the CPU's tier",
		Args:  argsOfUse,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printVersion(cmd.OutOrStdout(), cpufeat.Host())
		},
	}
}

func printVersion(w io.Writer, have cpufeat.Set) error {
	mode, _ := defaultContents(have)
	driver, err := decrypt.Lookup(mode.Algorithm(), have)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "encfs %s (%s, %s/%s)\ndriver %s\nCPU tier %s\n",
		programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, driver.Name, have.Tier().Name)
	return err
}

// programVersion returns the version that this program was built from.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown version"
}

// defaultContents returns the contents mode for a CPU, and why it is that.
func defaultContents(have cpufeat.Set) (keys.Mode, string) {
	if have.Has(cpufeat.AES) {
		return keys.AES256XTS, "the CPU has AES instructions"
	}
	return keys.Adiantum, "the CPU has no AES instructions"
}
