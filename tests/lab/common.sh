# shellcheck shell=bash
# Sourced by the other scripts: where the lab lives, and one user at a time for what must not be
# done twice at once.
set -euo pipefail

LAB=${ROUTERBENCH_LAB:-${TMPDIR:-/tmp}/routerbench-lab}

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

[ "$(id -u)" = 0 ] || die 'needs root'
command -v apt-get >/dev/null || die 'needs a Debian-like system with apt'
mkdir -p "$LAB"
[ -O "$LAB" ] || die "$LAB belongs to somebody else"
LAB=$(cd "$LAB" && pwd -P)

# alone NAME: wait until no other script holds NAME, then hold it until this script ends.
alone() {
	exec 9>"$LAB/$1.lock"
	flock 9
}

# install_packages PACKAGE...: what is not yet there of these packages of this machine's own.
install_packages() {
	local states
	# shellcheck disable=SC2016  # dpkg's own variable
	states=$(dpkg-query -W -f '${db:Status-Status}\n' "$@" 2>/dev/null || true)
	[ "$(grep -cx installed <<<"$states")" = $# ] && return
	export DEBIAN_FRONTEND=noninteractive
	apt-get -o DPkg::Lock::Timeout=300 update >&2
	apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@" >&2 9>&-
}

# The mirror that apt uses on this machine; nothing on a system that is not Debian itself, where
# mmdebstrap knows one.
mirror() {
	if [ -n "${ROUTERBENCH_LAB_MIRROR:-}" ]; then
		echo "$ROUTERBENCH_LAB_MIRROR"
	else
		# shellcheck disable=SC2016  # apt's own variable
		apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
			awk '!/-security/ { print; exit }'
	fi
}

# unpack NAME PACKAGES DIRECTORY: a Debian root of SUITE-ARCH, without running a maintainer script.
unpack() {
	local suite=${1%%-*} arch=${1#*-} url args
	args=(--quiet --variant=extract --architectures="$arch" --include="$2"
		--keyring=/usr/share/keyrings/debian-archive-keyring.gpg
		--aptopt='Acquire::Languages "none"'
		# A testing suite's Release file counts as expired a week after it was made.
		--aptopt='Acquire::Check-Valid-Until "false"')
	rm -rf "$3"
	url=$(mirror)
	mmdebstrap "${args[@]}" "$suite" "$3" ${url:+"$url"} >"$3.log" 2>&1 || {
		tail -n 20 "$3.log" >&2
		die "no root $1"
	}
	rm "$3.log"
}
