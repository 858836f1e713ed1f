#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# All nodes send to each other, or one to itself, over networks that lose, repeat, reorder,
# delay and damage packets; all messages arrive, once, in order, at their place. Sizes are in
# the output. TAP; in a guest, as root.
#
#	profiles.sh [PATTERN]	profiles whose names contain it

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

# Name, nodes, MTU, IP, connections to each node, largest message in bytes, and arguments
# of netem for the packets that a node sends.
PROFILES='
one node                   |1 |1500|4|16  |200000 |
one node, 1000 connections |1 |1500|4|1000|1000   |
2 nodes, MTU 9000          |2 |9000|4|4   |1048576|
2 nodes, MTU 1280, IPv6    |2 |1280|6|4   |200000 |
loss 1 %                   |2 |1500|4|4   |200000 |loss 1%
loss 10 %                  |2 |1500|4|4   |65536  |loss 10%
reordering                 |2 |1500|4|4   |200000 |delay 2ms reorder 30% 50% limit 10000
duplication                |2 |1500|4|4   |200000 |duplicate 10%
50 ms delay                |2 |1500|4|4   |200000 |delay 50ms limit 10000
20 Mbit/s                  |2 |1500|4|4   |65536  |rate 20mbit limit 100
damage 1 %                 |2 |1500|4|4   |65536  |corrupt 1%
all of it                  |2 |1500|4|4   |65536  |delay 5ms 2ms loss 2% duplicate 2% corrupt 1% reorder 10% limit 10000
1000 connections           |2 |1500|4|500 |1000   |
1000 connections, loss 1 % |2 |1500|4|500 |1000   |loss 1%
3 nodes                    |3 |1500|6|3   |200000 |
3 nodes, loss 1 %          |3 |1500|6|3   |65536  |loss 1%
16 nodes, loss 1 %         |16|1500|4|1   |8000   |loss 1%
'
# Least seconds of traffic, and messages of each node.
SECONDS_EACH=$(count 1 1)
MESSAGES=$(pick 40 20)
NOW=	# arguments of the current cluster

# as NODES MTU IP: make such a cluster if the current one is another.
as() {
	[ "$NOW" != "$*" ] || return 0
	NOW=$*
	cluster "$@"
	cluster_offload off && within "$PATIENCE" all_up
}

# profile NODES MTU IP CONNECTIONS BYTES NETEM...
profile() {
	local status=0 conns=$4 all

	# The debug kernels run with less memory.
	[ -z "$SLOW" ] || [ "$conns" -le 3 ] || conns=3
	as "$1" "$2" "$3" || return
	[ $# = 5 ] || cluster_netem "${@:6}" || return
	new_traffic
	mapfile -t all < <(seq "$NODES")
	begin_all "$conns" "$5" && sleep "$SECONDS_EACH" &&
		flows $((MESSAGES + 2 * conns)) "${all[@]}" || return
	end_all whole || status=1
	[ "$NODES" = 1 ] || diag "node 1 to 2: $(peer 1 2 '"\(.packets_sent) packets sent, " +
		"\(.packets_lost) lost, \(.dropped) of those received dropped, " +
		"RTT \(.rtt) us"')"
	[ $# = 5 ] || cluster_netem || return
	return "$status"
}

# Without blanks around it.
trim() { sed 's/^ *//; s/ *$//' <<<"$1"; }

selected() { grep -F -- "${1:-}" <<<"$PROFILES" | grep .; }

plan "$(selected "$@" | wc -l)"
while IFS='|' read -r name nodes mtu ip conns bytes netem; do
	# shellcheck disable=SC2086 # words
	check "$(trim "$name"): all messages arrive, once, at their place" \
		profile $nodes $mtu $ip $conns $bytes $netem </dev/null
done < <(selected "$@")
finish
