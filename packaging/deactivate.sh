#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs before "make uninstall" removes the files: disables the service that
# starts at boot, and unloads the module unless it is in use.
set -eu

if [ -d /run/systemd/system ]; then
	systemctl disable --now dd-cluster 2>/dev/null || true
fi
[ ! -e /sys/module/dd ] || rmmod dd 2>/dev/null ||
	echo "dd stays loaded: stop its users, then rmmod dd; outside of a container" >&2
