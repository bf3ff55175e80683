#!/bin/bash
# Copies a source tree into an encrypted directory and tars it out again with
# each queue, comparing every byte.
#
# usage: demo.sh [TREE]     TREE is the Go toolchain's own src unless given
#
# ENCFS names the program; TMPDIR needs room for about three times the tree.
# Everything happens in a private folder that is removed at the end, whatever
# the end is. Works as root, who can empty the kernel's caches between the
# runs, and as an ordinary user, who cannot.
set -euo pipefail
export LC_ALL=C

cd "$(dirname "$0")/../.."
encfs=${ENCFS:-$PWD/encfs}
tree=$(realpath "${1:-$(go env GOROOT)/src}")
name=$(basename "$tree")

say() { printf '%s\n' "$*"; }
die() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

[ -x "$encfs" ] || die "there is no $encfs; run make build first"
[ -d "$tree" ] || die "there is no $tree to copy"

work=$(mktemp -d "${TMPDIR:-/tmp}/encfs-demo.XXXXXXXX")
cipher=$work/cipher mnt=$work/mnt pass=$work/passphrase
mkdir "$mnt"

cleanup() {
	if mountpoint -q "$mnt"; then
		"$encfs" umount "$mnt" 2>/dev/null || fusermount3 -uz "$mnt" 2>/dev/null || umount -l "$mnt" || true
	fi
	if mountpoint -q "$mnt"; then
		printf 'demo: %s is still mounted\n' "$mnt" >&2
		return
	fi
	# A copy of read-only folders is read-only.
	chmod -R u+rwX "$work" 2>/dev/null || true
	rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

read -r files bytes < <(find "$tree" -type f -printf '%s\n' | awk '{ n++; s += $1 } END { printf "%d %.0f\n", n, s }')
free=$(df -P -B1 "$work" | awk 'NR == 2 { print $4 }')
[ "$free" -gt $((bytes * 3)) ] || die "$work needs $((bytes * 3 / 1000000)) MB, and $((free / 1000000)) MB are free; set TMPDIR to another place"

now() { echo "${EPOCHREALTIME/./}"; } # in microseconds

# since START prints the seconds from START on.
since() { awk -v us=$(($(now) - $1)) 'BEGIN { printf "%.2f", us / 1e6 }'; }

row() { printf '  %-18s %8s %8s   %s\n' "$@"; }

# Who may not empty the caches still gets a fresh mount, whose own caches are
# empty; the ciphertext may then come from memory.
cold=no
if [ "$(id -u)" = 0 ] && sync -f "$work" && { echo 3 >/proc/sys/vm/drop_caches; } 2>/dev/null; then
	cold=yes
fi
forget() {
	if [ $cold = yes ]; then
		sync -f "$work"
		echo 3 >/proc/sys/vm/drop_caches
	fi
}

# archive DIR writes a tar of DIR's copy of the tree that depends on the tree
# alone: names in order, and no owners, which an ordinary user cannot copy.
archive() { tar -C "$1" --sort=name --format=gnu --owner=0 --group=0 --numeric-owner -cf - "$name"; }

# measure LABEL DIR tars DIR's copy, compares it with the tar of the source
# and prints a row.
measure() {
	local start seconds same=yes
	start=$(now)
	archive "$2" | cmp -s - "$work/source.tar" || same=NO
	seconds=$(since "$start")
	row "$1" "$seconds" "$(awk -v b="$bytes" -v s="$seconds" 'BEGIN { printf "%.1f", b / 1e6 / s }')" $same
	[ $same = yes ]
}

mount_with() { "$encfs" mount --passfile "$pass" --log "$work/log" "$@" "$cipher" "$mnt"; }

(umask 077 && head -c 18 /dev/urandom | base64 >"$pass")
say "source: $tree, $files files, $((bytes / 1000000)) MB"

# The passphrase is random and dies with the folder: hashing it need cost nothing.
"$encfs" init --passfile "$pass" --argon2-time 1 --argon2-memory 64 --argon2-parallelism 1 "$cipher"
archive "$(dirname "$tree")" >"$work/source.tar"

status=0
mount_with || status=$?
if [ $status -eq 11 ]; then
	say "FUSE cannot be had here: the same on the volume, without a mount"
	TMPDIR=$work go run ./test/volumedemo "$tree"
	exit
fi
[ $status -eq 0 ] || die "encfs mount ended with status $status"

start=$(now)
cp -a "$tree" "$mnt/"
"$encfs" umount "$mnt"
say "copied into the mount and unmounted in $(since "$start") s"
say
if [ $cold = yes ]; then
	say "tar of the tree, every cache cold:"
else
	say "tar of the tree, each from a fresh mount (caches of the kernel as they are: emptying them needs root):"
fi
row read seconds MB/s identical
forget
measure "without encfs" "$(dirname "$tree")"
for queue in bound unbound; do
	forget
	mount_with --queue $queue
	measure "--queue $queue" "$mnt"
	"$encfs" umount "$mnt"
done
