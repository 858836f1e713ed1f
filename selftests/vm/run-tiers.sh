#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run-tiers.sh [TIER]...: builds everything that tests need, runs the tiers of
# selftests/vm/tiers (all that are part of the gate) and sums up; the last line is
# "N passed, N failed, N skipped".
#
# A tier is an executable NAME.sh that prints TAP, see reflow.awk.
# selftests/vm/tiers/PLAN has for each tier the number of results without skips, a
# hang limit in seconds, and words:
#
#   aside	runs beside the tiers that are not, with lower priority, its virtual
#		machines in a queue of their own, and its output comes last; or after
#		the others, if it has not begun by then. In the order of PLAN's lines:
#		the longest first
#   last	runs after all the others
#   nightly	runs only when named; "make nightly" names all tiers
#
# Fewer results than PLAN says are a failure, more are reported. A tier without a
# line in PLAN, or a line without a tier, is a failure.
#
# The report lists the programs that took most processor time.
# A program that passed only when it was repeated (guest-run.sh) is listed as flaky.
# More than FLAKY_MAX of them, or one that was flaky in one of the last FLAKY_RUNS
# runs of all tiers on this machine as well, are a failure.
set -uo pipefail
# shellcheck source=selftests/vm/common.sh
. "$(dirname "$0")/common.sh"
cd "$TOP" || exit 1

TIERS=${DD_TIERS:-selftests/vm/tiers}	# another place when testing this
PLAN=$TIERS/PLAN
LOGS=$TOP/build/test${DD_TIERS:+/harness}
SUMS=$LOGS/sums
NAMES=$LOGS/names
TIMES=$LOGS/times
ASIDE=$LOGS/aside
QUEUE=$LOGS/queue
ASIDE_NICE=1
TOP_TIMES=40
FLAKY_MAX=3
FLAKY_RUNS=20
HISTORY=${DD_FLAKY:-$DD_CACHE/flaky}

all_tiers() {
	{
		find "$TIERS" -name '[0-9]*.sh' -printf '%f\n' | sed 's/\.sh$//'
		awk '!/^#/ && NF { print $1 }' "$PLAN"
	} | sort -u
}

# in_plan TIER: the other words of its line.
in_plan() { awk -v t="$1" '$1 == t { $1 = ""; print }' "$PLAN"; }

# name_results TIER: failures, skips and flaky programs, for the end of the report, and times.
name_results() {
	sed -nE "s/^not ok [0-9]+ /failed: /p; s/^ok [0-9]+ (.*# *SKIP)/skipped: \1/Ip
		s/^# FLAKY: /flaky: $1: /p" "$LOGS/$1.log" >>"$NAMES"
	sed -n "s/^# .*; processors: \([0-9]* s\): /\1 $1: /p" "$LOGS/$1.log" >>"$TIMES"
}

bad_tier() {
	echo "$1 0 1 0 0 0" >>"$SUMS"
	echo "failed: $1: $2" >>"$NAMES"
}

# run_tier TIER LEAST SECONDS: one line to SUMS, names to NAMES. Processor time is
# that of all processes that have ended.
run_tier() {
	local tier=$1 start=$SECONDS out reader passed failed skipped user system
	local TIMEFORMAT='%U %S'

	echo "# tier $tier"
	exec {out}> >(awk -f "$VM_DIR/reflow.awk" -v name="$tier" -v least="$2" \
		-v counts="$LOGS/$tier.counts" | tee "$LOGS/$tier.log")
	reader=$!
	{ time setpriv --pdeathsig TERM timeout -k 10 "$3" "$TIERS/$tier.sh" \
		</dev/null >&$out 2>&1; } 2>"$LOGS/$tier.time"
	echo "@status $?" >&$out
	exec {out}>&-
	wait $reader
	read -r _ failed passed skipped <"$LOGS/$tier.counts"
	read -r user system < <(tail -n 1 "$LOGS/$tier.time")
	echo "$tier $passed $failed $skipped $((SECONDS - start)) $user $system" >>"$SUMS"
	name_results "$tier"
	[ $((passed + failed)) -le "$2" ] ||
		echo "more: $tier: $((passed + failed)) results, PLAN has $2" >>"$NAMES"
}

planned_or_fail() {
	local least seconds _

	read -r least seconds _ < <(in_plan "$1")
	if [ -n "${seconds:-}" ] && [ -x "$TIERS/$1.sh" ]; then
		run_tier "$1" "$least" "$seconds"
	else
		bad_tier "$1" "needs $TIERS/$1.sh and a line in $PLAN"
	fi
}

is() { [[ " $(in_plan "$1") " == *" $2 "* ]]; }

# take: takes the first tier from the queue of those aside.
take() { flock "$LOGS" sed -n -i -e '1w /dev/stdout' -e '1!p' "$QUEUE"; }

# run_one TIER. setpriv: a signal ends the tier that runs, instead of waiting for it.
run_one() {
	planned_or_fail "$1" &
	wait $!
}

# run_queue: tiers of the queue, until it is empty.
run_queue() {
	local tier

	while tier=$(take) && [ "$tier" ]; do
		run_one "$tier"
	done
}

run_aside() {
	renice -n $ASIDE_NICE -p "$BASHPID" >/dev/null
	export DD_VM_LOCK=aside START_TIME=300
	trap stop EXIT
	run_queue >"$ASIDE"
}

# Reads the process table: a variable would be set after the child began, and a
# signal may come between.
stop() { pkill -TERM -P "$BASHPID"; }

# The history has a line "run" for each run of all tiers, after one line for each program
# that was flaky in it: its tier and command line.
judge_flaky() {
	local count program

	sed -n 's/^flaky: \([^ ]*: [^:]*\):.*/\1/p' "$NAMES" | sort >"$LOGS/flaky"
	count=$(wc -l <"$LOGS/flaky")
	[ "$count" -le "$FLAKY_MAX" ] ||
		bad_tier flaky "$count programs passed only when repeated"
	while read -r program; do
		tac "$HISTORY" | awk -v max="$FLAKY_RUNS" \
			'$0 == "run" && n++ == max - 1 { exit } { print }' |
			grep -qxF "$program" || continue
		bad_tier flaky "flaky again within $FLAKY_RUNS runs: $program"
	done <"$LOGS/flaky"
	[ "$named" ] || { cat "$LOGS/flaky"; echo run; } >>"$HISTORY"
}

# In a log that shows only its end, failures come last; before them flaky programs, and the
# table.
report() {
	exec 9>>"$HISTORY"
	flock 9
	judge_flaky
	exec 9>&-
	sort -o "$SUMS" "$SUMS"
	echo
	sort -rn "$TIMES" | head -n "$TOP_TIMES" | sed 's/^/processors: /'
	grep '^skipped:' "$NAMES"
	echo
	awk -v cpus="$(nproc)" -v built="$BUILT" -v took="$SECONDS" '
	BEGIN { row = "%-24s %7s %7s %7s %7s %9s\n"
		printf row, "tier", "passed", "failed", "skipped", "seconds", "CPU min" }
	{ cpu = ($6 + $7) / 60
	  printf row, $1, $2, $3, $4, $5, sprintf("%.1f", cpu)
	  for (i = 2; i <= 5; i++) sum[i] += $i
	  total += cpu }
	END { printf row, "all", sum[2] + 0, sum[3] + 0, sum[4] + 0, sum[5] + 0, sprintf("%.1f", total)
	  printf "%.0f minutes to build, and %.0f for the tests, at least %.0f on %d processors\n",
		built / 60, (took - built) / 60, total / cpus, cpus }' "$SUMS"
	echo
	grep -v '^skipped:' "$NAMES" | sort -r -s -t: -k1,1
	awk '{ p += $2; f += $3; s += $4 }
	END {
		printf "%d passed, %d failed, %d skipped\n", p, f, s
		exit f > 0 || p == 0
	}' "$SUMS"
}

# Nothing can be tested that cannot be built.
prepare() {
	make -s deps kernels user selftests && return
	bad_tier build "make deps kernels user selftests"
	report
	exit 1
}

mkdir -p "$LOGS"
: >"$SUMS"
: >"$NAMES"
: >"$TIMES"
mapfile -t tiers < <(all_tiers)
named=''
case ${1:-} in
'') ;;
all) nightly=yes ;;
*) tiers=("$@") nightly=yes named=yes ;;
esac
BUILT=0
[ "$named" ] || rm -f "$LOGS"/*.log
[ -n "${DD_TIERS:-}" ] || prepare
BUILT=$SECONDS
here=() aside=() last=() beside=''
for tier in "${tiers[@]}"; do
	if is "$tier" nightly && [ -z "${nightly:-}" ]; then continue; fi
	if is "$tier" aside; then
		aside+=("$tier")
	elif is "$tier" last; then
		last+=("$tier")
	else
		here+=("$tier")
	fi
done
trap stop EXIT
trap exit INT TERM
awk '{ print $1 }' "$PLAN" | grep -xF "$(printf '%s\n' "${aside[@]}")" >"$QUEUE"
if [ ${#aside[@]} != 0 ]; then
	run_aside &
	beside=$!
fi
for tier in "${here[@]}"; do
	run_one "$tier"
done
run_queue
if [ "$beside" ]; then
	wait "$beside"
	cat "$ASIDE"
fi
for tier in "${last[@]}"; do
	run_one "$tier"
done
report
