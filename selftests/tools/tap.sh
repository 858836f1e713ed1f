# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# TAP for the scripts of this directory.

set -u
PLANNED=0 RAN=0 BAD=0

plan() {
	PLANNED=$1
	echo "TAP version 13"
	echo "1..$1"
}

diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

# check NAME COMMAND...
check() {
	local name=$1

	shift
	RAN=$((RAN + 1))
	if "$@"; then
		echo "ok $RAN $name"
	else
		BAD=$((BAD + 1))
		echo "not ok $RAN $name"
	fi
}

skip() {
	RAN=$((RAN + 1))
	echo "ok $RAN $1 # SKIP $2"
}

finish() {
	[ "$RAN" = "$PLANNED" ] || diag "$RAN tests of $PLANNED have run"
	[ "$RAN" = "$PLANNED" ] && [ "$BAD" = 0 ]
	exit
}
