package ext4_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"encfs/fs/ext4"
	"encfs/fs/ext4/ext4test"
	"encfs/fs/store"
)

func open(img []byte) error {
	s, err := ext4.Open(bytes.NewReader(img), int64(len(img)), ext4.Options{})
	if err == nil {
		s.Close()
	}
	return err
}

func TestNotExt4(t *testing.T) {
	for _, tt := range []struct {
		name string
		img  []byte
		want string
	}{
		{"empty", nil, "empty"},
		{"short", []byte("hello"), "too short"},
		{"almost long enough", bytes.Repeat([]byte{1}, 2047), "too short"},
		{"zeros", make([]byte, 4096), "zeros"},
		{"something", bytes.Repeat([]byte{1}, 4096), "no superblock"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := open(tt.img)
			if e, ok := errors.AsType[*ext4.NotExt4Error](err); !ok || !strings.Contains(e.Found, tt.want) {
				t.Errorf("got %v, want a NotExt4Error about %q", err, tt.want)
			}
		})
	}
}

func TestTruncated(t *testing.T) {
	img := ext4test.Get("hash-tea").Image(t)
	err := open(img[:len(img)-1])
	if e, ok := errors.AsType[*ext4.TruncatedError](err); !ok || e.Size != int64(len(img))-1 || e.Want != int64(len(img)) {
		t.Errorf("one byte less: got %v, want a TruncatedError", err)
	}
	if err := open(append(img, 0)); err != nil {
		t.Errorf("one byte more: %v", err)
	}
}

func TestUnsupported(t *testing.T) {
	for _, tt := range []struct {
		bit  uint32
		want string
	}{
		{0x1, "compression"},
		{0x8, "journal_dev"},
		{0x1000, "dirdata"},
		{0x40000, "incompat bit 0x40000"},
		{0x1 | 0x80000000, "compression, incompat bit 0x80000000"},
	} {
		img := ext4test.Get("hash-tea").Image(t)
		incompat := img[1024+0x60:]
		binary.LittleEndian.PutUint32(incompat, binary.LittleEndian.Uint32(incompat)|tt.bit)
		err := open(img)
		if e, ok := errors.AsType[*ext4.UnsupportedError](err); !ok || e.Feature != tt.want {
			t.Errorf("bit %#x: got %v, want an UnsupportedError for %q", tt.bit, err, tt.want)
		}
	}
}

func TestExternalJournal(t *testing.T) {
	img := ext4test.Get("dirty-nocsum").Image(t)
	clear(img[1024+0xE0:][:4])
	if e, ok := errors.AsType[*ext4.UnsupportedError](open(img)); !ok || !strings.Contains(e.Feature, "external journal") {
		t.Errorf("got %v, want an UnsupportedError for an external journal", open(img))
	}
}

// TestUnchanged sees that opening and reading leaves the image alone: a journal is
// replayed in memory.
func TestUnchanged(t *testing.T) {
	img := ext4test.Get("dirty-csum").Image(t)
	was := bytes.Clone(img)
	if _, damages, err := describe(bytes.NewReader(img), int64(len(img))); damages != 0 || err != nil {
		t.Fatalf("%d damages, error %v", damages, err)
	}
	if !bytes.Equal(img, was) {
		t.Error("the image has changed")
	}
}

// TestConcurrent reads an image from several goroutines, with a cache that is too
// small.
func TestConcurrent(t *testing.T) {
	img := ext4test.Get("bigdir-1k").Image(t)
	s, err := ext4.Open(bytes.NewReader(img), int64(len(img)), ext4.Options{CacheSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	done := make(chan error)
	for range 4 {
		go func() { done <- walkAll(s, s.Root()) }()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func walkAll(s *ext4.Store, dir store.Node) error {
	entries, err := s.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Err != nil {
			return e.Err
		}
		n, a, err := s.Lookup(dir, e.Name)
		if err != nil {
			return err
		}
		if a.Mode&store.ModeType == store.ModeDir {
			if err := walkAll(s, n); err != nil {
				return err
			}
		}
	}
	return nil
}
