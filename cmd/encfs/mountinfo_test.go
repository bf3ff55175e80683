package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseMounts(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     mountEntry
		err      bool
	}{
		{
			// The example of proc_pid_mountinfo(5).
			name: "manual page",
			in:   "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue",
			want: mountEntry{id: 36, parent: 35, major: 98, point: "/mnt2", fsType: "ext3", source: "/dev/root", options: "rw,noatime", super: "rw,errors=continue"},
		},
		{
			name: "no optional field",
			in:   "22 1 0:5 / /dev rw - devtmpfs none rw",
			want: mountEntry{id: 22, parent: 1, minor: 5, point: "/dev", fsType: "devtmpfs", source: "none", options: "rw", super: "rw"},
		},
		{
			name: "two optional fields",
			in:   "22 1 0:5 / /dev rw shared:1 master:2 - devtmpfs none rw",
			want: mountEntry{id: 22, parent: 1, minor: 5, point: "/dev", fsType: "devtmpfs", source: "none", options: "rw", super: "rw"},
		},
		{
			name: "escapes",
			in:   `40 1 0:50 / /mnt/a\040b\011c\012d\134e ro - fuse.encfs /srv/x\040y rw`,
			want: mountEntry{id: 40, parent: 1, minor: 50, point: "/mnt/a b\tc\nd\\e", fsType: "fuse.encfs", source: "/srv/x y", options: "ro", super: "rw"},
		},
		{
			name: "source without a name",
			in:   "40 1 0:50 / /mnt ro - tmpfs  rw",
			want: mountEntry{id: 40, parent: 1, minor: 50, point: "/mnt", fsType: "tmpfs", options: "ro", super: "rw"},
		},
		{name: "no dash", in: "22 1 0:5 / /dev rw devtmpfs none rw", err: true},
		{name: "too short", in: "22 1 0:5 - a b c", err: true},
		{name: "no number", in: "x 1 0:5 / /dev rw - a b c", err: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseMounts(strings.NewReader(tt.in + "\n"))
			if tt.err {
				if err == nil {
					t.Fatalf("no error, but %+v", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := []mountEntry{tt.want}; !reflect.DeepEqual(got, want) {
				t.Errorf("\n got %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestUnescapeMount(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"plain", "plain"},
		{`\040`, " "},
		{`a\134040b`, `a\040b`},
		{`\377`, "\xff"},
		{`\40`, `\40`},
		{`\048`, `\048`},
		{`\400`, `\400`},
		{`a\`, `a\`},
	} {
		if got := unescapeMount(tt.in); got != tt.want {
			t.Errorf("unescapeMount(%q): got %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestFindMount(t *testing.T) {
	mounts := []mountEntry{{id: 1, point: "/"}, {id: 2, point: "/mnt"}, {id: 3, point: "/mnt/x"}, {id: 4, point: "/mnt"}}
	for _, tt := range []struct {
		point string
		id    int
	}{{"/", 1}, {"/mnt", 4}, {"/mnt/x", 3}, {"/mn", 0}, {"/mnt/", 0}} {
		m, ok := findMount(mounts, tt.point)
		if m.id != tt.id || ok != (tt.id != 0) {
			t.Errorf("findMount(%q): got mount %d, %t; want %d", tt.point, m.id, ok, tt.id)
		}
	}
}

func TestMountOwner(t *testing.T) {
	for _, tt := range []struct{ super, want string }{
		{"rw,user_id=1000,group_id=100,default_permissions", "1000"},
		{"user_id=0", "0"},
		{"rw,x_user_id=3", ""},
		{"", ""},
	} {
		if got := (mountEntry{super: tt.super}).owner(); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.super, got, tt.want)
		}
	}
}
