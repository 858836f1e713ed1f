#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The samples, on one node or, run by across.sh, with other members at the other one.
#
# shellcheck disable=SC2317 # called through check
# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
PROGRAMS=$PWD/build/samples/sbl
scratch

there=()
[ -z "${DDP_PEER_NODE:-}" ] || there=(ip netns exec "$DDP_PEER_NETNS")

# good PID...: they end with status 0.
good() {
	local pid bad=0

	for pid; do
		wait "$pid" || bad=1
	done
	return "$bad"
}

pingpong() {
	local pid

	"${there[@]}" "$PROGRAMS/pingpong" worker >peer 2>&1 &
	pid=$!
	within "$PATIENCE" grep -q : peer && "$PROGRAMS/pingpong" "$1" "$2" "$(cat peer)" >out 2>&1 &&
		grep -q "^$1 update: $2 round trips" out && good $pid && return
	diag "$(cat out peer)"
	kill $pid
	return 1
}

# The second member is at the other node.
blackboard() {
	local first pids

	"$PROGRAMS/blackboard" 0 3 "from the first" >board0 2>&1 &
	pids=($!)
	within "$PATIENCE" grep -q : board0
	first=$(head -1 board0)
	"${there[@]}" "$PROGRAMS/blackboard" 1 3 "from the second" "$first" >board1 2>&1 &
	pids+=($!)
	"$PROGRAMS/blackboard" 2 3 "from the third" "$first" >board2 2>&1 &
	pids+=($!)
	good "${pids[@]}" && diff <(tail -n +2 board0) board1 && diff board1 board2 &&
		diff board2 - <<<$'0: from the first\n1: from the second\n2: from the third' && return
	diag "$(cat board?)"
	return 1
}

usage() { "$PROGRAMS/$1" "${@:2}" >out 2>&1; [ $? = 2 ] && grep -q '^[a-z]*: usage: ' out; }

check "SBL_13_pingpong by deliberate update" pingpong deliberate 300
check "SBL_16_pingpong by automatic update" pingpong automatic 100
check "SBL_16_blackboard of three members" blackboard
check "pingpong: usage" usage pingpong automatic
check "blackboard: usage" usage blackboard 3 3 text
finish
