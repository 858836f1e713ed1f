#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The sample programs against each other.
#
# shellcheck disable=SC2317,SC2086 # called through check; words
# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
scratch

# serve PROGRAM OPTION...: start a server, wait until it says that it is ready.
serve() {
	rm -f ready
	"$@" >ready 2>server.log &
	SERVER=$!
	within "$PATIENCE" has_line ready '^ready$' || diag "$(cat server.log)"
}

stop() {
	kill "$SERVER" 2>/dev/null
	wait "$SERVER" 2>/dev/null
	return 0
}

# client COMMAND...: it succeeds.
client() {
	timeout 60 "$@" >client.out 2>client.err && return
	diag "$*: $(cat client.out client.err server.log)"
	return 1
}

echo_sizes() {
	local size

	serve dd-echo-server
	for size in 1 7 8 128 2047 2048; do
		client dd-rpc-client --size $size --count 50 || return 1
	done
	grep -q '^50 calls of 2048 bytes, .* all replies correct$' client.out
	stop
}

ends_by_itself() {
	serve dd-echo-server --requests 4
	client dd-rpc-client --size 1 && grep -q '^1 call of 1 byte, ' client.out &&
		client dd-rpc-client --count 3 && exited "$SERVER" 0 server.log || return 1
	serve dd-echo-server --once
	client dd-rpc-client && exited "$SERVER" 0 server.log
}

two_services() {
	serve dd-two-services
	client dd-split-client --count 200 --size 1000 &&
		client dd-split-client --count 50 --sleep &&
		client dd-rpc-client --count 50
	local ret=$?

	stop
	return $ret
}

other_names() {
	serve dd-two-services --echo left --reverse right
	client dd-split-client --echo left --reverse right &&
		refused 1 'no such service' dd-split-client &&
		refused 1 'no such service' dd-rpc-client --name centre &&
		refused 1 'no such service' dd-rpc-client --name left --node 99
	local ret=$?

	stop
	return $ret
}

# The first reverse reply is no echo: the client must notice.
wrong_reply() {
	serve dd-two-services
	refused 1 'reply 0 is wrong' dd-rpc-client --name reverse
	local ret=$?

	stop
	return $ret
}

# connected PID: it has an end of a connection.
connected() { ddctl conn | awk -v p="$1" '$4 == p { n++ } END { exit !n }'; }

# Who would ask the server whether it is full takes a place as long as he asks.
crowded() {
	serve dd-echo-server --connections 2
	dd-rpc-client --count 1000000 --quiet &
	local a=$!
	dd-rpc-client --count 1000000 --quiet &
	local b=$! ret

	within "$PATIENCE" connected $a && within $PATIENCE connected $b &&
		refused 1 'dd-rpc-client: ddconn: ' dd-rpc-client
	ret=$?
	kill -9 $a $b
	wait $a $b 2>/dev/null
	# Their blocks are free at once.
	client dd-rpc-client --count 10 && client dd-rpc-client --count 10 || ret=1
	stop
	return $ret
}

too_large() {
	serve dd-echo-server --size 64
	refused 1 'dd-rpc-client: ddcall: ' dd-rpc-client --size 128 &&
		client dd-rpc-client --size 64
	local ret=$?

	stop
	return $ret
}

server_dies() {
	serve dd-echo-server
	dd-rpc-client --count 100000000 2>client.err &
	local c=$!

	within "$PATIENCE" connected "$c" || return 1
	sleep 0.3
	kill -9 "$SERVER"
	wait "$SERVER" 2>/dev/null
	exited $c 4 client.err && grep -q '^dd-rpc-client: dd[a-z]*: ' client.err
}

name_in_use() {
	serve dd-echo-server
	refused 1 'dd-echo-server: ddserve: ' dd-echo-server
	local ret=$?

	stop
	return $ret
}

ready_fd() {
	dd-echo-server --once --ready-fd 5 5>fd5 >/dev/null 2>server.log &
	SERVER=$!
	within "$PATIENCE" has_line fd5 '^ready$' && client dd-rpc-client &&
		exited "$SERVER" 0 server.log
}

# each MODE: microseconds per call with both sides on one CPU
each() {
	local option=$1

	shift
	serve taskset -c "$CPU" dd-echo-server "$@"
	# shellcheck disable=SC2086 # an option or nothing
	client taskset -c "$CPU" dd-rpc-client --count 300 $option || return 1
	sed -n 's/.*bytes, \([0-9]*\)\.[0-9]* us each.*/\1/p' client.out
	stop
}

# A spinning client that keeps the CPU from the server would wait for the end of
# its time slice, some milliseconds, in each call. Sleeping ones take turns.
one_cpu() {
	local asleep spinning

	CPU=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
	asleep=$(each --sleep) && spinning=$(each "" --spin) || return 1
	diag "one CPU: $asleep us a call asleep, $spinning us spinning"
	[ "$spinning" -le $((5 * asleep + 100)) ]
}

figures() {
	serve dd-echo-server --requests 1
	client fig3 && exited "$SERVER" 0 server.log
}

plan 12
check "echo: requests of all sizes come back" echo_sizes
check "servers end after --requests, --once" ends_by_itself
check "two services on one note list, split-phase and RPC clients" two_services
check "names of services; wrong name, wrong node" other_names
check "a client notices a wrong reply" wrong_reply
check "a third client is refused, and let in when the others are dead" crowded
check "a request larger than the server's buffer" too_large
check "the server is killed: its client says so, exit code 4" server_dies
check "a name in use" name_in_use
check "--ready-fd" ready_fd
check "one CPU: spinning is no slower than sleeping, by far" within "$PATIENCE" one_cpu
check "the printed client against the echo server" figures
finish
