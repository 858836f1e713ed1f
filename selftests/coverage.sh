#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Each requirement of an interface, and each case of those that list several, is named by
# a test.
#
#   coverage.sh TABLE               in the sources
#   coverage.sh TABLE FILE...       by a test that passed in these TAP files
#   coverage.sh -n TABLE FILE...    those that concern two nodes, by a test that passed
#                                   between nodes
#
# A table, such as selftests/ddp/coverage, is shell text that sets
#
#   ID      prefix of the names
#   LAST    requirements are numbered from 1 to this number
#   EXCEPT  requirements that need no test
#   CASES   requirement:number of its cases ...
#   TESTS   files with tests, relative to the table
#   NODES   requirements that concern two nodes
#   ACROSS  which lines of a list run between nodes: a regular expression
set -euo pipefail

nodes=''
[ "$1" != -n ] || { nodes=yes; shift; }
table=$1
shift
NODES='' ACROSS='' EXCEPT=''
# shellcheck source=selftests/rmem/coverage
. "$table"

named() {
	# shellcheck disable=SC2086 # patterns
	(cd "$(dirname "$table")" &&
		grep -hE "^(TEST|PROMISE)|^[[:space:]]*(check|in_session) \"?${ID}_" $TESTS)
}

# guest-run.sh prints a line of a list as a comment, its results, and its time.
passed() {
	sed 's/\r$//' "$@" | awk -v id="${ID}_" -v across="${nodes:+$ACROSS}" '
		across && $0 ~ across { here = 1 }
		/^# [0-9]+ s, of [0-9]+/ { here = 0 }
		/^ok [0-9]+ / && !/# SKIP/ && index($0, id) && (here || !across)'
}

wanted() {
	local n c i

	for n in $(if [ "$nodes" ]; then echo "$NODES"; else seq "$LAST"; fi); do
		[[ " $EXCEPT " != *" $n "* ]] || continue
		echo "${ID}_${n}_"
		for c in $CASES; do
			[ "${c%:*}" = "$n" ] || continue
			for i in $(seq "${c#*:}"); do
				echo "${ID}_${n}_${i}_"
			done
		done
	done
}

if [ $# -gt 0 ]; then
	found=$(passed "$@")
else
	found=$(named)
fi
found=${found//[^[:alnum:]$'\n']/_}_

missing=0
for id in $(wanted); do
	grep -qF "$id" <<<"$found" || {
		echo "no test${1:+ that passed}${nodes:+ between nodes} names $id" >&2
		missing=$((missing + 1))
	}
done
[ "$missing" = 0 ] && echo "coverage: all requirements are named"
exit $((missing != 0))
