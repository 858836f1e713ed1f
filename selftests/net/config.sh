#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Nodes with a wrong or unusual configuration report why they have no session, and open
# one as soon as they can. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

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
	cluster_exec "$1" timeout "$PATIENCE" dd-rpc-client --node "$2" \
		--count 1 >client.out 2>&1
	grep -q -- "$3" client.out && return
	diag "$(cat client.out)"
	return 1
}

renumber() {
	cluster_exec "$1" ddctl node down &&
		cluster_exec "$1" ddctl node set "${@:2}" &&
		cluster_exec "$1" ddctl node up
}

other_maximum() {
	fresh
	cluster_up 2 && renumber 2 max 7 &&
		cluster_exec 1 ddctl peer add 2 10.9.0.2 &&
		cluster_exec 2 ddctl peer add 1 10.9.0.1 &&
		becomes 1 2 refused maxnodes &&
		becomes 2 1 refused maxnodes &&
		explained 1 2 'has refused the session' &&
		renumber 2 max 3 && talk
}

# The session that is up was negotiated with another number.
maximum_changes() {
	fresh
	cluster 2
	within "$PATIENCE" all_up || return
	renumber 2 max 7 && becomes 2 1 refused maxnodes &&
		becomes 1 2 refused maxnodes &&
		explained 1 2 'has refused the session' &&
		renumber 2 max 3 && talk
}

other_number() {
	fresh
	cluster_up 2 && cluster_exec 1 ddctl peer add 0 10.9.0.2 &&
		cluster_exec 2 ddctl peer add 1 10.9.0.1 &&
		becomes 1 0 refused node &&
		explained 1 0 'has refused the session' &&
		cluster_exec 1 ddctl peer del 0 &&
		cluster_exec 1 ddctl peer add 2 10.9.0.2 && talk
}

# A node does not answer a sender that is not its peer.
one_sided() {
	fresh
	cluster_up 2 &&
		cluster_exec 1 ddctl peer add 2 10.9.0.2 dead-time 500 &&
		becomes 1 2 unreachable dead &&
		explained 1 2 'node 2 does not answer' &&
		cluster_exec 1 ddctl peer set 2 dead-time 5000 &&
		cluster_exec 2 ddctl peer add 1 10.9.0.1 && talk
}

another_port() {
	local i

	fresh
	cluster_up 2 || return
	for i in 1 2; do
		cluster_exec "$i" ddctl node set port 4444 &&
			cluster_exec "$i" ddctl peer add "$((3 - i))" \
				"10.9.0.$((3 - i)):4444" || return
	done
	talk
}

# The message names the port and what to do.
port_in_use() {
	fresh
	cluster_up 2 && ip -n dd1 link add wg0 type wireguard &&
		cluster_exec 1 wg set wg0 listen-port 56797 &&
		ip -n dd1 link set wg0 up || return
	if cluster_exec 1 ddctl peer add 2 10.9.0.2 2>"$HOLD/said"; then
		diag "not refused"
		return 1
	fi
	diag "$(cat "$HOLD/said")"
	grep -q 'UDP port 56797' "$HOLD/said" &&
		grep -q 'ip_local_reserved_ports=56797' "$HOLD/said" &&
		ip -n dd1 link del wg0 &&
		cluster_exec 1 ddctl peer add 2 10.9.0.2 &&
		cluster_exec 2 ddctl peer add 1 10.9.0.1 && talk
}

# To the peer this is another machine: connections end, and new ones can be made.
another_address() {
	fresh
	cluster 2
	within "$PATIENCE" all_up || return
	new_traffic
	begin_all 0 3 65536 && flows 10 1 2 || return
	ip -n dd2 addr del 10.9.0.2/24 dev eth0 &&
		ip -n dd2 addr add 10.9.0.22/24 dev eth0 || return
	cluster_exec 1 ddctl peer set 2 10.9.0.22 || return
	within "$PATIENCE" all_up || return
	end_all broken
}

plan 7
check "different numbers of nodes: both report it, and connect once they agree" \
	other_maximum
check "the number of nodes changes: the session ends, and both report why" \
	maximum_changes
check "a wrong number of the peer: it is reported, and corrected it connects" \
	other_number
check "a node does not answer until the sender is its peer" one_sided
check "another port" another_port
check "a port in use is named, and works once it is free" port_in_use
check "another address: connections end, new ones work" another_address
finish
