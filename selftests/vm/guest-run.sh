#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# guest-run.sh LIST: runs the programs of a list one after the other and makes
# one TAP stream of theirs, its plan at the end. A line of the list is
#
#   [@SECONDS] COMMAND LINE
#
# Each has its own time limit (120 s; twice of it in a virtual machine, which may be
# slow and have others beside it, and thrice of that on slow kernels), and the
# kernel's log is looked at after each, so that a complaint is laid at somebody's
# door. A program fails also when results of its plan are missing,
# when it prints no plan, or when its exit status tells of a failure that its
# results do not.
#
# A program that fails is run again, at most twice, unless the kernel complained or
# the failure speaks of data: those are never accidents of a slow machine. One that
# passes then counts as passed, and a line "# FLAKY: ..." names it with what had
# failed; run-tiers.sh counts these. DD_TRIES=1 runs everything once.
# Exit status: 1 when something failed.
set -uo pipefail

dir=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
total=0
failed=0
TRIES=${DD_TRIES:-3}

# Failures that a second run must not hide.
DATA='lost|twice|doubled|duplicate|corrupt|differ|wrong (byte|data|content|message)|KASAN|leak'

# reflow NAME: TAP to TAP, numbered on from $total. The last line of the input
# is "@status N". Subtests, which are indented, are details. Details are printed at
# once; results go to a file, since a run that fails may be repeated.
reflow() {
	: >"$tmp/results"
	awk -v prog="$1" -v n="$total" -v counts="$tmp/counts" \
		-v results="$tmp/results" '
	function result(verdict, name) {
		print verdict " " ++n " " prog ": " name >results
		bad += verdict != "ok"
	}
	{ sub(/\r$/, "") }
	/^@status / { status = $2; next }
	/^K?TAP version / { next }
	/^1\.\.0 # *SKIP/ {
		sub(/^1..0 # */, "# ")
		result("ok", $0)
		skipped = 1
		next
	}
	/^1\.\.[0-9]+/ { plan += substr($1, 4); planned = 1; next }
	/^#  RUN / { running = $3 }
	/^(not )?ok( |$)/ {
		verdict = $1 == "ok" ? "ok" : "not ok"
		sub(/^(not )?ok *[0-9]* *(- )?/, "")
		seen++
		name = (/^#/ ? running " " : "") $0
		result(verdict, name)
		print "# " verdict ": " name
		fflush()
		next
	}
	/^[# ]/ { print; fflush(); next }
	{ print "# " $0; fflush() }
	END {
		how = status == 124 ? "ran out of time" : "exit status " status
		if (skipped && !seen)
			;
		else if (!seen && status == 4)
			result("ok", "# SKIP " how)
		else if (!planned)
			result("not ok", "printed no plan, " how)
		for (i = seen; i < plan; i++)
			result("not ok", "result " i + 1 " is missing, " how)
		if (seen > plan && planned)
			result("not ok", seen " results, but the plan was " plan)
		if (status != 0 && status != 4 && !bad)
			result("not ok", how)
		print n, bad + 0 >counts
	}'
}

# Lines of the kernel's log since mark() that mean something bad.
mark() { [ ! -w /dev/kmsg ] || echo "guest-run: $1" >/dev/kmsg; }
complaints() {
	[ -z "${DD_VM:-}" ] ||
		dmesg | sed "1,/guest-run: $1\$/d" | "$dir/splats.sh"
}

# try_one NAME SECONDS LINE: sets $bad, the number of failures, and $splat.
try_one() {
	local token=$total-$RANDOM

	mark "$token"
	{
		timeout -k 5 "$2" bash -c "$3" </dev/null 2>&1
		echo "@status $?"
	} | tee "$tmp/output" | reflow "$1"
	read -r last bad <"$tmp/counts"
	splat=$(complaints "$token")
}

# Whether what failed may be an accident of a slow machine.
retriable() {
	[ -z "$splat" ] && [ "$try" -lt "$TRIES" ] &&
		! grep -E '^not ok|^# [^ ]+\.c:[0-9]+:' "$tmp/results" "$tmp/output" |
		grep -qE "$DATA"
}

run_one() {
	local limit=$1 line=$2 start=$SECONDS name try=1 why='' last bad splat

	name=${line##*/}
	case ${DD_VM:-} in
	'') ;;
	debug | kcsan) limit=$((6 * limit)) ;;
	*) limit=$((2 * limit)) ;;
	esac
	echo "# $line"
	try_one "$name" "$limit" "$line"
	while [ "$bad" -gt 0 ] && retriable; do
		why=$(grep -m1 '^not ok' "$tmp/results")
		sed 's/^/# try '"$try"': /' "$tmp/results"
		try=$((try + 1))
		try_one "$name" "$limit" "$line"
	done
	cat "$tmp/results"
	echo "# $((SECONDS - start)) s, of $limit"
	total=$last
	failed=$((failed + bad))
	[ "$try" = 1 ] || [ "$bad" != 0 ] || [ -n "$splat" ] ||
		echo "# FLAKY: $line: passed at try $try, after: $why"
	if [ -n "$splat" ]; then
		echo "not ok $((++total)) $name: kernel: ${splat%%$'\n'*}"
		failed=$((failed + 1))
	fi
}

run_list() {
	local first rest

	while read -r first rest; do
		case $first in
		'' | '#'*) ;;
		@*) run_one "${first#@}" "$rest" ;;
		*) run_one 120 "$first${rest:+ $rest}" ;;
		esac
	done <"$1"
}

echo "TAP version 13"
run_list "${1:?list}"
echo "1..$total"
[ "$failed" = 0 ]
