# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# TAP for the scripts of this folder; sourced, never run. A script calls
# plan N first and finish last; running fewer tests than planned is a failure.

TAP_DIR=$(mktemp -d)
trap 'rm -rf "$TAP_DIR"' EXIT
OUT=$TAP_DIR/out
ERR=$TAP_DIR/err
tap_planned=0
tap_run=0
tap_failed=0

plan() {
	tap_planned=$1
	echo "TAP version 13"
	echo "1..$1"
}

ok() { echo "ok $((++tap_run)) $*"; }

not_ok() {
	((++tap_failed))
	echo "not ok $((++tap_run)) $*"
}

skip() { echo "ok $((++tap_run)) $1 # SKIP $2"; }

# What the last command said, for people who look at a failure.
show_output() {
	echo "# status $status"
	sed 's/^/# out: /' "$OUT" | head -n 20
	sed 's/^/# err: /' "$ERR" | head -n 20
}

# run COMMAND...: leaves $status, $OUT and $ERR.
run() {
	status=0
	"$@" >"$OUT" 2>"$ERR" </dev/null || status=$?
}

# check NAME COMMAND...: one test, passed if COMMAND succeeds.
check() {
	local name=$1

	shift
	if "$@" >/dev/null 2>"$TAP_DIR/check"; then
		ok "$name"
	else
		not_ok "$name"
		echo "# failed: $*"
		sed 's/^/# /' "$TAP_DIR/check"
		show_output
	fi
}

# exits NAME STATUS COMMAND...: one test, passed if COMMAND exits with STATUS,
# and says why on standard error if that is not 0.
exits() {
	local name=$1 want=$2

	shift 2
	run "$@"
	check "$name" exited "$want"
}

exited() {
	[ "$status" = "$1" ] || return
	[ "$1" = 0 ] || [ "$1" = 6 ] || grep -q '^ddctl: ' "$ERR"
}

finish() {
	if [ $tap_run != "$tap_planned" ]; then
		echo "# $tap_run tests run, $tap_planned planned"
		exit 1
	fi
	[ $tap_failed = 0 ] || exit 1
}
