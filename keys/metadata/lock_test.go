package metadata

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// One at a time has the lock, and it can be had again.
func TestLock(t *testing.T) {
	c := toolCaseOf(t, "tool-passphrase")
	top := writeFolder(t, c.files())
	first, second := openDir(t, top), openDir(t, top)
	unlock, err := first.Lock()
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]*Dir{"the same Dir": first, "another Dir": second} {
		if _, err := d.Lock(); !errors.Is(err, unix.EWOULDBLOCK) {
			t.Errorf("%s: error %v, want EWOULDBLOCK", name, err)
		}
	}
	unlock()
	if unlock, err = second.Lock(); err != nil {
		t.Fatal(err)
	}
	unlock()
	_, err = openMapFS(t, c.files()).Lock()
	wantErr(t, err, ErrReadOnly)
}

// The time of a protector is that of its last change.
func TestProtectorTime(t *testing.T) {
	c := toolCaseOf(t, "tool-passphrase")
	d := openDir(t, writeFolder(t, c.files()))
	v := c.Protectors[0]
	p, err := d.Protector(v.Descriptor)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)
	if err := d.root.Chtimes(protectorsDir+"/"+v.Descriptor, old, old); err != nil {
		t.Fatal(err)
	}
	if got, err := d.ProtectorTime(v.Descriptor); err != nil || !got.Equal(old) {
		t.Errorf("time %v, %v, want %v", got, err, old)
	}
	if err := d.WriteProtector(p); err != nil {
		t.Fatal(err)
	}
	if got, err := d.ProtectorTime(v.Descriptor); err != nil || !got.After(old) {
		t.Errorf("time after a change %v, %v", got, err)
	}
	for _, name := range []string{"0123456789abcdef", "../policies", ""} {
		_, err := d.ProtectorTime(name)
		wantErr(t, err, ErrMissing)
	}
}
