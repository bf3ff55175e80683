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
	partition                      positive
	kernel                         []string // for the kernel or fusermount3
}

// kernelOptions are handed on, as their opposites undo each other.
var kernelOptions = map[string]string{
	"dev": "nodev", "nodev": "dev", "suid": "nosuid", "nosuid": "suid", "exec": "noexec", "noexec": "exec",
	"sync": "async", "async": "sync",
}

// ignoredOptions mean nothing here: they are for mount(8), systemd and the boot, or for
// what the lower file system decides, such as the times of accesses.
var ignoredOptions = []string{
	"defaults", "auto", "noauto", "user", "nouser", "users", "owner", "group", "nofail", "_netdev",
	"atime", "noatime", "diratime", "nodiratime", "relatime", "norelatime", "strictatime", "nostrictatime",
	"lazytime", "nolazytime", "iversion", "noiversion", "mand", "nomand", "silent", "loud",
}

const mountOptionsHelp = "ro, rw, allow_other, nonempty, dev, nodev, suid, nosuid, exec, noexec, sync, async, passfile=FILE, key-file=FILE, partition=N"

// parse adds the options of a comma-separated list, as in /etc/fstab. Of
// opposite options the last one counts.
func (o *mountOptions) parse(list string) error {
	for option := range strings.SplitSeq(list, ",") {
		name, value, hasValue := strings.Cut(option, "=")
		switch {
		case option == "" || slices.Contains(ignoredOptions, option):
		case strings.HasPrefix(name, "x-") || hasValue && (name == "comment" || name == "user"):
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
		case hasValue && name == "partition":
			if err := o.partition.Set(value); err != nil {
				return usagef("-o %s: %w", option, err)
			}
		case kernelOptions[option] != "":
			o.kernel = slices.DeleteFunc(o.kernel, func(have string) bool {
				return have == option || have == kernelOptions[option]
			})
			o.kernel = append(o.kernel, option)
		case option == "remount":
			return usagef("-o remount: a mount cannot be changed; unmount it and mount it anew")
		default:
			return usagef("-o %s: unknown option; known are %s", option, mountOptionsHelp)
		}
	}
	return nil
}
