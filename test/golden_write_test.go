package test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pack makes an archive of a directory.
func pack(dir string) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	first := map[uint64]string{}
	err = filepath.WalkDir(dir, func(path string, e iofs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		link := ""
		if e.Type() == iofs.ModeSymlink {
			if link, err = os.Readlink(path); err != nil {
				return err
			}
		}
		h, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		if h.Name, err = filepath.Rel(dir, path); err != nil {
			return err
		}
		h.Format, h.PAXRecords = tar.FormatPAX, map[string]string{}
		h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", ""
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		if st.Nlink > 1 && !e.IsDir() {
			if other := first[st.Ino]; other != "" {
				h.Typeflag, h.Linkname, h.Size = tar.TypeLink, other, 0
			} else {
				first[st.Ino] = h.Name
			}
		}
		buf := make([]byte, 4096)
		n, err := unix.Llistxattr(path, buf)
		if err != nil && err != unix.EOPNOTSUPP {
			return err
		}
		for name := range strings.SplitSeq(string(buf[:max(n, 0)]), "\x00") {
			if strings.HasPrefix(name, "user.") {
				value := make([]byte, 4096)
				n, err := unix.Lgetxattr(path, name, value)
				if err != nil {
					return err
				}
				h.PAXRecords[xattrRecord+name] = string(value[:n])
			}
		}
		if err := w.WriteHeader(h); err != nil || h.Typeflag != tar.TypeReg {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
	err = errors.Join(err, w.Close(), z.Close())
	return b.Bytes(), err
}

// writeMissingGoldens writes the golden cipher directories that are missing. It
// never writes over one.
func writeMissingGoldens(t *testing.T) {
	needFUSE(t)
	for _, g := range goldens {
		if _, err := os.Stat(g.path(".tar.gz")); err == nil {
			t.Logf("%s is there already", g.name)
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			base := tempDir(t)
			tr := &tree{t: t, cipher: filepath.Join(base, "cipher"), root: filepath.Join(base, "plain"), passfile: filepath.Join(base, "passphrase")}
			if err := errors.Join(os.Mkdir(tr.root, 0o755), os.WriteFile(tr.passfile, []byte(g.password+"\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
			encfs(t, append(append(append([]string{"init", "--passfile", tr.passfile}, cheapHash...), g.flags...), tr.cipher)...)
			tr.mount()
			plantGolden(t, tr.root)
			entries := describeMount(t, tr.root)
			tr.remount()
			m := manifest{Passphrase: g.password, MasterKey: unlockByPassphrase(t, tr.cipher, g.password)}
			for _, path := range sorted(entries) {
				m.Entries = append(m.Entries, entries[path])
			}
			compareGolden(t, m, describeMount(t, tr.root), true)
			tr.umount()
			archive, err := pack(tr.cipher)
			if err != nil {
				t.Fatal(err)
			}
			again := filepath.Join(base, "again")
			xattrs := extract(t, archive, again)
			v := openGolden(t, again, m.MasterKey)
			defer v.Close()
			entries = map[string]goldenEntry{}
			describeVolume(t, v, v.Root(), "", entries, map[uint64]string{})
			compareGolden(t, m, entries, xattrs)
			if len(archive) > maxGolden {
				t.Errorf("the archive has %d bytes, more than %d", len(archive), maxGolden)
			}
			text, err := json.MarshalIndent(m, "", "\t")
			if err != nil {
				t.Fatal(err)
			}
			if t.Failed() {
				return
			}
			for suffix, data := range map[string][]byte{".tar.gz": archive, ".json": append(text, '\n')} {
				f, err := os.OpenFile(g.path(suffix), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
				if err != nil {
					t.Fatal(err)
				}
				_, err = f.Write(data)
				if err := errors.Join(err, f.Close()); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%s: %d bytes, sha256: %q", g.name, len(archive), fmt.Sprintf("%x", sum(archive)))
		})
	}
}

// plantGolden makes what a golden cipher directory holds.
func plantGolden(t *testing.T, root string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(elem ...string) string { return filepath.Join(append([]string{root}, elem...)...) }
	write := func(name string, data []byte, mode os.FileMode) {
		t.Helper()
		must(os.WriteFile(at(name), data, 0o644))
		must(os.Chmod(at(name), mode))
	}
	for k, size := range []int{0, 1, 15, 16, 17, 31, 32, 3936, 3951, 3952, 3953, 4095, 4096, 4097, 8191, 8192, 8193} {
		write(fmt.Sprint("size-", size), pattern(size, byte(k)), 0o644)
	}
	// Sizes that were reached from elsewhere.
	write("grown", pattern(100, 1), 0o600)
	f, err := os.OpenFile(at("grown"), os.O_WRONLY|os.O_APPEND, 0)
	must(err)
	for k := range 50 {
		_, err := f.Write(pattern(100, byte(k)))
		must(err)
	}
	must(f.Close())
	write("shrunk", pattern(9000, 2), 0o755)
	must(os.Truncate(at("shrunk"), 3000))
	write("cut", pattern(9000, 3), 0o444)
	must(os.Truncate(at("cut"), 5000))
	// Holes: in the middle, at the beginning, all, and zeros that were written.
	write("hole", pattern(100, 4), 0o644)
	f, err = os.OpenFile(at("hole"), os.O_WRONLY, 0)
	must(err)
	_, err = f.WriteAt([]byte("the end"), 1<<20)
	must(err)
	must(f.Close())
	write("empty-then-long", nil, 0o644)
	must(os.Truncate(at("empty-then-long"), 300001))
	write("punched", pattern(20000, 5), 0o644)
	f, err = os.OpenFile(at("punched"), os.O_WRONLY, 0)
	must(err)
	must(unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 4000, 10000))
	must(f.Close())
	write("zeros", make([]byte, 8192), 0o644)

	for _, name := range names {
		if err := os.WriteFile(at("name-"+name), []byte(name), 0o644); err != nil && !errors.Is(err, unix.ENAMETOOLONG) {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(at("names"), 0o755))
	for _, name := range names {
		must(os.WriteFile(at("names", name), []byte(name), 0o644))
	}

	must(os.MkdirAll(at("dir", "sub", "subsub"), 0o750))
	must(os.WriteFile(at("dir/sub/subsub/file"), pattern(5000, 6), 0o640))
	must(os.Mkdir(at("dir", strings.Repeat("long directory ", 17)), 0o700))
	must(os.WriteFile(at("dir", strings.Repeat("long directory ", 17), "inside"), pattern(10, 7), 0o644))
	must(os.Mkdir(at("empty"), 0o711))

	write("hard", pattern(5000, 8), 0o644)
	must(os.Link(at("hard"), at("dir/hard")))
	must(os.Link(at("hard"), at("dir/sub", strings.Repeat("h", 255))))
	for name, target := range map[string]string{
		"link": "size-16", "link-dangling": "nowhere", "link-long": strings.Repeat("d/", 400), "link-bytes": "\xff\xfe",
		"link-absolute": "/etc/passwd", "dir/link-up": "../size-17",
	} {
		must(os.Symlink(target, at(name)))
	}
	must(unix.Mkfifo(at("fifo"), 0o600))

	for _, name := range []string{"size-17", "dir", "size-0"} {
		must(unix.Setxattr(at(name), "user.golden", []byte("value of "+name), 0))
		must(unix.Setxattr(at(name), "user.日本", []byte{0, 1, 255}, 0))
		must(unix.Setxattr(at(name), "user.empty", nil, 0))
	}
}
