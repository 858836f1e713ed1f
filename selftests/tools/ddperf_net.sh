#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# "ddperf net": every test runs between two nodes and reports what was measured. Of
# the figures only those are judged that do not depend on time.
#
# shellcheck disable=SC2317,SC2086 # called through check; words
# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
# shellcheck source=selftests/net/cluster.sh
. "$(dirname "$0")/../net/cluster.sh"
scratch
trap 'end; rm -rf "$TAP_DIR"' EXIT
NET="ip netns exec dd1 timeout 100 ddperf net"
QUICK="--node 2 -j -r 2 -n 20"

end() {
	local pids

	mapfile -t pids < <(jobs -p)
	[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null
	wait
	cluster_down 2>/dev/null
}

# report FILTER COMMAND...: its JSON satisfies the filter.
report() {
	local filter=$1 got=0

	shift
	"$@" >out.json 2>err || got=$?
	[ "$got" = 0 ] && jq -e "$filter" out.json >/dev/null && return
	diag "$*: exit code $got: $(head -c 500 err)"
	diag "$(head -c 1500 out.json)"
	return 1
}

SPREAD='def spread: .min <= .p25 and .p25 <= .median and .median <= .p75 and
	.p75 <= .max and .min > 0; '
PATHS='(.path | .address == "10.9.0.2" and .mtu == 1500 and
	(.dd_packet_size | . > 1400 and . <= 1500)) and '

up() { [ "$(cluster_exec "$1" ddctl -j peer show "$2" | jq -r .state)" = up ]; }

serve() {
	ip netns exec dd2 ddperf net serve >serve.out 2>serve.err &
	SERVER=$!
	within "$PATIENCE" has_line serve.out '^ready$'
}

set_up() {
	cluster_down 2>/dev/null
	cluster_pair 1500 && cluster_peers 2 && serve && within "$PATIENCE" up 1 2
}

# A message takes one packet, and some take another one.
lat() {
	report "$SPREAD $PATHS"'.test == "net lat" and
		([.results[0].methods[].name] == ["dd", "vmmc", "st", "tcp-spin", "tcp-block"]) and
		all(.results[0].methods[]; (.rounds | spread) and .iterations == 200) and
		all(.results[0].methods[1:][]; .ours_by_this | spread) and
		(.results[0].methods[0].packets_per_message | . >= 1 and . < 4)' \
		$NET lat --node 2 -j -r 2 -n 200
}

# 1 MiB are some 700 packets, and acknowledgements.
bw() {
	report "$SPREAD $PATHS"'.test == "net bw" and .results[0].size == 1048576 and
		([.results[0].methods[].name] == ["dd", "tcp-spin", "tcp-block"]) and
		all(.results[0].methods[]; .rounds | spread) and
		(.results[0].methods[0].packets_per_message | . > 690 and . < 2200)' \
		$NET bw $QUICK --touch
}

sizes() {
	report '[.results[].size] == [2, 65536, 1048576]' \
		$NET lat --node 2 -j -s 2,64K,1M -r 1 -n 3 &&
		report '.test == "net rate" and .results[0].size == 1' \
			$NET rate --node 2 -j -r 2 -n 20000 -s 1 &&
		report '[.results[] | .size, .window] == [64, 256, 65536, 8]' \
			$NET bw --node 2 -j -r 1 -n 3 -s 64,64K
}

cost() {
	report "$SPREAD"'.test == "net insn" and .parameters.waiting == "sleep" and
		.parameters.unit == "ns of all processors" and
		([.results[0].methods[].name] == ["dd", "tcp-block"]) and
		all(.results[0].methods[]; .rounds | spread)' $NET insn $QUICK &&
		report "$SPREAD"'.test == "net trip" and
		([.results[0].methods[].name] == ["dd", "tcp-block"]) and
		all(.results[0].methods[]; .rounds | spread)' $NET trip $QUICK
}

access() {
	report "$SPREAD"'.test == "put" and .size == 65536 and
		([.results[].name] == ["dd", "vmmc", "dd-pinned", "dd-unwired"]) and
		all(.results[]; (.rounds, .ratio) | spread)' \
		$NET put --node 2 -j -r 2 -n 20 -s 64K
}

conns() {
	report "$SPREAD"'.test == "net conns" and .connections == 100 and
		all(.results[].phases[]; (.cost | spread) and (.by_one | spread))' \
		$NET conns $QUICK -N 100 -A 10 -P 1,3
}

for_people() {
	$NET lat --node 2 -r 2 -n 20 >out 2>err &&
		grep -q '^  path     to 10.9.0.2, MTU 1500, packets' out &&
		grep -q '^dd .* packets a message, [0-9]* lost$' out &&
		grep -q '^tcp-spin  *[0-9.]' out
}

six() {
	cluster_exec 1 ddctl peer set 2 fd09::2 &&
		cluster_exec 2 ddctl peer set 1 fd09::1 && within "$PATIENCE" up 1 2 &&
		report '.path.address == "fd09::2"' $NET lat $QUICK
}

no_server() {
	refused 1 "no 'ddperf net serve'" $NET lat --node 2 --port 1 &&
		refused 1 'knows no address' $NET lat --node 0
}

# A client that speaks another protocol gets no answer, and harms no other client.
other_clients() {
	head -c 1000 /dev/urandom |
		cluster_exec 1 timeout "$PATIENCE" bash -c 'cat >/dev/tcp/10.9.0.2/56798' &&
		cluster_exec 1 timeout "$PATIENCE" bash -c ': >/dev/tcp/10.9.0.2/56798' &&
		within "$PATIENCE" has_line serve.err 'another version' &&
		! gone $SERVER && report '.test == "net lat"' $NET lat $QUICK
}

connected() {
	cluster_exec 2 ddctl -j conn show | jq -se 'flatten | length > 0' >/dev/null
}

server_dies() {
	$NET lat --node 2 -r 1 -n 100000000 >out 2>err &
	local me=$!

	within "$PATIENCE" connected || return 1
	kill -9 $SERVER
	wait $SERVER 2>/dev/null
	exited $me 4 err && grep -q 'the other side went away' err
}

plan 12
check "two nodes, and a server" set_up
check "net lat" lat
check "net bw, reading the payload" bw
check "net lat of several sizes, net rate" sizes
check "net insn, net trip" cost
check "net put" access
check "net conns" conns
check "text reports" for_people
check "no server, no peer" no_server
check "clients of another protocol" other_clients
check "IPv6" six
check "the server is killed: exit code 4" server_dies
finish
