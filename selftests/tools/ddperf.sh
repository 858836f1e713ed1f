#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ddperf: every test runs and reports what was measured. The figures are not
# judged, except where the order of two is a property of the code.
#
# shellcheck disable=SC2317,SC2086 # called through check; words
# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
# shellcheck source=selftests/tools/report.sh
. "$(dirname "$0")/report.sh"
scratch
QUICK="-r 2 -n 20"

COMMON='.tool == "ddperf" and (.command | startswith("ddperf ")) and
	(.environment | .kernel != "" and .cpus_online >= 1 and .machine != "") and '

nothing_runs() { ! pgrep -x ddperf >/dev/null; }

# The client prints the server's error, and exits with its exit code.
local_faults() {
	local alice="setpriv --reuid=alice --regid=alice --init-groups"

	refused 1 'serving process: memory: .*locked memory' \
		$alice prlimit --memlock=1048576:1048576 \
		ddperf lat -n 1 -r 1 -s 2M || return 1
	[ "$(wc -l <refused.err)" = 1 ] || { diag "$(<refused.err)"; return 1; }
	ddctl node down
	refused 3 'not running' ddperf lat -n 1 -r 1 &&
		refused 3 'not running' ddperf conns -N 1 -A 1 -P 1 &&
		refused 3 'not running' ddperf insn &&
		refused 3 'not running' ddperf mem -N 1 &&
		within 10 nothing_runs
	local ret=$?

	ddctl node up
	return $ret
}

# Messages sent directly, on connections that are closed.
sent_directly() { ddctl -j stat | jq .direct; }

conns() {
	local before

	before=$(sent_directly)
	report "$SPREAD $COMMON"'(.command | contains(" -P 1,3 ")) and
		.connections == 100 and .block == 8192 and .size == 64 and
		[.results[].processes] == [1, 3] and
		all(.results[].phases[]; (.cost | spread) and (.by_one | spread)) and
		[.results[0].phases[].name] == ["one", "random", "round-robin"]' \
		ddperf conns -j -B 8K -N 100 -A 10 -P 1,3 -n 300 -r 2 || return
	# Two rounds and one before them, of three phases, by 1 and by 3.
	[ $(($(sent_directly) - before)) -ge $((2 * 3 * 3 * 290)) ] &&
		refused 2 'not below --size' ddperf conns -s 64 -B 56 &&
		refused 2 'multiple of 8' ddperf conns -s 64 -B 65
}

# A window costs less than a system call.
access() {
	local verb methods

	for verb in put get cas; do
		case $verb in
		put) methods='"dd", "dd-kernel", "memcpy", "vm-writev", "vmmc"' ;;
		get) methods='"dd", "dd-kernel", "memcpy", "vm-readv", "vmmc"' ;;
		cas) methods='"dd", "dd-kernel", "cmpxchg"' ;;
		esac
		report "$SPREAD $COMMON .test == \"$verb\" and ([.results[].name] == [$methods]) and
			.iterations == 300 and all(.results[]; (.rounds, .ratio) | spread) and
			.results[1].ratio.median < 1" ddperf "$verb" -j -r 3 -n 300 || return 1
	done
}

# says PATTERN COMMAND...: its table has such a line.
says() {
	local pattern=$1 got=0

	shift
	timeout 60 "$@" >out 2>err || got=$?
	[ "$got" = 0 ] && grep -q -e "$pattern" out && return
	diag "$*: exit code $got, no line like $pattern: $(head -c 500 err)"
	sed 's/^/# /' out
	return 1
}

for_people() {
	says "^  kernel   $(uname -r)" ddperf lat -r 2 -n 20 &&
		grep -q '^  command  ddperf lat -r 2 -n 20$' out &&
		grep -q '^round trip, 64 bytes, 2 rounds of 20,' out &&
		grep -q '^dd  *[0-9.]' out && grep -q '^unix-spin  *[0-9.]' out &&
		says '^round trip, 1 byte, 1 round of 5,' \
			ddperf lat -r 1 -n 5 -s 1 -m flag &&
		says '^getppid  *-\{0,1\}[0-9]' ddperf insn -n 100 &&
		says '^kernel  *-\{0,1\}[0-9]' ddperf mem -N 50 &&
		says '^round-robin' ddperf conns -N 20 -A 5 -P 2 -n 100 -r 2
}

messages_flow() { ddctl -j conn show | jq -se 'flatten | length > 0' >/dev/null; }

other_side_dies() {
	ddperf lat -r 1 -n 100000000 >out 2>err &
	local me=$!

	# Its server runs when a message has been sent.
	within "$PATIENCE" messages_flow || return 1
	pkill -9 -P $me
	exited $me 4 err && grep -q 'the other side went away' err
}

plan 13
check "lat" report "$SPREAD $COMMON"'.test == "lat" and (.results[0].size == 64) and
	all(.results[0].methods[]; (.rounds | spread) and
		(.percentiles | .p50 <= .p90 and .p90 <= .p99 and .p99 <= ."p99.9") and
		.iterations == 20) and
	all(.results[0].methods[1:][]; .ours_by_this | spread) and
	([.results[0].methods[].name] == ["dd", "dd-kernel", "flag", "shm", "futex", "vm-writev",
		"vmmc", "st", "unix-spin", "unix-block", "tcp-spin", "tcp-block"])' \
	ddperf lat -j $QUICK
check "bw, reading the payload" report "$SPREAD $COMMON"'.test == "bw" and
	.results[0].size == 1048576 and .parameters.unit == "MB/s" and .results[0].window == 3 and
	([.results[0].methods[].name] == ["dd", "dd-kernel", "shm", "memcpy", "futex",
		"vm-writev", "tcp-spin", "tcp-block"]) and
	all(.results[0].methods[]; .rounds | spread)' \
	ddperf bw -j $QUICK -w 3 --touch
check "rate" report "$SPREAD $COMMON"'.test == "rate" and .results[0].size == 8 and
	all(.results[0].methods[]; .rounds | spread)' \
	ddperf rate -j -r 2 -n 500 -s 8
check "odd sizes" report '[.results[].size] == [1, 3, 63, 65, 4097, 1000003]' \
	ddperf lat -j -r 1 -n 5 -t -s 1,3,63,65,4097,1000003
check "--size and --methods choose" report '[.results[] | [.size] + [.methods[].name]] ==
		[[8, "dd", "futex", "unix-spin"], [70000, "dd", "futex"]]' \
	ddperf lat -j -r 1 -n 3 -s 8,70000 -m unix-spin,futex
# On one CPU the receiver sleeps for each message: the sender runs only then.
check "--sleep sleeps" report '.parameters.waiting == "sleep" and
	(.results[0].methods[0] | .waiting == "sleep" and .voluntary_switches >= 40)' \
	ddperf lat -j -r 2 -n 20 --sleep -c 0,0
check "local faults: the client prints them, with their exit code" local_faults
# With an emulated clock, reading it may cost more than an operation.
check "insn" report "$COMMON"'[.results[].name] == ["dd-send", "dd-recv", "ddsend", "ddrecv",
		"vm-writev", "getppid", "memcpy", "dd-put", "dd-get", "dd-cas", "dd-put-kernel",
		"dd-get-kernel", "dd-cas-kernel", "dd-send-kernel", "dd-recv-kernel",
		"dd-sendv-4-kernel", "dd-sendv-16-kernel", "dd-sendv-16", "vmmc-send", "vmmc-get",
		"vmmc-send-redirectable", "vmmc-redirect", "vmmc-send-redirected"] and
	.iterations == 200 and all(.results[].cost; .min <= .median and .median <= .max)' \
	ddperf insn -j -n 200
check "conns, directly" conns
# Whole pages of the machine are counted, of other programs too: with few connections
# the difference may have any sign.
check "mem" report "$COMMON"'.connections == 2000 and .kernel > 0 and has("Slab") and
	has("kernel_after_closing")' ddperf mem -j -N 2000
check "put, get, cas" access
check "text reports" for_people
check "the other side is killed: exit code 4" other_side_dies
finish
