#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Two nodes are connected by a cable that damages packets and corrects their checksums.
# The header of a packet always has a checksum of its own, so no byte is stored at a
# wrong place; with payload-crc on, the payload has one, too. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

# A busy machine may stop a guest for seconds; partition.sh tests the dead time.
DEAD=60000

ONE_IN=50
# The debug kernels run with less memory.
CONNS=$(pick 4 2)

# Without the bridge: a program forwards the frames.
cable() {
	local i

	for i in 1 2; do
		cut "$i" &&
			ip -n "$CLUSTER_BRIDGE" link set "port$i" nomaster promisc on &&
			ip netns exec "dd$i" ethtool -K eth0 tx off >/dev/null ||
			return
	done
	ip netns exec "$CLUSTER_BRIDGE" net_inject "$RANDOM" "$ONE_IN" port1 port2 \
		>"$HOLD/cable" &
	CABLE=$!
	within "$PATIENCE" has_line "$HOLD/cable" ready
}

cable_end() {
	kill -TERM "$CABLE"
	wait "$CABLE"
	tail -n 1 "$HOLD/cable"
}

drops() {
	peer "$1" "$2" '.counters | .["drop_crc"] + .["drop_format"]'
}

damaged() {
	local status=0 said least counted

	cable || return
	new_traffic
	begin_all 0 "$CONNS" 200000 && flows "$(count 1000 100)" 1 2 || return
	end_all whole || status=1
	counted=$(($(drops 1 2) + $(drops 2 1)))
	said=$(cable_end)
	diag "$said; $counted were found damaged"
	# All damaged headers, about one in twenty packets at least.
	least=$(($(grep -oE '[0-9]+' <<<"$said" | tail -n 3 | paste -sd+)))
	[ "$counted" -gt 0 ] && [ $((20 * counted)) -ge "$least" ] || status=1
	return "$status"
}

plan 1
cluster 2
cluster_offload off
for i in 1 2; do
	# The option takes effect with the next session.
	cluster_exec $i ddctl peer del $((3 - i))
	cluster_exec $i ddctl peer add $((3 - i)) 10.9.0.$((3 - i)) payload-crc on
done
check "with correct UDP checksums: no damaged header is accepted" damaged
finish
