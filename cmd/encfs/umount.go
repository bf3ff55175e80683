package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"encfs/fs/dirstore"
)

func newUmountCommand() *cobra.Command {
	var lazy bool
	cmd := &cobra.Command{
		Use:   "umount [flags] MOUNTPOINT",
		Short: "Unmount, and wait until all is done",
		Long: `Unmount, and wait until the program that served the mount has ended. A mount in
use stays (exit code 15) and its users are named. It also removes what a
program that died has left behind.`,
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, args []string) error {
			return umountAndWait(consoleOf(cmd), args[0], lazy)
		},
	}
	cmd.Flags().BoolVar(&lazy, "lazy", false, "take the mount away now, though it is in use; its users keep what they have open")
	return cmd
}

// endTimeout is how long umount waits for the end of the serving process.
const endTimeout = 30 * time.Second

// umountAndWait unmounts the file system at point, and waits for the end of its
// server unless lazy is set, as its users then decide about that. A message says
// so if the server does not end.
func umountAndWait(c console, point string, lazy bool) error {
	resolved, err := resolve(point)
	if err != nil {
		return failf(exitMountPoint, "", "%w", err)
	}
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	m, ok := findMount(mounts, resolved)
	if !ok {
		return notMounted(mounts, point, resolved)
	}
	if m.fsType != fuseType {
		return failf(exitMountPoint, "use umount", "%s is not a mount of encfs but of %s (%s)", point, m.source, m.fsType)
	}
	switch users, err := unmountUnlessUsed(m, mounts, resolved, lazy); {
	case errors.Is(err, unix.EBUSY):
		return failf(exitBusy, "end these, or use --lazy", "%s is in use: %s", point, users)
	case err != nil && os.Geteuid() != 0 && m.owner() != "" && m.owner() != strconv.Itoa(os.Geteuid()):
		return failf(exitFailure, "only that user and root can unmount it", "%s is a mount of %s", point, userName(m.owner()))
	case err != nil:
		return failf(exitFailure, "", "cannot unmount %s: %w", point, err)
	}
	if lazy {
		return nil
	}
	if !waitUnlocked(m.source, endTimeout) {
		c.notef("%s is unmounted, but the program that served it still has %s open", point, m.source)
	}
	return nil
}

// userName returns a name of a user for messages.
func userName(id string) string {
	if u, err := user.LookupId(id); err == nil {
		return "the user " + u.Username
	}
	return "the user with the number " + id
}

// waitUnlocked waits until no server has the cipher directory open for writing,
// and reports whether that came within the time. It cannot wait for those that
// share it, as others may share it, too.
func waitUnlocked(cipherDir string, timeout time.Duration) bool {
	st, err := dirstore.Open(cipherDir, dirstore.Options{ReadOnly: true})
	if err != nil {
		return true // not ours to report here
	}
	defer st.Close()
	return lockWithin(st, true, timeout) == nil
}

// users names what keeps a mount busy, "" if this user can see nothing.
func users(m mountEntry, mounts []mountEntry) string {
	var names []string
	for _, other := range mounts {
		if other.parent == m.id {
			names = append(names, fmt.Sprintf("the mount %s (%s)", other.point, other.fsType))
		}
	}
	for _, h := range findHolders(m.major, m.minor) {
		names = append(names, h.String())
	}
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, ", ")
}

// unmountUnlessUsed unmounts, or returns EBUSY and who uses the mount. A process
// that has just been started holds what its parent had open until it runs its
// program; such a use, of which nothing is to be seen any more, is waited for.
func unmountUnlessUsed(m mountEntry, mounts []mountEntry, point string, lazy bool) (string, error) {
	const pause = 20 * time.Millisecond
	for range 50 {
		if err := unmount(point, lazy); !errors.Is(err, unix.EBUSY) {
			return "", err
		}
		if names := users(m, mounts); names != "" {
			return names, unix.EBUSY
		}
		time.Sleep(pause)
	}
	return "by a process that only root can see", unix.EBUSY
}

// notMounted is the error for a path that is not a mount point. It tells whoever
// named the cipher directory where that is mounted.
func notMounted(mounts []mountEntry, point, resolved string) error {
	for _, m := range mounts {
		if m.fsType == fuseType && m.source == resolved {
			return failf(exitMountPoint, "try: encfs umount "+m.point,
				"%s is not a mount point but a cipher directory, mounted at %s", point, m.point)
		}
	}
	return failf(exitMountPoint, "", "%s is not a mount point", point)
}

// unmount unmounts by unmount(2), or where that is not allowed by fusermount3,
// which lets users unmount what they mounted. The error is EBUSY for a mount in
// use. point is absolute and without symbolic links.
func unmount(point string, lazy bool) error {
	flags := unix.UMOUNT_NOFOLLOW
	if lazy {
		flags |= unix.MNT_DETACH
	}
	err := unix.Unmount(point, flags)
	if !errors.Is(err, unix.EPERM) {
		return err
	}
	helper := fusermount()
	if helper == "" {
		return fmt.Errorf("%w, and there is no fusermount3", err)
	}
	args := []string{"-u", "--", point}
	if lazy {
		args = append([]string{"-z"}, args...)
	}
	cmd := exec.Command(helper, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if err := cmd.Run(); err != nil {
		// Of the error of unmount(2) the helper lets through only the text.
		text := strings.TrimSpace(said.String())
		switch {
		case strings.Contains(text, "busy"):
			return unix.EBUSY
		case text == "":
			return err
		}
		return errors.New(text)
	}
	return nil
}
