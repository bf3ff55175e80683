package metadata

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"encfs/keys"
)

const toolChildEnv = "METADATA_TEST_TOOL"

// TestFscryptTool exchanges metadata with the fscrypt program on an ext4 file system
// in a file. It mounts things, so it runs itself again in a mount namespace of its
// own: with that process all mounts end, and the loop device with the mount,
// whatever happens. Nothing of the system is changed, /etc/fscrypt.conf included.
func TestFscryptTool(t *testing.T) {
	if os.Getenv(toolChildEnv) != "" {
		testFscryptTool(t)
		return
	}
	if os.Getuid() != 0 {
		t.Skip("not root")
	}
	for _, program := range []string{"fscrypt", "mkfs.ext4", "mount", "umount"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("no program ", program)
		}
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip("no loop devices: ", err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), toolChildEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Skip("no mount namespace: ", err)
	}
	err := cmd.Wait()
	if strings.Contains(out.String(), "--- SKIP: "+t.Name()) {
		t.Skip(out.String())
	}
	if err != nil || !strings.Contains(out.String(), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// config is the /etc/fscrypt.conf that the program sees, with costs that take no
// time.
const config = `{
	"source": "custom_passphrase",
	"hash_costs": {"time": "2", "memory": "1024", "parallelism": "2", "truncation_fixed": true},
	"options": {"padding": "16", "contents": "AES_256_XTS", "filenames": "AES_256_CTS", "policy_version": "2"}
}`

func testFscryptTool(t *testing.T) {
	tmp := t.TempDir()
	conf := filepath.Join(tmp, "conf")
	mnt := filepath.Join(tmp, "mnt")
	image := filepath.Join(tmp, "image")
	for _, dir := range []string{conf, mnt} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(conf, "fscrypt.conf"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	// In this namespace only, and read-only as it has no upper layer.
	if err := unix.Mount("overlay", "/etc", "overlay", 0, "lowerdir="+conf+":/etc"); err != nil {
		t.Skip("no overlay file system: ", err)
	}
	t.Cleanup(func() { unix.Unmount("/etc", unix.MNT_DETACH) })
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 64<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-O", "encrypt", image).CombinedOutput(); err != nil {
		t.Skipf("no ext4 with encryption: %v\n%s", err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop", image, mnt).CombinedOutput(); err != nil {
		t.Skipf("no loop mount of ext4: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", mnt).CombinedOutput(); err != nil {
			t.Errorf("umount: %v\n%s", err, out)
			unix.Unmount(mnt, unix.MNT_DETACH)
		}
	})

	t.Run("we write", func(t *testing.T) { testWeWrite(t, mnt) })
	t.Run("we read", func(t *testing.T) { testWeRead(t, mnt) })
}

// fscrypt runs the program and returns what it prints.
func fscrypt(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("fscrypt", args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("fscrypt %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// The program shows and opens what we wrote, and sets our policy on directories.
func testWeWrite(t *testing.T, mnt string) {
	d, err := Create(openRoot(t, mnt))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	passphrase := newSecret(t, []byte("  spaces, \xc3\xa4 and more "))
	raw := newSecret(t, pattern(32))
	costs := Costs{Time: 3, Memory: 2048, Parallelism: 2}
	p1, k1, err := NewPassphraseProtector("our passphrase", passphrase, costs)
	if err != nil {
		t.Fatal(err)
	}
	defer k1.Close()
	p2, k2, err := NewRawKeyProtector("our key", raw)
	if err != nil {
		t.Fatal(err)
	}
	defer k2.Close()
	for _, p := range []*Protector{p1, p2} {
		if err := d.WriteProtector(p); err != nil {
			t.Fatal(err)
		}
	}
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, raw.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}

	for i, o := range []Options{
		{32, keys.AES256XTS, keys.AES256CTS, 2},
		{4, keys.AES128CBCESSIV, keys.AES128CTS, 2},
		{8, keys.Adiantum, keys.Adiantum, 1},
	} {
		t.Run(fmt.Sprintf("%v v%d", o.Contents, o.Version), func(t *testing.T) {
			master := newMasterKey(t, bytes.Repeat([]byte{byte(i + 1)}, 64))
			policy, err := NewPolicy(master, o, k1, k2)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.WritePolicy(policy); err != nil {
				t.Fatal(err)
			}
			out := fscrypt(t, "", "metadata", "dump", "--policy="+mnt+":"+policy.Name())
			for _, want := range []string{
				"Policy: " + policy.Name() + "\n",
				fmt.Sprintf("padding:%d ", o.Padding),
				fmt.Sprintf("policy_version:%d ", o.Version),
				"contents:" + toolNames[o.Contents] + " ",
				"filenames:" + toolNames[o.Filenames] + " ",
				p1.Descriptor(), p2.Descriptor(),
			} {
				if !strings.Contains(out, want) {
					t.Errorf("metadata dump has no %q:\n%s", want, out)
				}
			}
			if o.Version == 1 || o.Contents != keys.AES256XTS {
				return // needs a user's keyring, or ciphers that this kernel may lack
			}

			// With either protector, the program comes to the same master key.
			for by, use := range map[string]func(dir string){
				"raw": func(dir string) {
					fscrypt(t, "", "encrypt", dir, "--policy="+mnt+":"+policy.Name(),
						"--unlock-with="+mnt+":"+p2.Descriptor(), "--key="+keyFile, "--quiet")
				},
				"passphrase": func(dir string) {
					fscrypt(t, string(passphrase.Bytes())+"\n", "encrypt", dir, "--policy="+mnt+":"+policy.Name(),
						"--unlock-with="+mnt+":"+p1.Descriptor(), "--quiet")
				},
				"new passphrase": func(dir string) {
					if err := p1.Rewrap(k1, newSecret(t, []byte("new one")), costs); err != nil {
						t.Fatal(err)
					}
					if err := d.WriteProtector(p1); err != nil {
						t.Fatal(err)
					}
					fscrypt(t, "new one\n", "encrypt", dir, "--policy="+mnt+":"+policy.Name(),
						"--unlock-with="+mnt+":"+p1.Descriptor(), "--quiet")
					if err := p1.Rewrap(k1, passphrase, costs); err != nil {
						t.Fatal(err)
					}
					if err := d.WriteProtector(p1); err != nil {
						t.Fatal(err)
					}
				},
			} {
				dir := filepath.Join(mnt, by)
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				use(dir)
				got := kernelPolicy(t, dir)
				want := keys.Policy{Version: 2, Contents: o.Contents, Filenames: o.Filenames, Flags: keys.FlagPad32, Identifier: master.Identifier()}
				if got != want {
					t.Errorf("%s: policy of the directory:\n got %+v\nwant %+v", by, got, want)
				}
				// The key is the one that the policy names, or this fails.
				if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600); err != nil {
					t.Error(err)
				}
				// Without its key again, or the next one would not be asked for.
				fscrypt(t, "", "lock", dir, "--quiet")
			}
		})
	}

	out := fscrypt(t, "", "metadata", "dump", "--protector="+mnt+":"+p1.Descriptor())
	for _, want := range []string{
		"Protector: " + p1.Descriptor() + "\n", "Source: custom_passphrase\n", "Name: our passphrase\n",
		"time:3 ", "memory:2048 ", "parallelism:2 ", // and truncation_fixed, which some versions know by number alone
	} {
		if !strings.Contains(out, want) {
			t.Errorf("metadata dump has no %q:\n%s", want, out)
		}
	}
	out = fscrypt(t, "", "metadata", "dump", "--protector="+mnt+":"+p2.Descriptor())
	for _, want := range []string{"Protector: " + p2.Descriptor() + "\n", "Source: raw_key\n", "Name: our key\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("metadata dump has no %q:\n%s", want, out)
		}
	}
}

// toolNames are the names of modes in the program's output.
var toolNames = map[keys.Mode]string{
	keys.AES256XTS: "AES_256_XTS", keys.AES256CTS: "AES_256_CTS", keys.AES128CBCESSIV: "AES_128_CBC",
	keys.AES128CTS: "AES_128_CTS", keys.Adiantum: "Adiantum",
}

// We open what the program wrote.
func testWeRead(t *testing.T, mnt string) {
	// It wants to make the folder itself.
	if err := os.RemoveAll(filepath.Join(mnt, FolderName)); err != nil {
		t.Fatal(err)
	}
	fscrypt(t, "", "setup", "--quiet", "--all-users", mnt)
	raw := newSecret(t, pattern(32))
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, raw.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		source Source
		secret *keys.Secret
		stdin  string
		flags  []string
	}{
		{"tool raw", RawKey, raw, "", []string{"--key=" + keyFile}},
		{"tool passphrase", CustomPassphrase, newSecret(t, []byte(" pass phrase ")), " pass phrase \n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(mnt, tt.name)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			fscrypt(t, tt.stdin, append([]string{"encrypt", dir, "--source=" + tt.source.String(), "--name=" + tt.name, "--quiet"}, tt.flags...)...)
			want := kernelPolicy(t, dir)

			d, err := Open(openRoot(t, mnt), false)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			policy, err := d.Policy(want.Identifier.String())
			if err != nil {
				t.Fatal(err)
			}
			if got, want := policy.Options(), (Options{16, keys.AES256XTS, keys.AES256CTS, 2}); got != want {
				t.Errorf("Options = %+v, want %+v", got, want)
			}
			protectors, err := d.Protectors()
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(protectors, func(p *Protector) bool { return p.Name() == tt.name })
			if i < 0 {
				t.Fatalf("no protector %q", tt.name)
			}
			p := protectors[i]
			if p.Source() != tt.source {
				t.Errorf("source %v, want %v", p.Source(), tt.source)
			}
			key, err := p.Unlock(tt.secret)
			if err != nil {
				t.Fatal(err)
			}
			defer key.Close()
			master, err := policy.Unlock(p.Descriptor(), key)
			if err != nil {
				t.Fatal(err)
			}
			defer master.Close()
			if got := master.Identifier(); got != want.Identifier {
				t.Errorf("identifier %v, want the directory's %v", got, want.Identifier)
			}

			// The program opens it with the passphrase that we gave it.
			if tt.source != CustomPassphrase {
				return
			}
			if err := p.Rewrap(key, newSecret(t, []byte("another")), p.Costs()); err != nil {
				t.Fatal(err)
			}
			if err := d.WriteProtector(p); err != nil {
				t.Fatal(err)
			}
			fscrypt(t, "", "lock", dir, "--quiet")
			fscrypt(t, "another\n", "unlock", dir, "--quiet")
			if out := fscrypt(t, "", "status", dir); !regexp.MustCompile(`Unlocked:\s+Yes`).MatchString(out) {
				t.Errorf("not unlocked:\n%s", out)
			}
		})
	}
}

// kernelPolicy returns the policy that is set on a directory:
// FS_IOC_GET_ENCRYPTION_POLICY_EX of include/uapi/linux/fscrypt.h.
func kernelPolicy(t *testing.T, dir string) keys.Policy {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var arg struct {
		size uint64
		v2   struct {
			version, contents, filenames, flags, log2 uint8
			_                                         [3]uint8
			identifier                                keys.Identifier
		}
	}
	arg.size = uint64(unsafe.Sizeof(arg.v2))
	const getPolicyEx = 0xc0096616 // _IOWR('f', 22, __u8[9])
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), getPolicyEx, uintptr(unsafe.Pointer(&arg))); errno != 0 {
		t.Fatalf("policy of %s: %v", dir, errno)
	}
	if arg.v2.version != 2 {
		t.Fatalf("policy of %s has version %d", dir, arg.v2.version)
	}
	return keys.Policy{
		Version:          2,
		Contents:         keys.Mode(arg.v2.contents),
		Filenames:        keys.Mode(arg.v2.filenames),
		Flags:            keys.Flags(arg.v2.flags),
		Log2DataUnitSize: arg.v2.log2,
		Identifier:       arg.v2.identifier,
	}
}
