#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs after an installation on this machine: creates the group that may open
# /dev/dd and applies the rule that gives it the device, without a restart.
set -eu

getent group dd >/dev/null ||
	systemd-sysusers dd.conf 2>/dev/null || groupadd --system dd 2>/dev/null ||
	echo "the group dd could not be created: create it yourself" >&2

if command -v udevadm >/dev/null && [ -e /run/udev/control ]; then
	udevadm control --reload
	[ ! -e /dev/dd ] || udevadm trigger --name-match=/dev/dd
else
	echo "udev does not run here: give /dev/dd to the group dd yourself" >&2
fi
