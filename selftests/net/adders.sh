#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Four processes add to one word by compare and swap, on one node and on four, with and
# without loss: no swap is lost, and none is executed twice. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

N=$(count 2000 300)

# added NODE...: node 1 has the word; each of these nodes adds N.
added() {
	local pids=() node bad=0 server

	ip netns exec dd1 net_add serve word $# >"$HOLD/sum" &
	server=$!
	within "$PATIENCE" has_line "$HOLD/sum" ready || return
	for node; do
		cluster_exec "$node" net_add 1 word "$N" &
		pids+=($!)
	done
	for node in "${pids[@]}"; do
		wait "$node" || bad=1
	done
	[ $bad != 0 ] || within "$PATIENCE" has_line "$HOLD/sum" sum
	kill "$server"
	wait "$server"
	diag "$# added $N times: $(tail -n 1 "$HOLD/sum")"
	grep -qx "sum $(($# * N))" "$HOLD/sum" || bad=1
	rm -f "$HOLD/sum"
	return $bad
}

# lossy LOSS NODE...
lossy() { cluster_netem loss "$1" && added "${@:2}"; }

plan 4
DEAD=60000
cluster 4
cluster_offload off
check "four processes of one node" added 1 1 1 1
check "a process on each of four nodes" added 1 2 3 4
check "the same, loss 1 %" lossy 1% 1 2 3 4
# Replies are lost for seconds, while what they answer is acknowledged.
N=$(pick 50 10)
check "the same, loss 40 %" lossy 40% 1 2 3 4
finish
