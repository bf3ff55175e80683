package main

import (
	"slices"
	"strings"
)

// mountOptions holds what -o can say.
type mountOptions struct {
	readOnly, allowOther, nonEmpty bool
	passfile                       string
	keyFiles                       []string
	kernel                         []string // for the kernel or fusermount3
}

// kernelOptions are handed on; a later one undoes its opposite.
var kernelOptions = []string{"dev", "nodev", "suid", "nosuid", "exec", "noexec"}

// fstabOptions are for mount(8), systemd and the boot; they mean nothing here.
var fstabOptions = []string{
	"defaults", "auto", "noauto", "user", "nouser", "users", "owner", "group", "nofail", "_netdev",
}

const mountOptionsHelp = "ro, rw, allow_other, nonempty, dev, nodev, suid, nosuid, exec, noexec, passfile=FILE, key-file=FILE"

// parse adds the options of a comma-separated list, as in /etc/fstab. Of
// opposite options the last one counts.
func (o *mountOptions) parse(list string) error {
	for option := range strings.SplitSeq(list, ",") {
		name, value, hasValue := strings.Cut(option, "=")
		switch {
		case option == "" || slices.Contains(fstabOptions, option):
		case strings.HasPrefix(name, "x-") || name == "comment":
		case option == "ro" || option == "rw":
			o.readOnly = option == "ro"
		case option == "allow_other":
			o.allowOther = true
		case option == "nonempty":
			o.nonEmpty = true
		case hasValue && name == "passfile" && value != "":
			o.passfile = value
		case hasValue && name == "key-file" && value != "":
			o.keyFiles = append(o.keyFiles, value)
		case slices.Contains(kernelOptions, option):
			opposite := "no" + option
			if cut, ok := strings.CutPrefix(option, "no"); ok {
				opposite = cut
			}
			o.kernel = slices.DeleteFunc(o.kernel, func(have string) bool {
				return have == option || have == opposite
			})
			o.kernel = append(o.kernel, option)
		default:
			return usagef("-o %s: unknown option; known are %s", option, mountOptionsHelp)
		}
	}
	return nil
}
