#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ddperf: every test runs and reports what it says it does. Its figures are
# not judged here, except that spinning must not cost time slices.
#
# shellcheck disable=SC2317,SC2086 # called through check; words
# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
scratch
QUICK="-r 2 -n 20"

# report FILTER COMMAND...: its JSON satisfies the filter.
report() {
	local filter=$1 got=0

	shift
	timeout 100 "$@" >out.json 2>err || got=$?
	[ "$got" = 0 ] && jq -e "$filter" out.json >/dev/null && return
	diag "$*: exit code $got: $(head -c 500 err)"
	diag "$(head -c 1500 out.json)"
	return 1
}

COMMON='.tool == "ddperf" and (.command | startswith("ddperf ")) and
	(.environment | .kernel != "" and .cpus_online >= 1 and .machine != "") and '
SPREAD='def spread: .min <= .p25 and .p25 <= .median and .median <= .p75 and
	.p75 <= .max and .min > 0; '

# soon COMMAND...: what is measured in time is as the filter has it in one of some
# attempts; others that use the machine may have spoilt the rest.
soon() { within "$PATIENCE" "$@"; }

# shellcheck disable=SC2086 # words
lat() {
	report "$SPREAD $COMMON"'.test == "lat" and (.results[0].size == 64) and
		all(.results[0].methods[]; (.rounds | spread) and
			(.percentiles | .p50 <= .p90 and .p90 <= .p99 and
			.p99 <= ."p99.9") and .iterations == 20) and
		all(.results[0].methods[1:][]; .ours_by_this | spread) and
		([.results[0].methods[].name] == ["dd", "dd-kernel", "flag", "shm", "futex",
			"vm-writev", "unix-spin", "unix-block", "unix-stream",
			"pipe"])' ddperf lat -j $QUICK
}

# shellcheck disable=SC2086 # words
bw() {
	report "$SPREAD $COMMON"'.test == "bw" and .results[0].size == 1048576 and
		.parameters.unit == "MB/s" and .results[0].window == 3 and
		([.results[0].methods[].name] ==
			["dd", "dd-kernel", "shm", "memcpy", "futex",
			"vm-writev", "unix-stream", "pipe"]) and
		all(.results[0].methods[]; .rounds | spread)' \
		ddperf bw -j $QUICK -w 3 --touch
}

rate() {
	report "$SPREAD $COMMON"'.test == "rate" and .results[0].size == 8 and
		all(.results[0].methods[]; .rounds | spread)' \
		ddperf rate -j -r 2 -n 500 -s 8
}

all_sizes() {
	report '[.results[].size] == [range(1; 21) | pow(2; .)]' \
		ddperf lat -a -j -r 1 -n 3 &&
		report '.results | length == 20' ddperf bw -a -j -r 1 -n 3
}

odd_sizes() {
	local size

	for size in 1 3 63 65 4097 1000003; do
		report ".results[0].size == $size" \
			ddperf lat -j -r 1 -n 5 -t -s $size || return 1
	done
}

choice() {
	report '[.results[] | [.size] + [.methods[].name]] ==
		[[8, "dd", "unix-spin", "pipe"], [70000, "dd", "pipe"]]' ddperf lat -j -r 1 -n 3 -s 8,70000 -m pipe,unix-spin
}

# Of 80 messages some are there before anybody has gone to sleep for them; spinning,
# a side leaves its CPU a few times in all.
asleep() {
	soon report '.parameters.waiting == "sleep" and
		(.results[0].methods[0] |
		 .client.voluntary_switches + .server.voluntary_switches >= 20)' \
		ddperf lat -j -r 2 -n 20 --sleep
}

duration() {
	report '.results[0].methods[0].iterations > 2' ddperf lat -j -r 2 -D 0.5 -m shm
}

insn() {
	soon report "$SPREAD $COMMON"'[.results[].name] == ["dd-send", "dd-recv",
		"ddsend", "ddrecv", "vm-writev", "getppid", "memcpy",
		"dd-send-kernel", "dd-recv-kernel", "dd-sendv-4-kernel",
		"dd-sendv-16-kernel", "dd-sendv-16"] and
		.iterations == 200 and
		(.results[9].cost.median < .results[7].cost.median) and
		(.results[7].cost.median > .results[5].cost.median) and
		(.results[7].cost.median > .results[0].cost.median)' \
		ddperf insn -j -n 200
}

# Before messages are timed to choose the iterations, others are sent. Four of
# 16 MiB take longer than what it wants to see: it goes on with no more.
warmed_up() {
	local before counted

	before=$(sent_directly)
	report '.results[0].methods | length == 2' \
		ddperf lat -j -r 1 -D 0.1 -s 16M -m memcpy,shm || return
	# Each message of a round trip, at either end, and one to begin with.
	counted=$(jq '.results[0].methods[0].iterations |
		. + (. / 10 | floor) + 1' out.json)
	counted=$(($(sent_directly) - before - 2 * counted))
	[ "$counted" -ge 40 ] && return
	diag "$counted messages to choose the iterations"
	return 1
}

nothing_runs() { ! pgrep -x ddperf >/dev/null; }

# What stops the server is what the client says, with the exit code for that.
local_faults() {
	local alice="setpriv --reuid=alice --regid=alice --init-groups"

	refused 1 'serving process: memory: .*locked memory' \
		$alice prlimit --memlock=1048576:1048576 \
		ddperf lat -n 1 -r 1 -s 2M || return 1
	[ "$(wc -l <refused.err)" = 1 ] || {
		diag "$(cat refused.err)"
		return 1
	}
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

full_disk() {
	local got=0

	ddperf lat -r 1 -n 5 -m shm >/dev/full 2>err || got=$?
	[ "$got" = 1 ] && grep -q '^ddperf: standard output: No space' err && return
	diag "exit code $got: $(cat err)"
	return 1
}

# Messages that the kernel had no part in, on connections that are over.
sent_directly() { ddctl -j stat | jq .direct; }

conns_direct() {
	local before

	before=$(sent_directly)
	report '.block == 8192 and .size == 64' \
		ddperf conns -j -B 8K -N 100 -A 10 -P 1,3 -n 300 -r 2 || return
	# Two rounds and one before them, of four phases, by 1 and by 3.
	[ $(($(sent_directly) - before)) -ge $((2 * 3 * 4 * 290)) ] &&
		refused 2 'not below --size' ddperf conns -s 64 -B 56 &&
		refused 2 'multiple of 8' ddperf conns -s 64 -B 65
}

conns() {
	report "$SPREAD $COMMON"'(.command | contains(" -P 1,3 ")) and .connections == 100 and .block == 64 and
		[.results[].processes] == [1, 3] and
		all(.results[].phases[]; (.cost | spread) and (.by_one | spread) and
			.messages >= 594) and
		[.results[0].phases[].name] == ["one", "one-each", "random",
			"round-robin"]' \
		ddperf conns -j -N 100 -A 10 -P 1,3 -n 300 -r 2 &&
		report "$SPREAD $COMMON"'.carrier == "unix" and
			all(.results[].phases[]; .cost | spread)' \
			ddperf conns -j --unix -N 3000 -A 10 -P 1,3 -n 300 -r 2
}

# Whole pages of the machine are counted, others' too: with few connections the
# difference may have any sign.
mem() {
	report "$COMMON"'.connections == 2000 and .kernel > 0 and
		(.parts | has("Slab")) and (.slab | length > 0)' ddperf mem -j -N 2000
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
		says '^dd-send  *[0-9]' ddperf insn -n 100 &&
		says '^kernel memory  *-\{0,1\}[0-9]' ddperf mem -N 50 &&
		says '^round-robin' ddperf conns -N 20 -A 5 -P 2 -n 100 -r 2
}

two_terminals() {
	ddperf lat --server here >server.out 2>&1 &
	local server=$!

	within "$PATIENCE" has_line server.out '^ready$' &&
		report '.test == "lat"' ddperf lat --client here -j -r 1 -n 10 &&
		report '.test == "bw"' ddperf bw --client here -j -r 1 -n 10 &&
		refused 1 'no server of that name' ddperf lat --client there &&
		refused 1 'in use' ddperf lat --server here
	local ret=$?

	kill $server
	wait $server 2>/dev/null
	return $ret
}

other_side_dies() {
	ddperf lat -r 1 -n 100000000 >out 2>err &
	local me=$!

	within "$PATIENCE" pgrep -P $me >/dev/null || return 1
	sleep 0.5
	pkill -9 -P $me
	exited $me 4 err && grep -q 'the other side went away' err
}

# Both sides on one CPU: a spinning one that does not give way would be seen
# as time slices, milliseconds, in each round trip.
one_cpu() {
	# shellcheck disable=SC2016 # jq variables
	soon report '(.results[0].methods | INDEX(.name)) as $m |
		$m.dd.rounds.median <= 5 * $m."unix-block".rounds.median + 100' \
		ddperf lat -j -r 3 -n 100 -c 0,0 &&
		diag "one CPU: $(jq -c '[.results[0].methods[] |
			{(.name): .rounds.median}] | add' out.json)"
}

plan 19
check "lat" lat
check "bw, reading the payload" bw
check "rate" rate
check "--all sizes" all_sizes
check "odd sizes" odd_sizes
check "--size and --methods choose" choice
check "--sleep sleeps" asleep
check "--duration" duration
check "--duration: warmed up before it is timed" warmed_up
check "local faults: said by the client, with their exit code" local_faults
check "a full disk" full_disk
check "insn" insn
check "conns" conns
check "conns --block, directly" conns_direct
check "mem" mem
check "reports for people" for_people
check "--server and --client" two_terminals
check "the other side is killed: exit code 4" other_side_dies
check "one CPU: spinning gives way" one_cpu
finish
