#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Links whose MTU changes during traffic, that damage packets, or that are slow: all messages
# arrive, once, at their place. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

# The debug kernels run with less memory.
CONNS=$(pick 4 3)

# --- MTUs --------------------------------------------------------------------

SOME=$(pick 200 20)	# messages of each node, before and after each change

# Largest packet of the session: the MTU less the headers of IP and UDP, but at least 1200
# bytes, which IPv4 fragments.
fits() {
	local size want=$(($1 - $2))

	[ "$want" -ge 1200 ] || want=1200
	size=$(peer 1 2 .packet_size)
	[ "$size" -le "$want" ] && [ "$size" -ge $((want - 100)) ]
}

# traffic FAMILY: between two nodes, with packets as large as the MTU of 9000.
traffic() {
	cluster 2 9000 "$1"
	cluster_offload off
	new_traffic
	begin_all "$CONNS" 300000 && flows "$SOME" 1 2
}

# changes FAMILY HEADERS MTU...: change the MTU under load.
changes() {
	local headers=$2 mtu status=0

	traffic "$1" && within "$PATIENCE" fits 9000 "$headers" || return
	for mtu in "${@:3}"; do
		cluster_mtu "$mtu" && flows "$SOME" 1 2 || return
		within "$PATIENCE" fits "$mtu" "$headers" || {
			diag "packets of $(peer 1 2 .packet_size) bytes at $mtu"
			status=1
		}
		flows "$SOME" 1 2 || return
	done
	end_all whole || status=1
	diag "$(peer 1 2 '"\(.packets_lost) packets lost"')"
	return "$status"
}

# Only the link in the middle is small, so no end knows it.
middle() {
	local status=0

	traffic 4 && ip -n "$CLUSTER_BRIDGE" link set port2 mtu 1500 || return
	flows "$SOME" 1 2 || status=1
	end_all whole || status=1
	diag "packets of $(peer 1 2 .packet_size) bytes, $(peer 1 2 .packets_lost) lost"
	return "$status"
}

# --- damage ------------------------------------------------------------------

# A cable that damages packets and corrects their checksums: a program forwards the frames,
# without the bridge.
cable() {
	local i

	for i in 1 2; do
		cut "$i" &&
			ip -n "$CLUSTER_BRIDGE" link set "port$i" nomaster promisc on &&
			ip netns exec "dd$i" ethtool -K eth0 tx off >/dev/null ||
			return
	done
	ip netns exec "$CLUSTER_BRIDGE" net_forge damage 50 port1 port2 >"$HOLD/cable" &
	CABLE=$!
	within "$PATIENCE" has_line "$HOLD/cable" ready
}

drops() {
	peer "$1" "$2" '.counters | .["drop_crc"] + .["drop_format"]'
}

# The header of a packet always has a checksum of its own, so no byte is stored at a wrong
# place; with payload-crc on, the payload has one, too.
damaged() {
	local status=0 damaged counted i

	cluster 2
	cluster_offload off
	for i in 1 2; do
		# The option takes effect with the next session.
		cluster_exec $i ddctl peer del $((3 - i)) &&
			cluster_exec $i ddctl peer add $((3 - i)) 10.9.0.$((3 - i)) payload-crc on ||
			return
	done
	cable || return
	new_traffic
	begin_all "$CONNS" 200000 && flows "$(count 1000 100)" 1 2 || return
	end_all whole || status=1
	counted=$(($(drops 1 2) + $(drops 2 1)))
	kill -TERM "$CABLE"
	wait "$CABLE"
	damaged=$(tail -n 1 "$HOLD/cable")
	diag "$damaged packets were damaged, $counted of them dropped"
	# All damaged headers, about one in twenty packets at least.
	[ "$counted" -gt 0 ] && [ $((20 * counted)) -ge "$damaged" ] || status=1
	return "$status"
}

# --- send buffers ------------------------------------------------------------

BUFFER=$((4 << 20))	# bytes, of a peer
ENOUGH=$((5 << 18))	# bytes, above a quarter of BUFFER
LARGE=(-k w -c 16 -l 65536 -m 65536)	# 4 MiB may be in flight to a node

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

# Peers behind slow links fill their own send buffers and no other: node 1 sends to three
# nodes whose links are slow, until more bytes are in flight than a send buffer holds, and then to
# a fourth one, whose link has a delay and no limit. The sender never pauses for the fourth.
slow() {
	local i now

	cluster 5 9000 && within "$PATIENCE" all_up && slow_ports || return
	new_traffic
	for i in 2 3 4 5; do
		serve "$i" "${LARGE[@]}" || return
	done
	load 1 3,4,5 "${LARGE[@]}"
	within "$PATIENCE" slow_full && [ "$(paused)" = 0 ] || return
	load_as fast 1 2 "${LARGE[@]}"
	within "$PATIENCE" fast_enough
	now=$(in_flight 2)
	diag "in flight: $now bytes to the fast node, $(in_flight 3,4,5) to the slow ones"
	diag "the sender paused $(paused) times for the fast node"
	[ "$(paused)" = 0 ] && end_all whole
}

plan 5
check "MTU, IPv4: 9000, 1280, 9000, 600, 68, 1500" changes 4 28 1280 9000 600 68 1500
check "MTU, IPv6: 9000, 1500, 1280, 9000" changes 6 48 1500 1280 9000
check "MTU: a small link in the middle that sends no ICMP" middle
check "damage, with correct UDP checksums: no damaged header is accepted" damaged
check "the sender does not pause for a fast node beside three slow ones" slow
finish
