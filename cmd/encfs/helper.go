package main

import (
	"path/filepath"
	"slices"
	"strings"
)

// helperNames are the names by which mount(8) calls the helper for file systems of
// the type encfs or fuse.encfs, in fstab too: links to this program in /sbin.
var helperNames = []string{"mount.encfs", "mount.fuse.encfs"}

// arguments returns the arguments after the name of the program. Where mount(8)
// has called it, they become those of the mount command; it calls
//
//	mount.TYPE SOURCE MOUNTPOINT [-sfnv] [-N NAMESPACE] [-o OPT[,OPT]...] [-t TYPE]
//
// of which -o counts, and -f, which is --fake.
func arguments(argv []string) []string {
	args := argv[1:]
	if !slices.Contains(helperNames, filepath.Base(argv[0])) || len(args) < 2 {
		return args
	}
	mount := []string{"mount"}
	for i := 2; i < len(args); i++ {
		switch flag := args[i]; {
		case flag == "-o" && i+1 < len(args):
			i++
			mount = append(mount, "-o", args[i])
		case (flag == "-t" || flag == "-N") && i+1 < len(args):
			i++
		case strings.HasPrefix(flag, "-") && strings.Trim(flag[1:], "sfnv") == "":
			if strings.Contains(flag, "f") {
				mount = append(mount, "--fake")
			}
		default:
			mount = append(mount, flag)
		}
	}
	return append(mount, "--", args[0], args[1])
}
