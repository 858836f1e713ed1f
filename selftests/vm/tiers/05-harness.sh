#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The scripts that run tests notice each way in which a test can fail.
# shellcheck disable=SC2317 # functions that check calls
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/../tier.sh"

TMP=$(mktemp -d)
trap 'rm -rf "$TMP" "$TAP_DIR"' EXIT

# list_says PATTERN STATUS: a run of $TMP/list has a line that matches, and STATUS.
list_says() {
	local status=0

	selftests/vm/guest-run.sh "$TMP/list" >"$TMP/out" || status=$?
	grep -qE "$1" "$TMP/out" && [ "$status" = "$2" ] && return
	cat "$TMP/out"
	return 1
}

# in_list NAME LINE PATTERN STATUS
in_list() {
	echo "$2" >"$TMP/list"
	check "list: $1" list_says "$3" "$4"
}

# tier_says LINE LAST: a run of the tier in $TMP prints such a line, and LAST last.
tier_says() {
	# shellcheck disable=SC2086 # no word, or one
	DD_TIERS=$TMP DD_FLAKY=$TMP/flaky selftests/vm/run-tiers.sh ${ONLY:-} \
		>"$TMP/out" 2>&1
	grep -qE "$1" "$TMP/out" && [ "$(tail -n 1 "$TMP/out")" = "$2" ] && return
	cat "$TMP/out"
	return 1
}

# in_tier NAME BODY PATTERN LAST: PLAN says 2 results.
in_tier() {
	printf '#!/bin/sh\n%s\n' "$2" >"$TMP/1-x.sh"
	chmod +x "$TMP/1-x.sh"
	echo "1-x 2 ${SECONDS_ALLOWED:-30} ${WORDS:-}" >"$TMP/PLAN"
	check "tier: $1" tier_says "$3" "$4"
}

in_list "a good program" 'echo 1..1; echo ok 1 a' '^ok 1 .*: a$' 0
in_list "two streams" 'echo 1..1; echo ok 1 a; echo ok 1 b; echo 1..1' \
	'^ok 2 .*: b$' 0
in_list "a bad result" 'echo 1..1; echo not ok 1 a; exit 1' '^not ok 1 .*: a$' 1
in_list "missing results" 'echo 1..3; echo ok 1 a; exit 3' \
	'^not ok 2 .*2 results are missing, exit status 3' 1
in_list "too many results" 'echo 1..1; echo ok 1 a; echo ok 2 b' \
	'^not ok 3 .*2 results, but the plan was 1' 1
in_list "a program that dies" 'echo 1..1; kill -9 $$' '^not ok 1 .*status 137' 1
in_list "no plan" 'echo ok 1 a' '^not ok 2 .*printed no plan' 1
in_list "a bad exit status" 'echo 1..1; echo ok 1 a; exit 1' \
	'^not ok 2 .*exit status 1' 1
in_list "no end, and not tried again" \
	"@1 echo 1..1; [ ! -e $TMP/x0 ] || exec echo ok 1 a; touch $TMP/x0; sleep 100" \
	'^not ok 1 .*ran out of time' 1
in_list "a program that gives up" 'echo 1..1; echo "Bail out! why"; echo ok 1' \
	'^not ok 1 .*Bail out! why' 1
# once FILE [WHY]: a program that fails until FILE exists, and creates it.
once() { echo "echo 1..1; if [ -e $TMP/$1 ]; then echo ok 1 a; else touch $TMP/$1; echo not ok 1 a ${2:-}; fi"; }

in_list "a program that passes when repeated" "$(once x1)" \
	'^# FLAKY: .*passed at try 2, after: not ok 1' 0
in_list "one that always fails is not flaky" 'echo 1..1; echo not ok 1 a' \
	'^# try 2: not ok 1' 1
in_list "lost data is not tried again" "$(once x2 'a message was lost')" \
	'^not ok 1 .*lost' 1
in_list "nor are data that kselftest found wrong" \
	"echo '# a.c:9:t:Expected 0 (0) == memcmp(from, to, 8) (-1)'; $(once x3)" \
	'^not ok 1 .*: a$' 1
in_list "a program skipped" 'echo "1..0 # SKIP why"' '^ok 1 .* # SKIP why' 0
in_list "a skip without a name" \
	'echo 1..1; echo "#  RUN           x.y ..."; echo "ok 1 # SKIP why"' \
	'^ok 1 .*: x.y # SKIP why' 0

in_tier "a good one" 'echo 1..2; echo ok 1 a; echo ok 2 b' \
	'^1-x +2 +0 +0' "2 passed, 0 failed, 0 skipped"
in_tier "a bad result" 'echo 1..2; echo ok 1 a; echo not ok 2 b' \
	'^failed: 1-x: b' "1 passed, 1 failed, 0 skipped"
in_tier "a skip is not a pass" 'echo 1..2; echo ok 1 a; echo "ok 2 b # SKIP no"' \
	'^skipped: 1-x: b # SKIP no' "1 passed, 1 failed, 1 skipped"
in_tier "fewer results than PLAN says" 'echo 1..1; echo ok 1 a' \
	'^failed: 1-x: 1 results are missing' "1 passed, 1 failed, 0 skipped"
in_tier "more results than PLAN says" 'echo 1..3; echo ok 1; echo ok 2; echo ok 3' \
	'^more: 1-x: 3 results, PLAN has 2' "3 passed, 0 failed, 0 skipped"
in_tier "processor time of a program" \
	'echo 1..2; echo ok 1; echo ok 2; echo "# 9 s, of 120; processors: 7 s: x"' \
	'^processors: 7 s 1-x: x$' '2 passed, 0 failed, 0 skipped'
FLAKY='echo 1..2; echo ok 1; echo ok 2; echo "# FLAKY: x: passed at try 2"'
ONLY=1-x in_tier "a flaky program of a tier that is named" "$FLAKY" '^flaky: 1-x: x' \
	"2 passed, 0 failed, 0 skipped"
in_tier "a flaky program of a run of all tiers" "$FLAKY" '^flaky: 1-x: x: passed' \
	"2 passed, 0 failed, 0 skipped"
in_tier "the same one again" "$FLAKY" '^failed: flaky: flaky again within 20 runs: 1-x: x' \
	"2 passed, 1 failed, 0 skipped"
rm "$TMP/flaky"
in_tier "four flaky ones" "$FLAKY; for i in a b c; do echo \"# FLAKY: \$i: p\"; done" \
	'^failed: flaky: 4 programs passed only when repeated' \
	"2 passed, 1 failed, 0 skipped"
rm "$TMP/flaky"

# part NAME AFTER: a tier that begins, ends when tier AFTER has begun, and reports its
# priority.
part() {
	cat >"$TMP/$1.sh" <<-END
	#!/bin/sh
	: >$TMP/begun-$1
	until [ -e $TMP/begun-$2 ]; do sleep 0.1; done
	echo 1..1
	echo ok 1 \$(nice)
	END
	chmod +x "$TMP/$1.sh"
}

# The second begins aside and lasts until the third has begun, which the first lane takes.
shared() {
	part 1-x 2-y
	part 2-y 3-z
	part 3-z 3-z
	printf '%s 1 30 %s\n' 1-x '' 2-y aside 3-z aside >"$TMP/PLAN"
	tier_says '^ok 1 2-y: 1' "3 passed, 0 failed, 0 skipped" &&
		grep -q "^ok 1 3-z: $(nice)" "$TMP/out"
}

check "tier: one runs aside, and one after the others" shared
printf '#!/bin/sh\necho 1..1; ls %s/begun-3-z && echo ok 1\n' "$TMP" >"$TMP/0-w.sh"
chmod +x "$TMP/0-w.sh"
rm -f "$TMP"/begun-*
printf '%s 1 30 %s\n' 0-w last 1-x '' 2-y aside 3-z aside >"$TMP/PLAN"
check "tier: one runs last" tier_says '^ok 1 0-w: ' "4 passed, 0 failed, 0 skipped"
rm -f "$TMP"/[023]-*.sh
WORDS=aside in_tier "a bad result aside" 'echo 1..2; echo ok 1 a; echo not ok 2 b' \
	'^failed: 1-x: b' "1 passed, 1 failed, 0 skipped"
GOOD='echo 1..2; echo ok 1; echo ok 2'
WORDS=nightly in_tier "one of the night" "$GOOD" '^all +0 ' \
	"0 passed, 0 failed, 0 skipped"
WORDS=nightly ONLY=1-x in_tier "one of the night, named" "$GOOD" '^1-x +2 ' \
	"2 passed, 0 failed, 0 skipped"
SECONDS_ALLOWED=1
in_tier "no end" 'echo 1..2; echo ok 1; sleep 100' \
	'^failed: 1-x: 1 results are missing, ran out of time' \
	"1 passed, 1 failed, 0 skipped"

# ended_by_signal [aside]: a tier that runs ends soon after run-tiers.sh.
ended_by_signal() {
	local runner tier

	printf '#!/bin/sh\necho $$ >%s\nexec sleep 1000\n' "$TMP/pid" >"$TMP/1-x.sh"
	echo "1-x 2 1000 ${1:-}" >"$TMP/PLAN"
	rm -f "$TMP/pid"
	mkfifo "$TMP/pid"
	DD_TIERS=$TMP DD_FLAKY=$TMP/flaky selftests/vm/run-tiers.sh >"$TMP/out" 2>&1 &
	runner=$!
	read -r tier <"$TMP/pid"
	kill "$runner"
	rm "$TMP/pid"
	within 10 gone "$runner" && within 10 gone "$tier"
}

check "tier: a signal ends one that runs" ended_by_signal
check "tier: and one that runs aside" ended_by_signal aside

# race WHERE CALLER: the report of KCSAN.
race() {
	printf '%s\n' ================== "BUG: KCSAN: data-race in $1 / $1" \
		"write to 0xffff8880 of 8 bytes by task 1 on cpu 0:" \
		" $1+0x10/0x20" " $2+0x10/0x20" =================
}

# log_has N [races]: splats.sh prints N lines of $TMP/log.
log_has() {
	local n=$1

	shift
	[ "$(selftests/vm/splats.sh "$@" <"$TMP/log" | wc -l)" = "$n" ] && return
	cat "$TMP/log"
	return 1
}

race "dd_op [dd]" ksys_write >"$TMP/log"
check "log: a race of dd" log_has 1
race rb_erase "dd_list_pop [dd]" >"$TMP/log"
check "log: a race in a function that dd has called" log_has 1
race rb_erase hrtimer_run >"$TMP/log"
check "log: a race without dd is not a splat" log_has 0
check "log: and is listed separately" log_has 1 races
echo "[ 9.1] BUG kmalloc-64 (Not tainted): Right Redzone overwritten" >"$TMP/log"
check "log: a report of the allocator" log_has 1
echo "[ 9.1] BUG dd_conn (Tainted: G    B      O      ): Poison overwritten" >"$TMP/log"
check "log: a report of the allocator about a cache of dd" log_has 1

rm "$TMP/1-x.sh"
check "tier: planned but absent" tier_says '^failed: 1-x: needs' \
	"0 passed, 1 failed, 0 skipped"
finish
