# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# TAP for the scripts of this directory.

set -u
PLANNED=0 RAN=0 BAD=0

# What a test waits for comes within this, in seconds, on a busy machine too.
PATIENCE=60

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

# --- processes ---------------------------------------------------------------

# Everything below happens in a directory of its own.
scratch() {
	HOLD=$(mktemp -d)
	trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$HOLD"' EXIT
	cd "$HOLD" || exit 1
}

# within SECONDS COMMAND...: it becomes true in time. State is what is waited
# for; the bound is there for what never comes.
within() {
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}

has_line() { [ -e "$1" ] && grep -q -- "$2" "$1"; }

gone() { ! kill -0 "$1" 2>/dev/null; }

# exited PID CODE [LOG]...: the background process ends in time, with CODE.
exited() {
	local got=0

	within "$PATIENCE" gone "$1" || diag "process $1 is still there"
	gone "$1" || kill -9 "$1"
	wait "$1" || got=$?
	[ "$got" = "$2" ] && return
	diag "exit code $got, not $2"
	shift 2
	[ $# = 0 ] || diag "$(tail -n 3 "$@" 2>&1)"
	return 1
}

# refused CODE PATTERN COMMAND...: it fails with CODE and says PATTERN.
refused() {
	local code=$1 pattern=$2 got=0

	shift 2
	timeout "$PATIENCE" "$@" >refused.out 2>refused.err </dev/null || got=$?
	[ "$got" = "$code" ] && grep -q -- "$pattern" refused.err && return
	diag "$*: exit code $got, not $code: $(cat refused.err)"
	return 1
}
