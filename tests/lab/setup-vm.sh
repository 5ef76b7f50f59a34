#!/bin/bash
# setup-vm.sh ARCH: install what an emulated machine of the lab needs on this one, if it is not there:
# mipsel, amd64 or ppc64el. Apart from setup.sh, for these are big and few tests boot a machine.
# shellcheck source=/dev/null
. "$(dirname "$0")/common.sh"
case ${1:?usage: setup-vm.sh ARCH} in
mipsel) qemu='qemu-system-mips' ;;
amd64) qemu='qemu-system-x86' ;;
ppc64el) qemu='qemu-system-ppc' ;;
*) die "not mipsel, amd64 or ppc64el: $1" ;;
esac

alone setup
install_packages "$qemu" cpio e2fsprogs kmod
