#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The cost of operations, in a guest with one processor whose clock counts
# instructions; prints reports, one a line. Receivers sleep.
set -euo pipefail
cd "$(dirname "$0")/.."

report() { "$@" -j | jq -c .; }
nodes() { report selftests/net/perf.sh -m "$@"; }

for size in 64 4K; do
	report ddperf insn -s $size
done
report ddperf lat --sleep -r 5 -n 500
nodes 1500 trip -r 5 -n 500
nodes 1500 insn -r 5 -n 500
nodes 9000 insn -r 15 -n 200 -s 64K
nodes 1500 insn -r 3 -n 16 -s 1M
for test in put get cas; do
	nodes 1500 $test -r 5 -n 300
done
nodes 1500 put -r 3 -n 20 -s 1M
nodes 1500 get -r 3 -n 20 -s 1M
# figures METHOD COMMAND...
figures() {
	local method=$1

	shift
	"$@" build/selftests/rm_figures | sed -n "s/^{/{\"method\": \"$method\", /p"
}
figures here selftests/rmem/clerks.sh
for mode in read write; do
	CLERK="-m $mode" figures by-$mode selftests/rmem/clerks.sh -2
done
selftests/rmem/clerks.sh -2 bench/rmfs-guest.sh
