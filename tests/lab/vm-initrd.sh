#!/bin/busybox sh
# shellcheck shell=dash
# vm-initrd.sh: an emulated machine's first program. It mounts the disk, adds what vms.py has for this
# machine alone, a tar on the second disk, and becomes the system's first process. By switch_root and
# not chroot: a kernel that looks for a module runs modprobe in the first process's root.
busybox=/bin/busybox
$busybox mount -t devtmpfs dev /dev
for module in /modules/*; do
	$busybox insmod "$module"
done
# The disk has inode tables that nobody has zeroed; the kernel would do it now, on our time.
$busybox mount -t ext4 -o noatime,noinit_itable /dev/vda /new
$busybox tar xf /dev/vdb -C /new
$busybox mount --move /dev /new/dev
exec $busybox switch_root /new /lab/init.sh
