package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/pflag"
)

// progressFlag is the flag that says how progress is shown.
type progressFlag struct{ choice }

func (p *progressFlag) add(flags *pflag.FlagSet) {
	p.choice = newChoice("auto", "bar", "plain", "none")
	p.choice.add(flags, "progress", "show progress on standard error, as a bar if that is a terminal (auto), a bar in any case, or a line now and then (plain)")
}

// on returns a progress on w.
func (p *progressFlag) on(w io.Writer) *progress {
	shown := p.value
	if shown == "auto" {
		shown = "none"
		if isTerminal(w) {
			shown = "bar"
		}
	}
	return newProgress(w, shown)
}

// A progress shows how far a long command has come, from start to stop: bytes, files,
// rate and, once the total is known, time left. Counting is cheap and may be done
// concurrently. Messages go through Write, so that they and the bar do not mix.
type progress struct {
	bytes, files           atomic.Int64 // done
	totalBytes, totalFiles atomic.Int64 // to do, as far as known
	known                  atomic.Bool  // the totals are complete

	shown string // bar, plain or none
	began time.Time
	end   chan struct{} // nil: not started, or nothing to show
	ended sync.WaitGroup

	mu   sync.Mutex // guards w and the bar
	w    io.Writer
	bar  *progressbar.ProgressBar // nil: no bar
	over bool
}

const (
	barInterval   = 200 * time.Millisecond
	plainInterval = 10 * time.Second
)

// newProgress returns a progress that shows itself on w: as a bar, as plain lines
// or, with "none", not at all.
func newProgress(w io.Writer, shown string) *progress {
	return &progress{w: w, shown: shown}
}

// start begins to show the progress. The caller stops it.
func (p *progress) start() {
	p.began = time.Now()
	interval := plainInterval
	switch p.shown {
	case "none":
		return
	case "bar":
		interval = barInterval
		p.bar = newBar(p.w)
	}
	p.end = make(chan struct{})
	p.ended.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-p.end:
				return
			case <-tick.C:
				p.show()
			}
		}
	})
}

func newBar(w io.Writer) *progressbar.ProgressBar {
	return progressbar.NewOptions64(1,
		progressbar.OptionSetWriter(w),
		progressbar.OptionShowBytes(true), progressbar.OptionShowTotalBytes(true), progressbar.OptionUseIECUnits(true),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionSetWidth(20),
	)
}

// wanted reports whether the totals are worth finding out.
func (p *progress) wanted() bool { return p.shown != "none" }

// done counts what has been done.
func (p *progress) done(files, bytes int64) {
	p.files.Add(files)
	p.bytes.Add(bytes)
}

// expect adds to what there is to do.
func (p *progress) expect(files, bytes int64) {
	p.totalFiles.Add(files)
	p.totalBytes.Add(bytes)
}

// expectNoMore says that the totals are complete.
func (p *progress) expectNoMore() { p.known.Store(true) }

// show brings the bar up to date, or writes a line.
func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		fmt.Fprintf(p.w, "encfs: %s\n", p.line(time.Since(p.began)))
		return
	}
	p.bar.Describe(p.filesDone())
	bytes := p.bytes.Load()
	// A bar that is full would be over, which is for stop to say.
	p.bar.ChangeMax64(max(p.totalBytes.Load(), bytes) + 1)
	p.bar.Set64(bytes)
}

// filesDone returns the number of files as it is shown, with a plus where there are
// more than are known yet.
func (p *progress) filesDone() string {
	done, total := p.files.Load(), p.totalFiles.Load()
	switch {
	case p.known.Load():
		return fmt.Sprintf("%d/%d files", done, total)
	case total > 0:
		return fmt.Sprintf("%d/%d+ files", done, total)
	}
	return fmt.Sprintf("%d files", done)
}

// line returns the progress in words, after so much time.
func (p *progress) line(elapsed time.Duration) string {
	bytes, total := p.bytes.Load(), p.totalBytes.Load()
	rate := perSecond(bytes, elapsed)
	s := p.filesDone() + ", " + byteCount(bytes)
	if p.known.Load() {
		s += " of " + byteCount(total)
	}
	s += fmt.Sprintf(", %s/s", byteCount(rate))
	if p.known.Load() && rate > 0 {
		left := time.Duration(max(0, total-bytes)/rate) * time.Second
		s += fmt.Sprintf(", %v left", left)
	}
	return s
}

// Write writes a message, whole lines.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil && !p.over {
		p.bar.Clear()
	}
	return p.w.Write(b)
}

// stop ends the progress and takes the bar away. It returns how long it went on.
// Messages may follow.
func (p *progress) stop() time.Duration {
	if p.end != nil {
		close(p.end)
		p.ended.Wait()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Clear()
	}
	p.over = true
	return time.Since(p.began)
}

// perSecond returns a rate, 0 where there was no time.
func perSecond(n int64, elapsed time.Duration) int64 {
	if elapsed <= 0 {
		return 0
	}
	return int64(float64(n) / elapsed.Seconds())
}

// byteCount returns a number of bytes in a unit that suits it.
func byteCount(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	units := "KMGTPE"
	v, u := float64(n)/(1<<10), 0
	for v >= 1023.95 && u < len(units)-1 {
		v /= 1 << 10
		u++
	}
	return fmt.Sprintf("%.1f %ciB", v, units[u])
}
