#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Nodes, and processes that send or receive, end under load and start again, many times;
# the remaining traffic is correct. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

KILLS=$(count 2 1)
RESTARTS=$(count 2 2)
LARGEST=$(pick 65536 16384)	# bytes of a message
SOME=$(pick 40 10)	# messages of each node that prove that there is traffic
SLOTS=$(pick 64 16)	# connections to a server, dead ones included
ARGS=(-c 3 -m "$LARGEST")

# The shared file records the messages that killed processes tried to send.
begin() {
	new_traffic
	serve 1 -c "$SLOTS" -m "$LARGEST" && serve 2 -c "$SLOTS" -m "$LARGEST" &&
		within "$PATIENCE" all_up
}

# Wait for a random number of messages of each client.
a_while() { flows $((RANDOM % (2 * SOME) + 1)) "${!LOAD[@]}"; }

# goes_on MODE: there is traffic, which ends as end_all MODE checks.
goes_on() { flows "$SOME" "${!LOAD[@]}" && end_all "$1"; }

# kill_one WHAT: kill the SERVER or LOAD of node 2.
kill_one() {
	declare -n of=$1

	kill -9 "${of[2]}"
	wait "${of[2]}" 2>/dev/null
}

# Both nodes have clients and servers, and one process of node 2 is killed repeatedly.
senders_killed() {
	local i

	begin || return
	load 1 2 "${ARGS[@]}"
	for ((i = 0; i < KILLS; i++)); do
		load 2 1 "${ARGS[@]}"
		a_while || return
		kill_one LOAD
	done
	diag "killed $KILLS times"
	load 2 1 "${ARGS[@]}"
	goes_on ""
}

receivers_killed() {
	local i

	begin || return
	load 1 2 "${ARGS[@]}"
	load 2 1 "${ARGS[@]}"
	for ((i = 0; i < KILLS; i++)); do
		a_while || return
		kill_one SERVER
		serve 2 -c "$SLOTS" -m "$LARGEST" || return
	done
	diag "killed $KILLS times"
	goes_on broken
}

# The peer of node 2 is removed and added again, which makes another session.
peer_again() {
	local i before after

	begin || return
	before=$(peer 1 2 .sessions)
	load 1 2 "${ARGS[@]}"
	load 2 1 "${ARGS[@]}"
	for ((i = 0; i < RESTARTS; i++)); do
		a_while || return
		cluster_exec 2 ddctl peer del 1 || return
		cluster_exec 2 ddctl peer add 1 10.9.0.1 || return
		within "$PATIENCE" all_up || return
	done
	after=$(peer 1 2 .sessions)
	diag "removed and added $RESTARTS times; sessions: $before before, $after after"
	goes_on broken && [ $((after - before)) -ge "$RESTARTS" ]
}

# The node ends with its namespace, and a new one gets its address. Every other time it
# cannot send a BYE, as after a power failure.
reboot() {
	[ $((i % 2)) = 0 ] || cut 2
	kill_one SERVER
	kill_one LOAD
	ip netns del dd2 &&
		within "$PATIENCE" port_gone &&
		cluster_add 2 1500 && cluster_number 2 3 &&
		cluster_exec 2 ddctl peer add 1 10.9.0.1 &&
		serve 2 -c "$SLOTS" -m "$LARGEST" && load 2 1 "${ARGS[@]}"
}
# The veth pair goes with the namespace.
port_gone() { ! ip -n "$CLUSTER_BRIDGE" link show port2 >/dev/null 2>&1; }

node_again() {
	local i

	begin || return
	load 1 2 "${ARGS[@]}"
	load 2 1 "${ARGS[@]}"
	for ((i = 0; i < RESTARTS; i++)); do
		a_while || return
		reboot || return
		within "$PATIENCE" all_up || return
	done
	diag "switched off and on $RESTARTS times"
	diag "node 1: $(peer 1 2 '"\(.sessions) sessions, last ended by \(.reason)"')"
	goes_on broken
}

# While a node is down, connections wait, and continue afterwards.
node_down_and_up() {
	local i

	begin || return
	load 1 2 "${ARGS[@]}"
	for ((i = 0; i < RESTARTS; i++)); do
		a_while || return
		cluster_exec 2 ddctl node down || return
		cluster_exec 2 ddctl node up || return
	done
	goes_on whole
}

nothing_left() {
	local i object

	for i in 1 2; do
		for object in service conn region; do
			within "$PATIENCE" none "$i" "$object" || return
		done
	done
}
none() { [ "$(cluster_exec "$1" ddctl -j "$2" | jq length)" = 0 ]; }

plan 6
cluster 2
check "senders are killed" senders_killed
check "receivers are killed" receivers_killed
check "a peer is removed and added" peer_again
check "a node is switched off and on" node_again
check "a node is down for a moment" node_down_and_up
check "nothing is left of them" nothing_left
finish
