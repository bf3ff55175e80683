package dirstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"encfs/fs/store"
)

// TestReadWhole compares ReadWhole with what a file reads.
func TestReadWhole(t *testing.T) {
	dir := newTree(t)
	s := open(t, dir, Options{})
	defer s.Close()
	for _, size := range []int64{1, 16, 17, 3951, 3952, 3953, 4095, 4096, 4097, 8192, 3*4096 + 5} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			name := testName(fmt.Sprint("file", size))
			n, w := create(t, s, s.Root(), name)
			defer s.Release(n, 1)
			w.SetContext(testContext)
			ct := bytes.Repeat([]byte{7}, int(unitCount(size))*unitSize)
			if len(ct) > unitSize {
				clear(ct[:unitSize]) // a hole
			}
			var err error
			if size <= inlineMax {
				err = w.WriteInline(ct[:roundUp(size, inlineUnit)], size)
			} else {
				_, err = w.WriteUnits(ct, 0, size)
			}
			must(t, err)
			want := make([]byte, len(ct))
			wantHoles, holes := make([]bool, len(ct)/unitSize), make([]bool, len(ct)/unitSize)
			wantN, err := w.ReadUnits(want, 0, wantHoles)
			must(t, err)
			wantContext := w.Context()
			must(t, w.Close())

			// A time that any reading would move.
			path := filepath.Join(dir, lower(name))
			old := time.Unix(1e9, 0)
			must(t, os.Chtimes(path, old, time.Now()))
			got := make([]byte, len(ct))
			context, gotN, err := s.ReadWhole(n, got, size, holes)
			must(t, err)
			if gotN != wantN || !bytes.Equal(got, want) || !slices.Equal(holes, wantHoles) || !bytes.Equal(context, wantContext) {
				t.Errorf("%d bytes, holes %v, context %x; want %d, %v, %x, or other data", gotN, holes, context, wantN, wantHoles, wantContext)
			}
			var st unix.Stat_t
			must(t, unix.Stat(path, &st))
			if st.Atim.Sec != old.Unix() {
				t.Error("the time of access has moved")
			}

			for _, wrong := range []int64{size - 1, size + 1} {
				if wrong > 0 {
					if _, _, err := s.ReadWhole(n, make([]byte, len(ct)+unitSize), wrong, append(holes, false)); err == nil {
						t.Errorf("size %d: no error", wrong)
					}
				}
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			must(t, err)
			defer f.Close()
			must(t, second(f.WriteAt([]byte{0}, 70)))
			if _, _, err := s.ReadWhole(n, got, size, holes); !isDamaged(err) {
				t.Errorf("a wrong tag: %v", err)
			}
		})
	}
}

func isDamaged(err error) bool {
	_, ok := errors.AsType[*store.DamagedError](err)
	return ok
}

// TestFlush: flushing says nothing on a local file system, and leaves the file open.
func TestFlush(t *testing.T) {
	s := open(t, newTree(t), Options{})
	defer s.Close()
	if s.Remote() {
		t.Skip("the temporary directory is on a network file system")
	}
	n, w := create(t, s, s.Root(), testName("file"))
	defer s.Release(n, 1)
	w.SetContext(testContext)
	must(t, w.WriteInline(make([]byte, 16), 16))
	must(t, w.(store.Flusher).Flush())
	must(t, w.Truncate(0))
	must(t, w.Close())
}
