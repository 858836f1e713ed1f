#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs of tools/samples: the four ways to synchronise, on one node or with the servers at
# node 2, and names of three nodes. Run by clerks.sh, or clerks.sh -3.
#
# shellcheck disable=SC2317 # called through check
# shellcheck source=selftests/harness/servers.sh
. "$(dirname "$0")/../harness/servers.sh"

# server NAME COMMAND...: until stop().
server() { serve_segment "$@"; SERVERS+=("$SERVER"); }

stop() {
	kill "${SERVERS[@]}" 2>/dev/null
	wait "${SERVERS[@]}" 2>/dev/null
	SERVERS=()
}

# --- ways to synchronise -------------------------------------------------------------

hints() {
	server board rm-board serve
	rm-board post 3 75 "$node" && rm-board post 7 20 "$node" &&
		rm-board post 3 50 "$node" && [ "$(rm-board show "$node")" = $'3: 50\n7: 20' ]
}

flag_word() {
	server queue rm-queue take 5
	rm-queue put "$node" one two && rm-queue put "$node" three four five && wait "$SERVER" &&
		[ "$(cat server.out)" = $'one\ntwo\nthree\nfour\nfive' ]
}

# Processes add at the same time, at different nodes if there are any: no addition is lost.
lock() {
	local pids=() prefix=() i

	server lock rm-lock serve
	for i in 1 2 3; do
		[ "$node" = -1 ] || prefix=(ip netns exec "dd$i")
		"${prefix[@]}" rm-lock add 20 "$node" >"sum$i" &
		pids+=($!)
	done
	wait "${pids[@]}" && sort -n sum? >sums && [ "$(tail -n 1 sums)" = 60 ]
}

control_transfer() {
	server call rm-call serve
	[ "$(rm-call ask "$node" 'hello, server')" = 'HELLO, SERVER' ] &&
		[ "$(rm-call ask "$node" again)" = AGAIN ]
}

# --- names of three nodes --------------------------------------------------------------

at() { ip netns exec "dd$1" "${@:2}"; }

# server_at NODE NAME COMMAND...
server_at() {
	local there=(ip netns exec "dd$1")

	server "${@:2}"
}

shows() { [ "$(at "$1" rm-board show "$2")" = "$3" ]; }

# Nodes 2 and 3 import what node 1 exports.
one_board() {
	local i

	server_at 1 board rm-board serve
	at 2 rm-board post 2 22 1 && at 3 rm-board post 3 33 1 && rm-board post 1 11 &&
		for i in 1 2 3; do
			shows "$i" 1 $'1: 11\n2: 22\n3: 33' || return
		done
}

# The same name on two nodes: the third one says which it means, and these find their own.
a_board_each() {
	server_at 2 board rm-board serve
	server_at 3 board rm-board serve
	rm-board post 5 50 2 && rm-board post 6 60 3 &&
		shows 1 2 '5: 50' && shows 1 3 '6: 60' && shows 2 3 '5: 50' && shows 3 2 '6: 60'
}

clerk_gone() { [ "$(at 3 ddctl -j node | jq .registrar)" = false ]; }

# Of node 3, where a program works meanwhile, for longer than its import takes to be seen.
# Nodes 1 and 2 need only their own clerks.
a_clerk_is_killed() {
	local adder before bad=0

	server_at 1 board rm-board serve
	server_at 1 lock rm-lock serve
	server_at 3 call rm-call serve
	# Not by at(), whose shell would be killed instead.
	ip netns exec dd3 rm-lock add 1000000000 1 >sum &
	adder=$!
	rm-board post 1 1 && within "$PATIENCE" lock_imported && kill -KILL "$(<"$CLERKS/3")" &&
		within "$PATIENCE" clerk_gone || return
	before=$(rm-lock add 1) || bad=1
	refused 1 'Host is down' ip netns exec dd3 rm-board show 1 &&
		refused 1 'Host is down' ip netns exec dd2 rm-call ask 3 hello &&
		shows 2 1 $'1: 1' && [ "$(rm-lock add 1)" -gt $((before + 1)) ] || bad=1
	kill $adder || bad=1
	wait $adder
	ip netns exec dd3 rmclerk >clerk.out &
	echo $! >"$CLERKS/3"
	within "$PATIENCE" has_line clerk.out ready && [ $bad = 0 ] && shows 3 1 $'1: 1' &&
		[ "$(at 2 rm-call ask 3 hello)" = HELLO ]
}
lock_imported() {
	at 1 ddctl -j segment | jq -e 'any(.[]; .key == "lock" and .importers > 0)' >/dev/null
}

SERVERS=()
check "RM_46_1 hints without synchronisation" hints
stop
check "RM_46_2 a flag word between a producer and a consumer" flag_word
stop
check "RM_46_3 a lock by compare and swap" lock
stop
check "RM_46_4 control transfer where it is needed" control_transfer
stop
if [ "$node" != -1 ]; then
	check "RM_39 one export, imports on all nodes" one_board
	stop
	check "RM_39 a name on each node" a_board_each
	stop
	check "RM_34 the clerk of one node is killed" a_clerk_is_killed
	stop
fi
finish
