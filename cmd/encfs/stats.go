package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func newStatsCommand() *cobra.Command {
	var asJSON, asPrometheus bool
	var watch time.Duration
	cmd := &cobra.Command{
		Use:   "stats [flags] MOUNTPOINT",
		Short: "Show the counters of a running mount",
		Long: `Show what a mount has done since it was mounted: requests of the kernel by type
and how long they took, bytes, work items of the decryption queue by CPU, and
the memory of its server. Only its owner and root can ask.

Of what happens often a part is timed. "lower read" is the wait for ciphertext,
"queue wait" that of a work item for a worker, and "decrypt" the time from
ciphertext to plaintext.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("watch") && watch < minWatch {
				return usagef("--watch %v: at least %v", watch, minWatch)
			}
			print := (*statsReport).printText
			switch {
			case asJSON:
				print = func(r *statsReport, w io.Writer) error { return r.printJSON(w, watch == 0) }
			case asPrometheus:
				print = (*statsReport).printPrometheus
			}
			return showStats(cmd.OutOrStdout(), args[0], watch, print)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print JSON; with --watch a line each time")
	flags.BoolVar(&asPrometheus, "prometheus", false, "print the text format of Prometheus")
	flags.DurationVar(&watch, "watch", 0, "print again and again, until the mount ends; `INTERVAL` is a second if left out")
	flags.Lookup("watch").NoOptDefVal = "1s"
	cmd.MarkFlagsMutuallyExclusive("json", "prometheus")
	cmd.MarkFlagsMutuallyExclusive("watch", "prometheus")
	return cmd
}

// minWatch is the shortest interval of --watch.
const minWatch = 10 * time.Millisecond

// showStats prints the counters of a mount, and with an interval goes on until the
// mount ends.
func showStats(w io.Writer, point string, interval time.Duration, print func(*statsReport, io.Writer) error) error {
	path, err := controlPath(point)
	if err != nil {
		return err
	}
	for again := false; ; again = true {
		r, err := askStats(path)
		if again && serverEnded(err) {
			return nil
		}
		if err != nil {
			return statsError(point, err)
		}
		if again {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := print(r, w); err != nil {
			return err
		}
		if interval == 0 {
			return nil
		}
		time.Sleep(interval)
	}
}

// controlPath asks a mount for the path of its socket.
func controlPath(point string) (string, error) {
	resolved, err := resolve(point)
	if err != nil {
		return "", failf(exitMountPoint, "", "%w", err)
	}
	mounts, err := readMounts()
	if err != nil {
		return "", err
	}
	m, ok := findMount(mounts, resolved)
	switch {
	case !ok:
		return "", notMounted(mounts, point, resolved)
	case m.fsType != fuseType:
		return "", failf(exitMountPoint, "", "%s is not a mount of encfs but of %s (%s)", point, m.source, m.fsType)
	}
	s, err := readMountStatus(m)
	if err != nil {
		return "", err
	}
	path, ok := s.status["control"].(string)
	if !ok {
		return "", failf(exitFailure, "its log says why", "the mount at %s has no socket to ask", point)
	}
	return path, nil
}

// askStats reads the report of the server that listens at path.
func askStats(path string) (*statsReport, error) {
	conn, err := net.DialTimeout("unix", path, controlTimeout)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(controlTimeout))
	const maxReport = 1 << 20
	r := new(statsReport)
	if err := json.NewDecoder(io.LimitReader(conn, maxReport)).Decode(r); err != nil {
		return nil, fmt.Errorf("answer of the server: %w", err)
	}
	return r, nil
}

// serverEnded reports whether an error of askStats means that the server has ended,
// before somebody connected or before it answered.
func serverEnded(err error) bool {
	return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, io.EOF)
}

// statsError says what an error of askStats means.
func statsError(point string, err error) error {
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, io.EOF):
		return failf(exitFailure, "only its owner and root can ask", "the mount at %s does not answer", point)
	case serverEnded(err):
		return failf(exitMountPoint, "", "the server of the mount at %s does not listen: %w", point, err)
	}
	return fmt.Errorf("stats of %s: %w", point, err)
}

// printJSON prints the report as JSON, in one line or several.
func (r *statsReport) printJSON(w io.Writer, indent bool) error {
	enc := json.NewEncoder(w)
	if indent {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(r)
}
