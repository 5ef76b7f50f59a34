#!/bin/sh
# SPDX-License-Identifier: MIT
# shellcheck shell=busybox
#
# test.sh PACKAGE VERSION: run by the feed's CI where the package has just been installed.

case "$1" in
routerbench)
	said=$(routerbench --version) || exit 1
	if [ "$said" != "routerbench $2" ]; then
		echo "--version says '$said', the package is $2" >&2
		exit 1
	fi

	# One JSON object, made with the modules of python3-light alone.
	routerbench info --quiet | python3 -c 'import json, sys; json.load(sys.stdin)["tests"]'
	;;

*)
	echo "Untested package: $1" >&2
	exit 1
	;;
esac
