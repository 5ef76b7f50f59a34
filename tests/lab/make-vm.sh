#!/bin/bash
# make-vm.sh ARCH: unpack what an emulated machine boots, and print the directory that has it: a Debian
# kernel, an initrd that finds the disk, and the disk with the kernel's modules and a small system.
# ARCH is mipsel, amd64 or ppc64el.
# shellcheck source=/dev/null
. "$(dirname "$0")/common.sh"
arch=${1:?usage: make-vm.sh ARCH}
case $arch in
mipsel) kernel=linux-image-4kc-malta ;;
amd64) kernel=linux-image-cloud-amd64 ;;
ppc64el) kernel=linux-image-powerpc64le ;;
*) die "not mipsel, amd64 or ppc64el: $arch" ;;
esac
vm=$LAB/vms/$arch
packages=base-files,bash,coreutils,dash,grep,mawk,mount,procps,sed,busybox-static,kmod,iproute2
packages+=,python3,openvpn,openssl,dropbear-bin,iperf3,wireguard-tools,cryptsetup-bin,$kernel

# What maintainer scripts would have done, as far as it is needed.
finish() {
	local name
	mkdir -p "$1"/{dev,lab,proc,root/.ssh,run,sys,tmp}
	chmod 700 "$1/root" "$1/root/.ssh"
	chmod 1777 "$1/tmp"
	[ -e "$1/bin/sh" ] || ln -s dash "$1/bin/sh"
	[ -e "$1/usr/bin/awk" ] || ln -s mawk "$1/usr/bin/awk"
	for name in time hexdump ping; do
		[ -e "$1/usr/bin/$name" ] || ln -s /bin/busybox "$1/usr/bin/$name"
	done
	echo root:x:0:0:root:/root:/bin/sh >"$1/etc/passwd"
	echo root:x:0: >"$1/etc/group"
	echo /bin/sh >"$1/etc/shells"
	depmod -b "$1" "$version"
}

# make_initrd ROOT DIRECTORY: the modules of the disk and of its file system, in the order of their needs.
make_initrd() {
	local module path number=10
	mkdir -p "$2"/{bin,dev,modules,new}
	cp "$1/bin/busybox" "$2/bin/"
	cp "$(dirname "$0")/vm-initrd.sh" "$2/init"
	for module in virtio_pci virtio_blk ext4; do
		modprobe -d "$1" -S "$version" --show-depends "$module" | awk '$1 == "insmod" { print $2 }'
	done | awk '!seen[$0]++' | while read -r path; do
		cp "$path" "$2/modules/$((number++))-$(basename "$path")"
	done
	(cd "$2" && find . | cpio --quiet -o -H newc | gzip -1)
}

# A machine is made under another name and renamed when it is whole: what is there is always whole.
mkdir -p "$LAB/vms"
alone "vm-$arch"
if [ ! -d "$vm" ]; then
	new=$LAB/vms/.$arch
	rm -rf "$new"
	mkdir "$new"
	unpack "bookworm-$arch" "$packages" "$new/root"
	version=$(basename "$new"/root/lib/modules/*)
	finish "$new/root"
	mv "$new"/root/boot/vmlinu*-"$version" "$new/kernel"
	make_initrd "$new/root" "$new/tree" >"$new/initrd"
	# 9p would need no image, but the cloud kernel has none, and MIPS would get errors by this machine's numbers.
	truncate -s 2G "$new/disk"
	mke2fs -q -t ext4 -O ^has_journal -m 0 -d "$new/root" "$new/disk"
	rm -rf "$new/root" "$new/tree"
	mv "$new" "$vm"
fi
echo "$vm"
