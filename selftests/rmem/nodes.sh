#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Remote memory of three nodes, with programs of tools/samples: run by clerks.sh -3.
#
# shellcheck disable=SC2317 # called through check
# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
scratch

at() {
	local node=$1

	shift
	ip netns exec "dd$node" "$@"
}

# serve NODE NAME COMMAND...: start a server and wait until it has exported its segment.
serve() {
	local node=$1 name=$2

	shift 2
	ip netns exec "dd$node" "$@" >server.out 2>server.err &
	SERVERS+=($!)
	within "$PATIENCE" exported "$node" "$name" || diag "$(cat server.err)"
}
exported() { at "$1" ddctl segment | grep -qw "$2"; }

stop() {
	kill "${SERVERS[@]}"
	wait "${SERVERS[@]}" 2>/dev/null
	SERVERS=()
}

shows() { [ "$(at "$1" rm-board show "$2")" = "$3" ]; }

# Nodes 2 and 3 import what node 1 exports.
one_board() {
	serve 1 board rm-board serve
	at 2 rm-board post 2 22 1 && at 3 rm-board post 3 33 1 && rm-board post 1 11 &&
		for node in 1 2 3; do
			shows $node 1 $'1: 11\n2: 22\n3: 33' || return
		done
}

# The same name on two nodes: the third one says which it means, and these find their own.
a_board_each() {
	serve 2 board rm-board serve
	serve 3 board rm-board serve
	rm-board post 5 50 2 && rm-board post 6 60 3 &&
		shows 1 2 '5: 50' && shows 1 3 '6: 60' && shows 2 3 '5: 50' && shows 3 2 '6: 60'
}

one_lock() {
	local pids=() node

	serve 1 lock rm-lock serve
	for node in 1 2 3; do
		at $node rm-lock add 20 1 >"sum$node" &
		pids+=($!)
	done
	wait "${pids[@]}" && sort -n sum? >sums && [ "$(tail -n 1 sums)" = 60 ]
}

calls() {
	serve 2 call rm-call serve
	[ "$(rm-call ask 2 one)" = ONE ] && [ "$(at 3 rm-call ask 2 three)" = THREE ] &&
		[ "$(at 2 rm-call ask 2 two)" = TWO ]
}

clerk_kill() {
	kill -KILL "$(<"$CLERKS/$1")"
	within "$PATIENCE" clerk_gone "$1"
}
clerk_gone() { [ "$(at "$1" ddctl -j node | jq .registrar)" = false ]; }

clerk_start() {
	# That of the former clerk says "ready".
	rm -f clerk.out
	ip netns exec "dd$1" rmclerk >clerk.out &
	echo $! >"$CLERKS/$1"
	within "$PATIENCE" has_line clerk.out ready
}

# Of node 3, where a program works meanwhile, for longer than its import takes to be seen.
# Nodes 1 and 2 need only their own clerks.
a_clerk_is_killed() {
	local adder before bad=0

	serve 1 board rm-board serve
	serve 1 lock rm-lock serve
	serve 3 call rm-call serve
	# Not by at(), whose shell would be killed instead.
	ip netns exec dd3 rm-lock add 1000000000 1 >sum &
	adder=$!
	rm-board post 1 1 && within "$PATIENCE" imported 1 && clerk_kill 3 || return
	before=$(rm-lock add 1) || bad=1
	refused 1 'Host is down' ip netns exec dd3 rm-board show 1 &&
		refused 1 'Host is down' ip netns exec dd2 rm-call ask 3 hello &&
		shows 2 1 $'1: 1' && [ "$(rm-lock add 1)" -gt $((before + 1)) ] || bad=1
	kill $adder || bad=1
	wait $adder
	clerk_start 3
	[ $bad = 0 ] && shows 3 1 $'1: 1' && [ "$(at 2 rm-call ask 3 hello)" = HELLO ]
}
imported() { [ "$(at "$1" ddctl -j segment | jq '[.[] | select(.key == "lock")][0].importers')" -gt 0 ]; }

# The importers of both other nodes see a delay only.
restarted_under_load() {
	local pids=() node

	serve 1 board rm-board serve
	rm-board post 1 1 || return
	for node in 2 3; do
		(
			until [ -e enough ]; do
				shows $node 1 $'1: 1' || exit
				echo >>"rounds$node"
			done
		) &
		pids+=($!)
	done
	for _ in 1 2 3; do
		rm -f rounds2 rounds3
		within "$PATIENCE" both_work && clerk_kill 1 && clerk_start 1
	done
	touch enough
	wait "${pids[0]}" && wait "${pids[1]}"
}
both_work() { [ -e rounds2 ] && [ -e rounds3 ]; }

plan 6
SERVERS=()
check "RM_39 one export, imports on all nodes" one_board
stop
check "RM_39 a name on each node" a_board_each
stop
check "RM_46_3 a lock that three nodes share" one_lock
stop
check "RM_46_4 calls from three nodes" calls
stop
check "RM_34 the clerk of one node is killed" a_clerk_is_killed
stop
check "RM_34 the clerk of the exporter is killed under load" restarted_under_load
stop
finish
