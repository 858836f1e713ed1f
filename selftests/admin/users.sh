#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Reports name the objects of the requesting user only, unless it has
# CAP_NET_ADMIN over the network namespace; and a report visits each of many
# contexts once, in order.

# shellcheck disable=SC2086 # $as_user and $as_member are words
# shellcheck source=selftests/admin/guest.sh
. "$(dirname "$0")/guest.sh"

MANY=2000

# as_1000 FILTER OBJECT: FILTER holds for the objects that user 1000 sees.
as_1000() {
	run $as_user ddctl -j "$2"
	json "$1"
}

# no_pid OBJECT NAME: user 1000 does not see the pid of that holder's objects.
no_pid() {
	as_1000 "all(.[]; .pid != ${holder_pid[$2]})" "$1"
}

test_own() {
	hold root
	hold member $as_member
	tell root serve of-root 2 1 0
	tell member serve of-member 2 1 0
	tell root connect of-root 1 1 1
	tell member connect of-member 1 1 1
	check 'root sees both services' json 'length == 2' service
	check 'root sees the four ends' json 'length == 4' conn
	check 'user: its own service, no other' as_1000 'length == 1 and
		.[0].name == "of-member" and .[0].uid == 1000' service
	check 'user: its own two ends, no other' as_1000 'length == 2 and
		all(.[]; .uid == 1000)' conn
	check 'user: its own memory, no other' as_1000 'length == 2' region
	tell root export of-root 1 2
	tell member export of-member 0 2
	tell root import of-root 1
	tell member import of-root 1
	check 'root sees both segments' json 'length == 2' segment
	check 'root sees both imports' json 'length == 2' import
	check 'user: its own segment, no other' as_1000 'length == 1 and
		.[0].key == "of-member" and .[0].uid == 1000' segment
	check 'user: its own import, and whose segment that is' as_1000 'length == 1 and
		.[0].uid == 1000 and .[0].peer_uid == 0' import
	for object in service conn region segment import; do
		check "user: no process of root in $object" no_pid $object root
	done
	tell member connect of-root 1 1 1
	check 'user: its end of a connection to root is shown' as_1000 '
		[.[] | select(.service == "of-root")] | length == 1 and
		.[0].role == "client"' conn
	run $as_user unshare -Ur ddctl -j service
	check 'user: a capability over another user namespace does not count' json '
		length == 1 and .[0].name == "of-member"'
	let_go member
	let_go root
}

test_events() {
	run timeout 60 $as_user ddctl monitor
	check 'user: events are refused' denied
	$as_user "$TESTS/dd_ask" join >"$TAP_DIR/join" 2>&1
	check 'user: by the kernel' [ "$(cat "$TAP_DIR/join")" = 1 ]
	check 'root: events are not' [ "$("$TESTS/dd_ask" join)" = 0 ]
}

denied() {
	[ "$status" = 4 ] && [ ! -s "$OUT" ] &&
		grep -q '^ddctl: not permitted: CAP_NET_ADMIN' "$ERR"
}

# Contexts without objects lie between those that have some.
test_many() {
	ulimit -n 20000
	hold first
	tell first region 1
	tell first contexts $MANY
	hold second
	tell second region 1
	tell first contexts $MANY
	hold third
	tell third region 1
	tell first region 1
	check 'a dump visits contexts by serial, and each object once' json "
		map([.ctx, .id]) | . == unique and length == 4 and
		.[3][0] - .[0][0] > 2 * $MANY" region
	for name in first second third; do
		let_go $name
	done
}

plan 20
test_own
test_events
test_many
finish
