#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The scoreboard's measurements, where dd.ko is loaded; as root. Prints lines
# that begin with "#", of progress, and records in JSON, one a line; report.py
# describes them.
#
# Each round measures everything once, and begins with another job, so that drift
# affects all of them. Settings come from the environment:
#   ROUNDS=11   SIZES=8,64,...   COUNT=N (messages of a figure; by test and size)
#   READ_SIZES=4K,64K,1M (where every byte is read)
#   CONNS="1 10 ..."   MESSAGES=20000 (of a figure with many connections)
#   MTU=1500
#   ONLY=REGEX (jobs whose progress line matches; all)
#   NATIVE=1 (only what uses no kernel, on one node: on User-Mode Linux programs run
#   natively and system calls are slow, the clock's and yields among them)
#
# shellcheck source=selftests/net/cluster.sh
. "$(dirname "$0")/../selftests/net/cluster.sh"
set -uo pipefail

ROUNDS=${ROUNDS:-11}
SIZES=${SIZES:-8,64,4K,64K,1M,4M}
READ_SIZES=${READ_SIZES:-4K,64K,1M}
COUNT=${COUNT:-}
CONNS=${CONNS:-1 10 100 1000 10000}
MESSAGES=${MESSAGES:-20000}
MTU=${MTU:-1500}
NATIVE=${NATIVE:-}
HOLD=$(mktemp -d)
FAILED=0
# shellcheck source=bench/peers.sh
. "$(dirname "$0")/peers.sh"

SLEEPING=dd-kernel,futex,unix-block
SPINNING=dd-kernel,flag,shm,memcpy,vm-writev,vmmc,unix-spin
BY_MEMORY=flag,shm,memcpy,vmmc,st

finish() {
	local pids

	mapfile -t pids < <(jobs -p)
	[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null
	wait
	roce_down
	cluster_down
	rm -rf "$HOLD"
}

# --- ddperf ------------------------------------------------------------------

# The record of a report; the first round has environment and descriptions.
# shellcheck disable=SC2016 # variables of jq
FLOWS='{
	round: $round, where: $where, load: (.test | sub("net "; "")),
	touch: .parameters.touch, unit: .parameters.unit,
	less_is_better: .parameters.less_is_better,
	tool: .tool, command: .command,
	figures: [.results[] | .size as $size | .methods[] |
		[.name, .waiting, $size, .rounds.median]]
} + if $round == 0 then {
	environment: .environment, path: .path,
	what: ([.results[].methods[] | {(.name): .what}] | add)
} else {} end'

# flow WHERE COMMAND...: a report of lat, bw or rate.
flow() {
	local where=$1

	shift
	"$@" -j -r 1 ${COUNT:+-n "$COUNT"} >"$HOLD/report" 2>"$HOLD/err" &&
		jq -c --argjson round "$ROUND" --arg where "$where" "$FLOWS" \
			"$HOLD/report"
}

here() { flow here ddperf "$@"; }
net() {
	local test=$1

	shift
	flow net ip netns exec dd1 ddperf net "$test" --node 2 "$@"
}

# access WHERE put|get|cas: one-sided requests, one after the other, until each is done.
# shellcheck disable=SC2016 # variables of jq
ACCESS='{
	round: $round, where: $where, load: $load, touch: false, unit: "us",
	less_is_better: true, tool: .tool, command: .command,
	figures: [.size as $size | .results[] |
		select($native == "" or (.name | IN("dd", "vmmc", "memcpy", "cmpxchg"))) | [.name, "spin", $size, .rounds.median / 1000]]
} + if $round == 0 then { what: {
	"memcpy": "memcpy(), of memory that both processes share",
	"cmpxchg": "lock cmpxchg, on memory that both processes share",
	"vm-writev": "process_vm_writev()", "vm-readv": "process_vm_readv()",
	"vmmc": "vmmc_SendData() or vmmc_GetData()" } } else {} end'
access() {
	local where=$1 load=$2 size line=(ddperf "$2")

	[ "$where" = here ] || line=(ip netns exec dd1 ddperf net "$load" --node 2)
	for size in $(access_sizes "$load"); do
		# A word is 8 bytes, and cannot be set.
		# shellcheck disable=SC2046 # words
		"${line[@]}" $([ "$load" = cas ] || echo "-s $size") -j -r 1 \
			${COUNT:+-n "$COUNT"} >"$HOLD/report" 2>"$HOLD/err" &&
			jq -c --argjson round "$ROUND" --arg where "$where" \
				--arg load "$load" --arg native "$NATIVE" "$ACCESS" \
				"$HOLD/report" || return
	done
}

# Messages a second, on the active ones of N connections.
# shellcheck disable=SC2016 # variables of jq
CONNS_FIGURES='{
	round: $round, where: "here", load: "conns", touch: false, unit: "kmsg/s",
	less_is_better: false, tool: .tool, command: .command,
	figures: [.connections as $n |
		(if .block < 4096 then "dd-kernel" else "dd" end) as $carrier |
		.results[] | .processes as $p | .phases[] | select(.name == "random") |
		["\($carrier) from \($p)", "spin", $n, 1e6 / .cost.median]]
} + if $round == 0 then { what: {
	"dd from 1": "direct deposit, one sending process",
	"dd from 16": "direct deposit, 16 sending processes",
	"dd-kernel from 1": "by the kernel, blocks of 64 bytes",
	"dd-kernel from 16": "by the kernel, 16 sending processes" } } else {} end'

# connections N OPTION...; fewer than 16 connections are used by one process.
connections() {
	local n=$1

	shift
	ddperf conns -j -r 1 -n "$MESSAGES" -N "$n" "$@" \
		-P "$([ "$n" -lt 16 ] && echo 1 || echo 1,16)" \
		>"$HOLD/report" 2>"$HOLD/err" &&
		jq -c --argjson round "$ROUND" "$CONNS_FIGURES" "$HOLD/report"
}

# --- jobs --------------------------------------------------------------------

JOBS=(
	"here lat -s $SIZES -m $SPINNING"
	"here lat -s $SIZES -m $SLEEPING --sleep"
	"here lat -s $READ_SIZES -m $SPINNING --touch"
	"here bw -s $SIZES -m $SPINNING"
	"here bw -s $SIZES -m $SLEEPING --sleep"
	"here bw -s $READ_SIZES -m $SPINNING --touch"
	"here rate -s 8,64 -m $SPINNING"
	"here rate -s 8,64 -m $SLEEPING --sleep"
	"net lat -s $SIZES -m tcp-spin,vmmc"
	"net lat -s $SIZES -m tcp-block --sleep"
	"net bw -s $SIZES -m tcp-spin"
	"net bw -s $SIZES -m tcp-block --sleep"
	"net rate -s 8,64 -m tcp-spin"
	"net rate -s 8,64 -m tcp-block --sleep"
)
NATIVE_JOBS=(
	"here lat -s $SIZES -m $BY_MEMORY"
	"here bw -s $SIZES -m $BY_MEMORY"
	"here rate -s 8,64 -m $BY_MEMORY"
	"access here put" "access here get" "access here cas"
	"${NATIVE_PEER_JOBS[@]}"
)
for load in put get cas; do
	JOBS+=("access here $load" "access net $load")
done
for n in $CONNS; do
	JOBS+=("connections $n -B 4K" "connections $n")
done
JOBS+=("${PEER_JOBS[@]}")
[ -z "$NATIVE" ] || JOBS=("${NATIVE_JOBS[@]}")
mapfile -t JOBS < <(printf '%s\n' "${JOBS[@]}" | grep -E -- "${ONLY:-}")
[ ${#JOBS[@]} != 0 ] || {
	echo "# ONLY=$ONLY: no such job"
	exit 2
}

# A job that fails leaves a record, and does not stop the others.
work() {
	: >"$HOLD/err"
	$1 && return
	FAILED=$((FAILED + 1))
	echo "# failed: $1: $(tail -n 3 "$HOLD/err" | tr '\n' ' ')"
	jq -nc --argjson round "$ROUND" --arg job "$1" \
		--arg why "$(tail -n 1 "$HOLD/err")" \
		'{ round: $round, failed: $job, why: $why }'
}

two_nodes() {
	cluster_down
	cluster_pair "$MTU" && cluster_peers 2 || return
	ip netns exec dd2 ddperf net serve >"$HOLD/ready" &
	wait_for grep -q ready "$HOLD/ready" && wait_for cluster_is_up
}

# What the jobs need: two nodes and soft-RoCE; or a clock and yields that are no system calls.
set_up() {
	if [ "$NATIVE" ]; then
		export LD_PRELOAD=$PWD/build/bench/native.so
		return
	fi
	two_nodes 2>"$HOLD/err" || {
		echo "# no two nodes: $(tail -n 3 "$HOLD/err")"
		exit 1
	}
	# Without soft-RoCE its jobs fail, and leave records of that.
	roce_up "$MTU" 2>"$HOLD/err" || echo "# no soft-RoCE: $(tail -n 1 "$HOLD/err")"
}

trap finish EXIT
set_up
for ((ROUND = 0; ROUND < ROUNDS; ROUND++)); do
	for ((i = 0; i < ${#JOBS[@]}; i++)); do
		job=${JOBS[(i + ROUND) % ${#JOBS[@]}]}
		echo "# round $((ROUND + 1))/$ROUNDS, $((i + 1))/${#JOBS[@]}: $job"
		work "$job"
	done
done
[ "$FAILED" = 0 ]
