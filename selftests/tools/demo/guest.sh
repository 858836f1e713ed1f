#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The part of the demonstration that runs in the virtual machine, where dd.ko is
# loaded. A line "@demo NAME [VALUE...]" reports a finished step to demo.sh; all
# other lines are for people. The first step that fails ends it.
set -eEuo pipefail

MIB=64
NODE=	# where commands are run: a node of the cluster, or here
WORK=$(mktemp -d)
chmod 711 "$WORK"
# shellcheck source=selftests/net/cluster.sh
. selftests/net/cluster.sh

done_with() { echo "@demo $*"; }
title() { printf '\n%s\n' "--- $*"; }
die() {
	echo "guest: $*" >&2
	exit 1
}
trap 'echo "guest: line $LINENO: $BASH_COMMAND: exit status $?" >&2' ERR

# as USER COMMAND...: print it, and run it without privileges. The group dd may
# open /dev/dd.
as() {
	local user=$1

	shift
	echo "$user${NODE:+@node$NODE}\$ $*"
	(user_runs "$user" "$@")
}
# exec: the process id of the subshell is the command's.
user_runs() {
	local user=$1

	shift
	exec ${NODE:+ip netns exec "dd$NODE"} setpriv --reuid "$user" --regid "$user" --init-groups --no-new-privs \
		env HOME=/tmp "$@"
}

# start USER COMMAND...: in the background, as $server; its output is in $WORK/server.
start() {
	echo "$1${NODE:+@node$NODE}\$ ${*:2} &"
	rm -f "$WORK/server"
	user_runs "$@" >"$WORK/server" 2>&1 &
	server=$!
}

is_ready() { grep -q '^ready$\|: ready as ' "$WORK/server" || ! kill -0 "$server"; }
exports() { ddctl segment | grep -qw "$1"; }

# serve USER COMMAND...: start it, and wait until it is ready.
serve() {
	start "$@"
	wait_for is_ready
	cat "$WORK/server"
	kill -0 "$server" || die "${*:2} does not get ready"
}

# shared NAME COMMAND...: start it, and wait until it has exported its segment.
shared() {
	start alice "${@:2}"
	wait_for exports "$1" || die "${*:2} exports nothing: $(<"$WORK/server")"
}

stop() {
	kill "$@" 2>/dev/null || true
	wait "$@" 2>/dev/null || true
}

# --- the steps ---------------------------------------------------------------

show_module() {
	title "the module on Linux $(uname -r)"
	lsmod | grep -E '^(Module|dd) '
	stat -c '%n: %F, mode %a, owner %U, group %G' /dev/dd
	[ -c /dev/dd ]
	ddctl node
	done_with module "$(uname -r)"
}

# called SERVER CLIENT...: what a server does for its client.
called() {
	serve alice "$1"
	as bob "${@:2}"
	stop $server
	done_with "$1"
}

calls() {
	title "remote procedure calls: of one client, of eight at a time, of an epoll loop"
	called dd-echo-server dd-rpc-client --count 1000
	done_with dd-rpc-client
	called dd-sum-server dd-sum-client 8 500
	done_with dd-sum-client
	called dd-epoll-server dd-rpc-client --count 1000
}

# sent BYTES: a file, and a directory for the one that is received.
sent() {
	head -c "$1" /dev/urandom >"$WORK/sent"
	chmod 644 "$WORK/sent"
	mkdir -m 777 "$WORK/in"
}

stream() {
	title "a stream of messages with a window"
	sent 5000000
	serve alice sh -c "exec dd-stream-recv >$WORK/in/received"
	as bob dd-stream-send <"$WORK/sent"
	wait $server || die "the receiver failed"
	cmp "$WORK/sent" "$WORK/in/received"
	rm -r "$WORK/sent" "$WORK/in"
	done_with dd-stream-send
}

# table COMMAND PATTERN: print its output, which has such a line.
table() {
	echo "# $1"
	$1 >"$WORK/table"
	sed 's/^/  /' "$WORK/table"
	grep -Eq "$2" "$WORK/table" || die "'$1' shows no line with '$2'"
}

connected() { [ "$(ddctl -j conn | jq length)" != 0 ]; }

tables() {
	local client echo

	title "what ddctl shows while a client calls"
	serve alice dd-echo-server
	echo=$server
	echo "bob\$ dd-rpc-client --count 1000000000 --sleep &"
	user_runs bob dd-rpc-client --count 1000000000 --sleep >/dev/null 2>&1 &
	client=$!
	wait_for connected || die "the client does not connect"
	table "ddctl node" '^UP +yes'
	table "ddctl service" "^echo +$echo "
	table "ddctl conn" "^echo +client +rpc +$client "
	table "ddctl region" "^ *$client "
	table "ddctl stat" '^bytes deposited +[1-9]'
	kill -0 $client || die "the client has ended"
	done_with ddctl
	stop $client $echo
}

# copy STEP [FROM TO]: a file from one process to another, on these nodes.
copy() {
	local step=$1 from=${2:-} to=${3:-} receiver sent received

	sent $((MIB << 20))
	NODE=$to
	serve alice ddcp recv --output "$WORK/in/received"
	receiver=$server
	NODE=$from
	as bob ddcp send --wait 60 ${to:+--node "$to"} "$WORK/sent"
	NODE=
	wait $receiver || die "the receiver failed"
	[ "$(stat -c %s "$WORK/in/received")" = $((MIB << 20)) ]
	read -r sent _ < <(sha256sum "$WORK/sent")
	read -r received _ < <(sha256sum "$WORK/in/received")
	echo "sha256 of what was sent:     $sent"
	echo "sha256 of what was received: $received"
	done_with "$step" "$sent" "$received"
	rm -r "$WORK/sent" "$WORK/in"
}

copy_file() {
	title "a file of $MIB MiB from one process to another"
	copy ddcp
}

# show_peers STATE: print the peers of node 1; node 2 is in that state.
show_peers() {
	echo "root@node1# ddctl peer show"
	cluster_exec 1 ddctl peer show >"$WORK/peers"
	sed 's/^/  /' "$WORK/peers"
	grep -q "$1" "$WORK/peers" || die "node 2 is not '$1' to node 1"
}

# netem drops what it is given: without offloads that is a packet, not a burst.
between_nodes() {
	title "$MIB MiB from node to node, over a network that loses 1 %"
	echo "# two network namespaces, each a node"
	cluster_up 2
	cluster_offload off
	cluster_netem loss 1%
	cluster_peers 2
	wait_for cluster_is_up || die "node 2 does not answer"
	show_peers up
	copy nodes 1 2
	show_peers up
	[ "$(cluster_exec 1 ddctl -j peer show 2 | jq .packets_lost)" -gt 0 ]
}

read_blocks() { (user_runs bob st-store read "$(cluster_address 2)" 2003 10 245) >"$WORK/received"; }

# On the network of between_nodes.
block_store() {
	local receiver store=$WORK/in/file

	title "ST: blocks of a file at node 2, written and read by node 1"
	sent 1000000
	receiver=$(cluster_address 2)
	NODE=2
	serve alice st-store serve 2003 "$store"
	NODE=1
	as bob st-store write "$receiver" 2003 10 <"$WORK/sent"
	echo "bob@node1\$ st-store read $receiver 2003 10 245 >received"
	# The store listens again when it has found that the writer has closed.
	wait_for read_blocks || die "the store answers no second client"
	NODE=
	cmp "$WORK/sent" <(head -c 1000000 "$WORK/received")
	cmp "$WORK/sent" <(tail -c 1000000 "$store")
	stop $server
	rm -r "$WORK/sent" "$WORK/received" "$WORK/in"
	done_with st
}

# says LINE COMMAND...: alice's command prints this line.
says() {
	as alice "${@:2}" >"$WORK/out"
	cat "$WORK/out"
	grep -qx "$1" "$WORK/out"
}

remote_memory() {
	local clerk board lock call

	title "remote memory by name: write, read, compare and swap, notify, revoke"
	echo "root# rmclerk &"
	rmclerk &
	clerk=$!
	shared board rm-board serve
	board=$server
	as alice rm-board post 3 75
	says '3: 75' rm-board show
	shared lock rm-lock serve
	lock=$server
	as alice rm-lock add 100
	says 200 rm-lock add 100
	shared call rm-call serve
	call=$server
	says 'CONTROL WHERE IT IS NEEDED' rm-call ask -1 "control where it is needed"
	table "ddctl segment" "registered +board"
	stop $call $lock $board
	echo "# the board is revoked"
	! as alice rm-board show 2>"$WORK/board" || die "the board is still there"
	cat "$WORK/board"
	grep -q 'No such file or directory' "$WORK/board"
	stop $clerk
	done_with rmem
}

# The peers are named by their addresses; vmmc_NameToNode() finds their nodes.
vmmc() {
	local program=$1 peers=() pids=() node

	shift
	for node in 2 1; do
		NODE=$node
		echo "alice@node$node\$ $program worker &"
		user_runs alice "build/samples/vmmc/$program" worker >"$WORK/worker$node" &
		pids+=($!)
		wait_for grep -q : "$WORK/worker$node"
		peers+=("$(cluster_address $node):$(sed 's/.*://' "$WORK/worker$node")")
		[ "$program" = RandomAll2All ] || break
	done
	NODE=1
	as alice "build/samples/vmmc/$program" "$@" "${peers[@]}" >"$WORK/vmmc"
	NODE=
	cat "$WORK/vmmc"
	wait "${pids[@]}"
}

# On the network of between_nodes.
mapped_memory() {
	title "VMMC: words from the memory of one process to that of another, node to node"
	vmmc latency 16 200
	grep -q '^16 words, 200 round trips: latency' "$WORK/vmmc"
	vmmc FetchBandwidth 20 1024 65536
	[ "$(grep -c 'MB/s$' "$WORK/vmmc")" = 7 ]
	vmmc RandomAll2All 3 1000 20
	grep -q '^RandomAll2All: 3 processes, 1000 words, 20 rounds: good' "$WORK/vmmc"
	cluster_down
	done_with vmmc
}

blackboard() {
	local first='' pids=() node

	title "SBL: what each of three nodes stores appears in the memory of the others"
	cluster_up 3
	cluster_peers 3
	for node in 1 2 3; do
		NODE=$node
		echo "alice@node$node\$ blackboard $((node - 1)) 3 'from node $node' $first &"
		user_runs alice build/samples/sbl/blackboard $((node - 1)) 3 "from node $node" \
			${first:+"$first"} >"$WORK/board$node" &
		pids+=($!)
		[ $node != 1 ] || wait_for grep -q : "$WORK/board1"
		first=$(head -1 "$WORK/board1")
	done
	NODE=
	wait "${pids[@]}"
	cat "$WORK/board3"
	diff "$WORK/board3" - <<<$'0: from node 1\n1: from node 2\n2: from node 3'
	diff "$WORK/board2" "$WORK/board3"
	cluster_down
	done_with sbl
}

performance() {
	title "round trips of 64 bytes, beside other ways"
	as alice ddperf lat --size 64 --rounds 3 --iterations 2000
	done_with ddperf
}

nothing_left() {
	local object

	title "no object is left"
	for object in service conn segment import region; do
		ddctl $object
		[ "$(ddctl -j $object | jq length)" = 0 ] || die "a $object is left"
	done
	done_with end
}

show_module
calls
stream
tables
copy_file
performance
between_nodes
block_store
mapped_memory
blackboard
remote_memory
nothing_left
