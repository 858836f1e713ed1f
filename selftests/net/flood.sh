#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# More packets than a softirq takes from a socket at a time: two nodes exchange
# messages, and a third one floods one of them with packets that have the address of the
# other. The memory held by the socket is bounded, and messages continue to arrive. Then
# with receive buffers for few packets: dropped packets are counted, and their payload
# is retransmitted. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

BUDGET=/sys/module/dd/parameters/rx_budget
BUFFER=/sys/module/dd/parameters/rx_buffer
WAS=$(cat $BUDGET)
WHOLE=$(cat $BUFFER)
MAY=$((4 << 20))
NODES=2	# that have a session
FLOOD=()

# counter NAME: a counter of node 2 for its peer, node 1.
counter() { peer 2 1 ".counters.\"$1\""; }

# held: the bytes held by the socket of node 2, in hexadecimal, and the number of packets
# that it has dropped.
held() {
	awk '$2 ~ /:DDDD$/ { split($5, queue, ":"); print queue[2], $NF }' \
		"/proc/$WITNESS/net/udp"
}

begin() {
	cluster_up 3 && cluster_peers 2 && within "$PATIENCE" all_up && new_traffic &&
		begin_all 4 65536
}

# flood HOW FROM TO: in the background, until flood_ends.
flood() {
	ip netns exec dd3 net_forge "$1" 1000000000 "$2" "$3" &
	FLOOD+=($!)
}
flooding() { kill -0 "${FLOOD[@]}" 2>/dev/null; }
flood_ends() {
	kill "${FLOOD[@]}" 2>/dev/null
	wait "${FLOOD[@]}" 2>/dev/null
	FLOOD=()
}

# seen: look at the socket, and whether 1,000 packets of the flood were dropped and 100
# messages deposited in softirq since under() has begun.
seen() {
	local now i

	for i in {1..10}; do
		read -r now LOST < <(held) || return
		[ $((16#$now)) -le "$MOST" ] || MOST=$((16#$now))
	done
	[ "$(counter drop_format)" -ge $((DROPPED + 1000)) ] &&
		[ "$(counter rx_softirq)" -ge $((DEPOSITS + 100)) ]
}

# During a flood the socket never holds more than its receive buffer and one skb.
under() {
	local status=0 i

	begin || return
	DROPPED=$(counter drop_format) DEPOSITS=$(counter rx_softirq)
	WITNESS=${SERVER[2]}
	MOST=0
	# A process for each CPU, so that packets arrive while others are dequeued.
	for ((i = 0; i < $(nproc); i++)); do
		flood junk 10.9.0.1 10.9.0.2
	done
	within "$PATIENCE" seen && flooding || status=1
	flood_ends
	diag "the socket held at most $MOST bytes and dropped $LOST packets"
	end_all whole && [ "$status" = 0 ] && [ "$MOST" -le $((MAY + 131072)) ]
}

no_room() { cluster_exec "$1" ddctl -j stat | jq .no_room; }

# A worker empties the socket, with a delay, so that its receive buffer overflows.
small() {
	local status=0 lost

	echo 0 >"$BUDGET" && echo 65536 >"$BUFFER" || return
	begin && flows "$(pick 400 100)" 1 2 || status=1
	end_all whole || status=1
	lost=$(cluster_exec 2 cat /proc/net/udp |
		awk '$2 ~ /:DDDD$/ { print $NF }')
	diag "node 2 dropped $lost bursts and counted $(no_room 2); node 1 counted $(no_room 1)"
	diag "$(peer 1 2 '"\(.packets_lost) packets of \(.packets_sent) lost"')"
	[ "$lost" -gt 0 ] && [ "$(no_room 2)" = "$lost" ] || status=1
	echo "$WHOLE" >"$BUFFER"
	echo "$WAS" >"$BUDGET"
	return "$status"
}

# A session comes up in spite of forged handshakes with the addresses of both nodes.
comes_up() {
	local status=0

	cluster_up 3 || return
	flood handshake 10.9.0.1 10.9.0.2
	flood handshake 10.9.0.2 10.9.0.1
	cluster_peers 2 && within "$PATIENCE" all_up && flooding || status=1
	diag "$(peer 2 1 '"\(.dropped) packets dropped meanwhile"')"
	flood_ends
	return "$status"
}

plan 3
check "a flood: memory is bounded, deposits continue in softirq, all messages arrive" under
check "a small receive buffer: drops are counted, and all messages arrive" small
check "a session comes up in spite of forged handshakes" comes_up
finish
