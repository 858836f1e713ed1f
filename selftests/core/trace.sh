#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tracepoints of three calls and their replies, sent directly and by the kernel.

# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"

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

plan 8
scratch
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
echo 0 >"$TRACING/events/dd/enable"
finish
