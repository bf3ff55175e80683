package main

import "github.com/spf13/cobra"

func newKeyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Back up and restore what a cipher directory is opened with",
		Long: `Back up and restore what a cipher directory is opened with, besides a passphrase or key:
its policy, its protectors and the header of its root. Without them nobody can.`,
		Args: argsOfGroup,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newKeyBackupCommand(), newKeyRestoreCommand())
	return cmd
}
