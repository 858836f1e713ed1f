#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tracepoints of three calls and their replies, sent directly and by the kernel, of one-sided
# memory, and of packets between two nodes.

# shellcheck source=selftests/net/net.sh
. "$(dirname "$0")/../net/net.sh"

TRACING=/sys/kernel/tracing
MESSAGES=6

# talk DIRECT: leaves the trace in ./trace.
talk() {
	local server

	export DD_DIRECT=$1
	rm -f ready
	echo >"$TRACING/trace"
	dd-echo-server --size 4096 --requests 3 >ready &
	server=$!
	within "$PATIENCE" has_line ready '^ready$' || return
	if ! timeout 60 dd-rpc-client --size 4096 --count 3 >client.out 2>&1; then
		diag "$(cat client.out)"
		return 1
	fi
	exited "$server" 0 || return
	# A worker closes the connections of a process after its exit.
	within "$PATIENCE" both_closed
}

both_closed() {
	grep -v '^#' "$TRACING/trace" >trace
	[ "$(grep -c ' dd_close: ' trace)" = 2 ]
}

# times N EVENT [PATTERN]: the trace has that many of these events.
times() {
	local n

	[ -e trace ] || return
	n=$(grep " $2: " trace | grep -c -- "${3:-}")
	[ "$n" = "$1" ] && return
	diag "$2: $n times, not $1"
	return 1
}

# whose EVENT: the ends, and the ring between them.
whose() { sed -n "s/.* $1: \(.*\) sent=.*/\1/p" trace | sort; }

granted() { times 2 dd_direct_grant 'sent=0$'; }
taken_back() {
	times 2 dd_direct_revoke "sent=$((MESSAGES / 2))\$" || return
	[ "$(whose dd_direct_grant)" = "$(whose dd_direct_revoke)" ] && return
	diag "$(grep dd_direct trace)"
	return 1
}

framed() {
	times 1 dd_connect 'end=client' && times 1 dd_close 'end=client' &&
		times 1 dd_close 'end=server'
}

# memory PROGRAM TEST: leaves the trace of a test of one-sided memory in ./trace.
memory() {
	echo >"$TRACING/trace"
	if ! "$1" "$2" >mem.out 2>&1; then
		diag "$(cat mem.out)"
		return 1
	fi
	grep -v '^#' "$TRACING/trace" >trace
}

# Eight imports, of which seven lack one of three rights in nine cases.
refusals() {
	memory abi_mem rights_are_asked && times 1 dd_export 'rights=0x7 ' && times 8 dd_import &&
		times 9 dd_refused 'err=-13$' && times 3 dd_refused 'right=0x2 ' &&
		times 8 dd_revoke 'err=0$'
}

revocation() {
	memory abi_segment end_of_the_segment && times 2 dd_export && times 1 dd_import &&
		times 1 dd_revoke 'err=116$'
}

# Traffic between two nodes over a link that loses packets; leaves the trace in ./trace.
packets() {
	echo >"$TRACING/trace"
	cluster 2 && tc -n dd1 qdisc replace dev eth0 root netem loss 20% &&
		new_traffic && begin_all 2 4096 && flows 50 1 2 && end_all whole || return
	echo 0 >"$TRACING/events/dd/enable"
	grep ' dd_packet_' "$TRACING/trace" >trace
	LOST=$(($(peer 1 2 .packets_lost) + $(peer 2 1 .packets_lost)))
}

# Node 1 names its peer 2, and node 2 its peer 1. A packet is received, acknowledged or
# lost after it was sent, and the counters agree with the events.
in_order() {
	awk -v lost="$LOST" '{
		match($0, /dd_packet_[a-z]+/)
		event = substr($0, RSTART + 10, RLENGTH - 10)
		match($0, /peer=[0-9]+/)
		to = substr($0, RSTART + 5, RLENGTH - 5)
		match($0, /pn=[0-9]+/)
		pn = substr($0, RSTART + 3, RLENGTH - 3)
		n[event]++
		if (event == "received")
			to = 3 - to
		if (event == "sent")
			sent[to, pn] = 1
		else if (!((to, pn) in sent))
			bad++
	}
	END {
		printf "# %d sent, %d received, %d acknowledged, %d lost, %d spurious, %d never sent\n",
			n["sent"], n["received"], n["acked"], n["lost"], n["spurious"], bad
		exit bad || n["received"] < 50 || n["acked"] < 50 || n["lost"] < 1 ||
			n["received"] >= n["sent"] || n["lost"] > lost
	}' trace
}

plan 12
# One order on all processors.
echo global >"$TRACING/trace_clock"
echo 1 >"$TRACING/events/dd/enable"
check "calls sent directly" talk 1
check "a connection begins and ends" framed
check "each end gets a direct path" granted
check "it is revoked, with the number of its messages" taken_back
check "calls sent by the kernel" talk 0
check "a connection begins and ends" framed
by_kernel() {
	times "$MESSAGES" dd_op && times "$MESSAGES" dd_deposit &&
		times "$MESSAGES" dd_note type=data
}
check "requests, deposits and notes" by_kernel
check "neither end gets a direct path" times 0 'dd_direct_[a-z]*'
check "segments, imports and refused requests" refusals
check "the end of a segment revokes its import" revocation
check "packets between nodes" packets
check "a packet is sent before it is received, acknowledged or lost" in_order
echo 0 >"$TRACING/events/dd/enable"
finish
