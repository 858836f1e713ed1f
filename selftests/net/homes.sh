#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A node with several addresses sends to a peer from the address that the peer knows,
# not from the one that the routing table prefers. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

NODES=2

# know FIRST SECOND: the addresses that the nodes know each other by.
know() {
	cluster_exec 1 ddctl peer add 2 "$2" dead-time 3000 &&
		cluster_exec 2 ddctl peer add 1 "$1" dead-time 3000
}

# two FAMILY: node 2 gets a second address. The routing table prefers OTHER for packets
# to node 1, at TO; KNOWN is the other address.
two() {
	local first second

	fresh
	cluster_up 2 || return
	if [ "$1" = 4 ]; then
		TO=10.9.0.1 first=10.9.0.2 second=10.9.0.202 LENGTH=24
		ip -n dd2 addr add "$second/$LENGTH" dev eth0 || return
	else
		TO=fd09::1 first=fd09::2 second=fd09::202 LENGTH=64
		ip -n dd2 addr add "$second/$LENGTH" dev eth0 nodad || return
	fi
	OTHER=$(ip -n dd2 -j route get "$TO" | jq -r '.[0].prefsrc')
	case $OTHER in
	"$first") KNOWN=$second ;;
	"$second") KNOWN=$first ;;
	*) return 1 ;;
	esac
	diag "the route prefers $OTHER, the peer knows $KNOWN"
	know "$TO" "$KNOWN"
}

two_talk() { two "$1" && talk; }

# An address of another network, over the same interface.
another_network() {
	fresh
	cluster_up 2 && ip -n dd2 addr add 10.77.0.1/32 dev lo &&
		ip -n dd1 route add 10.77.0.1 via 10.9.0.2 &&
		know 10.9.0.1 10.77.0.1 && talk
}

# End the session, and wait for the next one.
told_another() { two 4 && talk && cluster_exec 1 ddctl peer set 2 "$OTHER" && talk; }

removed() {
	two "$1" && talk && ip -n dd2 addr del "$KNOWN/$LENGTH" dev eth0 || return
	within "$PATIENCE" not_up || { diag "it is still up"; return 1; }
	cluster_exec 1 ddctl peer set 2 "$OTHER" && talk
}
not_up() { ! is_up 1 2; }

# Capture the packets with which node 2 opens a session, while its other address receives
# junk with the address of the peer, which is not there.
unmoved() {
	local junk said

	two 4 || return
	cluster_exec 1 ddctl peer del 2 && cluster_exec 2 ddctl peer del 1 || return
	ip netns exec dd1 net_forge junk 1000000000 "$TO" "$KNOWN" >/dev/null &
	junk=$!
	cluster_exec 2 ddctl peer add 1 "$TO" dead-time 10000 || return
	# INITs: 88 bytes.
	said=$(ip netns exec "$CLUSTER_BRIDGE" timeout "$PATIENCE" tcpdump -Z root -n -i br0 \
		-c 6 "udp port 56797 and dst host $TO and (src host $KNOWN or src host $OTHER) and udp[4:2] = 96" \
		2>"$HOLD/tcpdump.err")
	kill "$junk"
	wait "$junk" 2>/dev/null
	diag "$(grep -c "IP $OTHER.56797" <<<"$said") of 6 from $OTHER"
	[ "$(grep -c "IP $OTHER.56797" <<<"$said")" = 6 ]
}

plan 7
check "two addresses of IPv4" two_talk 4
check "two addresses of IPv6" two_talk 6
check "an address of another network, at lo" another_network
check "the peer is configured with another address" told_another
check "the address is removed: another one is used" removed 4
check "the same with IPv6" removed 6
check "unauthenticated packets do not change the address" unmoved
finish
