package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"encfs/cpufeat"
)

// clearsAES reports whether those features are without the AES instructions that the CPU
// has.
func clearsAES(have cpufeat.Set) bool {
	return cpufeat.Host().Has(cpufeat.AES) && !have.Has(cpufeat.AES)
}

// goLacksAES reports whether Go's library in this process does without the CPU's AES
// instructions, as a process with driverOptions.environment does. The last of several
// settings counts.
func goLacksAES() bool {
	lacks := false
	for setting := range strings.SplitSeq(os.Getenv("GODEBUG"), ",") {
		if value, ok := strings.CutPrefix(setting, "cpu.aes="); ok {
			lacks = value == "off"
		}
	}
	return lacks
}

// apart reports whether the cell has to be measured in a process of its own, as Go's
// library has AES instructions in this one that the cell is to do without.
func (c cell) apart() bool { return clearsAES(c.have) && !goLacksAES() }

// apartCommand returns the process that runs a bench command, with its name first, for
// the cell alone, with JSON on its standard output. It is killed when ctx is done, and
// with this process.
func (c cell) apartCommand(ctx context.Context, args ...string) *exec.Cmd {
	clear := strings.Join(c.cleared, ",")
	args = append([]string{"bench"}, args...)
	process := exec.CommandContext(ctx, ownProgram(), append(args, "--clear-cpu", clear, "--format", "json")...)
	process.Env = driverOptions{ClearCPU: clear}.environment()
	// What a terminal sends to stop all of it is for this process.
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return process
}

// resultsOf runs such a process, passes on what it has to say, and stores its results. If
// it fails, its error and its exit code are those of this process.
func resultsOf(process *exec.Cmd, results any, stderr io.Writer) error {
	var said bytes.Buffer
	process.Stderr = &said
	out, err := process.Output()
	if err != nil {
		text := strings.TrimPrefix(strings.TrimSpace(said.String()), "encfs: ")
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 && text != "" {
			return failf(exit.ExitCode(), "", "%s", text)
		}
		return fmt.Errorf("measuring in a process without AES instructions: %w", err)
	}
	if _, err := said.WriteTo(stderr); err != nil {
		return err
	}
	if err := json.Unmarshal(out, results); err != nil {
		return fmt.Errorf("measuring in a process without AES instructions: %w", err)
	}
	return nil
}
