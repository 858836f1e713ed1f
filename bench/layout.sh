#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Where the members of the structures lie that every message touches, as pahole
# sees it: which share a cache line, and what that leaves unused.
#
#   layout.sh FILE      writes it into FILE
#   layout.sh FILE OLD  the same, and compares it with OLD, as TAP
#
# The module is that for Debian's stock kernel, on amd64.
set -euo pipefail
cd "$(dirname "$0")/.."

new=$1 old=${2:-}
module=build/kmod/stock/dd.ko
library=build/lib/libdd.so

# Shared by kernel and processes; then what either keeps of its own.
ABI=(dd_ring_note dd_ring_state dd_cell dd_sqe dd_note dd_list_head dd_area_head)
LIBRARY=(ddi_conn ddi_out ddi_lane ddi_list ddi_in)
KERNEL=(dd_conn dd_import dd_segment dd_grant dd_list dd_op dd_obj)

# structures FILE NAME...
structures() {
	local name file=$1

	shift
	for name; do
		echo
		pahole -C "$name" "$file" 2>/dev/null | sed 's/X[X]* //' | grep . || {
			echo "layout.sh: no struct $name in $file" >&2
			return 1
		}
	done
}

{
	echo "SPDX-License-Identifier: GPL-2.0-only"
	echo
	echo 'Made by "make layout"; do not edit.'
	printf '\n---- shared, include/uapi/linux/dd.h\n'
	structures $library "${ABI[@]}"
	printf '\n---- libdd\n'
	structures $library "${LIBRARY[@]}"
	printf '\n---- dd.ko\n'
	structures $module "${KERNEL[@]}"
} >"$new.new"
mv "$new.new" "$new"
[ -n "$old" ] || exit 0

echo 1..1
if diff -u "$old" "$new" >"$new.diff"; then
	echo "ok 1 layout of hot structures"
else
	echo "not ok 1 layout of hot structures"
	sed 's/^/# /' "$new.diff"
	echo "# where that is meant: make layout, and commit $old"
	exit 1
fi
