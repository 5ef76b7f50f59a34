#!/bin/bash
# make-root.sh SUITE-ARCH[-tunnel]: unpack a Debian root, for example bullseye-amd64 or bookworm-mipsel,
# and print its path. No maintainer script runs, so any architecture can be unpacked anywhere. With
# -tunnel what `run tunnel` needs besides: iproute2 and iperf3.
# shellcheck source=/dev/null
. "$(dirname "$0")/common.sh"
name=${1:?usage: make-root.sh SUITE-ARCH[-tunnel]}
[[ $name =~ ^([a-z]+-[a-z0-9]+)(-tunnel)?$ ]] || die "not a SUITE-ARCH[-tunnel]: $name"
system=${BASH_REMATCH[1]} tunnel=${BASH_REMATCH[2]}
root=$LAB/roots/$name
packages=base-files,coreutils,grep,sed,mawk,mount,dash,bash,busybox,python3,openvpn,openssl
[ -z "$tunnel" ] || packages+=,iproute2,iperf3

# A root is made under another name and renamed when it is whole: what is there is always whole.
mkdir -p "$LAB/roots"
alone "$name"
if [ ! -e "$root/usr/bin/openssl" ]; then # also where the root is from before it held one
	new=$LAB/roots/.$name
	unpack "$system" "$packages" "$new"
	# What maintainer scripts would have done, as far as it is needed.
	[ -e "$new/bin/sh" ] || ln -s dash "$new/bin/sh"
	[ -e "$new/usr/bin/awk" ] || ln -s mawk "$new/usr/bin/awk"
	echo 'root:x:0:0:root:/root:/bin/sh' >"$new/etc/passwd"
	echo 'root:x:0:' >"$new/etc/group"
	mkdir -p "$new"/{dev,proc,root,run,tmp}
	chmod 1777 "$new/tmp"
	rm -rf "$root"
	mv "$new" "$root"
fi
echo "$root"
