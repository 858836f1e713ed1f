#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The four ways to synchronise, as programs of tools/samples; run by clerks.sh, on one node
# or with the servers at the other one.
#
# shellcheck disable=SC2317 # called through check
# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
scratch

there=() node=${DDP_PEER_NODE:--1}
[ "$node" = -1 ] || there=(ip netns exec "$DDP_PEER_NETNS")

# serve NAME COMMAND...: start a server and wait until it has exported its segment.
serve() {
	local name=$1

	shift
	"${there[@]}" "$@" >server.out 2>server.err &
	SERVER=$!
	within "$PATIENCE" exported "$name" || diag "$(cat server.err)"
}
exported() { "${there[@]}" ddctl segment | grep -qw "$1"; }

stop() {
	kill "$SERVER"
	wait "$SERVER" 2>/dev/null
	return 0
}

hints() {
	serve board rm-board serve
	rm-board post 3 75 "$node" && rm-board post 7 20 "$node" &&
		rm-board post 3 50 "$node" && rm-board show "$node" >out &&
		[ "$(cat out)" = $'3: 50\n7: 20' ]
}

flag_word() {
	serve queue rm-queue take 5
	rm-queue put "$node" one two && rm-queue put "$node" three four five &&
		wait "$SERVER" &&
		[ "$(cat server.out)" = $'one\ntwo\nthree\nfour\nfive' ]
}

# Processes add at the same time: no addition is lost.
lock() {
	local pids=() i

	serve lock rm-lock serve
	for i in 1 2 3; do
		rm-lock add 20 "$node" >"sum$i" &
		pids+=($!)
	done
	wait "${pids[@]}" && sort -n sum? >sums && [ "$(tail -n 1 sums)" = 60 ]
}

control_transfer() {
	serve call rm-call serve
	[ "$(rm-call ask "$node" 'hello, server')" = 'HELLO, SERVER' ] &&
		[ "$(rm-call ask "$node" again)" = AGAIN ]
}

plan 5
check "RM_46_1 hints without synchronisation" hints
stop
check "RM_46_2 a flag word between a producer and a consumer" flag_word
check "RM_46_3 a lock by compare and swap" lock
stop
check "RM_46_4 control transfer where it is needed" control_transfer
stop
check "RM_46 the programs explain themselves" explain rm-board rm-queue rm-lock rm-call
finish
