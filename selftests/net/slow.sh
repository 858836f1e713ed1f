#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Peers behind slow links fill their own send buffers and no other: node 1 sends to
# three nodes whose links are slow, until more bytes are in flight than a send buffer
# holds, and then to a fourth one, whose link has a delay and no limit. The sender
# never pauses for the fourth. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

# A busy machine may stop a guest for seconds; partition.sh tests the dead time.
DEAD=60000

BUFFER=$((4 << 20))	# bytes, of a peer
ENOUGH=$((5 << 18))	# bytes, above a quarter of BUFFER
MESSAGES=(-k W -c 8 -l 65536 -m 65536)	# 4 MiB may be in flight to a node

# What a port queues is charged to the sender until it leaves the port.
slow_ports() {
	local i

	for i in 3 4 5; do
		tc -n "$CLUSTER_BRIDGE" qdisc add dev "port$i" root tbf \
			rate 16mbit burst 32kb limit 4mb || return
	done
	tc -n "$CLUSTER_BRIDGE" qdisc add dev port2 root netem delay 200ms \
		limit 10000
}

in_flight() {
	cluster_exec 1 ddctl -j peer show |
		jq "map(select(.number | IN($1)) | .in_flight) | add"
}
paused() { peer 1 2 .counters.tx_full; }

slow_full() { [ "$(in_flight 3,4,5)" -gt "$BUFFER" ]; }
# Ends also if the test has failed.
fast_enough() { [ "$(in_flight 2)" -gt "$ENOUGH" ] || [ "$(paused)" != 0 ]; }

fill() {
	local i

	cluster 5 9000 && within "$PATIENCE" all_up && slow_ports || return
	new_traffic
	for i in 2 3 4 5; do
		serve "$i" "${MESSAGES[@]}" || return
	done
	load 1 3,4,5 "${MESSAGES[@]}"
	LOAD[9]=${LOAD[1]} TIMED[9]=
	within "$PATIENCE" slow_full
}

fast() {
	local full now

	[ "$(paused)" = 0 ] || return
	load 1 2 "${MESSAGES[@]}"
	within "$PATIENCE" fast_enough
	now=$(in_flight 2) full=$(in_flight 3,4,5)
	diag "in flight: $now bytes to the fast node, $full to the slow ones"
	diag "the sender paused $(paused) times for the fast node"
	[ "$(paused)" = 0 ]
}

plan 3
check "three slow nodes have a send buffer in flight" fill
check "the sender does not pause for a fast node" fast
check "all of it has come" end_all whole
finish
