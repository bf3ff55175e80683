package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"encfs/cmd/encfs/internal/extract"
	"encfs/fs"
)

// extractRequest is what the arguments of extract ask for.
type extractRequest struct {
	source   string
	paths    []string
	dest     string
	keys     keyFlags
	pipeline pipelineOptions
	options  extract.Options
}

func newExtractCommand() *cobra.Command {
	var r extractRequest
	var pipeline pipelineFlags
	var shown progressFlag
	var jobs positive
	cmd := &cobra.Command{
		Use:   "extract [flags] SOURCE PATH... DEST",
		Short: "Copy files and directories out without mounting",
		Long: `Copy files and directories out of a cipher directory or an image, without
mounting. PATH is relative to the root of SOURCE; / is all of it. Needs neither
FUSE nor root.

DEST becomes the copy of a single PATH. It must not exist, or for a directory be
an empty one; a file goes into DEST if that is a directory. Several PATHs go into
DEST, each under its own name.

Contents, holes, hard links, modes, times, attributes and ACLs are kept, and as
root owners. What cannot be copied is listed, and the rest is copied. What was
interrupted goes on with --resume.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.source, r.paths, r.dest = args[0], args[1:len(args)-1], args[len(args)-1]
			r.options.Jobs = int(jobs)
			var err error
			if r.pipeline, err = pipeline.parse(); err != nil {
				return err
			}
			c := consoleOf(cmd)
			p := shown.on(c.err)
			c.err = p
			return extractFiles(r, p, c)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&r.options.Resume, "resume", false, "go on with an extraction that was interrupted: what is complete in DEST stays, the rest is made anew")
	flags.BoolVar(&r.options.Salvage, "salvage", false, "keep files of which parts cannot be read, with zeros in place of these, and list them")
	flags.Var(&jobs, "jobs", "make `N` files at a time; without it twice as many as there are CPUs")
	shown.add(flags)
	pipeline.add(flags)
	r.keys.add(flags)
	return cmd
}

// extractFiles extracts what is asked for, with messages on c.err, which is p.
func extractFiles(r extractRequest, p *progress, c console) error {
	if err := checkDest(r.source, r.dest); err != nil {
		return err
	}
	queue, err := r.pipeline.newQueue()
	if err != nil {
		return err
	}
	defer queue.Close()
	v, err := openToRead(r.source, &r.keys, r.pipeline.Drivers, tryLock, fs.Options{
		Queue: queue, ShowBad: r.options.Salvage,
		Log: slog.New(withoutErrors{foregroundLog(c.err).Handler()}),
	}, c)
	if err != nil {
		return err
	}
	defer v.Close()

	ctx, stop := signal.NotifyContext(context.Background(), notIgnored(os.Interrupt, unix.SIGTERM, unix.SIGHUP)...)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal is for the impatient
	r.options.Report = func(path string, err error) { c.notef("%s", message(objectError(path, err))) }
	r.options.Progress = p.done
	p.start()
	measured := make(chan struct{})
	measuring, enough := context.WithCancel(ctx)
	go func() {
		defer close(measured)
		if p.wanted() {
			extract.Measure(measuring, v, r.paths, p.expect)
			p.expectNoMore()
		}
	}()
	account, err := extract.Extract(ctx, v, r.paths, r.dest, r.options)
	enough()
	<-measured
	elapsed := p.stop()
	if source, ok := errors.AsType[*extract.SourceError](err); ok {
		return plainError(source.Path, source.Err)
	}
	if err != nil && account == (extract.Account{}) {
		return extractEnd(err)
	}
	for _, line := range accountLines(account, elapsed) {
		c.notef("%s", line)
	}
	if err != nil {
		return extractEnd(err)
	}
	if n := account.Failed + account.Incomplete; n > 0 {
		return failf(exitFailure, "", "not all was extracted: %s", strings.Join(counted(
			account.Failed, "object failed", "objects failed",
			account.Incomplete, "object is not complete", "objects are not complete"), ", "))
	}
	return nil
}

// objectError puts the path of an object before what is wrong with it or its copy.
func objectError(path string, err error) error {
	if _, ok := errors.AsType[*extract.CopyError](err); ok {
		return pathError(path, err)
	}
	return plainError(path, err)
}

// checkDest checks that the destination does not lie in the source.
func checkDest(source, dest string) error {
	info, err := os.Stat(source)
	if err != nil || !info.IsDir() {
		return nil
	}
	resolved, err := resolve(dest)
	if err != nil {
		return nil // it cannot be made either
	}
	if at, err := os.Stat(resolved); err == nil && os.SameFile(at, info) || liesIn(resolved, info) {
		return failf(exitFailure, "choose a place beside it", "%s lies in the cipher directory %s", dest, source)
	}
	return nil
}

// extractEnd is the error for what ended an extraction.
func extractEnd(err error) error {
	const resume = "go on with --resume"
	d, ok := errors.AsType[*extract.DestinationError](err)
	switch {
	case !ok:
		return failf(exitFailure, resume, "ended early: %w", err)
	case errors.Is(err, extract.ErrNotEmpty):
		return failf(exitFailure, "choose another, or go on with an earlier extraction to it with --resume", "%s is not empty", d.Path)
	case errors.Is(err, extract.ErrBusy):
		return failf(exitBusy, "", "another program extracts to %s", d.Path)
	case errors.Is(err, unix.EEXIST):
		return failf(exitFailure, "choose another name, or replace it with --resume if it differs", "%s exists", d.Path)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return failf(exitFailure, "make room and "+resume, "%w", err)
	}
	return failf(exitFailure, "", "%w", err)
}

// accountLines returns what was done, in words.
func accountLines(a extract.Account, elapsed time.Duration) []string {
	done := counted(
		a.Files, "file", "files",
		a.Dirs, "directory", "directories",
		a.Symlinks, "symbolic link", "symbolic links",
		a.Special, "device, FIFO or socket", "devices, FIFOs and sockets",
		a.Links, "hard link", "hard links",
	)
	if len(done) == 0 {
		done = []string{"nothing"}
	}
	lines := []string{fmt.Sprintf("extracted %s: %s of data in %.1f s, %s/s", strings.Join(done, ", "),
		byteCount(a.Bytes), elapsed.Seconds(), byteCount(perSecond(a.Bytes, elapsed)))}
	for _, more := range []struct {
		n    int64
		text string
	}{
		{a.Kept, "%d were complete already"},
		{a.Owners, "%d do not have the owner or group that they had, which root can give them"},
		{a.Attributes, "%d attributes that only root may set were left out"},
		{a.Unlinked, "%d hard links became files of their own, as there cannot be so many links"},
	} {
		if more.n > 0 {
			lines = append(lines, fmt.Sprintf(more.text, more.n))
		}
	}
	return lines
}

// counted returns what there is of each, from triples of a number and its noun in the
// singular and in the plural.
func counted(triples ...any) []string {
	var parts []string
	for i := 0; i < len(triples); i += 3 {
		n, noun := triples[i].(int64), triples[i+2]
		if n == 1 {
			noun = triples[i+1]
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, noun))
		}
	}
	return parts
}
