package extract

import (
	"path/filepath"
	"testing"

	"encfs/fs/store/storetest"
)

// TestPowerCut extracts to a disk whose power is cut right afterwards: all is there
// when it is mounted again.
func TestPowerCut(t *testing.T) {
	for _, fsType := range storetest.DiskTypes {
		t.Run(fsType, func(t *testing.T) {
			disk := storetest.NewDisk(t, fsType)
			v := newVolume(t)
			buildTree(t, v)
			want := snapVolume(t, v, "/")
			dest := filepath.Join(disk.Root, "dest")
			mustExtract(t, v, []string{"/"}, dest, Options{})
			disk.Cut()
			disk.Restore()
			if diff := snapDir(t, dest).diff(want); diff != "" {
				t.Error(diff)
			}
		})
	}
}
