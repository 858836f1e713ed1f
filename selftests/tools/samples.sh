#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The examples of Documentation/tutorial.rst.
#
# shellcheck disable=SC2317 # called through check
# shellcheck source=selftests/harness/servers.sh
. "$(dirname "$0")/../harness/servers.sh"
# shellcheck source=selftests/net/cluster.sh
. "$TOP/selftests/net/cluster.sh"
PLACE=65536	# bytes in a place of the stream's buffer

# stop: SIGTERM ends the server properly.
stop() { kill "$SERVER" && exited "$SERVER" 0 server.err; }

# The prefix of clients.
here=()

# between_nodes COMMAND...: with servers at node 2 and clients at node 1.
between_nodes() {
	local there=(ip netns exec dd2) here=(ip netns exec dd1) node=2 ret=0

	cluster_up 2 && cluster_peers 2 && "$@" || ret=1
	cluster_down
	return $ret
}

# client COMMAND...: it succeeds.
client() {
	timeout "$PATIENCE" "${here[@]}" "$@" >client.out 2>client.err && return
	diag "$*: $(cat client.out client.err server.err)"
	return 1
}

echo_sizes() {
	local size

	serve ready dd-echo-server || return
	for size in 1 7 8 128 2047 2048; do
		client dd-rpc-client --size $size --count 50 || return
	done
	grep -q '^50 calls of 2048 bytes, .* all replies correct$' client.out &&
		client dd-rpc-client --count 50 --sleep && stop
}

# The server ends by itself.
figures() {
	serve ready dd-echo-server --requests 1 && client fig3 && exited "$SERVER" 0 server.err
}

several() {
	serve ready dd-sum-server && client dd-sum-client 5 200 &&
		grep -qx '5 clients, 200 requests each, sum 100500' client.out &&
		client dd-sum-client 15 20 && within "$PATIENCE" all_ended && stop
}

# 5 clients of the first run, 15 of the second, and for each run one that reads the sum.
all_ended() {
	[ "$(grep -c ' closed after 200 requests, sum 20100$' server.out)" = 5 ] &&
		[ "$(grep -c ' closed after 20 requests, sum 210$' server.out)" = 15 ] &&
		[ "$(grep -c ' closed after 2 requests, sum 0$' server.out)" = 2 ]
}

# A client that sends other requests gets a wrong reply, and disturbs no other client.
stranger() {
	serve ready dd-sum-server &&
		refused 1 'reply 0 is wrong' dd-rpc-client --name sum --size 64 &&
		refused 1 'reply 0 is wrong' dd-rpc-client --name sum --size 4000 &&
		client dd-sum-client 1 10 && stop
}

epoll() {
	serve ready dd-epoll-server && client dd-rpc-client --count 500 --size 4096 &&
		client dd-rpc-client --count 7 && stop && grep -qx '507 requests in all' server.out
}

stream_sizes() {
	local size

	for size in 0 1 $((PLACE - 1)) $PLACE $((PLACE + 1)) $((23 * PLACE + 17)); do
		head -c "$size" /dev/urandom >in
		serve ready dd-stream-recv && client dd-stream-send <in &&
			exited "$SERVER" 0 server.err && cmp in server.out || return
	done
}

# The sender has filled all places: one message is in the pipe, one is being written, eight are
# unread, and one is in place without a notification; it has read the twelfth.
full() { grep -qx "pos:	$((12 * PLACE))" "/proc/$SENDER/fdinfo/0"; }

# stuck: a receiver that writes its first message to a pipe that is not read, and
# a sender that has filled all places.
stuck() {
	rm -f pipe server.err
	mkfifo pipe
	exec 7<>pipe
	head -c $((25 * PLACE)) /dev/urandom >in
	dd-stream-recv >pipe 2>server.err 7<&- &
	SERVER=$!
	within "$PATIENCE" has_line server.err ready || return
	dd-stream-send <in 2>client.err 7<&- &
	SENDER=$!
	within "$PATIENCE" full
}

# read_pipe: let the receiver go on; its output becomes the file "out".
read_pipe() {
	exec 6<pipe 7<&-
	cat <&6 >out &
	READER=$!
	exec 6<&-
}

# No message is overwritten.
slow_receiver() {
	stuck && read_pipe && exited "$SENDER" 0 client.err && exited "$SERVER" 0 server.err &&
		exited "$READER" 0 && cmp in out
}

# What was accepted is there.
sender_dies() {
	stuck && end KILL "$SENDER" && read_pipe && exited "$SERVER" 1 server.err &&
		exited "$READER" 0 && cmp -n $((11 * PLACE)) in out &&
		grep -q "sender went away after $((11 * PLACE)) bytes" server.err
}

receiver_dies() {
	stuck && end KILL && exec 7<&- && exited "$SENDER" 1 client.err &&
		grep '^dd-stream-send: dd_[a-z]*: .*closed by the other end' client.err
}

found() { client dd-hash "$node" "$1" && [ "$(<client.out)" = "$2" ]; }

# Each process inserts keys of its own, and all change one entry.
shared_table() {
	local i k pids=()

	serve_segment dd-hash dd-hash || return
	for i in 1 2 3 4; do
		for k in 1 2 3 4 5; do
			"${here[@]}" dd-hash "$node" "key$i.$k" "$k of $i" &&
				"${here[@]}" dd-hash "$node" all "$i.$k" || exit 1
		done &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		exited "$i" 0 || return
	done
	for i in 1 2 3 4; do
		for k in 1 2 3 4 5; do
			found "key$i.$k" "$k of $i" || return
		done
	done
	client dd-hash "$node" all && has_line client.out '^[1-4]\.5$' &&
		refused 1 'dd-hash: no such key' "${here[@]}" dd-hash "$node" none && end TERM &&
		refused 1 'dd-hash: dd_import: Connection refused' "${here[@]}" dd-hash "$node" all
}

# Its commands are lines of literal blocks after a prompt.
tutorial() {
	{
		echo 'set -ex'
		sed -n 's/^\t[$#] //p' "$TOP/Documentation/tutorial.rst"
	} >commands
	[ "$(wc -l <commands)" -gt 35 ] && timeout 300 bash commands
}

plan 12
check "echo: requests of all sizes come back, SIGTERM ends the server" echo_sizes
check "echo: the printed client; the server ends after --requests" figures
check "RPC: several clients, one sum for each" several
check "RPC: a client that sends other requests" stranger
check "epoll: all requests are answered, SIGTERM ends the server" epoll
check "stream: every size arrives" stream_sizes
check "stream: window + 2 places are enough for a slow receiver" slow_receiver
check "stream: the sender is killed" sender_dies
check "stream: the receiver is killed" receiver_dies
check "hash table: processes insert and change entries" shared_table
check "hash table: the same between nodes" between_nodes shared_table
check "the commands of the tutorial" tutorial
finish
