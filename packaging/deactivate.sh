#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs before "make uninstall" removes the files: disables the services that
# start at boot, and unloads the module unless it is in use.
set -eu

if [ -d /run/systemd/system ]; then
	for unit in vmmcsvr rmclerk dd-cluster; do
		systemctl disable --now $unit 2>/dev/null || true
	done
fi
[ ! -e /sys/module/dd ] || rmmod dd 2>/dev/null ||
	echo "dd stays loaded: stop its users, then rmmod dd; outside of a container" >&2
