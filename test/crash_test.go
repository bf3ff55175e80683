package test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var crashRounds = flag.Int("crash.rounds", 15, "rounds of TestCrash")

// TestCrash kills the server while processes write, mounts again and looks at
// what they find: all that was acknowledged, as the server passes everything on
// before it answers, and besides nothing but zeros, old contents or new ones.
func TestCrash(t *testing.T) {
	const writers = 3
	tr := mountedTree(t)
	r := rand.New(rand.NewPCG(1, 0))
	acked := make([]acks, writers)
	for w := range writers {
		acked[w] = newAcks()
		makeWriterDir(t, tr, w)
	}
	for round := range *crashRounds {
		var running []*exec.Cmd
		var said []*bytes.Buffer
		for w := range writers {
			cmd := helper("crash-writer", tr.path(fmt.Sprint("w", w)), fmt.Sprint(w), fmt.Sprint(round), fmt.Sprint(acked[w].log))
			out := new(bytes.Buffer)
			cmd.Stdout, cmd.Stderr = out, os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			running, said = append(running, cmd), append(said, out)
		}
		time.Sleep(time.Duration(30+r.IntN(250)) * time.Millisecond)
		killed := time.Now()
		tr.kill()
		for w, cmd := range running {
			if err := cmd.Wait(); err != nil {
				t.Fatalf("round %d: writer %d: %v\nthe server said:\n%s", round, w, err, tr.log)
			}
			acked[w].add(t, said[w].String(), killed)
		}
		if err := detach(tr.root); err != nil { // only now, as they work by paths
			t.Fatalf("detach: %v", err)
		}
		tr.mount()
		for w := range writers {
			checkCrashed(t, tr.path(fmt.Sprint("w", w)), w, acked[w])
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
		if round%5 == 4 {
			// Whatever is left behind, everything can be removed.
			w := round / 5 % writers
			if out, err := exec.Command("rm", "-r", tr.path(fmt.Sprint("w", w))).CombinedOutput(); err != nil {
				t.Fatalf("round %d: rm -r: %v\n%s", round, err, out)
			}
			acked[w] = newAcks()
			makeWriterDir(t, tr, w)
		}
		if round%3 == 2 {
			tr.remount()
		}
	}
	for w := range writers {
		if out, err := exec.Command("rm", "-r", tr.path(fmt.Sprint("w", w))).CombinedOutput(); err != nil {
			t.Errorf("rm -r: %v\n%s", err, out)
		}
	}
	total := 0
	for _, a := range acked {
		total += a.log + len(a.cells) + a.current
	}
	if total == 0 {
		t.Error("no writer got anything done")
	}
}

func makeWriterDir(t *testing.T, tr *tree, w int) {
	t.Helper()
	dir := tr.path(fmt.Sprint("w", w))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cells := make([]byte, 0, cellCount*recordSize)
	for i := range cellCount {
		cells = append(cells, record(w, i, 0)...)
	}
	for name, data := range map[string][]byte{
		"log": nil, "cells": cells, "current": bytes.Repeat(record(w, 0, 0), currentRecords), "breathing": nil,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A record is 64 bytes that tell whether they are whole: whose they are, where
// they belong, which version they are, and a checksum.
const recordSize = 64

const (
	cellCount      = 1000
	currentRecords = 300
)

func record(owner, index, version int) []byte {
	b := make([]byte, 32, recordSize)
	copy(b, "record..")
	binary.LittleEndian.PutUint64(b[8:], uint64(owner))
	binary.LittleEndian.PutUint64(b[16:], uint64(index))
	binary.LittleEndian.PutUint64(b[24:], uint64(version))
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// versionOf returns the version of a record, and whether it is one that belongs
// there.
func versionOf(b []byte, owner, index int) (version int, ok bool) {
	if len(b) != recordSize {
		return 0, false
	}
	version = int(binary.LittleEndian.Uint64(b[24:]))
	return version, bytes.Equal(b, record(owner, index, version))
}

// acks are what a writer was told to be done.
type acks struct {
	log     int         // records in "log"
	cells   map[int]int // versions in "cells"
	current int         // version of "current"
}

func newAcks() acks { return acks{cells: map[int]int{}} }

// add reads what a writer has said before or after the server was killed.
func (a *acks) add(t *testing.T, said string, killed time.Time) {
	t.Helper()
	for line := range strings.Lines(said) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		var what string
		var x, y int
		if n, err := fmt.Sscan(line, &what, &x, &y); n < 3 {
			t.Fatalf("writer says %q: %v", line, err)
		}
		switch what {
		case "log":
			a.log = x
		case "cell":
			a.cells[x] = y
		case "current":
			a.current = x
		case "EIO":
			// What the kernel says for a request that a dying server was just
			// reading (fuse_dev_do_read in fs/fuse/dev.c).
			if at := time.Unix(0, int64(x)); at.Before(killed) {
				t.Errorf("EIO %v before the server was killed", killed.Sub(at))
			}
		}
	}
}

// crashWriter writes until the server is gone, and says on standard output what
// has been acknowledged.
func crashWriter(args []string) error {
	var owner, round, log int
	if _, err := fmt.Sscan(args[1]+" "+args[2]+" "+args[3], &owner, &round, &log); err != nil {
		return err
	}
	w := crashWork{
		dir: args[0], owner: owner, out: bufio.NewWriter(os.Stdout),
		r:   rand.New(rand.NewPCG(uint64(owner), uint64(round))),
		log: log, tree: round * 10000, version: (round + 1) * 1000000,
	}
	err := w.run()
	if errors.Is(err, unix.EIO) {
		fmt.Fprintln(w.out, "EIO", time.Now().UnixNano(), 0)
		err = unix.ENOTCONN
	}
	w.out.Flush()
	if errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED) {
		return nil
	}
	return fmt.Errorf("writer %d: %w", owner, err)
}

type crashWork struct {
	dir     string
	owner   int
	out     *bufio.Writer
	r       *rand.Rand
	log     int // records in "log"
	tree    int // number of the last directory
	version int // of what was written last
}

func (w *crashWork) run() error {
	for {
		var err error
		switch w.r.IntN(5) {
		case 0:
			err = w.appendLog()
		case 1:
			err = w.changeCells()
		case 2:
			err = w.replaceCurrent()
		case 3:
			err = w.breathe()
		case 4:
			err = w.plantTrees()
		}
		if err != nil {
			return err
		}
	}
}

func (w *crashWork) path(name string) string { return filepath.Join(w.dir, name) }

// open opens a file, calls f, and sometimes syncs.
func (w *crashWork) open(name string, flags int, f func(*os.File) error) error {
	file, err := os.OpenFile(w.path(name), flags, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := f(file); err != nil {
		return err
	}
	if w.r.IntN(4) == 0 {
		return file.Sync()
	}
	return nil
}

// appendLog appends records. What a crash has left past the acknowledged ones
// is written again.
func (w *crashWork) appendLog() error {
	n := 1 + w.r.IntN(20)
	err := w.open("log", os.O_WRONLY, func(f *os.File) error {
		var b []byte
		for i := range n {
			b = append(b, record(w.owner, w.log+i, 0)...)
		}
		_, err := f.WriteAt(b, int64(w.log)*recordSize)
		return err
	})
	if err == nil {
		w.log += n
		fmt.Fprintln(w.out, "log", w.log, 0)
	}
	return err
}

// changeCells overwrites records in the middle of a file.
func (w *crashWork) changeCells() error {
	w.version++
	first, n := w.r.IntN(cellCount-150), 1+w.r.IntN(150)
	err := w.open("cells", os.O_WRONLY, func(f *os.File) error {
		var b []byte
		for i := range n {
			b = append(b, record(w.owner, first+i, w.version)...)
		}
		_, err := f.WriteAt(b, int64(first)*recordSize)
		return err
	})
	if err == nil {
		for i := range n {
			fmt.Fprintln(w.out, "cell", first+i, w.version)
		}
	}
	return err
}

// replaceCurrent replaces a file as editors do.
func (w *crashWork) replaceCurrent() error {
	w.version++
	err := w.open("current.new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, func(f *os.File) error {
		_, err := f.Write(bytes.Repeat(record(w.owner, 0, w.version), currentRecords))
		return err
	})
	if err == nil {
		err = os.Rename(w.path("current.new"), w.path("current"))
	}
	if err == nil {
		fmt.Fprintln(w.out, "current", w.version, 0)
	}
	return err
}

// breathe lets a file grow and shrink, across the sizes where its layout
// changes.
func (w *crashWork) breathe() error {
	return w.open("breathing", os.O_RDWR, func(f *os.File) error {
		for range 5 {
			first, n := w.r.IntN(130), 1+w.r.IntN(60)
			var b []byte
			for i := range n {
				b = append(b, record(w.owner, first+i, w.version)...)
			}
			if _, err := f.WriteAt(b, int64(first)*recordSize); err != nil {
				return err
			}
			if err := f.Truncate(int64(w.r.IntN(130)) * recordSize); err != nil {
				return err
			}
		}
		return nil
	})
}

// plantTrees makes, renames and removes directories.
func (w *crashWork) plantTrees() error {
	w.tree++
	name := fmt.Sprint("tree-", w.tree)
	long := fmt.Sprint(strings.Repeat("long-", 45), w.tree)
	for _, step := range []func() error{
		func() error { return os.Mkdir(w.path(name), 0o755) },
		func() error { return os.Mkdir(w.path(name+"/sub"), 0o755) },
		func() error { return os.WriteFile(w.path(name+"/sub/file"), record(w.owner, 0, 0), 0o644) },
		func() error { return os.Rename(w.path(name), w.path(long)) },
		func() error { return os.Rename(w.path(long+"/sub"), w.path(name)) },
		func() error { return os.Symlink("target", w.path(long+"/link")) },
		func() error { return os.Remove(w.path(long + "/link")) },
		func() error { return os.Remove(w.path(long)) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if w.r.IntN(2) == 0 {
		return nil
	}
	// One of any writer before this one, too.
	trees, err := filepath.Glob(w.path("tree-*"))
	if err == nil && len(trees) > 0 {
		err = os.RemoveAll(trees[w.r.IntN(len(trees))])
	}
	return err
}

// checkCrashed checks a writer's directory.
func checkCrashed(t *testing.T, dir string, owner int, a acks) {
	t.Helper()
	read := func(name string) []byte {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		return b
	}

	log := read("log")
	for i := 0; i*recordSize < len(log); i++ {
		// The last record may have been cut off in the middle of a write.
		b := log[i*recordSize : min(len(log), (i+1)*recordSize)]
		if want := record(owner, i, 0); !bytes.Equal(b, want[:len(b)]) {
			t.Errorf("%s/log: record %d of %d is not as it was written: %x", dir, i, len(log)/recordSize, b)
			break
		}
	}
	if len(log)/recordSize < a.log {
		t.Errorf("%s/log: %d records, %d were acknowledged", dir, len(log)/recordSize, a.log)
	}

	cells := read("cells")
	if len(cells) != cellCount*recordSize {
		t.Errorf("%s/cells: %d bytes, want %d", dir, len(cells), cellCount*recordSize)
	}
	for i := 0; (i+1)*recordSize <= len(cells); i++ {
		b := cells[i*recordSize : (i+1)*recordSize]
		version, ok := versionOf(b, owner, i)
		// A write of several data units can stop between two of them, and
		// so inside no record, as records do not cross.
		if !ok || version < a.cells[i] {
			t.Errorf("%s/cells: record %d has version %d (whole: %v), %d was acknowledged", dir, i, version, ok, a.cells[i])
			break
		}
	}

	current := read("current")
	version, ok := 0, false
	if len(current) >= recordSize {
		version, ok = versionOf(current[:recordSize], owner, 0)
	}
	if !ok || !bytes.Equal(current, bytes.Repeat(record(owner, 0, version), currentRecords)) || version < a.current {
		t.Errorf("%s/current: version %d in %d bytes (whole: %v), %d was acknowledged", dir, version, len(current), ok, a.current)
	}

	breathing := read("breathing")
	for i := 0; (i+1)*recordSize <= len(breathing); i++ {
		b := breathing[i*recordSize : (i+1)*recordSize]
		if _, ok := versionOf(b, owner, i); !ok && !bytes.Equal(b, make([]byte, recordSize)) {
			t.Errorf("%s/breathing: record %d of %d bytes is garbage: %x", dir, i, len(breathing), b)
			break
		}
	}

	// Everything else lists and reads.
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if _, err := e.Info(); err != nil {
			return err
		}
		if e.Type().IsRegular() {
			_, err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Errorf("walk: %v", err)
	}
}
