package ext4_test

import (
	"bytes"
	"testing"

	"encfs/fs/ext4"
	"encfs/fs/ext4/ext4test"
	"encfs/fs/store"
	"encfs/fs/store/storetest"
)

func TestStore(t *testing.T) {
	for _, f := range ext4test.All(t) {
		if f.Manifest(t).MayRefuse {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			img := f.Image(t)
			storetest.Run(t, func(t *testing.T) store.Store { return openImageUnclosed(t, img) })
		})
	}
}

// openImage opens an image in memory until the test ends.
func openImage(t testing.TB, img []byte) *ext4.Store {
	t.Helper()
	s := openImageUnclosed(t, img)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func openImageUnclosed(t testing.TB, img []byte) *ext4.Store {
	t.Helper()
	s, err := ext4.Open(bytes.NewReader(img), int64(len(img)), ext4.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
