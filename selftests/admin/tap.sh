# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# For the scripts that run ddctl; sourced, never run.

# shellcheck source=selftests/vm/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../vm/tap.sh"

# exits NAME STATUS COMMAND...: one test: COMMAND exits with STATUS and, unless that
# is 0 or 6, prints an error.
exits() {
	local name=$1 want=$2

	shift 2
	run "$@"
	check "$name" status_is "$want"
}

status_is() {
	[ "$status" = "$1" ] || return
	[ "$1" = 0 ] || [ "$1" = 6 ] || has_line "$ERR" '^ddctl: '
}
