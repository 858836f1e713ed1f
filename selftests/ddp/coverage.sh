#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Each requirement DDP-1 to DDP-78, and each case of those that list several,
# is named by a test.
#
#   coverage.sh           in the sources
#   coverage.sh FILE...   by a test that passed in these TAP files
set -euo pipefail
dir=$(dirname "$0")

# requirement:number of its cases
CASES="21:3 23:3 30:4 44:6 49:2 57:3 61:6 63:2 65:3 66:2"

named() {
	grep -hE '^TEST|^check DDP_' "$dir"/*.c "$dir/figures.sh"
}

passed() {
	sed 's/\r$//' "$@" | grep -E '^ok [0-9]+ ' | grep -v '# SKIP'
}

wanted() {
	local c n

	for n in {1..78}; do
		echo "DDP_${n}_"
	done
	for c in $CASES; do
		for n in $(seq "${c#*:}"); do
			echo "DDP_${c%:*}_${n}_"
		done
	done
}

if [ $# -gt 0 ]; then
	found=$(passed "$@")
else
	found=$(named)
fi

missing=0
for id in $(wanted); do
	grep -qF "$id" <<<"$found" || {
		echo "no test${1:+ that passed} names $id" >&2
		missing=$((missing + 1))
	}
done
[ "$missing" = 0 ] && echo "coverage: all requirements are named"
exit $((missing != 0))
