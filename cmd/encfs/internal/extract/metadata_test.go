package extract

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"encfs/fs"
	"encfs/fs/store"
)

func TestPermissions(t *testing.T) {
	for _, tt := range []struct {
		name     string
		mode     uint32
		uid, gid uint32 // that it has now; it had 1 and 2
		want     uint32
	}{
		{"same owners", store.ModeRegular | 0o7777, 1, 2, 0o7777},
		{"other owner", store.ModeRegular | 0o7777, 9, 2, 0o3777},
		{"other group", store.ModeRegular | 0o7777, 1, 9, 0o5777},
		{"other both", store.ModeRegular | 0o6711, 9, 9, 0o0711},
		{"nothing special", store.ModeRegular | 0o640, 9, 9, 0o640},
		{"directory", store.ModeDir | 0o7755, 9, 9, 0o3755},
	} {
		if got := permissions(fs.Attr{Mode: tt.mode, UID: 1, GID: 2}, tt.uid, tt.gid); got != tt.want {
			t.Errorf("%s: got %o, want %o", tt.name, got, tt.want)
		}
	}
}

// TestOwners extracts privileged files of other owners: whoever gets them instead
// does not get the privileges.
func TestOwners(t *testing.T) {
	us, group := uint32(unix.Geteuid()), uint32(unix.Getegid())
	const other = 12345
	for _, tt := range []struct {
		name  string
		owner fakeOwner
		// Who has the copy then, with which mode, as root and otherwise.
		asRoot, asUser         fakeOwner
		asRootMode, asUserMode uint32
	}{
		{"ours", fakeOwner{us, group}, fakeOwner{us, group}, fakeOwner{us, group}, 0o6755, 0o6755},
		{"another's", fakeOwner{other, other}, fakeOwner{other, other}, fakeOwner{us, group}, 0o6755, 0o755},
		{"nobody's", fakeOwner{noID, noID}, fakeOwner{us, group}, fakeOwner{us, group}, 0o755, 0o755},
		{"no owner", fakeOwner{noID, group}, fakeOwner{us, group}, fakeOwner{us, group}, 0o2755, 0o2755},
		{"no group", fakeOwner{us, noID}, fakeOwner{us, group}, fakeOwner{us, group}, 0o4755, 0o4755},
		{"no owner, another group", fakeOwner{noID, other}, fakeOwner{us, other}, fakeOwner{us, group}, 0o2755, 0o755},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fakeFile(3, []byte("data"))
			f.mode, f.owner = store.ModeRegular|0o6755, &tt.owner
			dest := filepath.Join(t.TempDir(), "dest")
			a, err := Extract(context.Background(), openFake(t, fakeDir(2, fakeEntry{"file", f})), []string{"/"}, dest, Options{})
			if err != nil {
				t.Fatal(err)
			}
			wantOwner, wantMode := tt.asUser, tt.asUserMode
			if us == 0 {
				wantOwner, wantMode = tt.asRoot, tt.asRootMode
			}
			var st unix.Stat_t
			if err := unix.Lstat(filepath.Join(dest, "file"), &st); err != nil {
				t.Fatal(err)
			}
			if got := (fakeOwner{st.Uid, st.Gid}); got != wantOwner || st.Mode&0o7777 != wantMode {
				t.Errorf("got %v with mode %o, want %v with %o", got, st.Mode&0o7777, wantOwner, wantMode)
			}
			if kept := wantOwner == tt.owner; kept != (a.Owners == 0) {
				t.Errorf("%d objects have other owners", a.Owners)
			}
		})
	}
}

func TestGroupOf(t *testing.T) {
	whole := acl(7, 6, 5, 4, 3)
	for _, tt := range []struct {
		name, acl string
		want      uint32
	}{
		{"whole", whole, 0o050},
		{"none", acl(7, 6, 0, 4, 3), 0},
		{"empty", "", 0},
		{"header", whole[:4], 0},
		{"cut in the entry", whole[:4+3*8-1], 0},
		{"cut behind it", whole[:4+3*8], 0o050},
		{"too many bits", acl(7, 6, 0xffff, 4, 3), 0o070},
	} {
		if got := groupOf([]byte(tt.acl)); got != tt.want {
			t.Errorf("%s: got %o, want %o", tt.name, got, tt.want)
		}
	}
}

// TestNoAttributes extracts to a file system without attributes: they are reported, and
// nobody has more rights than with the ACL.
func TestNoAttributes(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("ramfs", dir, "ramfs", 0, ""); err != nil {
		t.Skipf("no ramfs: %v", err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	f := fakeFile(3, []byte("data"))
	f.mode = store.ModeRegular | 0o671
	f.xattrs = map[string]string{"user.x": "y", accessACL: acl(6, 7, 4, 7, 1), "security.y": "z"}
	v := openFake(t, fakeDir(2, fakeEntry{"file", f}))
	dest := filepath.Join(dir, "dest")
	var told problems
	a, err := Extract(context.Background(), v, []string{"/"}, dest, Options{Report: told.add})
	if err != nil || a.Files != 1 || a.Incomplete != 1 || a.Attributes != 1 || a.Failed != 0 {
		t.Errorf("got error %v, account %+v", err, a)
	}
	slices.Sort(told)
	want := []string{
		`/file: attribute "system.posix_acl_access": operation not supported`,
		`/file: attribute "user.x": operation not supported`,
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if info, err := os.Lstat(filepath.Join(dest, "file")); err != nil || info.Mode().Perm() != 0o641 {
		t.Errorf("got mode %v, %v, want 0641", info, err)
	}
}
