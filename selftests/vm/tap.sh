# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# TAP for the scripts of the tests; sourced, never run. A script calls finish
# last. With plan N first, fewer tests than planned is a failure, unless MATCH selects some.

set -u
PLANNED='' RAN=0 BAD=0

# Hang limit of one wait, in seconds: tests wait for states.
PATIENCE=60

# Removed at the end, with every process that the script started.
TAP_DIR=$(mktemp -d)
OUT=$TAP_DIR/out
ERR=$TAP_DIR/err
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$TAP_DIR"' EXIT

plan() {
	[ -z "${MATCH:-}" ] || return 0
	PLANNED=$1
	echo "TAP version 13"
	echo "1..$1"
}

# Without a process: guests with all checks start few of them in a second.
diag() {
	local text=$*

	printf '# %s\n' "${text//$'\n'/$'\n# '}"
}

pass() { echo "ok $((++RAN)) $1"; }

# fail NAME [REASON]
fail() {
	BAD=$((BAD + 1))
	echo "not ok $((++RAN)) $1${2:+ ($2)}"
}

# check NAME COMMAND...: one test, passed if COMMAND succeeds. Comments that COMMAND
# prints are shown; after a failure all its output, and the output of run(). If
# MATCH is set, only the tests whose names this regular expression matches are run.
check() {
	local name=$1 line

	[[ $name =~ ${MATCH:-.} ]] || return 0
	shift
	if "$@" >"$TAP_DIR/check" 2>&1; then
		pass "$name"
		while IFS= read -r line; do
			[[ $line != '# '* ]] || printf '%s\n' "$line"
		done <"$TAP_DIR/check"
		return
	fi
	fail "$name"
	diag "failed: $*"
	sed 's/^/# /' "$TAP_DIR/check"
	[ ! -f "$OUT" ] || show_output
}

# explain PROGRAM...: each refuses an argument by its usage, which has its name.
explain() {
	local program status

	for program; do
		status=0
		"$program" nothing 2>"$TAP_DIR/usage" || status=$?
		[ $status = 2 ] && grep -q "usage: .*${program##*/} \|${program##*/}: usage: " "$TAP_DIR/usage" || return
	done
}

skip() { echo "ok $((++RAN)) $1 # SKIP $2"; }

finish() {
	[ "$PLANNED" ] || echo "1..$RAN"
	[ "$RAN" = "${PLANNED:-$RAN}" ] || fail "$RAN tests of $PLANNED have run"
	[ "$BAD" = 0 ] || exit 1
}

# --- commands ----------------------------------------------------------------

show_output() {
	diag "status $status"
	sed 's/^/# out: /' "$OUT" | head -n 20
	sed 's/^/# err: /' "$ERR" | head -n 20
}

# run COMMAND...: leaves $status, $OUT and $ERR.
run() {
	status=0
	"$@" >"$OUT" 2>"$ERR" </dev/null || status=$?
}

# exits NAME STATUS COMMAND...: one test: COMMAND exits with STATUS and, unless that
# is 0 or 6, prints an error of ddctl.
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

# silent COMMAND...: it succeeds and prints nothing.
silent() {
	local out

	out=$("$@" 2>&1) && [ -z "$out" ] && return
	echo "$out"
	return 1
}

# one_write COMMAND...: each message on standard error is one write() of whole
# lines. A socket preserves the boundaries.
one_write() {
	python3 - "$@" <<-'EOT'
	import socket, subprocess, sys
	ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
	subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL,
	               stdout=subprocess.DEVNULL, stderr=its)
	its.close()
	writes = list(iter(lambda: ours.recv(65536), b""))
	sys.exit(not writes or not all(w.endswith(b"\n") for w in writes))
	EOT
}

# --- processes ---------------------------------------------------------------

# scratch: work in an empty directory.
scratch() {
	HOLD=$TAP_DIR/scratch
	mkdir "$HOLD" && cd "$HOLD" || exit 1
}

# nap MILLISECONDS, fewer than 1,000, without a process: nothing is ever written to
# the pipe.
exec {NAP}<> <(:)
nap() {
	local seconds

	printf -v seconds '0.%03d' "$1"
	read -r -t "$seconds" -u "$NAP"
}

# within SECONDS COMMAND...: repeat COMMAND until it succeeds; SECONDS is a hang
# limit.
within() {
	local end=$((SECONDS + $1)) pause=20

	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		nap $pause
		pause=$((pause < 320 ? 2 * pause : pause))
	done
}

# has_line FILE PATTERN: the file has a line that the regular expression matches.
has_line() {
	local line

	[ -e "$1" ] || return
	while IFS= read -r line || [ "$line" ]; do
		[[ ! $line =~ $2 ]] || return 0
	done <"$1"
	return 1
}

gone() { ! kill -0 "$1" 2>/dev/null; }

# ended PID: a child of this shell has ended, with all its threads. bash sometimes does not reap
# until "wait".
ended() {
	local stat words

	read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
	read -ra words <<<"${stat##*) }"
	[ "${words[0]} ${words[17]}" = 'Z 1' ]
}

# exited PID CODE [LOG]...: the background process ends with CODE within PATIENCE.
exited() {
	local got=0

	within "$PATIENCE" ended "$1" || diag "process $1 is still there"
	ended "$1" || kill -9 "$1"
	wait "$1" || got=$?
	[ "$got" = "$2" ] && return
	diag "exit code $got, not $2"
	shift 2
	[ $# = 0 ] || diag "$(tail -n 3 "$@" 2>&1)"
	return 1
}

# refused CODE PATTERN COMMAND...: it fails with CODE and a message that matches.
refused() {
	local code=$1 pattern=$2 got=0

	shift 2
	timeout "$PATIENCE" "$@" >refused.out 2>refused.err </dev/null || got=$?
	[ "$got" = "$code" ] && has_line refused.err "$pattern" && return
	diag "$*: exit code $got, not $code: $(<refused.err)"
	return 1
}
