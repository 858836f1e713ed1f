#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Before what is installed on this machine is removed: nothing of it starts at
# the next boot, and nothing of it runs any more, if nobody needs it.
set -eu

if [ -d /run/systemd/system ]; then
	systemctl disable --now dd-cluster 2>/dev/null || true
fi
[ ! -e /sys/module/dd ] || rmmod dd 2>/dev/null ||
	echo "dd is in use, and stays loaded: stop its users, then rmmod dd" >&2
