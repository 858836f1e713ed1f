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

# A busy machine may stop a guest for seconds; partition.sh tests the dead time.
DEAD=60000

BUDGET=/sys/module/dd/parameters/rx_budget
BUFFER=/sys/module/dd/parameters/rx_buffer
WAS=$(cat $BUDGET)
WHOLE=$(cat $BUFFER)
MAY=$((4 << 20))
declare -a FLOOD

budget() { echo "$1" >"$BUDGET"; }

# counter NAME: a counter of node 2 for its peer, node 1.
counter() { peer 2 1 ".counters.\"$1\""; }

# held: the bytes held by the socket of node 2, in hexadecimal, and the number of packets
# that it has dropped.
held() {
	awk '$2 ~ /:DDDD$/ { split($5, queue, ":"); print queue[2], $NF }' \
		"/proc/$WITNESS/net/udp"
}

begin() {
	NODES=2
	fresh
	cluster_up 3 && cluster_exec 1 ddctl peer add 2 10.9.0.2 &&
		cluster_exec 2 ddctl peer add 1 10.9.0.1 &&
		within "$PATIENCE" all_up && new_traffic &&
		begin_all 0 4 65536
}

# endless HOW FROM TO: flood in the background, until flood_ends.
endless() {
	ip netns exec dd3 net_forge "$1" 1000000000 "$2" "$3" >/dev/null &
	FLOOD+=($!)
}
flooding() { kill -0 "${FLOOD[@]}" 2>/dev/null; }
flood_ends() {
	kill "${FLOOD[@]}" 2>/dev/null
	wait "${FLOOD[@]}" 2>/dev/null
	FLOOD=()
}

# flood HOW: until flood_ends, by a process for each CPU, so that packets arrive while
# others are dequeued.
flood() {
	local i

	FLOOD=()
	for ((i = 0; i < $(nproc); i++)); do
		endless "$1" 10.9.0.1 10.9.0.2
	done
}

# seen CONTEXT: looks at the socket, and whether 1,000 packets of the flood were dropped and
# 100 messages received by this context since under() has begun.
seen() {
	local now i

	for i in {1..10}; do
		read -r now LOST < <(held) || return
		[ $((16#$now)) -le "$MOST" ] || MOST=$((16#$now))
	done
	DROPPED=$(($(counter drop_format) - DROPPED0))
	SOFTIRQ=$(($(counter rx_softirq) - SOFTIRQ0))
	PROCESS=$(($(counter rx_process) - PROCESS0))
	[ "$DROPPED" -ge 1000 ] && [ "${!1}" -ge 100 ]
}

# under BUDGET CONTEXT: during a flood the socket never holds more than its receive buffer
# and one skb, this context receives messages, and all messages arrive.
under() {
	local status=0

	budget "$1" && begin || return
	SOFTIRQ0=$(counter rx_softirq) PROCESS0=$(counter rx_process)
	DROPPED0=$(counter drop_format)
	WITNESS=${SERVER[2]}
	MOST=0
	flood junk
	within "$PATIENCE" seen "$2" && flooding || status=1
	flood_ends
	budget "$WAS"
	diag "the socket held at most $MOST bytes and dropped $LOST packets"
	diag "$DROPPED junk packets; deposits: $SOFTIRQ in softirq, $PROCESS by the worker"
	end_all whole && [ "$status" = 0 ] && [ "$MOST" -le $((MAY + 131072)) ]
}

by_worker() { under 0 PROCESS && [ "$SOFTIRQ" -lt "$PROCESS" ]; }

no_room() { cluster_exec "$1" ddctl -j stat | jq .no_room; }

# A worker empties the socket, with a delay, so that its receive buffer overflows.
small() {
	local status=0 lost

	budget 0 && echo 65536 >"$BUFFER" || return
	begin && flows "$(pick 400 100)" 1 2 || status=1
	end_all whole || status=1
	lost=$(cluster_exec 2 cat /proc/net/udp |
		awk '$2 ~ /:DDDD$/ { print $NF }')
	diag "node 2 dropped $lost bursts and counted $(no_room 2); node 1 counted $(no_room 1)"
	diag "$(peer 1 2 '"\(.packets_lost) packets of \(.packets_sent) lost"')"
	[ "$lost" -gt 0 ] && [ "$(no_room 2)" = "$lost" ] || status=1
	echo "$WHOLE" >"$BUFFER"
	budget "$WAS"
	return "$status"
}

# A session comes up in spite of forged handshakes with the addresses of both nodes.
comes_up() {
	local status=0

	NODES=2
	fresh
	cluster_up 3 || return
	FLOOD=()
	endless handshake 10.9.0.1 10.9.0.2
	endless handshake 10.9.0.2 10.9.0.1
	cluster_exec 1 ddctl peer add 2 10.9.0.2 &&
		cluster_exec 2 ddctl peer add 1 10.9.0.1 &&
		within "$PATIENCE" all_up && flooding || status=1
	diag "$(peer 2 1 '"\(.dropped) packets dropped meanwhile"')"
	flood_ends
	return "$status"
}

# The last peer of a socket is removed, and so the socket, during a flood. The packets
# take the worker longer than the senders, so that the socket is never empty: the close
# must not wait until it is.
closes() {
	local status=0 i

	NODES=2
	fresh
	cluster_up 3 && budget 0 || return
	flood bulk
	for i in 1 2 3; do
		cluster_exec 2 ddctl peer add 1 10.9.0.1 || status=1
		timeout "$PATIENCE" ip netns exec dd2 ddctl peer del 1 || status=1
	done
	flooding || status=1
	flood_ends
	budget "$WAS"
	return "$status"
}

plan 5
check "a flood: memory is bounded, deposits continue in softirq, all messages arrive" \
	under "$WAS" SOFTIRQ
check "a softirq takes nothing: the same with deposits by the worker" by_worker
check "a small receive buffer: drops are counted, and all messages arrive" small
check "a session comes up in spite of forged handshakes" comes_up
check "the socket closes during an endless flood" closes
finish
