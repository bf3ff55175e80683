package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"encfs/cmd/encfs/internal/bench"
)

// newTarJobCommand returns the command that bench tar starts for each of its tars, so
// that they read in processes of their own. On standard input it gets paths
// that each end with a zero byte, then an empty one; it answers with a line once it
// has them all, waits for another byte, and answers with the number of bytes of
// contents when it has read all files.
func newTarJobCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "tar-job DIR",
		Short:  "Read files as tar does; started by bench tar",
		Hidden: true,
		Args:   argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTarJob(cmd.InOrStdin(), cmd.OutOrStdout(), args[0])
		},
	}
}

func runTarJob(stdin io.Reader, stdout io.Writer, dir string) error {
	in := bufio.NewReader(stdin)
	var paths []string
	for {
		path, err := in.ReadString(0)
		if err != nil {
			return fmt.Errorf("paths: %w", err)
		}
		if path == "\x00" {
			break
		}
		paths = append(paths, strings.TrimSuffix(path, "\x00"))
	}
	if _, err := io.WriteString(stdout, "ready\n"); err != nil {
		return err
	}
	if _, err := in.ReadByte(); err != nil {
		return nil // nobody wants it any more
	}
	n, err := bench.Tar(dir, paths)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, n)
	return err
}

// A tarJob is a process that reads a part of a tree.
type tarJob struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	said    bytes.Buffer // on standard error
}

// startTarJob starts a process on some CPUs and returns when it is ready to read. It
// is killed when ctx is done; the caller ends it.
func startTarJob(ctx context.Context, cpus []int, dir string, files []bench.TreeFile) (*tarJob, error) {
	j := &tarJob{process: exec.CommandContext(ctx, ownProgram(), "tar-job", "--", dir)}
	j.process.Stderr = &j.said
	// What a terminal sends to stop all of it is for us to deal with.
	j.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var err error
	if j.in, err = j.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := j.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	j.out = bufio.NewReader(out)
	if err := onCPUs(cpus, j.process.Start); err != nil {
		return nil, fmt.Errorf("starting a tar: %w", err)
	}
	var paths strings.Builder
	for _, f := range files {
		paths.WriteString(f.Path + "\x00")
	}
	paths.WriteByte(0)
	_, err = io.WriteString(j.in, paths.String())
	if err == nil {
		_, err = j.out.ReadString('\n')
	}
	if err != nil {
		return nil, j.failure(err)
	}
	return j, nil
}

// begin has the job read.
func (j *tarJob) begin() error {
	_, err := j.in.Write([]byte{1})
	return j.failure(err)
}

// wait returns how many bytes the job has read, once it is done.
func (j *tarJob) wait() (int64, error) {
	line, err := j.out.ReadString('\n')
	if err != nil {
		return 0, j.failure(err)
	}
	return strconv.ParseInt(strings.TrimSuffix(line, "\n"), 10, 64)
}

// failure returns what the process says of an error that came of it, nil of none. The
// process has ended then.
func (j *tarJob) failure(err error) error {
	if err == nil {
		return nil
	}
	j.end()
	if text := strings.TrimSpace(j.said.String()); text != "" {
		return ownError{errors.New(strings.TrimPrefix(text, "encfs: "))}
	}
	return fmt.Errorf("a tar has ended: %w", err)
}

// end waits for the end of the process, which comes when there is nothing to do for
// it. It may be called again.
func (j *tarJob) end() {
	j.in.Close()
	j.process.Wait()
}

// timeTars has as many tars as there are parts read these parts of the tree in dir at
// the same time, on some CPUs, and returns from when the first begins until the last
// is done. Processes are started before, and are gone afterwards.
func timeTars(ctx context.Context, cpus []int, dir string, parts [][]bench.TreeFile) (time.Duration, error) {
	ctx, kill := context.WithCancel(ctx)
	var jobs []*tarJob
	defer func() {
		kill()
		for _, j := range jobs {
			j.end()
		}
	}()
	for _, part := range parts {
		j, err := startTarJob(ctx, cpus, dir, part)
		if err != nil {
			return 0, err
		}
		jobs = append(jobs, j)
	}
	start := time.Now()
	for _, j := range jobs {
		if err := j.begin(); err != nil {
			return 0, err
		}
	}
	for k, j := range jobs {
		n, err := j.wait()
		if err != nil {
			return 0, err
		}
		if want := bench.TreeSize(parts[k]); n != want {
			return 0, fmt.Errorf("a tar has read %d of %d bytes", n, want)
		}
	}
	return time.Since(start), nil
}
