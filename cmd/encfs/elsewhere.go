package main

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/disk"
	"encfs/keys"
	"encfs/keys/metadata"
)

// A metadataPlace is where --metadata says to look for protectors besides the
// source: those that the policies of one file system use may be on another one.
type metadataPlace struct {
	path  string // "" is nowhere
	force bool   // even in an image or device that others may change meanwhile
}

// open opens the .fscrypt folders of a place: itself, or the one in a directory, or
// in each file system of an image or device. The caller closes them.
func (p metadataPlace) open() ([]*metadata.Dir, error) {
	if p.path == "" {
		return nil, nil
	}
	info, err := os.Stat(p.path)
	if err == nil && (info.Mode().IsRegular() || info.Mode()&iofs.ModeType == iofs.ModeDevice) {
		return p.openImage()
	}
	folder := filepath.Join(p.path, metadata.FolderName)
	if _, err := os.Stat(folder); errors.Is(err, iofs.ErrNotExist) {
		folder = p.path
	}
	dir, err := metadata.OpenFolder(folder)
	if errors.Is(err, iofs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil, failf(exitMetadata, "", "--metadata %s: there is no such folder", p.path)
	}
	if err != nil {
		return nil, fmt.Errorf("--metadata: %w", err)
	}
	return []*metadata.Dir{dir}, nil
}

func (p metadataPlace) openImage() ([]*metadata.Dir, error) {
	sources, err := imageSource{path: p.path, force: p.force}.fileSystems()
	if err != nil {
		return nil, elsewhereError(err)
	}
	var dirs []*metadata.Dir
	fail := func(err error) ([]*metadata.Dir, error) {
		for _, d := range dirs {
			d.Close()
		}
		return nil, err
	}
	for _, source := range sources {
		dir, err := source.openMetadata()
		if err != nil {
			return fail(elsewhereError(err))
		}
		if dir != nil {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return fail(failf(exitMetadata, "", "--metadata %s: there is no %s in it", p.path, metadata.FolderName))
	}
	return dirs, nil
}

// elsewhereError gives an error of opening an image for its metadata an exit code:
// it is not the source that is missing or damaged.
func elsewhereError(err error) error {
	if code, hint := classify(err); code != exitSource {
		return failf(code, hint, "--metadata: %w", err)
	}
	return failf(exitMetadata, "", "--metadata: %w", err)
}

// fileSystems returns all file systems that can be opened of an image or device.
func (s imageSource) fileSystems() ([]imageSource, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, failf(exitSource, "", "source: %w", err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, failf(exitSource, "", "source: %w", err)
	}
	d, err := disk.Open(f, size)
	if err != nil {
		return nil, imageError(s.path, err)
	}
	defer d.Close()
	partitions, err := listPartitions(d, d.Size, s.path, slog.New(slog.DiscardHandler))
	if err != nil || len(partitions) == 0 {
		return []imageSource{s}, err
	}
	var sources []imageSource
	for _, p := range partitions {
		if p.isExt4 {
			sources = append(sources, imageSource{path: s.path, partition: p.Number, force: s.force})
		}
	}
	if len(sources) == 0 {
		_, err = s.choose(partitions)
	}
	return sources, err
}

// openMetadata opens the .fscrypt folder of an image, nil if it has none.
func (s imageSource) openMetadata() (*metadata.Dir, error) {
	v, err := openImageVolume(s, new(keys.Keyring), fs.Options{})
	if err != nil {
		return nil, err
	}
	if ok, err := hasMetadata(v); !ok {
		v.Close()
		return nil, err
	}
	dir, err := metadata.OpenFS(volumeFolder{v.IOFS(metadata.FolderName), v})
	if err != nil {
		v.Close()
		return nil, err
	}
	return dir, nil
}

// A volumeFolder is a folder of a volume. To close it is to close the volume.
type volumeFolder struct {
	iofs.ReadLinkFS
	volume *fs.Volume
}

func (f volumeFolder) Close() error { return f.volume.Close() }

// hasMetadata reports whether a volume has a .fscrypt folder.
func hasMetadata(v *fs.Volume) (bool, error) {
	i, _, err := v.Walk(metadata.FolderName)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, plainError(metadata.FolderName, err)
	}
	v.Release(i, 1)
	return true, nil
}
