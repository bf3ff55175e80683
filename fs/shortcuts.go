package fs

import (
	"fmt"
	"slices"
	"strings"

	"encfs/fs/store"
)

// A Shortcut is something that a mount does to be fast and could do without. A
// mount takes all that are safe where it is; MountOptions.Without takes none of
// those that it names.
type Shortcut string

const (
	// ShortcutNoOpen has the kernel open and close files without telling. It is
	// not taken where others change the store too, as an opening looks at what
	// they have done; on network file systems, where closing a file may say that
	// a write has failed; nor on images, where opening says that a key is missing.
	ShortcutNoOpen Shortcut = "no-open"
	// ShortcutStoreAhead puts small files into the kernel's cache before they are
	// asked for, when a process reads what it lists. It needs a store.WholeReader, the
	// kernel to check permissions, and nobody else to change the store. Where READ is
	// to be measured it is not taken.
	ShortcutStoreAhead Shortcut = "store-ahead"
	// ShortcutKillPriv takes set-ID bits from files that are written to, in place of
	// the kernel, which therefore need not ask for capabilities before each write.
	ShortcutKillPriv Shortcut = "kill-priv"
	// ShortcutReadAhead has the kernel read 1 MiB ahead in a file, in one request,
	// rather than 128 KiB. Only root can.
	ShortcutReadAhead Shortcut = "read-ahead"
)

// Shortcuts lists all of them.
var Shortcuts = []Shortcut{ShortcutNoOpen, ShortcutStoreAhead, ShortcutKillPriv, ShortcutReadAhead}

// ParseShortcuts parses a list of names, separated by commas.
func ParseShortcuts(list string) ([]Shortcut, error) {
	var names []Shortcut
	for name := range strings.SplitSeq(list, ",") {
		s := Shortcut(name)
		if !slices.Contains(Shortcuts, s) {
			return nil, fmt.Errorf("fs: no shortcut %q", name)
		}
		names = append(names, s)
	}
	return names, nil
}

// takeShortcuts decides which shortcuts this mount takes. checked says that the
// kernel checks permissions.
func (f *FS) takeShortcuts(without []Shortcut, checked bool) {
	v := f.v
	wanted := func(s Shortcut) bool { return !slices.Contains(without, s) }
	if wanted(ShortcutNoOpen) && !v.opts.Shared && !f.remote && v.system == nil {
		f.take(ShortcutNoOpen)
		f.noOpen, v.files.limit = true, defaultKept()
	}
	_, whole := v.store.(store.WholeReader)
	if wanted(ShortcutStoreAhead) && !v.opts.Shared && whole && checked && v.opts.Measure == nil {
		f.take(ShortcutStoreAhead)
		f.ahead = newAheadReader(v)
	}
	if wanted(ShortcutKillPriv) && checked && !v.ReadOnly() {
		f.take(ShortcutKillPriv)
		f.killPriv = true
	}
}

// takeMounted takes the shortcuts for which there has to be a mount.
func (f *FS) takeMounted(mountPoint string, without []Shortcut) {
	if slices.Contains(without, ShortcutReadAhead) {
		return
	}
	if err := setReadAhead(mountPoint); err == nil {
		f.take(ShortcutReadAhead)
	}
}

func (f *FS) take(s Shortcut) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken = append(f.taken, s)
}
