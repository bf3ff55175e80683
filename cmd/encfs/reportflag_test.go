package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestCommandLine(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing", nil, "encfs tar"},
		{"values", []string{"--jobs=1,2", "--tree", "a b"}, "encfs tar --jobs 1,2 --tree 'a b'"},
		{"each of several", []string{"--clear-cpu", "", "--clear-cpu", "aes,avx"}, "encfs tar --clear-cpu '' --clear-cpu aes,avx"},
		{"switches", []string{"--strict", "--watch", "--watch=3"}, "encfs tar --strict --watch=3"},
		{"switched off", []string{"--strict=false"}, "encfs tar --strict=false"},
		{"arguments", []string{"it's", "plain"}, `encfs tar 'it'\''s' plain`},
		{"a secret", []string{"--extpass", "echo secret", "--passfile", "file"}, "encfs tar --extpass … --passfile file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := &cobra.Command{Use: "encfs"}
			got := ""
			cmd := &cobra.Command{Use: "tar", Run: func(cmd *cobra.Command, _ []string) { got = commandLine(cmd) }}
			flags := cmd.Flags()
			flags.String("jobs", "", "")
			flags.String("tree", "", "")
			flags.String("extpass", "", "")
			flags.String("passfile", "", "")
			flags.StringArray("clear-cpu", nil, "")
			flags.Bool("strict", false, "")
			flags.Int("watch", 0, "")
			flags.Lookup("watch").NoOptDefVal = "1"
			root.AddCommand(cmd)
			root.SetArgs(append([]string{"tar"}, tt.args...))
			if err := root.Execute(); err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestIsReport(t *testing.T) {
	for _, tt := range []struct {
		text string
		want bool
	}{
		{"", true},
		{"<", false},
		{"<!DOCTYPE htm", false},
		{"<!DOCTYPE html>\n<html>", true},
		{"<!doctype HTML>", true},
		{`[{"queue": "bound"}]`, false},
	} {
		if got := isReport(strings.NewReader(tt.text)); got != tt.want {
			t.Errorf("%q: got %v, want %v", tt.text, got, tt.want)
		}
	}
}
