#!/bin/bash
# setup.sh: install what the lab needs on this machine, if it is not there.
# shellcheck source=/dev/null
. "$(dirname "$0")/common.sh"
packages=(mmdebstrap qemu-user-static openvpn debian-archive-keyring openssh-client openssl
	dropbear-bin iproute2)

alone setup
# shellcheck disable=SC2016  # dpkg's own variable
states=$(dpkg-query -W -f '${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
[ "$(grep -cx installed <<<"$states")" = "${#packages[@]}" ] && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get -o DPkg::Lock::Timeout=300 update >&2
apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${packages[@]}" >&2 9>&-
