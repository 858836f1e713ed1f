#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Two nodes talk, and a third one floods them with packets in their names:
# replayed, of old sessions, cut off, with any byte of their headers another,
# with guessed secrets, or plain junk. Counters show them, memory shows none:
# the traffic compares every byte, and all around. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

COUNT=$(count 15000 3000)
CAPTURE=$HOLD/capture
ONE=10.9.0.1 TWO=10.9.0.2

# dropped NODE PEER: packets that nothing came of.
dropped() { peer "$1" "$2" .dropped; }

# counters NODE PEER: those of drops that are not 0.
counters() {
	peer "$1" "$2" '[.counters | to_entries[] |
		select(.key | startswith("drop_")) | select(.value > 0) |
		"\(.key) \(.value)"] | join(", ")'
}

# capture: packets of the session, as they are on the wire. What heads the file takes
# 24 bytes, and a slow machine a while until there is more.
capture() {
	rm -f "$CAPTURE"
	ip netns exec "$CLUSTER_BRIDGE" timeout 60 tcpdump -Z root -i br0 \
		--immediate-mode -w "$CAPTURE" -c "${1:-3000}" udp port 56797 2>"$HOLD/tcpdump.err"
	[ "$(stat -c %s "$CAPTURE")" -gt 1000 ] && return
	diag "no capture: $(cat "$HOLD/tcpdump.err")"
	return 1
}

# flood HOW: in the name of node 1; as node 2 counts what it throws away.
flood() { cluster_exec 3 net_forge "$1" "$COUNT" "$ONE" "$TWO" "$CAPTURE" >/dev/null; }

# reasons REASON...: so many were dropped for these.
reasons() {
	local reason sum=0

	for reason; do
		sum=$((sum + $(peer 2 1 ".counters.\"drop_$reason\"")))
	done
	echo "$sum"
}

# Packets that no processor had room for before anybody looked at them: on a busy
# machine many.
overrun() {
	local sum=0 dropped

	while read -r _ dropped _; do
		sum=$((sum + 16#$dropped))
	done </proc/net/softnet_stat
	echo "$sum"
}

# once HOW REASON...: each is counted, for one of these reasons, and once; but
# for those that came to a full queue.
once() {
	local before after lost

	before=$(reasons "${@:2}") lost=$(overrun)
	flood "$1" || return
	after=$(reasons "${@:2}") lost=$(($(overrun) - lost))
	diag "$1: $COUNT packets, $((after - before)) counted for their reason, $lost overrun"
	[ $((100 * (after - before + lost))) -ge $((95 * COUNT)) ] &&
		[ $((after - before)) -le "$COUNT" ]
}

# counted HOW LEAST: at least that many of a hundred are. The two talk meanwhile:
# a few more may be dropped.
counted() {
	local before after lost

	before=$(dropped 2 1) lost=$(overrun)
	flood "$1" || return
	after=$(dropped 2 1) lost=$(($(overrun) - lost))
	diag "$1: $COUNT packets, $((after - before)) dropped and counted, $lost overrun"
	diag "$(counters 2 1)"
	[ $((100 * (after - before + lost))) -ge $(($2 * COUNT)) ]
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

messages() { peer 2 1 '.counters."drop_message"'; }
reached() { [ "$(messages)" -ge "$1" ]; }

# packets_of HOW COUNT: with the session's secret, in one order; on two
# processors packets overtake each other, and one that comes much too early ends
# what may be counted.
packets_of() {
	cluster_exec 3 taskset -c 0 net_forge "$@" "$ONE" "$TWO" "$CAPTURE" >/dev/null
}

# Control messages that mean nothing, by somebody who knows the session's secret:
# the first ones may have numbers of the past, and a few are answered.
meaningless() {
	local before after

	before=$(messages)
	packets_of control 1000 || return
	within "$PATIENCE" reached $((before + 850))
	after=$(messages)
	diag "1000 messages, $((after - before)) counted"
	[ $((after - before)) -ge 850 ] && [ $((after - before)) -le 1000 ]
}

# Queries that are refused in a hurry, while the news that refusals have come is
# late: there is no room for all of them at once, and each comes all the same.
each_refused() {
	local queries answers

	queries=$(messages) answers=$(peer 1 2 '.counters."drop_message"')
	tc -n dd1 qdisc replace dev eth0 root netem delay 100ms &&
		packets_of query 200 || return
	within "$PATIENCE" all_refused "$queries" "$answers"
	tc -n dd1 qdisc del dev eth0 root
	queries=$(($(messages) - queries))
	answers=$(($(peer 1 2 '.counters."drop_message"') - answers))
	diag "$queries queries, $answers answers"
	[ "$queries" -ge 150 ] && [ "$answers" = "$queries" ]
}
# Who has asked nothing counts the answers.
all_refused() {
	[ $(($(messages) - $1)) -ge 150 ] &&
		[ $(($(peer 1 2 '.counters."drop_message"') - $2)) = \
			$(($(messages) - $1)) ]
}

# Connections come and go, so control messages do; then it is quiet.
short() { start 1 && within "$PATIENCE" is_up 2 1 && capture 300 && end_all whole; }

afterwards() { another_session && start 1 && end_all whole; }

# What a node that is no peer says in its own name.
strangers() { cluster_exec 3 net_forge handshake "$COUNT" 10.9.0.3 "$TWO" >/dev/null; }

# fragments: that node 1 has made.
# shellcheck disable=SC2016 # by awk
fragments() {
	cluster_exec 1 awk '$1 == "Ip:" && !n { n = split($0, name); next }
		$1 == "Ip:" { for (i = 1; i <= n; i++)
			if (name[i] == "FragCreates") print $i; exit }' /proc/net/snmp
}

# The way from node 1 to node 2 is said to be narrower than our smallest packet.
said_narrow() {
	local made

	start 0 || return
	cluster_exec 3 net_forge icmp 20 "$TWO" "$ONE" >/dev/null || return
	ip -n dd1 route get "$TWO" | grep -qE "mtu (lock )?552" ||
		{ diag "the message is not believed by the route either"; return 1; }
	made=$(fragments)
	flows "$(count 200 50)" 1 2 || return
	diag "$(($(fragments) - made)) fragments, packets of $(peer 1 2 .packet_size) bytes"
	end_all whole && [ "$(fragments)" = "$made" ]
}

plan 22
two_peers || {
	echo "Bail out! no cluster"
	exit 1
}
check "two nodes talk" start "$(count 10 40)"
check "their packets are captured" capture
check "replayed: thrown away and counted" counted replay 95
check "with guessed tokens: thrown away and counted" once token token
check "cut off at every length: thrown away and counted" once truncate format
check "junk: thrown away and counted" once junk format crc token
check "guessed handshakes" flood handshake
check "from a stranger" strangers
check "memory shows none of it, and the session goes on" unharmed 1
check "another session begins" another_session
start "$(count 6 25)"
check "packets of the old session: thrown away and counted" counted replay 95
check "those with any byte of the header another: likewise" counted fields 95
check "memory shows none of it, and the session goes on" unharmed 2
check "a third session begins" another_session
check "a short one, captured" short
check "in it, control messages that mean nothing: counted" meaningless
check "then there is another one, and memory shows none of it" afterwards
check "a fifth session begins" another_session
check "a short one, captured" short
check "in it, more queries than there is room for answers: each is refused" \
	each_refused
check "then there is another one, and memory shows none of it" afterwards
check "a path that is said to be narrow: no fragments" said_narrow
finish
