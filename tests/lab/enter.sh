#!/bin/bash
# enter.sh ROOT COMMAND [ARGUMENT...]: run a command in a root, with /proc and the usual devices.
# They are mounted in a mount namespace of this process alone, which then becomes the command: so
# they are gone when it ends, however it ends, nobody else sees them, and a signal sent to this
# process reaches the command.
# shellcheck source=/dev/null
. "$(dirname "$0")/common.sh"
[ $# -ge 2 ] || die 'usage: enter.sh ROOT COMMAND [ARGUMENT...]'
root=$(cd "$1" && pwd -P)
shift
[ "$root" != / ] || die 'not this system itself'
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

# shellcheck disable=SC2016  # for the inner shell
exec unshare --mount --propagation private -- sh -euc '
	root=$1
	shift
	mount -t proc proc "$root/proc"
	mount -t tmpfs -o mode=755 dev "$root/dev"
	mkdir -m 1777 "$root/dev/shm"
	mkdir "$root/dev/pts"
	mount -t devpts -o ptmxmode=666 devpts "$root/dev/pts"
	ln -s pts/ptmx "$root/dev/ptmx"
	ln -s /proc/self/fd "$root/dev/fd"
	for node in null zero full random urandom; do
		: >"$root/dev/$node"
		mount --bind "/dev/$node" "$root/dev/$node"
	done
	exec chroot "$root" env -i PATH="$PATH" HOME=/root LC_ALL=C.UTF-8 "$@"
' enter "$root" "$@"
