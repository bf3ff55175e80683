package ext4_test

import (
	"slices"
	"testing/fstest"

	"encfs/fs/ext4/ext4test"
	"encfs/fs/store"
	"encfs/keys"
	"encfs/keys/metadata"
)

// unlock adds the master keys that the metadata in the image gives with the
// passphrases of the manifest.
func (w *walker) unlock() {
	if w.m.Tool == nil || len(w.m.Tool.PolicyDirs) == 0 {
		return
	}
	folder, _, err := w.s.Lookup(w.s.Root(), []byte(metadata.FolderName))
	if err != nil {
		w.Fatal(err)
	}
	files := fstest.MapFS{}
	w.collect(folder, "", files)
	dir, err := metadata.OpenFS(files)
	if err != nil {
		w.Fatal(err)
	}
	defer dir.Close()
	for _, p := range w.m.Tool.PolicyDirs {
		policy, err := dir.Policy(p.Policy)
		if err != nil {
			w.Fatal(err)
		}
		for _, known := range w.m.Tool.Protectors {
			if known.Linked != "" || !slices.Contains(policy.Protectors(), known.Descriptor) {
				continue
			}
			protector, err := dir.Protector(known.Descriptor)
			if err != nil {
				w.Fatal(err)
			}
			secret := []byte(known.Passphrase)
			if known.RawKeyHex != "" {
				secret = ext4test.Unhex(w, known.RawKeyHex)
			}
			held, err := keys.CopySecret(secret)
			if err != nil {
				w.Fatal(err)
			}
			defer held.Close()
			protectorKey, err := protector.Unlock(held)
			if err != nil {
				w.Fatal(err)
			}
			defer protectorKey.Close()
			mk, err := policy.Unlock(known.Descriptor, protectorKey)
			if err != nil {
				w.Fatal(err)
			}
			w.ring.Add(mk)
		}
	}
}

// collect reads the files below a directory that is not encrypted.
func (w *walker) collect(dir store.Node, path string, files fstest.MapFS) {
	entries, err := w.s.ReadDir(dir)
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range entries {
		n, a, err := w.s.Lookup(dir, e.Name)
		if err != nil {
			w.Fatal(err)
		}
		switch a.Mode & store.ModeType {
		case store.ModeDir:
			w.collect(n, path+string(e.Name)+"/", files)
		case store.ModeRegular:
			f, err := w.s.Open(n, false)
			if err != nil {
				w.Fatal(err)
			}
			data := make([]byte, (int(a.Size)/w.s.BlockSize()+1)*w.s.BlockSize())
			if _, err := f.ReadUnits(data, 0, make([]bool, len(data)/w.s.BlockSize())); err != nil {
				w.Fatal(err)
			}
			f.Close()
			files[path+string(e.Name)] = &fstest.MapFile{Data: data[:a.Size], Mode: 0o600}
		}
	}
}
