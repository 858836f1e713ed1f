#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Guest instructions by operation, counted in a virtual machine.
#
#   cost.sh FILE        writes the figures into FILE
#   cost.sh FILE OLD    the same, and compares them with those of OLD, as TAP
set -euo pipefail
cd "$(dirname "$0")/.."

new=$1 old=${2:-}
raw=build/bench/cost.jsonl

mkdir -p build/bench
# An NFS server is measured where its package is installed: deps.sh bench.
if [ -x /usr/sbin/exportfs ]; then
	export MORE=bench/nfs.list
fi
KERNEL=stock ICOUNT=yes TIMEOUT=600 \
	selftests/vm/run.sh bench/cost-guest.sh >"$raw" || {
	status=$?
	head -c 2000 "$raw" >&2
	exit "$status"
}
bench/cost.py take "$raw" >"$new.new"
mv "$new.new" "$new"
bench/rmfs.py "$new" build/bench
[ -z "$old" ] || bench/cost.py check "$old" "$new"
