#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Two nodes exchange messages, and a third one floods them with packets that have their
# addresses: replayed, truncated, with guessed secrets, or random; and, in the session, with
# invalid control messages. The packets are counted and dropped, and no byte of them is
# deposited: the traffic compares every byte of a block. TAP; in a guest, as root.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/net.sh"

COUNT=$(count 15000 2000)
CAPTURE=$HOLD/capture
ONE=10.9.0.1 TWO=10.9.0.2

# counters: the counters of drops of node 2 that are not 0.
counters() {
	peer 2 1 '[.counters | to_entries[] |
		select(.key | startswith("drop_")) | select(.value > 0) |
		"\(.key) \(.value)"] | join(", ")'
}

# capture [COUNT [COMMAND...]]: capture packets of the session, of the traffic that
# COMMAND starts. The header of the file has 24 bytes.
capture() {
	local pid

	rm -f "$CAPTURE" "$HOLD/tcpdump.err"
	ip netns exec "$CLUSTER_BRIDGE" tcpdump -Z root -i br0 --immediate-mode \
		-w "$CAPTURE" -c "${1:-1000}" udp port 56797 2>"$HOLD/tcpdump.err" &
	pid=$!
	within "$PATIENCE" has_line "$HOLD/tcpdump.err" 'listening on' && "${@:2}" &&
		within "$PATIENCE" ended "$pid"
	kill -INT "$pid" 2>/dev/null
	wait "$pid"
	[ "$(stat -c %s "$CAPTURE")" -gt 1000 ] && return
	diag "no capture: $(cat "$HOLD/tcpdump.err")"
	return 1
}

# flood HOW: forge packets of node 1.
flood() { cluster_exec 3 net_forge "$1" "$COUNT" "$ONE" "$TWO" "$CAPTURE"; }

# reasons REASON...: the number of packets dropped for these reasons.
reasons() {
	local reason sum=0

	for reason; do
		sum=$((sum + $(peer 2 1 ".counters.\"drop_$reason\"")))
	done
	echo "$sum"
}

# floods HOW BEFORE REASON...: another flood, after which COUNT / 2 more are counted.
floods() {
	flood "$1" || return
	SENT=$((SENT + COUNT)) COUNTED=$(($(reasons "${@:3}") - $2))
	[ "$COUNTED" -ge $((COUNT / 2)) ]
}

# counted HOW REASON...: packets are counted for one of these reasons. Queues of a busy
# machine drop some before.
counted() {
	local before status=0

	before=$(reasons "${@:2}")
	SENT=0
	within "$PATIENCE" floods "$1" "$before" "${@:2}" || status=1
	diag "$1: $SENT packets, $COUNTED counted: $(counters)"
	return $status
}

# once HOW REASON...: the same, and each packet is counted once.
once() { counted "$@" && [ "$COUNTED" -le "$SENT" ]; }

two_peers() {
	cluster_up 3 && NODES=2 &&
		cluster_exec 1 ddctl peer add 2 "$TWO" dead-time 10000 &&
		cluster_exec 2 ddctl peer add 1 "$ONE" dead-time 10000 &&
		cluster_offload off
}

start() {
	new_traffic
	begin_all 4 65536 && within "$PATIENCE" is_up 1 2
}

unharmed() { end_all whole && [ "$(peer 2 1 .sessions)" = 1 ]; }

# End the session whose packets were captured, and wait for the next one.
another_session() {
	cluster_exec 1 ddctl peer del 2 &&
		cluster_exec 1 ddctl peer add 2 "$TWO" dead-time 10000 &&
		within "$PATIENCE" is_up 1 2 && within "$PATIENCE" is_up 2 1
}

messages() { peer 2 1 '.counters."drop_message"'; }
reached() { [ "$(messages)" -ge "$1" ]; }

# packets_of HOW COUNT FIRST: send packets with the secret of the session, in order. Sent by
# two CPUs they would overtake each other, and one that is much too early ends the range
# of numbers that are accepted.
packets_of() {
	cluster_exec 3 taskset -c 0 net_forge "$1" "$2" "$ONE" "$TWO" "$CAPTURE" "$3"
}

# Invalid control messages, from a sender that knows the secret of the session. The first
# ones may have old numbers, and a few are answered.
meaningless() {
	local before after

	before=$(messages)
	packets_of control 1000 0 || return
	within "$PATIENCE" reached $((before + 850))
	after=$(messages)
	diag "1000 messages, $((after - before)) counted"
	[ $((after - before)) -ge 850 ] && [ $((after - before)) -le 1000 ]
}

# Queries that are refused at once, while acknowledgments are delayed: the control stream
# does not hold all refusals at once, and each of them is sent.
each_refused() {
	local queries answers

	queries=$(messages) answers=$(peer 1 2 '.counters."drop_message"')
	tc -n dd1 qdisc replace dev eth0 root netem delay 100ms &&
		packets_of query 200 1000 || return
	within "$PATIENCE" all_refused "$queries" "$answers"
	tc -n dd1 qdisc del dev eth0 root
	queries=$(($(messages) - queries))
	answers=$(($(peer 1 2 '.counters."drop_message"') - answers))
	diag "$queries queries, $answers answers"
	[ "$queries" -ge 150 ] && [ "$answers" = "$queries" ]
}
# Node 1 has sent no query, so it counts the answers as invalid.
all_refused() {
	[ $(($(messages) - $1)) -ge 150 ] &&
		[ $(($(peer 1 2 '.counters."drop_message"') - $2)) = \
			$(($(messages) - $1)) ]
}

# A session in which connects and closes send control messages, and then nothing is sent.
short() { another_session && capture 300 start && end_all whole; }

afterwards() { another_session && talk; }

# Packets of a node that is no peer.
unknown_peer() { cluster_exec 3 net_forge handshake "$COUNT" 10.9.0.3 "$TWO"; }

# fragments: the number of IP fragments that node 1 has made.
# shellcheck disable=SC2016 # by awk
fragments() {
	cluster_exec 1 awk '$1 == "Ip:" && !n { n = split($0, name); next }
		$1 == "Ip:" { for (i = 1; i <= n; i++)
			if (name[i] == "FragCreates") print $i; exit }' /proc/net/snmp
}

# A forged ICMP message reports a path MTU below the smallest packet.
said_narrow() {
	local made

	start || return
	cluster_exec 3 net_forge icmp 20 "$TWO" "$ONE" || return
	ip -n dd1 route get "$TWO" | grep -qE "mtu (lock )?552" ||
		{ diag "the route ignored the message as well"; return 1; }
	made=$(fragments)
	flows "$(count 200 50)" 1 2 || return
	diag "$(($(fragments) - made)) fragments, packets of $(peer 1 2 .packet_size) bytes"
	end_all whole && [ "$(fragments)" = "$made" ]
}

plan 14
two_peers || {
	echo "Bail out! no cluster"
	exit 1
}
check "two nodes exchange messages" start
check "their packets are captured" capture
check "replayed packets are dropped and counted" counted replay dup old
check "packets with guessed tokens are dropped and counted" once token token
check "truncated packets of each length are dropped and counted" once truncate format
check "random packets are dropped and counted" once junk format crc token
check "guessed handshakes of the peer" flood handshake
check "packets of an unknown sender" unknown_peer
check "no byte was deposited, and the session continues" unharmed
check "packets of a short session are captured" short
check "invalid control messages in it are counted" meaningless
check "more queries than the stream has room for answers: each is refused" each_refused
check "another session follows, and no byte was deposited" afterwards
check "a forged path MTU causes no fragments" said_narrow
finish
