#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A node without memory for queries refuses each of them at once, which needs no
# memory, and every client returns. TAP; in a guest with fault injection, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

DEAD=5000
FAIL=/sys/kernel/debug/failslab
# struct dd_ctl_asked is allocated from it; qemu.sh enables fault injection for it.
CACHE=/sys/kernel/slab/kmalloc-192
CLIENTS=40
declare -a CLIENT

# faults PERCENT: that many allocations from the cache that may not sleep fail.
faults() {
	[ "$(<"$CACHE/failslab")" = 1 ] && echo Y >"$FAIL/cache-filter" &&
		echo Y >"$FAIL/ignore-gfp-wait" && echo 0 >"$FAIL/verbose" &&
		echo N >"$FAIL/task-filter" && echo 0 >"$FAIL/space" &&
		echo -1 >"$FAIL/times" && echo "$1" >"$FAIL/probability"
}

ask() { cluster_exec 1 dd-rpc-client --node 2 --count 1 --sleep; }

# Connect from all clients at once: more queries than the control stream holds.
refused_each() {
	local i bad=0 said

	faults 100 || return
	for ((i = 0; i < CLIENTS; i++)); do
		ip netns exec dd1 dd-rpc-client --node 2 --count 1 --sleep \
			>"$HOLD/client.$i" 2>&1 &
		CLIENT[i]=$!
	done
	for i in "${CLIENT[@]}"; do
		exited "$i" 1 || bad=1
	done
	faults 0
	said=$(grep -l 'or that node is out of memory' "$HOLD"/client.* | wc -l)
	diag "$said of $CLIENTS name the cause: $(<"$HOLD/client.0")"
	[ "$bad" = 0 ] && [ "$said" = "$CLIENTS" ] &&
		[ "$(peer 1 2 .sessions)" = 1 ] && [ "$(peer 2 1 .sessions)" = 1 ]
}

serving() {
	cluster 2
	within "$PATIENCE" all_up || return
	ip netns exec dd2 dd-echo-server >"$HOLD/server" 2>&1 &
	within "$PATIENCE" ask 2>/dev/null
}

plan 3
check "a node serves" serving
check "without memory: each look-up is refused, in the same session" refused_each
check "with memory again: served" ask
finish
