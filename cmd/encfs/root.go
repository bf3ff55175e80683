package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// run runs the command that args name and returns its exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	started := false
	root := newRootCommand()
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		err := checkFlags(cmd.Flags())
		started = err == nil
		return err
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	refuseUnknown(root)
	err := root.Execute()
	if err != nil && !started {
		// Cobra did not get as far as the command, so the arguments are wrong.
		err = usageError{err}
	}
	return report(stderr, err)
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "encfs",
		Short: "Encrypted directories in the format of Linux fscrypt, in user space",
		Long: `encfs keeps files encrypted as Linux fscrypt does, in user space.

  encfs init secret           make the cipher directory "secret"
  encfs mount secret plain    see its files in the clear under "plain"
  encfs umount plain          and no more`,
		Args:          argsOfGroup,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 100"))
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelpCommand())
	root.AddCommand(
		newInitCommand(),
		newMountCommand(),
		newUmountCommand(),
		newStatusCommand(),
		newStatsCommand(),
		newLsCommand(),
		newCatCommand(),
		newExtractCommand(),
		newPasswdCommand(),
		newProtectorCommand(),
		newKeyCommand(),
		newDriversCommand(),
		newCPUCommand(),
		newSelftestCommand(),
		newBenchCommand(),
		newVersionCommand(),
		newServeCommand(),
		newTarJobCommand(),
	)
	return root
}
