package ext4_test

import (
	"path/filepath"
	"testing"

	"encfs/fs/store"
	"encfs/fs/store/storetest"
)

func TestStore(t *testing.T) {
	for _, path := range fixtures(t) {
		name := filepath.Base(path)
		if readManifest(t, path).MayRefuse {
			continue
		}
		t.Run(name, func(t *testing.T) {
			img := image(t, path)
			storetest.Run(t, func(t *testing.T) store.Store { return openImageUnclosed(t, img) })
		})
	}
}
