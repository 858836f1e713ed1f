#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Nodes with a wrong or unusual configuration report why they have no session, and open
# one as soon as they can. A node with several addresses sends to a peer from the address
# that the peer knows, not from the one that the routing table prefers. TAP; in a guest,
# as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

DEAD=5000
NODES=2

# says NODE PEER STATE REASON
says() {
	[ "$(peer "$1" "$2" '"\(.state) \(.reason)"')" = "$3 $4" ]
}

# becomes NODE PEER STATE REASON: wait for it; if it does not come, show what is there.
becomes() {
	within "$PATIENCE" says "$@" && return
	diag "node $1 says: $(peer "$1" "$2" '"\(.state) \(.reason)"')"
	return 1
}

# explained NODE PEER WORDS: the error message of a client contains WORDS.
explained() {
	refused 1 "$3" ip netns exec "dd$1" dd-rpc-client --node "$2" --count 1
}

# know FIRST SECOND [OPTION...]: the addresses that the nodes know each other by.
know() {
	cluster_exec 1 ddctl peer add 2 "$2" "${@:3}" &&
		cluster_exec 2 ddctl peer add 1 "$1" "${@:3}"
}

# --- numbers and ports -------------------------------------------------------

renumber() {
	cluster_exec 2 ddctl node down && cluster_exec 2 ddctl node set "$@" &&
		cluster_exec 2 ddctl node up
}

# The session that is up was negotiated with another number.
maximum_changes() {
	cluster 2
	within "$PATIENCE" all_up || return
	renumber max 7 && becomes 2 1 refused maxnodes && becomes 1 2 refused maxnodes &&
		explained 1 2 'has refused the session' &&
		renumber max 3 && talk
}

other_number() {
	cluster_up 2 && cluster_exec 1 ddctl peer add 0 10.9.0.2 &&
		cluster_exec 2 ddctl peer add 1 10.9.0.1 &&
		becomes 1 0 refused node &&
		explained 1 0 'has refused the session' &&
		cluster_exec 1 ddctl peer del 0 &&
		cluster_exec 1 ddctl peer add 2 10.9.0.2 && talk
}

# A node does not answer a sender that is not its peer.
one_sided() {
	cluster_up 2 &&
		cluster_exec 1 ddctl peer add 2 10.9.0.2 dead-time 500 &&
		becomes 1 2 unreachable dead &&
		explained 1 2 'node 2 does not answer' &&
		cluster_exec 1 ddctl peer set 2 dead-time 5000 &&
		cluster_exec 2 ddctl peer add 1 10.9.0.1 && talk
}

another_port() {
	cluster_up 2 && cluster_exec 1 ddctl node set port 4444 &&
		cluster_exec 2 ddctl node set port 4444 &&
		know 10.9.0.1:4444 10.9.0.2:4444 && talk
}

# --- addresses ---------------------------------------------------------------

# two FAMILY: node 2 gets a second address. The routing table prefers OTHER for packets
# to node 1, at TO; KNOWN is the other address.
two() {
	local first second

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
}

# An address of another network, over the same interface.
another_network() {
	cluster_up 2 && ip -n dd2 addr add 10.77.0.1/32 dev lo &&
		ip -n dd1 route add 10.77.0.1 via 10.9.0.2 &&
		know 10.9.0.1 10.77.0.1 dead-time 3000 && talk
}

removed() {
	two "$1" && know "$TO" "$KNOWN" dead-time 3000 && talk &&
		ip -n dd2 addr del "$KNOWN/$LENGTH" dev eth0 || return
	within "$PATIENCE" not_up || { diag "it is still up"; return 1; }
	cluster_exec 1 ddctl peer set 2 "$OTHER" && talk
}
not_up() { ! is_up 1 2; }

# Capture the packets with which node 2 opens a session, while its other address receives
# junk with the address of the peer, which is not there.
unmoved() {
	local junk said

	two 4 || return
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

# --- a tunnel ----------------------------------------------------------------

# tunnel NODE: make its end of the tunnel, with a key of its own.
tunnel() {
	local i=$1

	(umask 077 && wg genkey >"key$i") && wg pubkey <"key$i" >"pub$i" &&
		ip -n "dd$i" link add wg0 type wireguard &&
		ip -n "dd$i" addr add "10.7.0.$i/24" dev wg0 &&
		cluster_exec "$i" wg set wg0 private-key "key$i" listen-port 51820
}

join() {
	local i=$1 j=$2

	cluster_exec "$i" wg set wg0 peer "$(<"pub$j")" \
		allowed-ips "10.7.0.$j/32" endpoint "10.9.0.$j:51820" &&
		ip -n "dd$i" link set wg0 mtu 1420 up &&
		ip -n "dd$i" rule add pref 10 ipproto udp dport 56797 \
			to 10.9.0.0/24 blackhole
}

make_tunnel() {
	local i

	for i in 1 2; do
		tunnel $i || return
	done
	join 1 2 && join 2 1
}

# Documentation/protocol.rst recommends this for networks on which others may listen: WireGuard's
# interfaces have the addresses of the peers, and a firewall drops datagrams of dd on the
# network itself. The largest datagram has 1420 bytes less the headers of IPv4 and UDP.
tunnelled() {
	cluster_up 2 && make_tunnel && know 10.9.0.1 10.9.0.2 &&
		within "$PATIENCE" dropped 1 2 && within "$PATIENCE" dropped 2 1 &&
		! is_up 1 2 && ! is_up 2 1 &&
		cluster_exec 1 ddctl peer set 2 10.7.0.2 &&
		cluster_exec 2 ddctl peer set 1 10.7.0.1 &&
		within "$PATIENCE" all_up &&
		within "$PATIENCE" is_size 1 2 && within "$PATIENCE" is_size 2 1 && talk
}
dropped() { [ "$(peer "$1" "$2" .counters.tx_noroute)" -ge 3 ]; }
is_size() { [ "$(peer "$1" "$2" .packet_size)" = 1392 ]; }

plan 9
check "the number of nodes changes: the session ends, and both report why" \
	maximum_changes
check "a wrong number of the peer: it is reported, and corrected it connects" \
	other_number
check "a node does not answer until the sender is its peer" one_sided
check "another port" another_port
check "an address of another network, at lo" another_network
check "two addresses of IPv4: one is removed, and the other one is used" removed 4
check "two addresses of IPv6: one is removed, and the other one is used" removed 6
check "unauthenticated packets do not change the address" unmoved
check "a tunnel of WireGuard, and a firewall outside it" tunnelled
finish
