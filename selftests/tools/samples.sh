#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The examples of Documentation/tutorial.rst.
#
# shellcheck disable=SC2317,SC2086 # called through check; words
# shellcheck source=selftests/vm/tap.sh
. "$(dirname "$0")/../vm/tap.sh"
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/net/cluster.sh
. "$TOP/selftests/net/cluster.sh"
scratch
PLACE=65536	# bytes in a place of the stream's buffer

# serve PROGRAM OPTION...: start a server and wait until it is ready.
serve() {
	rm -f ready server.log
	"$@" >ready 2>server.log &
	SERVER=$!
	within "$PATIENCE" is_ready || diag "$(cat server.log)"
}

is_ready() { has_line ready '^ready$' || has_line server.log '^ready$'; }

# stop: SIGTERM ends the server properly.
stop() { kill "$SERVER" && exited "$SERVER" 0 server.log; }

# client COMMAND...: it succeeds.
client() {
	timeout "$PATIENCE" "$@" >client.out 2>client.err && return
	diag "$*: $(cat client.out client.err server.log)"
	return 1
}

# client_and_stop COMMAND...: one client of the server, which ends after it.
client_and_stop() {
	local ret=0

	"$@" || ret=1
	stop && return $ret
}

echo_sizes() {
	local size

	for size in 1 7 8 128 2047 2048; do
		client dd-rpc-client --size $size --count 50 || return 1
	done
	grep -q '^50 calls of 2048 bytes, .* all replies correct$' client.out &&
		client dd-rpc-client --count 50 --sleep
}

ends_by_itself() {
	serve dd-echo-server --requests 4
	client dd-rpc-client --size 1 && grep -q '^1 call of 1 byte, ' client.out &&
		client dd-rpc-client --count 3 && exited "$SERVER" 0 server.log
}

names() {
	client dd-rpc-client --name left &&
		refused 1 'no such service' dd-rpc-client &&
		refused 1 'no such service' dd-rpc-client --name left --node 99 &&
		refused 1 'dd-echo-server: ddserve: ' dd-echo-server --name left
}

# connected PID: the process has an end of a connection.
connected() { ddctl conn | awk -v p="$1" '$4 == p { n++ } END { exit !n }'; }

crowded() {
	local a b ret=0

	dd-rpc-client --count 100000000 --sleep &
	a=$!
	dd-rpc-client --count 100000000 --sleep &
	b=$!
	within "$PATIENCE" connected "$a" && within "$PATIENCE" connected "$b" &&
		refused 1 'dd-rpc-client: ddconn: ' dd-rpc-client || ret=1
	kill -9 $a $b
	wait $a $b 2>/dev/null
	# Their blocks are free at once.
	client dd-rpc-client --count 10 && client dd-rpc-client --count 10 && return $ret
}

too_large() {
	refused 1 'dd-rpc-client: ddcall: ' dd-rpc-client --size 128 &&
		client dd-rpc-client --size 64
}

server_dies() {
	local c

	serve dd-echo-server
	dd-rpc-client --count 100000000 2>client.err &
	c=$!
	within "$PATIENCE" connected "$c" || return 1
	kill -9 "$SERVER"
	wait "$SERVER" 2>/dev/null
	exited "$c" 1 client.err &&
		grep '^dd-rpc-client: ddcall: .*closed by the other end' client.err
}

figures() {
	serve dd-echo-server --requests 1
	client fig3 && exited "$SERVER" 0 server.log
}

several() {
	client dd-sum-client 5 200 &&
		grep -qx '5 clients, 200 requests each, sum 100500' client.out &&
		client dd-sum-client 15 20 && within "$PATIENCE" all_ended
}

# 5 clients of the first run, 15 of the second, and for each run one that reads the sum.
all_ended() {
	[ "$(grep -c ' closed after 200 requests, sum 20100$' ready)" = 5 ] &&
		[ "$(grep -c ' closed after 20 requests, sum 210$' ready)" = 15 ] &&
		[ "$(grep -c ' closed after 2 requests, sum 0$' ready)" = 2 ]
}

# A client that sends other requests gets a wrong reply, and disturbs no other client.
stranger() {
	refused 1 'reply 0 is wrong' dd-rpc-client --name sum --size 64 &&
		refused 1 'reply 0 is wrong' dd-rpc-client --name sum --size 4000 &&
		client dd-sum-client 1 10
}

epoll() {
	serve dd-epoll-server
	client dd-rpc-client --count 500 --size 4096 && client dd-rpc-client --count 7 &&
		stop && grep -qx '507 requests in all' ready
}

stream_sizes() {
	local size

	for size in 0 1 $((PLACE - 1)) $PLACE $((PLACE + 1)) $((23 * PLACE + 17)); do
		head -c "$size" /dev/urandom >in
		serve dd-stream-recv
		client dd-stream-send <in && exited "$SERVER" 0 server.log &&
			cmp in ready || return 1
	done
}

# One message is in the pipe, one is being written, eight are unread, and one is in
# place without a notification: the sender has read the twelfth.
full() { grep -q "^pos:	$((12 * PLACE))\$" "/proc/$SENDER/fdinfo/0"; }

# Between nodes it has read the twelfth at least. dd_done() waits for the last message
# that was accepted, and their number depends on how many were in place by then.
full_far() {
	$TX ddctl -j conn | grep -q '"sent":11,"done":10,' &&
		[ "$(sed -n 's/^pos:\t//p' "/proc/$SENDER/fdinfo/0")" -ge $((12 * PLACE)) ]
}

# Prefixes of the receiver and of the sender, and the receiver's node.
RX='' TX='' TO=''

# stuck: a receiver that writes its first message to a pipe that is not read, and
# a sender that has filled all places.
stuck() {
	rm -f pipe ready server.log
	mkfifo pipe
	exec 7<>pipe
	head -c $((25 * PLACE)) /dev/urandom >in
	$RX dd-stream-recv >pipe 2>server.log 7<&- &
	SERVER=$!
	within "$PATIENCE" is_ready || return 1
	$TX dd-stream-send $TO <in 2>client.err 7<&- &
	SENDER=$!
}

# slow_receiver FULL: no message is overwritten.
slow_receiver() {
	local reader

	stuck
	within "$PATIENCE" "$1" || return 1
	exec 6<pipe 7<&-
	cat <&6 >out &
	reader=$!
	exec 6<&-
	exited "$SENDER" 0 client.err && exited "$SERVER" 0 server.log && exited $reader 0 &&
		cmp in out
}

sender_dies() {
	local reader

	stuck
	within "$PATIENCE" full || return 1
	kill -9 "$SENDER"
	wait "$SENDER" 2>/dev/null
	exec 6<pipe 7<&-
	cat <&6 >out &
	reader=$!
	exec 6<&-
	# What was accepted is there.
	exited "$SERVER" 1 server.log && exited $reader 0 &&
		grep -q "sender went away after $((11 * PLACE)) bytes" server.log &&
		cmp -n $((11 * PLACE)) in out
}

receiver_dies() {
	stuck
	within "$PATIENCE" full || return 1
	kill -9 "$SERVER"
	wait "$SERVER" 2>/dev/null
	exec 7<&-
	exited "$SENDER" 1 client.err && grep '^dd-stream-send: dd_[a-z]*: .*closed by the other end' client.err
}

between_nodes() {
	local ret=0

	cluster_up 2 && cluster_peers 2 || return 1
	RX='ip netns exec dd2' TX='ip netns exec dd1' TO=2
	slow_receiver full_far || ret=1
	RX='' TX='' TO=''
	cluster_down
	return $ret
}

found() { [ "$(timeout "$PATIENCE" $TX dd-hash "${TO:--1}" "$1")" = "$2" ]; }
exported() { $RX ddctl segment | grep -q "$1"; }

# Each process inserts keys of its own, and all change one entry.
shared_table() {
	local i k pids=()

	$RX dd-hash 2>server.log &
	SERVER=$!
	within "$PATIENCE" exported dd-hash || return
	for i in 1 2 3 4; do
		for k in 1 2 3 4 5; do
			client $TX dd-hash "${TO:--1}" "key$i.$k" "$k of $i" &&
				client $TX dd-hash "${TO:--1}" all "$i.$k" || exit 1
		done &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || return
	done
	for i in 1 2 3 4; do
		for k in 1 2 3 4 5; do
			found "key$i.$k" "$k of $i" || return
		done
	done
	timeout "$PATIENCE" $TX dd-hash "${TO:--1}" all | grep -q '^[1-4]\.5$' || return
	refused 1 'dd-hash: no such key' $TX dd-hash "${TO:--1}" none || return
	kill "$SERVER"
	wait "$SERVER" 2>/dev/null
	refused 1 'dd-hash: dd_import: Connection refused' $TX dd-hash "${TO:--1}" all
}

shared_between_nodes() {
	local ret=0

	cluster_up 2 && cluster_peers 2 || return 1
	RX='ip netns exec dd2' TX='ip netns exec dd1' TO=2
	shared_table || ret=1
	RX='' TX='' TO=''
	cluster_down
	return $ret
}

# Its commands are lines of literal blocks after a prompt.
tutorial() {
	{
		echo 'set -ex'
		sed -n 's/^\t[$#] //p' "$TOP/Documentation/tutorial.rst"
	} >commands
	[ "$(wc -l <commands)" -gt 35 ] && timeout 300 bash commands
}

plan 19
serve dd-echo-server
check "echo: requests of all sizes come back" echo_sizes
check "a third client is refused, and admitted when the others are dead" crowded
check "echo: SIGTERM ends the server" stop
check "echo: the server ends after --requests" ends_by_itself
serve dd-echo-server --name left
check "names of services: wrong name, wrong node, name in use" client_and_stop names
serve dd-echo-server --size 64
check "a request larger than the server's buffer" client_and_stop too_large
check "the server is killed: its client says so" server_dies
check "the printed client against the echo server" figures
serve dd-sum-server
check "RPC: several clients, one sum for each" several
check "RPC: a client that sends other requests" client_and_stop stranger
check "epoll: all requests are answered, SIGTERM ends the server" epoll
check "stream: every size arrives" stream_sizes
check "stream: window + 2 places are enough for a slow receiver" slow_receiver full
check "stream: the sender is killed" sender_dies
check "stream: the receiver is killed" receiver_dies
check "stream: window + 2 places are enough between nodes" between_nodes
check "hash table: processes insert and change entries" shared_table
check "hash table: the same between nodes" shared_between_nodes
check "the commands of the tutorial" tutorial
finish
