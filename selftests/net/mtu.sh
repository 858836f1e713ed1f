#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The MTU of links changes during traffic: all messages arrive, and packets get the size
# of the path MTU, but at least 1200 bytes, which IPv4 fragments. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

# Messages of each node, before and after each change; the debug kernels run with less
# memory.
SOME=$(pick 200 20)
CONNS=$(pick 4 2)
# A busy machine may stop a guest for seconds; partition.sh tests the dead time.
DEAD=60000

# Largest packet of the session: the MTU less the headers of IP and UDP.
fits() {
	local size want=$(($1 - $2))

	[ "$want" -ge 1200 ] || want=1200
	size=$(peer 1 2 .packet_size)
	[ "$size" -le "$want" ] && [ "$size" -ge $((want - 100)) ]
}

# changes FAMILY HEADERS MTU...: change the MTU under load.
changes() {
	local family=$1 headers=$2 mtu status=0

	shift 2
	cluster 2 9000 "$family"
	cluster_offload off
	new_traffic
	begin_all 0 "$CONNS" 300000 || return
	within "$PATIENCE" fits 9000 "$headers" || status=1
	for mtu; do
		flows "$SOME" 1 2 || return
		cluster_mtu "$mtu" || return
		flows "$SOME" 1 2 || return
		within "$PATIENCE" fits "$mtu" "$headers" || {
			diag "packets of $(peer 1 2 .packet_size) bytes at $mtu"
			status=1
		}
	done
	end_all whole || status=1
	diag "$(peer 1 2 '"\(.packets_lost) packets lost"')"
	cluster_down
	return "$status"
}

# Only the link in the middle is small, so no end knows it.
middle() {
	local status=0

	cluster 2 9000
	cluster_offload off
	new_traffic
	begin_all 0 "$CONNS" 300000 && flows "$SOME" 1 2 || return
	ip -n "$CLUSTER_BRIDGE" link set port2 mtu 1500
	flows "$SOME" 1 2 || status=1
	end_all whole || status=1
	diag "packets of $(peer 1 2 .packet_size) bytes, $(peer 1 2 .packets_lost) lost"
	cluster_down
	return "$status"
}

plan 4
check "IPv4: 9000, 1280, 1500, 9000, 1280" changes 4 28 1280 1500 9000 1280
check "IPv4: 9000, 600, 68, 1500" changes 4 28 600 68 1500
check "IPv6: 9000, 1500, 1280, 9000" changes 6 48 1500 1280 9000
check "a small link in the middle that sends no ICMP" middle
finish
