package main

import (
	"reflect"
	"testing"
)

func TestMountOptions(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lists []string
		want  mountOptions
		err   string
	}{
		{"none", nil, mountOptions{}, ""},
		{"empty", []string{""}, mountOptions{}, ""},
		{"empty parts", []string{",ro,,"}, mountOptions{readOnly: true}, ""},
		{"last of ro and rw", []string{"ro,rw"}, mountOptions{}, ""},
		{"later list", []string{"rw", "ro"}, mountOptions{readOnly: true}, ""},
		{"allow_other", []string{"allow_other"}, mountOptions{allowOther: true}, ""},
		{"nonempty", []string{"nonempty"}, mountOptions{nonEmpty: true}, ""},
		{"for the kernel", []string{"noexec,nodev"}, mountOptions{kernel: []string{"noexec", "nodev"}}, ""},
		{"opposites", []string{"exec,nodev,noexec,dev,dev"}, mountOptions{kernel: []string{"noexec", "dev"}}, ""},
		{"last of sync and async", []string{"sync,async,sync"}, mountOptions{kernel: []string{"sync"}}, ""},
		{"times of accesses", []string{"noatime,nodiratime,relatime,strictatime,lazytime,iversion,mand"}, mountOptions{}, ""},
		{"user of mount(8)", []string{"user=ann"}, mountOptions{}, ""},
		{"comment without a text", []string{"comment"}, mountOptions{}, "-o comment: unknown option"},
		{"remount", []string{"remount,ro"}, mountOptions{}, "-o remount: a mount cannot be changed"},
		{"what FUSE does not do", []string{"dirsync"}, mountOptions{}, "-o dirsync: unknown option"},
		{"fstab", []string{"defaults,noauto,user,nofail,_netdev,x-systemd.automount,comment=a"}, mountOptions{}, ""},
		{"passfile", []string{"passfile=/etc/a b=c"}, mountOptions{passfile: "/etc/a b=c"}, ""},
		{"key files", []string{"key-file=a,key-file=b"}, mountOptions{keyFiles: []string{"a", "b"}}, ""},
		{"passfile of nothing", []string{"passfile="}, mountOptions{}, "-o passfile=: unknown option"},
		{"value where there is none", []string{"ro=1"}, mountOptions{}, "-o ro=1: unknown option"},
		{"unknown", []string{"ro,volume_key=1"}, mountOptions{readOnly: true}, "-o volume_key=1: unknown option; known are ro, rw"},
		{"blank", []string{"ro, nodev"}, mountOptions{readOnly: true}, "-o  nodev: unknown option"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got mountOptions
			var err error
			for _, list := range tt.lists {
				err = got.parse(list)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("\n got %+v\nwant %+v", got, tt.want)
			}
			checkError(t, err, tt.err)
		})
	}
}
