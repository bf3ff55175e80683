#!/bin/bash
# Looks for what a make target needs and installs what is missing.
#
# usage: setup.sh demo|test|race
#
# demo needs FUSE. test also wants the programs that single tests run, and race
# a C compiler, as the race detector's builds use cgo. As root on a system with
# apt-get, missing packages are installed. Otherwise the line that installs
# them is printed. The exit status is 0 either way: without FUSE the demo goes
# another way, and tests skip by name what they cannot run.
#
# Nothing is printed when nothing is missing.
set -euo pipefail

# An ordinary user's PATH often lacks the folders of mkfs.ext4 and losetup.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

say() { printf 'setup: %s\n' "$*" >&2; }

# Program and the Debian package that has it, in pairs.
required=(fusermount3 fuse3)
optional=()
case ${1:-} in
demo) ;;
test) ;;
race) optional+=(gcc 'gcc libc6-dev') ;;
*)
	echo "usage: setup.sh demo|test|race" >&2
	exit 2
	;;
esac
if [ "$1" != demo ]; then
	optional+=(
		fscrypt fscrypt
		mkfs.ext4 e2fsprogs
		mkfs.xfs xfsprogs
		strace strace
		debugfs e2fsprogs
		losetup mount
		getfattr attr
		setfacl acl
		rsync rsync
		sqlite3 sqlite3
		git git
		qemu-aarch64-static qemu-user-static
	)
fi

# missing_packages PROGRAM PACKAGE ... prints the packages of programs that
# are not in PATH, each once.
missing_packages() {
	while [ $# -gt 0 ]; do
		command -v "$1" >/dev/null || printf '%s\n' $2
		shift 2
	done | sort -u
}

apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=1 \
		-o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \
		-o DPkg::Lock::Timeout=120 "$@"
}

# install PACKAGE ... tries all at once; if that fails, once more with fresh
# package lists; if that fails too, one by one, so that a package which this
# release does not have keeps no other one away.
install() {
	local log package failed=()
	log=$(mktemp)
	if ! apt install -y -q --no-install-recommends "$@" >"$log" 2>&1; then
		say "reading the package lists"
		if ! apt update -q >"$log" 2>&1; then
			failed=("$@") # no mirror in reach: trying each would only take long
		elif ! apt install -y -q --no-install-recommends "$@" >"$log" 2>&1; then
			for package; do
				apt install -y -q --no-install-recommends "$package" >>"$log" 2>&1 || failed+=("$package")
			done
		fi
	fi
	if [ ${#failed[@]} -gt 0 ]; then
		grep '^E:' "$log" | sort -u | sed 's/^/setup:   /' | head -n 5 >&2 || true
		say "could not install ${failed[*]}; what needs them is skipped"
	fi
	rm -f "$log"
}

mapfile -t need < <(missing_packages "${required[@]}")
mapfile -t want < <(missing_packages "${optional[@]}")
all=("${need[@]}" "${want[@]}")

if [ ${#all[@]} -gt 0 ]; then
	if ! command -v apt-get >/dev/null; then
		say "missing, by the names of Debian's packages: ${all[*]}"
	elif [ "$(id -u)" = 0 ]; then
		say "installing ${all[*]}"
		install "${all[@]}"
	else
		[ ${#need[@]} -eq 0 ] || say "to mount, type:           sudo apt-get install -y ${need[*]}"
		[ ${#want[@]} -eq 0 ] || say "for every test, type:     sudo apt-get install -y ${all[*]}"
	fi
fi

# The kernel's half of FUSE.
if [ ! -e /dev/fuse ] && [ "$(id -u)" = 0 ]; then
	modprobe fuse 2>/dev/null || true
	# In a container there may be no udev to make the device.
	if [ ! -e /dev/fuse ] && grep -qw fuse /proc/filesystems; then
		mknod -m 666 /dev/fuse c 10 229 2>/dev/null || true
	fi
fi
if [ ! -e /dev/fuse ]; then
	say "there is no /dev/fuse (a container needs --device /dev/fuse --cap-add SYS_ADMIN); nothing can be mounted"
elif ! (exec 3<>/dev/fuse) 2>/dev/null; then
	say "/dev/fuse cannot be opened by $(id -un); nothing can be mounted"
fi
