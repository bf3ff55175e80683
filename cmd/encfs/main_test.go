package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	seekable "github.com/SaveTheRbtz/zstd-seekable-format-go/pkg"
	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"encfs/cpufeat"
	"encfs/decrypt"
	"encfs/fs/ext4/ext4test"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"encfs":       main,
		"mount.encfs": main,
		// encfs init with passphrases that cost nothing.
		"encinit": func() {
			os.Args = append([]string{"encfs", "init", "--argon2-time", "1", "--argon2-memory", "64KiB", "--argon2-parallelism", "1"}, os.Args[1:]...)
			main()
		},
		"await": await,
		"notignored": func() {
			fmt.Println(notIgnored(unix.SIGINT, unix.SIGHUP, unix.SIGTSTP, unix.SIGCONT))
		},
	})
}

// await is a command for scripts. It runs its argument, as sh does, until that succeeds,
// and fails after a minute, which is not how long anything takes.
func await() {
	var said []byte
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var err error
		if said, err = exec.Command("sh", "-c", os.Args[1]).CombinedOutput(); err == nil {
			return
		}
	}
	fmt.Fprintf(os.Stderr, "await: never came true: %s\n%s", os.Args[1], said)
	os.Exit(1)
}

func TestScripts(t *testing.T) {
	withDefaultSignals(t)
	images := t.TempDir()
	for _, name := range []string{"v2-pad16-1k", "multi", "no-encryption", "dirty-fast-commit", "tool-two-protectors", "tool-v1", "tool-linked", "tool-linked-home"} {
		writeImage(t, images, ext4test.Get(name))
	}
	first, second := ext4test.Get("multi").Image(t), ext4test.Get("v2-pad16-1k").Image(t)
	luks, xfs := []byte("LUKS\xBA\xBE"), []byte("XFSB")
	writeDisk(t, images, "one.disk", luks, second)
	writeSeekable(t, filepath.Join(images, "multi.zst"), first)
	writeDisk(t, images, "two.disk", first, luks, second)
	writeDisk(t, images, "none.disk", xfs, luks)
	boot := slices.Clone(second)
	boot[510], boot[511], boot[446+4], boot[446+8], boot[446+12] = 0x55, 0xAA, 0x83, 1, 1
	if err := os.WriteFile(filepath.Join(images, "boot.img"), boot, 0o600); err != nil {
		t.Fatal(err)
	}
	writeCircle(t, images)
	writeDisk(t, images, "homes.disk", second, ext4test.Get("tool-linked-home").Image(t))
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition:           condition,
		Setup: func(env *testscript.Env) error {
			// The race detector's wait of a second at each exit would add up.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Setenv("IMAGES", images)
			env.Defer(func() { detachMounts(t, env.WorkDir) })
			// For the sockets of mounts, which those that are killed leave.
			run := filepath.Join(env.WorkDir, ".run")
			env.Setenv("XDG_RUNTIME_DIR", run)
			return os.Mkdir(run, 0o700)
		},
	})
}

// writeCircle writes an image with a directory, plain, that has another name, sub, in
// itself. Its metadata have no checksums.
func writeCircle(t *testing.T, dir string) {
	img := ext4test.Get("geom-old").Image(t)
	// struct ext4_dir_entry_2: inode, length, and the name with its length and type.
	plain, sub := regexp.MustCompile(`(?s)(....)..\x05\x02plain`), regexp.MustCompile(`(?s)(....)..\x03\x02sub`)
	from, to := plain.FindSubmatch(img), sub.FindAllSubmatchIndex(img, -1)
	if from == nil || to == nil {
		t.Fatal("no entries to change")
	}
	for _, at := range to { // in the journal, too
		copy(img[at[2]:at[3]], from[1])
	}
	if err := os.WriteFile(filepath.Join(dir, "circle.img"), img, 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeImage writes an image of a kernel to a directory, with a file for each of
// its keys and for each passphrase or raw key that the fscrypt tool was given.
func writeImage(t *testing.T, dir string, f ext4test.Fixture) {
	files := map[string]string{".img": string(f.Image(t))}
	m := f.Manifest(t)
	for n, k := range m.Keys {
		files[fmt.Sprintf(".key%d", n)] = k.RawHex + "\n"
	}
	if m.Tool != nil {
		for n, p := range m.Tool.Protectors {
			files[fmt.Sprintf(".secret%d", n)] = p.Passphrase + p.RawKeyHex + "\n"
		}
	}
	for end, contents := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name+end), []byte(contents), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// writeDisk writes a disk with an MBR that has these contents in its partitions,
// each of which begins at a multiple of 1 MiB.
func writeDisk(t *testing.T, dir, name string, contents ...[]byte) {
	const sector, align = 512, 1 << 20
	b := make([]byte, align)
	b[510], b[511] = 0x55, 0xAA
	for n, c := range contents {
		e := b[446+16*n:]
		e[4] = 0x83
		binary.LittleEndian.PutUint32(e[8:], uint32(len(b)/sector))
		size := (len(c) + align - 1) / align * align
		binary.LittleEndian.PutUint32(e[12:], uint32(size/sector))
		b = append(append(b, c...), make([]byte, size-len(c))...)
	}
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeSeekable writes an image packed by zstd in its seekable format.
func writeSeekable(t *testing.T, path string, image []byte) {
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	w, err := seekable.NewWriter(f, encoder)
	if err != nil {
		t.Fatal(err)
	}
	for part := range slices.Chunk(image, 1<<20) {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// condition answers [fuse], whether this user can mount, [root], [selftest], whether
// the program was built with self-tests, [cpuid], whether it has drivers for the
// features of amd64, and [fscrypt], whether there can be a mount namespace with an /etc
// and an ext4 file system for the fscrypt tool.
func condition(name string) (bool, error) {
	switch name {
	case "fuse":
		return checkFUSE(false) == nil, nil
	case "root":
		return os.Geteuid() == 0, nil
	case "cpuid":
		return cpufeat.Detect().Source == "CPUID", nil
	case "fscrypt":
		for _, program := range []string{"fscrypt", "mkfs.ext4"} {
			if _, err := exec.LookPath(program); err != nil {
				return false, nil
			}
		}
		if _, err := os.Stat("/dev/loop-control"); err != nil {
			return false, nil
		}
		try := "mount -t tmpfs encfs-test /mnt && mount -t overlay -o lowerdir=/mnt:/etc overlay /etc"
		return exec.Command("unshare", "-m", "sh", "-c", try).Run() == nil, nil
	case "selftest":
		d, err := decrypt.LookupName("xts-aes-generic")
		return !errors.Is(d.SelfTest(false), decrypt.ErrNoSelfTests), err
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// detachMounts takes away what a script that failed has left mounted in dir.
func detachMounts(t *testing.T, dir string) {
	mounts, err := readMounts()
	if err != nil {
		t.Error(err)
	}
	for _, m := range mounts {
		if strings.HasPrefix(m.point, dir+"/") {
			if err := unmount(m.point, true); err != nil {
				t.Errorf("left mounted: %s: %v", m.point, err)
			}
		}
	}
}
