#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# "ddperf net": every test runs between two nodes and reports what was measured. Of
# the figures only those are judged that do not depend on time.
#
# shellcheck disable=SC2317,SC2086 # called through check; words
# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/../net/net.sh"
# shellcheck source=selftests/tools/report.sh
. "$NET_DIR/../tools/report.sh"
CLIENT="ip netns exec dd1 timeout 100 ddperf net"
QUICK="--node 2 -j -r 2 -n 20"
PATHS='(.path | .address == "10.9.0.2" and .mtu == 1500 and
	(.dd_packet_size | . > 1400 and . <= 1500)) and '

COST="$SPREAD"'([.results[0].methods[].name] == ["dd", "tcp-block"]) and
	all(.results[0].methods[]; .rounds | spread)'

serve_perf() {
	ip netns exec dd2 ddperf net serve >serve.out 2>serve.err &
	PERF=$!
	within "$PATIENCE" has_line serve.out '^ready$'
}

set_up() { cluster_pair 1500 && cluster_peers 2 && serve_perf && within "$PATIENCE" is_up 1 2; }

for_people() {
	$CLIENT lat --node 2 -r 2 -n 20 >out 2>err &&
		grep -q '^  path     to 10.9.0.2, MTU 1500, packets' out &&
		grep -q '^dd .* packets a message, [0-9]* lost$' out &&
		grep -q '^tcp-spin  *[0-9.]' out
}

six() {
	cluster_exec 1 ddctl peer set 2 fd09::2 &&
		cluster_exec 2 ddctl peer set 1 fd09::1 && within "$PATIENCE" is_up 1 2 &&
		report '.path.address == "fd09::2"' $CLIENT lat $QUICK
}

no_server() {
	refused 1 "no 'ddperf net serve'" $CLIENT lat --node 2 --port 1 &&
		refused 1 'knows no address' $CLIENT lat --node 0
}

# A client that speaks another protocol gets no answer, and harms no other client.
other_clients() {
	head -c 1000 /dev/urandom |
		cluster_exec 1 timeout "$PATIENCE" bash -c 'cat >/dev/tcp/10.9.0.2/56798' &&
		cluster_exec 1 timeout "$PATIENCE" bash -c ': >/dev/tcp/10.9.0.2/56798' &&
		within "$PATIENCE" has_line serve.err 'another version' &&
		! gone "$PERF" && report '.test == "net lat"' $CLIENT lat $QUICK
}

connected() {
	cluster_exec 2 ddctl -j conn show | jq -se 'flatten | length > 0' >/dev/null
}

server_dies() {
	$CLIENT lat --node 2 -r 1 -n 100000000 >out 2>err &
	local me=$!

	within "$PATIENCE" connected || return 1
	kill -9 "$PERF"
	wait "$PERF" 2>/dev/null
	exited $me 4 err && grep -q 'the other side went away' err
}

plan 15
check "two nodes, and a server" set_up
# A message takes one packet, and some take another one.
check "net lat" report "$SPREAD $PATHS"'.test == "net lat" and
	([.results[0].methods[].name] == ["dd", "vmmc", "st", "tcp-spin", "tcp-block"]) and
	all(.results[0].methods[]; (.rounds | spread) and .iterations == 200) and
	all(.results[0].methods[1:][]; .ours_by_this | spread) and
	(.results[0].methods[0].packets_per_message | . >= 1 and . < 4)' \
	$CLIENT lat --node 2 -j -r 2 -n 200
# 1 MiB are some 700 packets, and acknowledgements.
check "net bw, reading the payload" report "$SPREAD $PATHS"'.test == "net bw" and
	.results[0].size == 1048576 and
	([.results[0].methods[].name] == ["dd", "tcp-spin", "tcp-block"]) and
	all(.results[0].methods[]; .rounds | spread) and
	(.results[0].methods[0].packets_per_message | . > 690 and . < 2200)' \
	$CLIENT bw $QUICK --touch
check "net lat of several sizes" report '[.results[].size] == [2, 65536, 1048576]' \
	$CLIENT lat --node 2 -j -s 2,64K,1M -r 1 -n 3
check "net rate" report '.test == "net rate" and .results[0].size == 1' \
	$CLIENT rate --node 2 -j -r 2 -n 20000 -s 1
check "net bw of several sizes" report '[.results[] | .size, .window] == [64, 256, 65536, 8]' \
	$CLIENT bw --node 2 -j -r 1 -n 3 -s 64,64K
check "net insn" report "$COST"' and .test == "net insn" and .parameters.waiting == "sleep" and
	.parameters.unit == "ns of all processors"' $CLIENT insn $QUICK
check "net trip" report "$COST"' and .test == "net trip"' $CLIENT trip $QUICK
check "net put" report "$SPREAD"'.test == "put" and .size == 65536 and
	([.results[].name] == ["dd", "vmmc", "dd-pinned", "dd-unwired"]) and
	all(.results[]; (.rounds, .ratio) | spread)' $CLIENT put --node 2 -j -r 2 -n 20 -s 64K
check "net conns" report "$SPREAD"'.test == "net conns" and .connections == 100 and
	all(.results[].phases[]; (.cost | spread) and (.by_one | spread))' \
	$CLIENT conns $QUICK -N 100 -A 10 -P 1,3
check "text reports" for_people
check "no server, no peer" no_server
check "clients of another protocol" other_clients
check "IPv6" six
check "the server is killed: exit code 4" server_dies
finish
