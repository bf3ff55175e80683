package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

// fuseType is the file system type of our mounts.
const fuseType = "fuse.encfs"

// A mountEntry is a line of /proc/self/mountinfo, as proc_pid_mountinfo(5) has it.
type mountEntry struct {
	id, parent   int
	major, minor uint32
	point        string // where it is mounted
	fsType       string
	source       string
	options      string // of this mount
	super        string // of the file system
}

// readMounts returns the mounts that this process sees, later ones on top of
// earlier ones.
func readMounts() ([]mountEntry, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseMounts(f)
}

func parseMounts(r io.Reader) ([]mountEntry, error) {
	var mounts []mountEntry
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m, err := parseMount(lines.Text())
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, m)
	}
	return mounts, lines.Err()
}

// parseMount parses one line:
//
//	36 35 98:0 /root /point rw,noatime shared:1 - ext4 /dev/sda rw,errors=continue
//
// where any number of fields may stand before the dash.
func parseMount(line string) (mountEntry, error) {
	var m mountEntry
	bad := fmt.Errorf("mountinfo: not understood: %q", line)
	front, back, ok := strings.Cut(line, " - ")
	if !ok {
		return m, bad
	}
	f, b := strings.Fields(front), strings.Split(back, " ")
	if len(f) < 6 || len(b) < 2 {
		return m, bad
	}
	if _, err := fmt.Sscanf(f[0]+" "+f[1]+" "+f[2], "%d %d %d:%d", &m.id, &m.parent, &m.major, &m.minor); err != nil {
		return m, bad
	}
	m.point, m.options = unescapeMount(f[4]), f[5]
	m.fsType, m.source = b[0], unescapeMount(b[1])
	if len(b) > 2 {
		m.super = b[2]
	}
	return m, nil
}

// owner returns the number of the user who has mounted it, "" where that is not said.
func (m mountEntry) owner() string {
	for option := range strings.SplitSeq(m.super, ",") {
		if id, ok := strings.CutPrefix(option, "user_id="); ok {
			return id
		}
	}
	return ""
}

// unescapeMount undoes the octal escapes of blanks, line ends and backslashes.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && isOctal(s[i+1:i+4]) {
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isOctal(s string) bool {
	return s[0] >= '0' && s[0] <= '3' && strings.Trim(s, "01234567") == ""
}

// findMount returns the topmost mount at point, an absolute path without
// symbolic links.
func findMount(mounts []mountEntry, point string) (mountEntry, bool) {
	for i := len(mounts) - 1; i >= 0; i-- {
		if mounts[i].point == point {
			return mounts[i], true
		}
	}
	return mountEntry{}, false
}
