#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# quick.sh [LIST[:TEST[:CASE]] [TIMES]]: runs a list of tests, or those of its lines
# that TEST, a regular expression, matches, in the guest that KERNEL names; "make
# quick" has built them. CASE is an argument of the program: the name of one test in
# it. A list is named by its folder, its name or both: "ddp" is
# selftests/ddp/guest.list, "abi" and "core/abi" are selftests/core/abi.list. Without
# arguments: "ddp".
#
#   make quick T=abi
#   make quick T=abi:abi_data:an_end_that_reads_of_a_close N=20
#   make quick T=net:partition K=stock
#
# kmemleak slows the start of programs; LEAKS=yes enables it.
set -euo pipefail
# shellcheck source=selftests/vm/common.sh
. "$(dirname "$0")/common.sh"

IFS=: read -r list test case <<<"${1:-ddp}"
times=${2:-1}
chosen=$TOP/build/quick.list

for file in "$TOP/selftests/$list/guest.list" "$TOP/selftests/$list.list" \
	"$TOP"/selftests/*/"$list.list"; do
	[ ! -e "$file" ] || break
done
[ -e "$file" ] || die "no list $list; there are: $(cd "$TOP/selftests" &&
	find . -name '*.list' ! -path './vm/*' -printf '%P ' | sed 's/\.list//g')"

lines=$(grep -vE '^(#|$)' "$file" | grep -E -e "${test:-.}") ||
	die "no line of $file matches $test"
for ((i = 0; i < times; i++)); do
	# shellcheck disable=SC2001 # for each line
	sed "s/\$/${case:+ $case}/" <<<"$lines"
done >"$chosen"

export LEAKS=${LEAKS:-no} TIMEOUT=${TIMEOUT:-3600}
exec "$VM_DIR/run.sh" "DD_TRIES=1 selftests/vm/guest-run.sh build/quick.list"
