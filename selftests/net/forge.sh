#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Two nodes talk, and a third one floods them with packets in their names:
# replayed, of old sessions, cut off, with any byte of their headers another,
# with guessed secrets, or plain junk. Counters show them, memory shows none:
# the traffic compares every byte, and all around. TAP; in a guest, as root.

# shellcheck disable=SC2317 # called through check
# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

COUNT=$(count 15000 3000)
CAPTURE=$HOLD/capture
ONE=10.9.0.1 TWO=10.9.0.2

# dropped NODE PEER: packets that nothing came of. Some of them would have been
# answered, if there were not too many of that kind; they are not counted twice.
dropped() {
	peer "$1" "$2" '[.counters | to_entries[] |
		select(.key | startswith("drop-")) |
		select(.key != "drop-rate") | .value] | add'
}

# counters NODE PEER: those of drops that are not 0.
counters() {
	peer "$1" "$2" '[.counters | to_entries[] |
		select(.key | startswith("drop-")) | select(.value > 0) |
		"\(.key) \(.value)"] | join(", ")'
}

# capture: packets of the session, as they are on the wire.
capture() {
	rm -f "$CAPTURE"
	ip netns exec "$CLUSTER_BRIDGE" timeout 20 tcpdump -Z root -i br0 \
		--immediate-mode -w "$CAPTURE" -c "${1:-3000}" udp port 56797 2>"$HOLD/tcpdump.err"
	[ -s "$CAPTURE" ] && return
	diag "no capture: $(cat "$HOLD/tcpdump.err")"
	return 1
}

# flood HOW: in the name of node 1; as node 2 counts what it throws away.
flood() { cluster_exec 3 net_forge "$1" "$COUNT" "$ONE" "$TWO" "$CAPTURE" >/dev/null; }

# counted HOW LEAST: at least that many of a hundred are.
counted() {
	local before after

	before=$(dropped 2 1)
	flood "$1" || return
	after=$(dropped 2 1)
	diag "$1: $COUNT packets, $((after - before)) dropped and counted"
	diag "$(counters 2 1)"
	[ $((100 * (after - before))) -ge $(($2 * COUNT)) ]
}

two_peers() {
	cluster_up 3 &&
		cluster_exec 1 ddctl peer add 2 "$TWO" dead-time 10000 &&
		cluster_exec 2 ddctl peer add 1 "$ONE" dead-time 10000 &&
		cluster_offload off
}

start() {
	NODES=2
	new_traffic
	begin_all "$1" 4 65536 && within "$PATIENCE" is_up 1 2
}

unharmed() {
	end_all whole && [ "$(peer 2 1 .sessions)" = "$1" ]
}

# The session that packets were captured from is over, and the next one is up.
another_session() {
	cluster_exec 1 ddctl peer del 2 &&
		cluster_exec 1 ddctl peer add 2 "$TWO" dead-time 10000 &&
		within "$PATIENCE" is_up 1 2 && within "$PATIENCE" is_up 2 1
}

# What a node that is no peer says in its own name.
strangers() { cluster_exec 3 net_forge handshake "$COUNT" 10.9.0.3 "$TWO" >/dev/null; }

plan 13
two_peers || {
	echo "Bail out! no cluster"
	exit 1
}
check "two nodes talk" start "$(count 10 40)"
check "their packets are captured" capture
check "replayed: thrown away and counted" counted replay 95
check "with guessed tokens: thrown away and counted" counted token 95
check "cut off at every length: thrown away and counted" counted truncate 95
check "junk: thrown away and counted" counted junk 95
check "guessed handshakes" flood handshake
check "from a stranger" strangers
check "memory shows none of it, and the session goes on" unharmed 1
check "another session begins" another_session
start "$(count 6 25)"
check "packets of the old session: thrown away and counted" counted replay 95
check "those with any byte of the header another: likewise" counted fields 95
check "memory shows none of it, and the session goes on" unharmed 2
finish
