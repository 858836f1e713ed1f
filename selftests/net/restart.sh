#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Processes, sessions and nodes end under load and begin again, many times: connections
# end at both nodes, no message comes twice or after the end, the remaining traffic is
# correct, and nothing is left. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

DEAD=5000
KILLS=$(count 2 1)
TIMES=$(count 2 2)	# of all other ends
LARGEST=$(pick 65536 16384)	# bytes of a message
SOME=$(pick 40 10)	# messages of each node that prove that there is traffic
SLOTS=$(pick 64 16)	# connections to a server, dead ones included
MEM=()

serve_at() { serve "$1" -c "$SLOTS" -m "$LARGEST"; }
load_at() { load "$1" $((3 - $1)) -m "$LARGEST" "${KINDS[@]}"; }

# begin OPTION...: both nodes have clients, with these options, and servers. The shared
# file records the messages that killed processes tried to send.
begin() {
	KINDS=("$@")
	new_traffic
	serve_at 1 && serve_at 2 && within "$PATIENCE" all_up && load_at 1 && load_at 2 &&
		flows "$SOME" 1 2
}

# repeated MODE N COMMAND...: run COMMAND N times, each time after a random number of
# messages. Then there is traffic, which ends as end_all MODE checks.
repeated() {
	local i

	for ((i = 0; i < $2; i++)); do
		flows $((RANDOM % (2 * SOME) + 1)) 1 2 && "${@:3}" || return
	done
	diag "$2 times; node 1: $(peer 1 2 '"\(.sessions) sessions, last ended by \(.reason)"')"
	within "$PATIENCE" all_up && flows "$SOME" 1 2 && end_all "$1"
}

under_load() { begin -c 3 && repeated "$@"; }

# On a link on which packets are in flight for some time, so that each end finds some.
in_bursts() {
	cluster_netem delay 5ms rate 4mbit && begin -c 1 -k w && repeated "$@" && cluster_netem
}
burst() { within "$PATIENCE" in_flight "$1" "$2"; }
in_flight() { [ "$(peer "$1" "$2" .in_flight)" -gt 0 ]; }

# unconnected NODE PEER: no connection of the node leads to the other.
unconnected() {
	cluster_exec "$1" ddctl -j conn |
		jq -e "map(select(.peer_node == $2 and .error == 0)) == []" >/dev/null
}

# kill_one WHAT: kill the SERVER or LOAD of node 2.
kill_one() {
	declare -n of=$1

	kill -9 "${of[2]}"
	wait "${of[2]}" 2>/dev/null
}

kill_sender() { kill_one LOAD; load_at 2; }
kill_receiver() { kill_one SERVER; serve_at 2; }

# remove NODE: the peer of that node is removed and added again, which makes another session.
remove() {
	local other=$((3 - $1)) before

	before=$(peer "$other" "$1" .sessions)
	burst "$1" "$other" && cluster_exec "$1" ddctl peer del "$other" &&
		within "$PATIENCE" unconnected "$1" "$other" &&
		cluster_exec "$1" ddctl peer add "$other" "10.9.0.$other" &&
		within "$PATIENCE" all_up && [ "$(peer "$other" "$1" .sessions)" -gt "$before" ]
}

# The peer gets an address at which nothing answers, and its own back.
move() {
	burst 1 2 && cluster_exec 1 ddctl peer set 2 10.9.0.200 &&
		within "$PATIENCE" unconnected 1 2 &&
		cluster_exec 1 ddctl peer set 2 10.9.0.2
}

# hold NODE REQUEST...: of dd_hold, which is MEM[NODE] and ends with this script.
hold() {
	local node=$1

	shift
	rm -f "held$node"
	mkfifo "$HOLD/requests"
	ip netns exec "dd$node" dd_hold <"$HOLD/requests" >"held$node" &
	MEM[node]=$!
	exec {fd}>"$HOLD/requests"
	rm "$HOLD/requests"
	printf '%s\n' "$@" >&"$fd"
	within "$PATIENCE" answered "$node" $(($# + 1)) && ! grep error "held$node"
}
answered() { [ -e "held$1" ] && [ "$(wc -l <"held$1")" = "$2" ]; }
imports() { cluster_exec 1 ddctl -j import | jq -e "$1" >/dev/null; }

# All processes of a node are killed, its namespace ends, and a new one gets its address. Its
# segments are imported, look-ups wait at both nodes, and it has lists and a registrar. Every other
# time it cannot send a BYE, as after a power failure.
reboot() {
	hold 2 'export far 1 4' 'begin never 1' 'begin never 2' list registrar 'register far' &&
		hold 1 'begin far 2' 'begin never 2' &&
		within "$PATIENCE" imports 'map(.length > 0) == [true, false]' || return
	[ $((i % 2)) = 0 ] || cut 2
	kill -9 "${SERVER[2]}" "${LOAD[2]}" "${MEM[2]}"
	ip netns del dd2
	within "$PATIENCE" unconnected 1 2 &&
		within "$PATIENCE" imports 'length == 2 and all(.[]; .error > 11)' || return
	kill -9 "${MEM[1]}"
	wait "${SERVER[2]}" "${LOAD[2]}" "${MEM[@]}" 2>/dev/null
	within "$PATIENCE" port_gone && cluster_add 2 1500 && cluster_number 2 3 &&
		cluster_exec 2 ddctl peer add 1 10.9.0.1 && serve_at 2 && load_at 2
}
# The veth pair goes with the namespace.
port_gone() { ! ip -n "$CLUSTER_BRIDGE" link show port2 >/dev/null 2>&1; }

# While a node is down, connections wait, and continue afterwards.
down_and_up() { cluster_exec 2 ddctl node down && cluster_exec 2 ddctl node up; }

nothing_left() {
	local i object

	for i in $(cluster_nodes); do
		for object in service conn region segment import; do
			[ "$(cluster_exec "$i" ddctl -j "$object" | jq length)" = 0 ] || return
		done
	done
}

plan 8
cluster 2
check "senders are killed" under_load "" "$KILLS" kill_sender
check "receivers are killed" under_load broken "$KILLS" kill_receiver
check "a node is switched off and on" under_load broken "$TIMES" reboot
check "a node is down for a moment" under_load whole "$TIMES" down_and_up
check "the peer of node 1 is removed in bursts" in_bursts broken "$TIMES" remove 1
check "the peer of node 2 is removed in bursts" in_bursts broken "$TIMES" remove 2
check "a peer is moved in bursts" in_bursts broken "$TIMES" move
check "nothing is left" within "$PATIENCE" nothing_left
finish
