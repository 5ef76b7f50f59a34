#!/bin/bash
# setup.sh: install what the lab needs on this machine, if it is not there.
# shellcheck source=/dev/null
. "$(dirname "$0")/common.sh"

alone setup
install_packages mmdebstrap qemu-user-static openvpn debian-archive-keyring openssh-client openssl \
	dropbear-bin iproute2
