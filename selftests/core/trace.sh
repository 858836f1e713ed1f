#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What tracepoints tell of three calls and their replies, by each way to send.

# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"

TRACING=/sys/kernel/tracing
MESSAGES=6

# talk DIRECT: leaves what was told in ./trace.
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
	# What a process leaves is ended behind it.
	within "$PATIENCE" both_closed
}

both_closed() {
	grep -v '^#' "$TRACING/trace" >trace
	[ "$(grep -c ' dd_close: ' trace)" = 2 ]
}

# times N EVENT [PATTERN]: so often it was told of that.
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

# Each way: from a connect to the close of both ends.
framed() {
	times 1 dd_connect 'end=client' && times 1 dd_close 'end=client' &&
		times 1 dd_close 'end=server'
}

plan 8
scratch
echo 1 >"$TRACING/events/dd/enable"
check "two that talk directly" talk 1
check "a connection begins and ends" framed
check "either end is given a way" granted
check "it is taken back, and what came by it is counted" taken_back
check "two that talk by the kernel" talk 0
check "a connection begins and ends" framed
by_kernel() {
	times "$MESSAGES" dd_op && times "$MESSAGES" dd_deposit &&
		times "$MESSAGES" dd_note type=data
}
check "requests, deposits and notes" by_kernel
check "nobody is given a way" times 0 'dd_direct_[a-z]*'
echo 0 >"$TRACING/events/dd/enable"
finish
