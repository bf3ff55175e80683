// Command volumedemo does what make demo does where nothing can be mounted: it
// copies a tree into an encrypted directory and reads it back with each queue,
// comparing every byte, all on an fs.Volume without FUSE.
//
// usage: volumedemo TREE
//
// It works in a folder below TMPDIR that it removes at the end.
package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"encfs/fs"
	"encfs/fs/dirstore"
	"encfs/keys"
	"encfs/workqueue"
)

// dataUnit is the size of a data unit, in bytes.
const dataUnit = 4096

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: volumedemo TREE")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "volumedemo:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, tree string) error {
	dir, err := os.MkdirTemp("", "encfs-volumedemo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cipher := filepath.Join(dir, "cipher")
	master := make([]byte, 64)
	rand.Read(master)

	start := time.Now()
	if err := create(cipher, master); err != nil {
		return err
	}
	err = withVolume(cipher, master, workqueue.Inline, func(v *fs.Volume) error { return fill(v, v.Root(), tree) })
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "copied in %.2f s\n\n", time.Since(start).Seconds())

	fmt.Fprintln(w, "reading all files, caches of the kernel as they are:")
	row(w, "read", "seconds", "MB/s", "identical")
	if err := measure(w, "without encfs", tree, nil); err != nil {
		return err
	}
	for _, kind := range []workqueue.Kind{workqueue.Bound, workqueue.Unbound} {
		err := withVolume(cipher, master, kind, func(v *fs.Volume) error {
			return measure(w, "--queue "+kind.String(), tree, v)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func row(w io.Writer, label, seconds, rate, same string) {
	fmt.Fprintf(w, "  %-18s %8s %8s   %s\n", label, seconds, rate, same)
}

// policy returns the default policy under a master key.
func policy(mk *keys.MasterKey) keys.Policy {
	return keys.Policy{
		Version: 2, Contents: keys.AES256XTS, Filenames: keys.AES256CTS,
		Flags: keys.FlagPad32, Log2DataUnitSize: 12, Identifier: mk.Identifier(),
	}
}

// create makes an empty cipher directory.
func create(cipher string, master []byte) error {
	mk, err := keys.NewMasterKey(master)
	if err != nil {
		return err
	}
	defer mk.Close()
	root := keys.Context{Policy: policy(mk)}
	rand.Read(root.Nonce[:])
	if err := os.Mkdir(cipher, 0o700); err != nil {
		return err
	}
	return dirstore.Create(cipher, root.Marshal(), fs.NewHeaderAuthenticator(mk))
}

// withVolume calls f with the volume of a cipher directory.
func withVolume(cipher string, master []byte, kind workqueue.Kind, f func(*fs.Volume) error) error {
	st, err := dirstore.Open(cipher, dirstore.Options{})
	if err != nil {
		return err
	}
	mk, err := keys.NewMasterKey(master)
	if err != nil {
		st.Close()
		return err
	}
	ring := new(keys.Keyring)
	ring.Add(mk)
	queue, err := workqueue.New(workqueue.Attrs{Name: "volumedemo", Kind: kind})
	if err == nil {
		defer queue.Close()
		err = st.Unlock(fs.NewHeaderAuthenticator(mk))
	}
	if err != nil {
		ring.Close()
		st.Close()
		return err
	}
	v, err := fs.NewVolume(st, ring, fs.Options{Queue: queue})
	if err != nil {
		ring.Close()
		st.Close()
		return err
	}
	err = f(v)
	return errors.Join(err, v.Close())
}

// fill copies the directory src of the machine into dir.
func fill(v *fs.Volume, dir *fs.Inode, src string) error {
	owner := fs.Owner{UID: os.Getuid(), GID: os.Getgid()}
	entries, err := os.ReadDir(src)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(src, e.Name())
		var i *fs.Inode
		switch e.Type() {
		case os.ModeDir:
			if i, _, err = v.Mkdir(dir, e.Name(), 0o700, owner); err == nil {
				err = fill(v, i, path)
			}
		case os.ModeSymlink:
			var target string
			if target, err = os.Readlink(path); err == nil {
				i, _, err = v.Symlink(dir, e.Name(), target, owner)
			}
		case 0:
			if i, _, err = v.Create(dir, e.Name(), 0o600, owner); err == nil {
				err = errors.Join(fillFile(v, i, path), v.CloseFile(i))
			}
		}
		if i != nil {
			v.Release(i, 1)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func fillFile(v *fs.Volume, i *fs.Inode, src string) error {
	data, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	_, err = v.WriteAt(i, data, 0)
	return err
}

// A comparison compares what fill has copied with the tree that it came from.
type comparison struct {
	v       *fs.Volume // nil: compare the tree with itself, for its time
	bytes   int64      // contents read
	elapsed time.Duration
	buf     []byte // for contents, used again and again
}

// measure compares the whole tree and writes a row of the table. The time is
// that of finding and reading the files, without the comparison.
func measure(w io.Writer, label, tree string, v *fs.Volume) error {
	c := comparison{v: v}
	var root *fs.Inode
	if v != nil {
		root = v.Root()
	}
	err := c.dir(root, tree)
	same := "yes"
	if err != nil {
		same = "NO"
	}
	s := c.elapsed.Seconds()
	row(w, label, fmt.Sprintf("%.2f", s), fmt.Sprintf("%.1f", float64(c.bytes)/1e6/s), same)
	return err
}

// dir compares a directory of the volume with the tree's at path, and all below.
func (c *comparison) dir(dir *fs.Inode, path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool {
		return e.Type() != 0 && e.Type() != os.ModeDir && e.Type() != os.ModeSymlink
	})
	if c.v != nil {
		if err := c.names(dir, entries); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, e := range entries {
		if err := c.entry(dir, e, filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// names compares the names in a directory with those of entries, which are in
// order.
func (c *comparison) names(dir *fs.Inode, entries []os.DirEntry) error {
	listed, err := c.v.ReadDir(dir)
	if err != nil {
		return err
	}
	var got, want []string
	for _, e := range listed {
		got = append(got, e.Name)
	}
	for _, e := range entries {
		want = append(want, e.Name())
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("lists %s, want %s", strings.Join(got, " "), strings.Join(want, " "))
	}
	return nil
}

func (c *comparison) entry(dir *fs.Inode, e os.DirEntry, path string) error {
	var i *fs.Inode
	if c.v != nil {
		start := time.Now()
		var err error
		if i, _, err = c.v.Lookup(dir, e.Name()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		c.elapsed += time.Since(start)
		defer c.v.Release(i, 1)
	}
	var err error
	switch e.Type() {
	case os.ModeDir:
		return c.dir(i, path)
	case os.ModeSymlink:
		if c.v != nil {
			err = c.target(i, path)
		}
	default:
		err = c.contents(i, path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (c *comparison) target(i *fs.Inode, path string) error {
	got, err := c.v.Readlink(i)
	if err != nil {
		return err
	}
	want, err := os.Readlink(path)
	if err == nil && got != want {
		err = fmt.Errorf("target %q, want %q", got, want)
	}
	return err
}

func (c *comparison) contents(i *fs.Inode, path string) error {
	start := time.Now()
	var got []byte
	var err error
	if c.v != nil {
		got, err = c.read(i)
	} else {
		got, err = os.ReadFile(path)
	}
	c.elapsed += time.Since(start)
	if err != nil {
		return err
	}
	c.bytes += int64(len(got))
	want, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("%d bytes that differ from the source's %d", len(got), len(want))
	}
	return err
}

// read returns the contents of a file; they are good until the next read.
func (c *comparison) read(i *fs.Inode) ([]byte, error) {
	if err := c.v.Open(i, false); err != nil {
		return nil, err
	}
	defer c.v.CloseFile(i)
	attr, err := c.v.Attr(i)
	if err != nil {
		return nil, err
	}
	// Whole data units, so that they are decrypted in this buffer.
	c.buf = slices.Grow(c.buf[:0], int(attr.Size)+dataUnit)
	n, err := c.v.ReadAt(i, c.buf[:cap(c.buf)], 0)
	return c.buf[:n], err
}
