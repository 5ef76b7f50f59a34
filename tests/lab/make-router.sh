#!/bin/bash
# make-router.sh SUITE-ARCH[-openssh][-tcsh]: unpack a root like a small router's and print its path:
# busybox as every command and as the shell, dropbear, openvpn; no Python, bash or coreutils. With
# -openssh a bigger system with OpenSSH's server and bash instead; with -tcsh a tcsh besides.
# shellcheck source=/dev/null
. "$(dirname "$0")/common.sh"
name=${1:?usage: make-router.sh SUITE-ARCH[-openssh][-tcsh]}
[[ $name =~ ^([a-z]+-([a-z0-9]+))(-openssh)?(-tcsh)?$ ]] || die "not a SUITE-ARCH[-openssh][-tcsh]: $name"
system=${BASH_REMATCH[1]} arch=${BASH_REMATCH[2]} openssh=${BASH_REMATCH[3]} tcsh=${BASH_REMATCH[4]}
root=$LAB/routers/$name
packages=base-files,openvpn
if [ -n "$openssh" ]; then
	packages+=,openssh-server,bash,dash,coreutils,grep,sed,mawk,procps,time
else
	packages+=,busybox,dropbear-bin  # busybox-static's shell finds its own commands before those on PATH
fi
[ -z "$tcsh" ] || packages+=,tcsh

# device NAME MINOR: one of the kernel's memory devices, which a root without udev has not.
device() {
	[ -e "$new/dev/$1" ] || mknod -m 666 "$new/dev/$1" c 1 "$2"
}

# What maintainer scripts would have done, as far as it is needed.
finish() {
	mkdir -p "$new"/{dev/pts,etc/dropbear,proc,root/.ssh,run/sshd,sys,tmp}
	chmod 700 "$new/root" "$new/root/.ssh"
	chmod 1777 "$new/tmp"
	device null 3
	device zero 5
	device full 7
	device random 8
	device urandom 9
	[ -e "$new/dev/ptmx" ] || ln -s pts/ptmx "$new/dev/ptmx"
	printf '%s\n' root:x:0:0:root:/root:/bin/sh sshd:x:100:65534::/run/sshd:/bin/false >"$new/etc/passwd"
	echo 'root:x:0:' >"$new/etc/group"
	printf '%s\n' /bin/sh /bin/bash /bin/tcsh >"$new/etc/shells"
	if [ -n "$openssh" ]; then
		[ -e "$new/bin/sh" ] || ln -s dash "$new/bin/sh"
		[ -e "$new/usr/bin/awk" ] || ln -s mawk "$new/usr/bin/awk"
	else
		[ -e "$new/bin/busybox" ] || ln -s ../usr/bin/busybox "$new/bin/busybox"
		chroot "$new" /bin/busybox --install -s
	fi
}

[ "$arch" = "$(dpkg --print-architecture)" ] || "$(dirname "$0")/binfmt.sh"
# A root is made under another name and renamed when it is whole: what is there is always whole.
mkdir -p "$LAB/routers"
alone "router-$name"
if [ ! -d "$root" ]; then
	new=$LAB/routers/.$name
	unpack "$system" "$packages" "$new"
	finish
	mv "$new" "$root"
fi
echo "$root"
