#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# guest-run.sh LIST...: runs the programs of the lists one after the other and
# prints one TAP stream, with the plan at the end. A line of a list is
#
#   [@SECONDS] COMMAND LINE
#
# SECONDS (120) is a hang limit: twice of it in a virtual machine, which may be slow
# and have others beside it, and six times on kernels with all checks. reflow.awk
# has the rules of what is a failure besides a failed result. In a guest the
# kernel's log is read after each program, so that a complaint is assigned to it.
#
# A program that fails is run again, at most twice, unless the kernel complained, the
# failure concerns data, or the program reached its limit: a slow machine never causes
# the first two, and three limits are longer than the gate may take. A program that
# passes then counts as passed, and a line "# FLAKY: ..." names it with its first
# failure; run-tiers.sh counts these lines. DD_TRIES=1 runs everything once.
# The last line is a comment with the numbers; exit status 1 when something failed.
set -uo pipefail

dir=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
total=0 failed=0 passed=0 skipped=0
TRIES=${DD_TRIES:-3}

# Failures that a second run must not hide: words of messages, and expressions that
# kselftest prints when it has compared data.
DATA='lost|twice|doubled|duplicate|corrupt|differ|wrong (byte|data|content|message)|KASAN|leak'
DATA+="|memcmp|filled|msgid|submitted|intact|all_zero|mem\.at|->data|Expected '"

# Lines of the kernel's log since mark() that report a problem.
mark() { [ -z "${DD_VM:-}" ] || echo "guest-run: $1" >/dev/kmsg; }
complaints() {
	[ -z "${DD_VM:-}" ] || dmesg | AFTER="guest-run: $1" "$dir/splats.sh"
}

# try_one NAME SECONDS LINE: sets $last, the number of the last result, $bad, $good
# and $skips, the numbers of results, and $splat.
try_one() {
	local token=$total-$RANDOM

	mark "$token"
	{
		timeout -k 5 "$2" bash -c "$3" </dev/null 2>&1
		echo "@status $?" | tee "$tmp/status"
	} | awk -f "$dir/reflow.awk" -v name="$1" -v n="$total" -v output="$tmp/output" \
		-v results="$tmp/results" -v counts="$tmp/counts"
	read -r last bad good skips <"$tmp/counts"
	splat=$(complaints "$token")
}

# Whether a slow machine may have caused the failure.
retriable() {
	[ -z "$splat" ] && [ "$try" -lt "$TRIES" ] &&
		[ "$(<"$tmp/status")" != '@status 124' ] &&
		! grep -E '^not ok|^# [^ ]+\.c:[0-9]+:' "$tmp/results" "$tmp/output" |
		grep -qE "$DATA"
}

# Seconds that the processors of a guest have worked.
busy() {
	local user nice system irq softirq _

	[ -n "${DD_VM:-}" ] || return
	read -r _ user nice system _ _ irq softirq _ </proc/stat
	echo $(((user + nice + system + irq + softirq) / 100))
}

run_one() {
	local limit=$1 line=$2 start=$SECONDS name try=1 why='' last bad good skips splat
	local busy

	name=${line##*/}
	name=${name#make -s }
	case ${DD_VM:-} in
	'') ;;
	debug | um | um-smp-debug | kcsan) limit=$((6 * limit)) ;;
	*) limit=$((2 * limit)) ;;
	esac
	echo "# $line"
	busy=$(busy)
	try_one "$name" "$limit" "$line"
	while [ "$bad" -gt 0 ] && retriable; do
		why=$(grep -m1 '^not ok' "$tmp/results")
		sed 's/^/# try '"$try"': /' "$tmp/results"
		try=$((try + 1))
		try_one "$name" "$limit" "$line"
	done
	printf '%s\n' "$(<"$tmp/results")"
	echo "# $((SECONDS - start)) s, of $limit${busy:+; processors: $(($(busy) - busy)) s: $line}"
	total=$last
	failed=$((failed + bad)) passed=$((passed + good)) skipped=$((skipped + skips))
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
for list in "${@:?list}"; do
	run_list "$list"
done
echo "1..$total"
echo "# $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
