#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Peers are removed, or moved to another address, while packets of both directions are
# in flight: connections end at both nodes, no message comes twice or after the end,
# nothing is left, and a new session carries traffic. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

MEM=()
TIMES=$(count 20 2)
SOME=$(pick 40 10)	# messages that prove that there is traffic
ARGS=(-c 1 -m 4096 -k W)

# A link on which packets are in flight for some time, so that each removal finds some.
slow_link() {
	local i

	for i in 1 2; do
		tc -n "dd$i" qdisc replace dev eth0 root netem delay 5ms rate 4mbit || return
	done
}

begin() {
	new_traffic
	serve 1 -c 64 -m 4096 && serve 2 -c 64 -m 4096 &&
		within "$PATIENCE" all_up &&
		load 1 2 "${ARGS[@]}" && load 2 1 "${ARGS[@]}" &&
		flows "$SOME" 1 2
}

burst() { within "$PATIENCE" in_flight "$1" "$2"; }
in_flight() { [ "$(peer "$1" "$2" .in_flight)" -gt 0 ]; }

# removed NODE: its peer is removed during a burst, and added again.
removed() {
	local i other=$((3 - $1))

	begin || return
	for ((i = 0; i < TIMES; i++)); do
		burst "$1" "$other" || return
		cluster_exec "$1" ddctl peer del "$other" &&
			[ "$(cluster_exec "$1" ddctl -j peer show | jq length)" = 0 ] &&
			within "$PATIENCE" none "$1" "$other" &&
			cluster_exec "$1" ddctl peer add "$other" "10.9.0.$other" &&
			within "$PATIENCE" all_up && flows "$SOME" 1 2 || return
	done
	end_all broken
}

# No connection of the node leads to the other.
none() {
	[ "$(cluster_exec "$1" ddctl -j conn | jq "map(select(.peer_node == $2 and .error == 0)) | length")" = 0 ]
}

# The peer gets an address at which nothing answers, and its own back.
moved() {
	local i

	begin || return
	for ((i = 0; i < TIMES; i++)); do
		burst 1 2 || return
		cluster_exec 1 ddctl peer set 2 10.9.0.200 &&
			within "$PATIENCE" none 1 2 &&
			cluster_exec 1 ddctl peer set 2 10.9.0.2 &&
			within "$PATIENCE" all_up && flows "$SOME" 1 2 || return
	done
	end_all broken
}

# hold NODE REQUEST...: of dd_hold, which is MEM[NODE] and ends with this script.
hold() {
	local node=$1

	shift
	mkfifo "$HOLD/requests"
	ip netns exec "dd$node" dd_hold <"$HOLD/requests" >"held$node" &
	MEM[node]=$!
	exec {fd}>"$HOLD/requests"
	rm "$HOLD/requests"
	printf '%s\n' "$@" >&"$fd"
	within "$PATIENCE" answered "$node" $(($# + 1)) && ! grep error "held$node"
}
answered() { [ "$(wc -l <"held$1")" = "$2" ]; }
imports() { cluster_exec 1 ddctl -j import | jq -e "$1" >/dev/null; }

# All processes of a node are killed and its namespace ends, during a burst. Its segments
# are imported, look-ups wait at both nodes, and it has lists and a registrar.
namespace_ends() {
	begin && burst 2 1 &&
		hold 2 'export far 1 4' 'begin never 1' 'begin never 2' list registrar 'register far' &&
		hold 1 'begin far 2' 'begin never 2' &&
		within "$PATIENCE" imports 'map(.length > 0) == [true, false]' || return
	kill -9 "${SERVER[2]}" "${LOAD[2]}" "${MEM[2]}"
	ip netns del dd2
	within "$PATIENCE" none 1 2 &&
		within "$PATIENCE" imports 'length == 2 and all(.[]; .error > 11)' || return
	kill -9 "${MEM[1]}"
	wait "${SERVER[2]}" "${LOAD[2]}" "${MEM[@]}" 2>/dev/null
	unset "SERVER[2]" "LOAD[2]"
	end_all broken
}

nothing_left() {
	local object

	for object in service conn region segment import; do
		[ "$(cluster_exec 1 ddctl -j "$object" | jq length)" = 0 ] || return
	done
}

plan 5
cluster 2
slow_link
check "the peer of node 1 is removed in bursts" removed 1
check "the peer of node 2 is removed in bursts" removed 2
check "a peer is moved in bursts" moved
check "a namespace ends in a burst" namespace_ends
check "nothing is left" within "$PATIENCE" nothing_left
finish
