#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run-tiers.sh [TIER]...: builds all that tests need, runs the tiers of
# selftests/vm/tiers (all) and sums up; the last line is "N passed, N failed, N skipped".
#
# A tier is an executable NN-name.sh that prints TAP: one stream, or several one
# after the other, each with its plan before or after its results. Results begin
# a line; what is indented or begins with "#" is detail. selftests/vm/tiers/PLAN
# has for each tier the least number of results other than skips, the seconds
# that it may take, and "aside" if it runs beside the others: one such tier after
# the other, nice to these, their virtual machines in a queue of their own. What
# they print comes last.
#
# Besides what a tier says itself, these are failures: results that are missing
# from the plan or the least number, or beyond the plan; no plan; an exit status
# that tells of a failure when no result does; a tier that PLAN does not have,
# and the other way round.
#
# A program that passed only when it was repeated (guest-run.sh) is listed as flaky.
# More than FLAKY_MAX of them, or one that was flaky in one of the last FLAKY_RUNS
# runs on this machine as well, are a failure.
set -uo pipefail
# shellcheck source=selftests/vm/common.sh
. "$(dirname "$0")/common.sh"
cd "$TOP" || exit 1

TIERS=${DD_TIERS:-selftests/vm/tiers}	# another place when testing this
PLAN=$TIERS/PLAN
LOGS=$TOP/build/test${DD_TIERS:+/harness}
SUMS=$LOGS/sums
NAMES=$LOGS/names
ASIDE=$LOGS/aside
ASIDE_NICE=1
FLAKY_MAX=3
FLAKY_RUNS=20
HISTORY=${DD_FLAKY:-$DD_CACHE/flaky}

all_tiers() {
	{
		find "$TIERS" -name '[0-9]*.sh' -printf '%f\n' | sed 's/\.sh$//'
		awk '!/^#/ && NF { print $1 }' "$PLAN"
	} | sort -u
}

# sum_up TIER MINIMUM SECONDS STATUS <log: one line to SUMS, names to NAMES.
sum_up() {
	awk -v tier="$1" -v least="$2" -v secs="$3" -v status="$4" \
		-v sums="$SUMS" -v names="$NAMES" '
	function name(verdict, what) {
		print verdict ": " tier ": " what >>names
	}
	function fail(what, count) {
		failed += count
		name("failed", what)
	}
	{ sub(/\r$/, "") }
	/^1\.\.[0-9]+/ {
		planned = 1
		plan += substr($1, 4)
		if (/^1\.\.0 *# *SKIP/) {
			sub(/^1\.\.0 *# */, "")
			skipped++
			plan++
			name("skipped", $0)
		}
		next
	}
	/^not ok/ { fail($0, 1) }
	/^ok( |$)/ {
		if (/# *[Ss][Kk][Ii][Pp]/) {
			skipped++
			name("skipped", $0)
		} else {
			passed++
		}
	}
	/^Bail out!/ { fail($0, 1) }
	/^# FLAKY: / { sub(/^# FLAKY: /, ""); name("flaky", $0) }
	END {
		how = status == 124 ? "ran out of time" : "exit status " status
		seen = passed + failed + skipped
		missing = plan - seen
		if (least - passed - failed > missing)
			missing = least - passed - failed
		if (!planned)
			fail("printed no plan, " how, 1)
		if (missing > 0)
			fail(missing " results are missing, " how, missing)
		if (planned && seen > plan)
			fail(seen " results, but the plan was " plan, 1)
		if (status != 0 && !failed)
			fail(how, 1)
		print tier, passed + 0, failed + 0, skipped + 0, secs >>sums
	}'
}

# run_tier TIER MINIMUM SECONDS
run_tier() {
	local tier=$1 start=$SECONDS status

	echo "# tier $tier"
	setpriv --pdeathsig TERM timeout -k 10 "$3" "$TIERS/$tier.sh" \
		</dev/null 2>&1 | tee "$LOGS/$tier.log"
	status=${PIPESTATUS[0]}
	sum_up "$tier" "$2" $((SECONDS - start)) "$status" <"$LOGS/$tier.log"
}

# in_plan TIER: its line's other words.
in_plan() { awk -v t="$1" '$1 == t { print $2, $3, $4 }' "$PLAN"; }

planned_or_fail() {
	local least seconds _

	read -r least seconds _ < <(in_plan "$1")
	if [ -n "${seconds:-}" ] && [ -x "$TIERS/$1.sh" ]; then
		run_tier "$1" "$least" "$seconds"
	else
		echo "$1 0 1 0 0" >>"$SUMS"
		echo "failed: $1: needs $TIERS/$1.sh and a line in $PLAN" >>"$NAMES"
	fi
}

is_aside() { [[ $(in_plan "$1") == *" aside" ]]; }

# run_lane TIER...: one after the other. A signal does not wait for the end of one,
# and ends it: setpriv.
run_lane() {
	local tier

	for tier; do
		planned_or_fail "$tier" &
		wait $!
	done
}

run_aside() {
	renice -n $ASIDE_NICE -p "$BASHPID" >/dev/null
	export DD_VM_LOCK=aside START_TIME=300
	trap stop EXIT
	run_lane "$@" >"$ASIDE"
}

# By the table of processes: a variable would be set after the child began, and
# a signal may come between.
stop() { pkill -TERM -P "$BASHPID"; }

# The history has a line "run" for each run, and before it one for each program
# that was flaky in it: its tier and command line.
judge_flaky() {
	local count program

	sed -n 's/^flaky: \([^ ]*: [^:]*\):.*/\1/p' "$NAMES" | sort >"$LOGS/flaky"
	count=$(wc -l <"$LOGS/flaky")
	touch "$HISTORY"
	if [ "$count" -gt "$FLAKY_MAX" ]; then
		echo "flaky 0 1 0 0" >>"$SUMS"
		echo "failed: $count programs passed only when repeated" >>"$NAMES"
	fi
	while read -r program; do
		tac "$HISTORY" | awk -v max="$FLAKY_RUNS" \
			'$0 == "run" && n++ == max - 1 { exit } { print }' |
			grep -qxF "$program" || continue
		echo "flaky 0 1 0 0" >>"$SUMS"
		echo "failed: flaky again within $FLAKY_RUNS runs: $program" >>"$NAMES"
	done <"$LOGS/flaky"
	{ cat "$LOGS/flaky"; echo run; } >>"$HISTORY"
}

report() {
	judge_flaky
	sort -o "$SUMS" "$SUMS"
	echo
	awk '
	BEGIN { row = "%-24s %7s %7s %7s %7s\n"
		printf row, "tier", "passed", "failed", "skipped", "seconds" }
	{ printf row, $1, $2, $3, $4, $5
	  for (i = 2; i <= 5; i++) sum[i] += $i }
	END { printf row, "all", sum[2], sum[3], sum[4], sum[5] }' "$SUMS"
	echo
	cat "$NAMES"
	awk '{ p += $2; f += $3; s += $4 }
	END {
		printf "%d passed, %d failed, %d skipped\n", p, f, s
		exit f > 0 || p == 0
	}' "$SUMS"
}

# Nothing can be tested that cannot be built.
prepare() {
	make -s deps kernels user selftests && return
	echo "build 0 1 0 0" >>"$SUMS"
	echo "failed: build: make deps kernels user selftests" >>"$NAMES"
	report
	exit 1
}

mkdir -p "$LOGS"
: >"$SUMS"
: >"$NAMES"
[ -n "${DD_TIERS:-}" ] || prepare
[ $# -gt 0 ] || {
	mapfile -t tiers < <(all_tiers)
	set -- "${tiers[@]}"
}
here=() aside=() beside=''
for tier; do
	if is_aside "$tier"; then aside+=("$tier"); else here+=("$tier"); fi
done
trap stop EXIT
trap exit INT TERM
if [ ${#aside[@]} != 0 ]; then
	run_aside "${aside[@]}" &
	beside=$!
fi
run_lane "${here[@]}"
if [ "$beside" ]; then
	wait "$beside"
	cat "$ASIDE"
fi
report
