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
# results do not. Exit status: 1 when something failed.
set -uo pipefail

dir=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
total=0
failed=0

# reflow NAME: TAP to TAP, numbered on from $total. The last line of the input
# is "@status N". Subtests, which are indented, are details.
reflow() {
	awk -v prog="$1" -v n="$total" -v counts="$tmp/counts" '
	function result(verdict, name) {
		print verdict " " ++n " " prog ": " name
		bad += verdict != "ok"
		fflush()
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
		result(verdict, (/^#/ ? running " " : "") $0)
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

run_one() {
	local limit=$1 line=$2 start=$SECONDS name token bad splat

	name=${line##*/}
	token=$total-$RANDOM
	case ${DD_VM:-} in
	'') ;;
	debug | kcsan) limit=$((6 * limit)) ;;
	*) limit=$((2 * limit)) ;;
	esac
	mark "$token"
	echo "# $line"
	{
		timeout -k 5 "$limit" bash -c "$line" </dev/null 2>&1
		echo "@status $?"
	} | reflow "$name"
	echo "# $((SECONDS - start)) s, of $limit"
	read -r total bad <"$tmp/counts"
	failed=$((failed + bad))
	splat=$(complaints "$token")
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
