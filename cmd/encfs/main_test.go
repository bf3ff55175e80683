package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"encfs/cpufeat"
	"encfs/decrypt"
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
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition:           condition,
		Setup: func(env *testscript.Env) error {
			// The race detector's wait of a second at each exit would add up.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Defer(func() { detachMounts(t, env.WorkDir) })
			// For the sockets of mounts, which those that are killed leave.
			run := filepath.Join(env.WorkDir, ".run")
			env.Setenv("XDG_RUNTIME_DIR", run)
			return os.Mkdir(run, 0o700)
		},
	})
}

// condition answers [fuse], whether this user can mount, [root], [selftest], whether
// the program was built with self-tests, and [cpuid], whether it has drivers for the
// features of amd64.
func condition(name string) (bool, error) {
	switch name {
	case "fuse":
		return checkFUSE(false) == nil, nil
	case "root":
		return os.Geteuid() == 0, nil
	case "cpuid":
		return cpufeat.Detect().Source == "CPUID", nil
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
