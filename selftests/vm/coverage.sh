#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# coverage.sh: runs the lists that User-Mode Linux can run, with a dd.ko that counts what
# has run, and reports the lines and branches that have not; "make coverage". TAP.
#
#   LISTS   the lists, by folder and name
#
# The reports of gcovr are build/coverage.txt, with the lines that have not run, and
# build/coverage.json, with branches.
# shellcheck source=selftests/vm/tier.sh
. "$(dirname "$0")/tier.sh"

LISTS=${LISTS:-$(echo core/{kunit,abi,failnth,kcov,stress,load} admin/{guest,leaks} ddp/{guest,kernel} \
	lib/guest net/{ddp,guest,debug,stock} rmem/{guest,stock,debug})}
DIR=$PWD/build/kmod/um-coverage
LOG=build/coverage.tap
FLOOR=95	# per cent of the module's lines
FILE_FLOOR=90	# of a file's, where FILE_SOME that have not run count as run
FILE_SOME=5

# In the guest: the lists, then the counts, as an archive in lines that begin with "@".
# shellcheck disable=SC2046,SC2086 # words
in_guest() {
	DD_TRIES=1 selftests/vm/guest-run.sh $(printf 'selftests/%s.list ' $LISTS)
	cd "/sys/kernel/debug/gcov$DIR" || return
	mkdir /tmp/counts
	# Files of debugfs have no size.
	find . -name '*.gcda' -exec sh -c 'mkdir -p "/tmp/counts/${1%/*}" &&
		cat "$1" >"/tmp/counts/$1"' - {} \;
	tar -C /tmp/counts -cz . | base64 | sed 's/^/@/'
}

if [ -n "${DD_VM:-}" ]; then
	in_guest
	exit
fi
mkdir -p build
guest um "LISTS='$LISTS' selftests/vm/coverage.sh" FAULT=coverage LEAKS=no TIMEOUT=14400 \
	>"$LOG" || exit
find "$DIR" -name '*.gcda' -delete
sed -n 's/^@//p' "$LOG" | base64 -d | tar -C "$DIR" -xz || exit
sed -i '/^@/d' "$LOG"
# Whether tests pass is for other tiers to say.
grep '^not ok' "$LOG" | comment
gcovr --root "$DIR" --filter "$DIR/kernel/" --exclude "$DIR/kernel/tests/" --print-summary \
	--txt build/coverage.txt --json-summary build/coverage.json "$DIR" | comment
[ "${PIPESTATUS[0]}" = 0 ] || exit
comment <build/coverage.txt
check "$FLOOR % of the lines of dd.ko have run" \
	jq -e ".line_percent >= $FLOOR" build/coverage.json
check "$FILE_FLOOR % of each file's lines have run, counting $FILE_SOME that have not" \
	silent jq -r ".files[] | select(100 * (.line_covered + $FILE_SOME) <
		$FILE_FLOOR * .line_total).filename" build/coverage.json
finish
