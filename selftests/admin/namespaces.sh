#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Each network namespace is a node of its own; process and user ids are those of
# the reader's namespaces; the owner of a network namespace may change its node.

# shellcheck disable=SC2086 # $as_user and $as_member are words
# shellcheck source=selftests/admin/guest.sh
. "$(dirname "$0")/guest.sh"

ECONNREFUSED=111

# inside NAME COMMAND...: run it in the network namespace of that holder.
inside() {
	local pid=${holder_pid[$1]}

	shift
	nsenter -t "$pid" -n "$@"
}

# there NAME FILTER OBJECT: FILTER holds for the output of ddctl there.
there() {
	run inside "$1" ddctl -j "$3"
	json "$2"
}

test_net() {
	local monitor

	hold here
	hold other unshare -n
	tell here serve echo 1 1 0
	tell other serve echo 1 1 0
	check 'net: one service here' json "length == 1 and
		.[0].pid == ${holder_pid[here]}" service
	check 'net: one of the same name there' there other "length == 1 and
		.[0].pid == ${holder_pid[other]}" service
	let_go here
	ddctl node down
	until_true ddctl node set id 5 max 7
	check 'net: the other node has not changed' there other \
		'.id == 1 and .maxnodes == 2 and .up' node
	tell other connect echo 1 1 1
	check 'net: connections are there' there other 'length == 2' conn
	check 'net: and not here' json '. == []' conn
	ddctl node up
	ddctl node set id 0
	hold here
	ddctl monitor >"$TAP_DIR/events" &
	monitor=$!
	until_true test -s "$TAP_DIR/events"
	tell other serve more 1 1 0
	inside other ddctl node down
	tell here serve last 1 1 0
	until_true grep -q last "$TAP_DIR/events"
	check 'net: events are of this node only' \
		[ "$(sed 's/:.*//' "$TAP_DIR/events" | xargs)" = \
		'node service-add' ]
	check 'net: this node stays up' json '.up and .id == 0' node
	kill $monitor
	let_go other
	hold other unshare -n
	tell other connect last 1 1 1
	check 'net: a service of one node is not found on the other' \
		[ "$reply" = "error $ECONNREFUSED" ]
	let_go other
	let_go here
	ddctl node down
	until_true ddctl node set id 1 max 2
	ddctl node up
}

test_pid() {
	local child

	hold here
	tell here serve echo 1 1 0
	run unshare -pf ddctl -j service
	check 'pid: 0 where the process is not known' json '.[0].pid == 0'
	hold deep unshare -pf
	tell deep connect echo 1 1 1
	child=$(pgrep -P "${holder_pid[deep]}")
	check 'pid: in this namespace' json "any(.[];
		.role == \"client\" and .pid == $child and
		.peer_pid == ${holder_pid[here]})" conn
	run nsenter -t "$child" -p ddctl -j conn
	check 'pid: in the namespace of the process' json 'any(.[];
		.role == "client" and .pid == 1 and .peer_pid == 0)'
	# In this order: unshare would begin a message about the end of its child.
	let_go deep
	kill -9 "$child"
	let_go here
}

test_user() {
	hold member $as_member
	tell member serve echo 1 1 0
	check 'user: in this namespace' json '.[0].uid == 1000' \
		service
	run $as_user unshare -U ddctl -j service
	check 'user: the overflow id where it has none' json '.[0].uid == 65534'
	run $as_user unshare -Ur ddctl -j service
	check 'user: in the namespace of the user' json '.[0].uid == 0'
	let_go member
}

test_owner() {
	run $as_user unshare -Ur ddctl node down
	check 'owner: of a user namespace, not of this node' [ "$status" = 4 ]
	check 'owner: nothing has changed' json .up node
	exits 'owner: of a network namespace' 0 \
		$as_user unshare -Urn ddctl node down
	hold owner $as_member unshare -Urn
	nsenter -t "${holder_pid[owner]}" -n \
		ddctl -j monitor >"$TAP_DIR/owner" &
	until_true test -s "$TAP_DIR/owner"
	tell owner serve echo 1 1 0
	until_true grep -q service-add "$TAP_DIR/owner"
	check 'owner: events have the user of the network namespace' \
		jq -e -s '.[1].service | .uid == 0 and (has("pid") | not)' \
		"$TAP_DIR/owner"
	check 'owner: other readers see their own user ids' there owner '.[0].uid == 1000' \
		service
	kill $!
	let_go owner
}

plan 19
test_net
test_pid
test_user
test_owner
finish
