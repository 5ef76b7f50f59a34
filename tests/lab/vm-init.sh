#!/bin/sh
# vm-init.sh: an emulated machine's first process: network, modules, and then a server for ssh. Should
# anything fail it ends, and with it the machine.
set -e
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mkdir /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
for place in /dev/shm /run /tmp; do
	mount -t tmpfs -o mode=1777 tmpfs "$place"
done
modprobe virtio_net
while read -r module; do
	modprobe "$module"
done </lab/modules
[ ! -e /lab/no-autoload ] || echo >/proc/sys/kernel/modprobe
ip link set lo up
ip link set eth0 up
ip address add 10.0.2.15/24 dev eth0
exec dropbear -F -E -s -p 22 -r /lab/host_key
