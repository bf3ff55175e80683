package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A holder is a process that keeps a mount busy.
type holder struct {
	pid     int
	command string
	what    string // "open file", "current directory", ...
	path    string
}

func (h holder) String() string {
	return fmt.Sprintf("%s[%d] (%s %s)", h.command, h.pid, h.what, h.path)
}

// findHolders returns the processes that keep the file system with this device
// number busy, as far as this user may look, each with the first reason found.
// It asks only /proc, so that a server that hangs does not make it hang.
func findHolders(major, minor uint32) []holder {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	var holders []holder
	for _, proc := range processes {
		pid, err := strconv.Atoi(filepath.Base(proc))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if what, path, ok := holds(proc, major, minor); ok {
			command, _ := os.ReadFile(proc + "/comm")
			holders = append(holders, holder{pid, strings.TrimSpace(string(command)), what, path})
		}
	}
	return holders
}

// holds says how the process with this folder in /proc keeps a device busy.
func holds(proc string, major, minor uint32) (what, path string, ok bool) {
	for _, link := range []struct{ name, what string }{
		{"cwd", "current directory"}, {"root", "root directory"}, {"exe", "program"},
	} {
		if on(proc+"/"+link.name, major, minor) {
			path, _ := os.Readlink(proc + "/" + link.name)
			return link.what, path, true
		}
	}
	files, _ := filepath.Glob(proc + "/fd/*")
	for _, file := range files {
		if on(file, major, minor) {
			path, _ := os.Readlink(file)
			return "open file", path, true
		}
	}
	maps, err := os.Open(proc + "/maps")
	if err != nil {
		return "", "", false
	}
	defer maps.Close()
	device := fmt.Sprintf("%02x:%02x", major, minor)
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		// address, permissions, offset, device, inode, path
		if f := strings.Fields(lines.Text()); len(f) >= 6 && f[3] == device {
			return "mapped file", strings.Join(f[5:], " "), true
		}
	}
	return "", "", false
}

// on reports whether the object that a link of /proc leads to is on a device.
func on(link string, major, minor uint32) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, link, unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT, 0, &st)
	return err == nil && st.Dev_major == major && st.Dev_minor == minor
}
